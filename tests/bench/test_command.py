"""The command ``bankgcn bench``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import bankgcn.bench
from bankgcn.bench import CASES, FULL, QUICK
from bankgcn.bench.cases import Case
from bankgcn.bench.peers import peer_name
from bankgcn.cli import app
from bankgcn.nn import PLAIN_CONVS


@pytest.fixture(autouse=True)
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few generated graphs, and turns of one epoch."""
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path))  # no datasets there: generated graphs replace them
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(CASES, "ENZYMES", Case(dataset="ENZYMES", graphs=30, batch_size=16))
    monkeypatch.setitem(CASES, "NCI1", Case(dataset="NCI1", graphs=20, batch_size=2))
    for name, protocol in (("FULL", FULL), ("QUICK", QUICK)):
        monkeypatch.setattr(bankgcn.bench, name, replace(protocol, turn_seconds=0.0))


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bench", *arguments])


def test_the_command_writes_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    result = bench("--cases", "enzymes", "--repetitions", "1", "--json", str(file))
    assert result.exit_code == 0, result.output
    assert "ENZYMES: one training epoch" in result.output
    assert "note: generated" in result.output
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80  # the last line names the file
    values = json.loads(file.read_text())
    (case,) = values["cases"]
    assert set(case["peers"]) == {peer_name(model) for model in PLAIN_CONVS}
    assert set(case["models"]) == set(PLAIN_CONVS)
    for row in case["models"].values():
        assert set(row) == {"ours_s", "pyg_s", "ratio", "gemm_s", "gemm_ratio"}
        assert row["ratio"] == row["pyg_s"] / row["ours_s"]
        assert row["gemm_ratio"] == row["ours_s"] / row["gemm_s"]
    assert case["models"]["bank"]["ours_s"] == case["ours_s"]
    assert {"load_s", "batching_s", "notes", "seconds", "gemm_s", "ratios"} <= set(case)
    assert values["machine"]["threads"] == 1
    assert values["protocol"]["quick"] is False


def test_a_quick_look_says_so_and_takes_few_steps() -> None:
    result = bench("--quick", "--models", "bank,mlp", "--json", "-")
    assert result.exit_code == 0, result.output
    assert "A quick look (steps in an epoch: at most 6; timed turns: 3)" in result.stderr
    assert "NCI1: an epoch of 6 training steps, a quick look" in result.stderr
    values = json.loads(result.stdout)
    assert [case["name"] for case in values["cases"]] == ["NCI1", "ENZYMES"]
    assert [case["steps"] for case in values["cases"]] == [6, 2]  # ENZYMES has 30 graphs, in two batches
    assert all(set(case["models"]) == {"bank", "mlp"} for case in values["cases"])
    assert values["protocol"]["quick"] is True


def test_what_is_typed_changes_a_quick_look() -> None:
    result = bench(
        *("--quick", "--cases", "NCI1", "--max-steps", "3", "--repetitions", "1", "--models", "mlp,mlp", "--json", "-")
    )
    (case,) = json.loads(result.stdout)["cases"]
    assert case["steps"] == 3
    assert case["seconds"].keys() == {"ours MLP", "PyG MLP", "matrix products"}
    assert all(len(times) == 1 for times in case["seconds"].values())


def test_figures_on_standard_output_have_it_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(console: Console, progress: object, name: str, *_: object) -> dict[str, str]:
        console.print(f"{name}: one training epoch")
        return {"name": name}

    monkeypatch.setattr(sys.modules["bankgcn.cli.bench"], "_bench_case", measured)
    result = bench("--cases", "enzymes", "--json", "-")
    assert json.loads(result.stdout)["cases"] == [{"name": "ENZYMES"}]
    assert "ENZYMES: one training epoch" in result.stderr


def test_an_interrupt_ends_the_command_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bankgcn.bench, "measure_case", interrupted)
    result = bench("--quick", "--json", str(tmp_path / "bench.json"))
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "interrupted"
    assert not (tmp_path / "bench.json").exists()


def test_an_unknown_case_is_named() -> None:
    result = bench("--cases", "NCI2")
    assert result.exit_code == 1
    assert "unknown case 'NCI2'" in result.output


def test_an_unknown_model_is_named() -> None:
    result = bench("--models", "bank,gcm")
    assert result.exit_code == 1
    assert "unknown model 'gcm', expected one of bank, gcn" in result.output
    assert "did you mean 'gcn'?" in result.output


def test_empty_lists_of_names_are_refused() -> None:
    for option in ("--cases", "--models"):
        result = bench(option, ",")
        assert result.exit_code == 1
        assert f"{option} ',': expected names, separated by commas" in result.output
