"""``bankgcn compare``, as a user sees it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.cli import sweep
from bankgcn.data.builtin import mutag
from bankgcn.data.readers.json_graphs import write_jsonlines

Command = Callable[..., tuple[int, str, str]]

TINY = ("--epochs", 1, "--hidden", 8, "--layers", 1, "--weight-decays", "0", "--gammas", "0,10")
SERIAL = ("--engine", "serial")


def write_table(path: Path, rows: int = 40) -> Path:
    """Molecules with a class, a value, and two labels."""
    lines = [f"{'C' * (1 + n % 7)}{'NO'[n % 2]},{'ab'[n % 2]},{n % 7}.5,{n % 2},{n % 3 % 2}" for n in range(rows)]
    path.write_text("\n".join(["smiles,kind,size,first,second", *lines]) + "\n")
    return path


def times(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in store.glob("*.json")}


def test_a_dataset_from_end_to_end_and_its_table_from_the_store_alone(command: Command, folder: Path) -> None:
    code, out, err = command("compare", "mutag", "--models", "bank,mlp", "--runs", 2, *TINY, *SERIAL, "--store", "s")
    assert code == 0, err
    assert "comparison: 6 of 6 runs done" in err
    assert out.startswith("Models on MUTAG\n\nTest accuracy in %, mean ± std\n")
    assert re.search(r"BankGCN +\d+\.\d\d ± \d+\.\d\d .* 2 +reference", out)
    assert re.search(r"largest class +66.67 ± 0.00 +too few runs +2 ", out)
    before = times(folder / "s")
    assert len(before) == 6
    assert command("paper", "table", "comparison", "--store", "s") == (0, out, "")
    again = command("compare", "--store", "s", *SERIAL)
    assert again[:2] == (0, out)
    assert "from s/comparison.toml: " in again[2]
    assert times(folder / "s") == before
    more = command("compare", "--store", "s", "--models", "bank,mlp", "--runs", 3, *SERIAL)
    assert "comparison: 9 of 9 runs done" in more[2]
    assert {name: time for name, time in times(folder / "s").items() if name in before} == before
    other = command("compare", "--store", "s", "--models", "mlp", "--order", 3, *SERIAL)
    assert "order is no option of the models mlp" in other[2]
    for form in ("markdown", "latex", "csv"):
        assert "GCN" in command("paper", "table", "comparison", "--store", "s", "--format", form, "--notes")[1]


@pytest.mark.parametrize(
    ("target", "score", "baseline"),
    [("size", "Test MAE", "mean value"), ("first,second", "Test mean ROC-AUC in %", "label shares")],
)
def test_values_and_labels_of_own_data(command: Command, folder: Path, target: str, score: str, baseline: str) -> None:
    write_table(folder / "own.csv")
    options = ("--target", target, "--models", "mlp,bank", "--runs", 2, *TINY, "--ratios", "6,2,2", *SERIAL)
    code, out, err = command("compare", "own.csv", *options)
    assert code == 0, err
    assert score in out
    assert re.search(rf"{baseline} .* 2 ", out)
    assert command("paper", "table", "comparison", "--store", "comparisons/own")[1] == out


def test_a_changed_file_is_reported_and_its_records_are_not_mixed_with_others(command: Command, folder: Path) -> None:
    write_jsonlines(mutag()[:60], folder / "own.jsonl")
    options = ("--models", "mlp", "--runs", 2, *TINY, *SERIAL, "--store", "s")
    _, first, _ = command("compare", "own.jsonl", *options)
    write_jsonlines(mutag()[:90], folder / "own.jsonl")
    _, kept, _ = command("paper", "table", "comparison", "--store", "s")
    assert kept == first
    code, second, err = command("compare", "--store", "s", *SERIAL)
    assert code == 0
    assert "own.jsonl has changed since this run: the run is repeated" in err
    assert second != first
    assert len(list((folder / "s").glob("*.outdated-1"))) == 2
    assert "INCOMPLETE" not in second


def test_options_that_no_model_has_any_more_are_forgotten(command: Command, folder: Path) -> None:
    tiny = ("--runs", 1, "--epochs", 1, "--hidden", 8, "--weight-decays", "0", *SERIAL, "--store", "s")
    assert command("compare", "MUTAG", "--models", "bank", "--order", 1, "--gammas", "0", *tiny)[0] == 0
    code, _, err = command("compare", "--store", "s", "--models", "mlp", *SERIAL)
    assert code == 0, err
    assert "order" not in (folder / "s" / "comparison.toml").read_text()


def test_a_store_holds_one_dataset_with_one_split(command: Command, folder: Path) -> None:
    write_table(folder / "own.csv")
    own = ("compare", "own.csv", "--target", "kind")
    options = ("--models", "mlp", "--runs", 1, *TINY, *SERIAL, "--store", "s")
    assert command(*own, *options)[0] == 0
    for arguments, message in (
        (("compare", "MUTAG"), "s holds a comparison with source = "),
        (("compare", "own.csv", "--target", "size"), "s holds a comparison with target = kind, not size"),
        ((*own, "--ratios", "6,2,2"), "s holds a comparison with ratios = , not 6,2,2"),
    ):
        code, _, err = command(*arguments, *options)
        assert code == 1
        assert message in err
        assert "name another folder by --store" in err
    (folder / "s" / "comparison.toml").unlink()
    code, _, err = command("compare", "MUTAG", *options)
    assert code == 1
    assert "s holds records of" in err
    code, _, err = command("paper", "table", "comparison", "--store", "s")
    assert "there is no comparison; 'bankgcn compare SOURCE --store s' makes one" in err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("smiles,y\nC,a\nCC,a\nCCC,a\nCO,a\n", (), "all 4 graphs of own have the class 'a'"),
        ("", (), "own.csv: is empty"),
        ("smiles,y\n", (), "own.csv: has no molecules"),
        ("smiles,y\nC,a\nCC,b\nCCC,a\n", (), "training needs both: add graphs"),
        ("smiles,y\nC,a\nCC,b\n", ("--models", "bnk"), "unknown model 'bnk', expected one of .*did you mean 'bank'"),
        ("smiles,y\nC,a\nCC,b\n", ("--models", ","), "--models ',': expected names"),
        ("smiles,y\nC,a\nCC,b\n", ("--models", "mlp", "--order", 3), "order is no option of the models mlp"),
        ("smiles,y\nC,a\nCC,b\n", ("--gammas", "x"), "--gammas 'x': expected numbers"),
        ("smiles,y\nC,a\nCC,b\n", ("--weight-decays", "-1"), "--weight-decay -1.0"),
        ("smiles,y\nC,a\nCC,b\n", ("--format", "html"), "unknown format 'html'"),
        ("smiles,y\nC,a\nCC,b\n", ("--engine", "loc"), "unknown engine 'loc'"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(
    command: Command, folder: Path, content: str, arguments: tuple[object, ...], message: str
) -> None:
    (folder / "own.csv").write_text(content)
    code, out, err = command("compare", "own.csv", "--target", "y", "--store", "s", "--models", "mlp", *arguments)
    assert (code, out) == (1, "")
    assert re.search(message, err)
    assert not (folder / "s").exists()


def test_a_split_without_test_graphs_is_refused(command: Command) -> None:
    code, _, err = command("compare", "MUTAG", "--models", "mlp", "--ratios", "8,2,0")
    assert code == 1
    assert "no test graphs" in err


def test_options_of_the_papers_tables_are_refused_for_a_comparison(command: Command) -> None:
    code, _, err = command("paper", "table", "comparison", "--runs", 3)
    assert code == 1
    assert "comparison has its options in the store" in err


def test_ctrl_c_says_how_to_resume(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_experiment", interrupted)
    code, _, err = command("compare", "MUTAG", "--models", "mlp", *SERIAL)
    assert code == 130
    assert "the same command resumes" in err


@pytest.mark.slow
def test_killed_in_the_middle_it_repeats_no_run_that_has_a_record(tmp_path: Path) -> None:
    options = ["--models", "bank,mlp", "--runs", "5", "--weight-decays", "0", "--gammas", "0", "--epochs", "3"]
    command = [sys.executable, "-m", "bankgcn", "compare", "MUTAG", *options, "--workers", "1", "--store"]
    here = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}}
    store = tmp_path / "killed"
    with subprocess.Popen([*command, "killed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **here) as run:
        while len(times(store)) < 3:
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
    assert run.returncode == -signal.SIGKILL
    before = times(store)
    resumed = subprocess.run([*command, "killed"], capture_output=True, check=True, **here)
    assert len(before) < len(times(store)) == 10
    assert {name: written for name, written in times(store).items() if name in before} == before
    whole = subprocess.run([*command, "whole"], capture_output=True, check=True, **here)
    assert resumed.stdout == whole.stdout
