"""The workflows have the form that GitHub expects, and no more rights than they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import bankgcn

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TOP = {"name", "on", "permissions", "concurrency", "env", "jobs"}
OF_JOB = {"name", "needs", "if", "strategy", "runs-on", "timeout-minutes", "environment", "permissions", "env", "steps"}
OF_STEP = {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory"}
CONTEXTS = {"github", "matrix", "env", "needs", "steps", "runner", "secrets", "inputs"}


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def workflow(request: pytest.FixtureRequest) -> dict[str, Any]:
    content = yaml.safe_load(request.param.read_text(encoding="utf-8"))
    content["on"] = content.pop(True)  # YAML 1.1 reads the word "on" as a truth value
    return content


def test_workflows_are_found() -> None:
    assert {"tests", "release", "docs"} <= {path.stem for path in WORKFLOWS}


def test_keys_are_known_and_jobs_complete(workflow: dict[str, Any]) -> None:
    assert set(workflow) <= TOP
    assert {"name", "on", "permissions", "jobs"} <= set(workflow)
    for job in workflow["jobs"].values():
        assert set(job) <= OF_JOB
        assert {"runs-on", "steps"} <= set(job)
        needed = job.get("needs", [])
        assert ({needed} if isinstance(needed, str) else set(needed)) <= set(workflow["jobs"])


def test_each_step_runs_a_command_or_an_action_of_a_fixed_version(workflow: dict[str, Any]) -> None:
    for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
        assert set(step) <= OF_STEP
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+|[0-9a-f]{40})", step["uses"])
            assert "shell" not in step


def test_a_workflow_reads_unless_a_job_needs_more(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}


def test_expressions_name_known_contexts_and_matrix_values(workflow: dict[str, Any]) -> None:
    for job in workflow["jobs"].values():
        matrix = set(job.get("strategy", {}).get("matrix", {}))
        for context, name in re.findall(r"\$\{\{\s*(\w+)\.([\w-]+)", yaml.safe_dump(job)):
            assert context in CONTEXTS
            assert context != "matrix" or name in matrix


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == bankgcn.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (.+)$", changelog, re.MULTILINE)[1] == "Unreleased"
    assert re.search(rf"^## {re.escape(bankgcn.__version__)} - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)
