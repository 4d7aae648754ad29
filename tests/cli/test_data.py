"""``bankgcn data``, as a user sees it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.data.catalog import DataFolders

FILES = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n", "node_labels": "0\n1\n1\n"}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for part, text in FILES.items():
            archive.writestr(f"{name}/{name}_{part}.txt", text)
    return path


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_list_names_every_dataset_and_whether_it_is_here(root: Path) -> None:
    write(root / "TU" / "DD.zip", "DD")
    code, out, _ = run("list", "--data-root", root)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert " yes " in lines["DD"]
    assert " to fetch " in lines["NCI1"]
    assert " built in " in lines["MUTAG"]
    assert "stand-in" in lines["FRANKENSTEIN-rebuilt"]


def test_describe_flags_what_differs_from_the_paper(root: Path) -> None:
    path = write(root / "TU" / "NCI1.zip", "NCI1")
    code, out, _ = run("describe", "nci1", "--data-root", root)
    assert code == 0
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["graphs"] == ["graphs", "2", "4,110", "differs"]
    assert rows["mean nodes"] == ["mean", "nodes", "1.50", "29.87", "differs"]
    assert rows["classes"] == ["classes", "2", "2"]
    assert "one-hot node labels" in out
    assert "stratified 8:1:1" in out
    assert str(path) in out
    assert "DIFFERS from the official file" in out
    assert "fingerprint  2-3-1-" in out


@pytest.mark.datasets("TU/ENZYMES.zip")
def test_describe_shows_the_paper_beside_real_data(data_root: Path) -> None:
    code, out, _ = run("describe", "ENZYMES", "--data-root", data_root)
    assert code == 0
    assert "differs" not in out
    assert "matches the official file" in out


def test_describe_a_stand_in_says_so_and_shows_no_paper(root: Path) -> None:
    with zipfile.ZipFile(root / "FRANKENSTEIN-rebuilt.zip", "w") as archive:
        for part, text in {**FILES, "node_attributes": "1\n2\n3\n"}.items():
            archive.writestr(f"FRANKENSTEIN-rebuilt_{part}.txt", text)
    for source in ("FRANKENSTEIN-rebuilt", root / "FRANKENSTEIN-rebuilt.zip"):
        code, out, _ = run("describe", source, "--data-root", root)
        assert code == 0
        assert "note: a stand-in for FRANKENSTEIN" in out
        assert "paper" not in out


def test_describe_ones_own_graphs(root: Path) -> None:
    code, out, _ = run("describe", write(root / "[bold]own.zip", "OWN"))
    assert code == 0
    assert out.startswith("OWN\n")
    assert "paper" not in out
    assert "[bold]own.zip" in out  # a name is not markup
    assert "0 numbers and 2 one-hot columns per node" in out
    assert "read as      a set in the TU format" in out


def test_describe_what_came_with_the_package() -> None:
    code, out, _ = run("describe", "MUTAG")
    assert code == 0
    assert "17.93" in out
    assert "comes with the package" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "ENZYME"], "did you mean ENZYMES?"),
        (["describe", "DD"], "bankgcn data fetch DD"),
        (["describe", "MUTAG", "--data-root", "/nowhere/at/all"], None),
        (["describe", "DD", "--data-root", "/nowhere/at/all"], "/nowhere/at/all: the data root is no folder"),
        (["describe", "MUTAG", "--target", "y"], "--target y has no meaning for MUTAG: leave it out"),
        (["fetch", "MUTAG"], "needs no download"),
        (["fetch", "nonsense"], "unknown dataset 'nonsense', expected one of"),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(arguments: list[str], message: str | None) -> None:
    code, out, err = run(*arguments)
    assert code == (0 if message is None else 1)
    if message is not None:
        assert err.startswith("error: ")
        assert message in err
        assert out == ""


def test_a_broken_file_is_named_with_its_line(root: Path) -> None:
    (root / "OWN_A.txt").write_text("1, 2\n2, x\n")
    (root / "OWN_graph_indicator.txt").write_text("1\n1\n")
    code, _, err = run("describe", root)
    assert code == 1
    assert err.endswith("OWN_A.txt:2: 'x' is not a whole number\n")


def test_missing_reverses_are_added_on_request(root: Path) -> None:
    (root / "OWN_A.txt").write_text("1, 2\n")
    (root / "OWN_graph_indicator.txt").write_text("1\n1\n")
    code, _, err = run("describe", root)
    assert code == 1
    assert "--symmetrise adds them" in err
    code, out, _ = run("describe", root, "--symmetrise")
    assert code == 0
    assert "1 edges had no reverse" in out


def test_an_interrupt_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bankgcn.data.sources.find_source", interrupt)
    code, _, err = run("describe", "MUTAG")
    assert code == 130
    assert "Traceback" not in err


def test_fetch_tells_where_the_file_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(name: str, folders: DataFolders, progress: object) -> Path:
        assert folders == DataFolders(root)
        assert callable(progress)
        progress(10, None)
        progress(20, 20)
        return root / "x.zip"

    monkeypatch.setattr("bankgcn.data.sources.fetch_dataset", fake)
    code, out, _ = run("fetch", "DD", "--data-root", root)
    assert code == 0
    assert out == f"DD is at {root / 'x.zip'}\n"


def test_it_runs_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "bankgcn", "data", "fetch", "nonsense"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.startswith("error: unknown dataset 'nonsense'")
    assert "Traceback" not in result.stderr
