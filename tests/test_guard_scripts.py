"""The scripts that guard a change of the package find differences, and count."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def comparing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("compare_checkouts")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("count_modules")


def written(folder: Path, **changes: float) -> Path:
    """The files of a description as a checkout writes them."""
    (folder / "run").mkdir(parents=True)
    values = {"seconds": 1.0, "loss": 0.5, "tensor": 1.0, "cell": 0.25} | changes
    record = {"seconds": values["seconds"], "config": {"losses": [0.1, values["loss"]]}}
    (folder / "run" / "record.json").write_text(json.dumps(record))
    (folder / "run" / "history.csv").write_text(f"number,loss\n1,0.5\n2,{values['cell']}\n")
    np.savez(folder / "tensors.npz", weight=np.array([0.0, values["tensor"]]))
    (folder / "result.json").write_text(json.dumps({"codes": [0]}))
    (folder / "step0.err").write_text(f"done in {values['seconds']} s\n")
    return folder


def test_runs_that_differ_in_times_alone_are_equal(comparing: ModuleType, tmp_path: Path) -> None:
    old, new = written(tmp_path / "old"), written(tmp_path / "new", seconds=2.0)
    assert list(comparing.differences(old, new)) == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("loss", 0.75, "run/record.json: config.losses[1] was 0.5, is 0.75"),
        ("tensor", 1.5, "tensors.npz: weight differs by up to 5.0e-01"),
        ("cell", 0.5, "run/history.csv: 1 of 2 rows differ by up to 2.5e-01, first row 2: 0.25 became 0.5"),
    ],
)
def test_a_difference_is_named_by_file_and_field(
    comparing: ModuleType, tmp_path: Path, name: str, value: float, message: str
) -> None:
    old, new = written(tmp_path / "old"), written(tmp_path / "new", **{name: value})
    assert list(comparing.differences(old, new)) == [message]


def test_a_file_of_one_checkout_and_a_failure_are_differences(comparing: ModuleType, tmp_path: Path) -> None:
    old, new = written(tmp_path / "old"), written(tmp_path / "new")
    (new / "run" / "notes.txt").touch()
    (new / "result.json").write_text(json.dumps({"codes": [1]}))
    (new / "step0.err").write_text("error: no\n")
    assert list(comparing.differences(old, new)) == [
        "exit codes [0] and [1] (error: no)",
        "run/notes.txt: only new writes it",
    ]


def test_every_description_has_a_name_and_a_source_of_its_own(comparing: ModuleType, tmp_path: Path) -> None:
    comparing.write_sources(tmp_path)
    names = [row.name for row in comparing.DESCRIPTIONS]
    assert len(set(names)) == len(names) >= 40
    for row in comparing.DESCRIPTIONS:
        source = row.stdin or row.flags.split()[0]
        assert row.dataset or source in ("MUTAG", "saved.graphs") or (tmp_path / source).exists(), row.name


def test_modules_lines_and_signatures_are_counted(counting: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "one.py").write_text("def f(data_root, *, group=None):\n    pass\n")
    (tmp_path / "data" / "two.py").write_text("x = 1\n" * 298 + "def g(self, data_root):\n    pass\n")
    counts = counting.count_lines(tmp_path)
    assert counts["folders"]["all"] == {"modules": 2, "lines": 302, "lines_in_large": 300}
    assert counts["folders"]["data"]["modules"] == counts["folders"]["(root)"]["modules"] == 1
    assert counting.count_signatures(tmp_path) == {"data_root": 2, "group": 1, "has_target": 0}
