"""What CONTRIBUTING and the page on the architecture say of the code is true."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
import torch
from typer.testing import CliRunner

import bankgcn
from bankgcn.cli import app

ROOT = Path(__file__).parent.parent
PACKAGE = Path(bankgcn.__file__).parent
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SCREEN = 45  # lines
ROW = re.compile(r"^\| .+ \| `([\w/]+\.py)` \| `([\w.]+)` \|$", re.MULTILINE)
FOLDER_LINE = re.compile(r"^    ( *)(?:([\w/]+)/(?= |$)|\w+\.py)")


class Station(NamedTuple):
    """A function, as the page names it."""

    file: str
    function: str


def stations(command: str) -> list[Station]:
    """The stations of the section on a command, in their order."""
    (section,) = (part for part in ARCHITECTURE.split("\n## ") if part.startswith(f"From `bankgcn {command} "))
    return [Station(*found) for found in ROW.findall(section)]


def defined_in(file: str) -> set[str]:
    """Classes and functions of a module, and the methods of its classes."""
    names = set()
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return names


def first_calls(action: Callable[[], None]) -> list[Station]:
    """The functions of the package that an action calls, in the order of their first calls."""
    calls: dict[Station, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            calls.setdefault(Station(Path(path).relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return list(calls)


def run(*words: str) -> None:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("command", ["train", "predict"])
def test_every_station_is_there(command: str) -> None:
    assert len(stations(command)) >= 20
    for file, function in stations(command):
        assert function in defined_in(file), f"{file} has no {function}"


@pytest.mark.slow
def test_a_run_passes_the_stations_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float32)  # as for a user
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    rows = [f"{'C' * (n % 9 + 1)}O,no\nC1{'C' * (n % 9 + 2)}1,yes" for n in range(30)]
    Path("mine.csv").write_text("\n".join(["smiles,active", *rows]) + "\n")
    Path("new.csv").write_text("smiles,active\nCCCO,no\nC1CCC1,yes\n")
    small = ("--epochs", "1", "--hidden", "8", "--layers", "1")
    trained = first_calls(lambda: run("train", "mine.csv", "--target", "active", "--out", "mine", *small))
    predicted = first_calls(lambda: run("predict", "mine", "new.csv"))
    assert [call for call in trained if call in stations("train")] == stations("train")
    assert [call for call in predicted if call in stations("predict")] == stations("predict")


def test_every_module_that_the_page_and_contributing_name_is_there() -> None:
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", ARCHITECTURE + CONTRIBUTING)) - {"site/"}  # which make docs writes
    assert len(named) > 50
    for path in named:
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path


def test_the_map_fits_on_a_screen_and_names_what_is_there() -> None:
    tree = re.findall(r"(?:^    .*\n)+", CONTRIBUTING, re.MULTILINE)[1].splitlines()
    assert len(tree) <= SCREEN
    folders: list[Path] = []
    for line in tree:
        found = FOLDER_LINE.match(line)
        assert found, line
        indent, folder = found.groups()
        depth = len(indent) // 2
        if folder is not None:
            folders[depth:] = [(folders[depth - 1] if depth else ROOT) / folder]
        place = folders[depth if folder is not None else depth - 1]
        assert place.is_dir(), line
        for module in re.findall(r"\b\w+\.py\b", line):
            assert (place / module).exists(), f"{place.name} has no {module}"
    mapped = {part for line in tree for part in re.findall(r"(\w+)/(?= )", line)}
    for inner in PACKAGE.rglob("__init__.py"):
        assert inner.parent == PACKAGE or inner.parent.name in mapped, f"the map lacks {inner.parent.name}/"


def test_what_contributing_finds_in_a_module_is_defined_there() -> None:
    named = re.findall(r"`([\w.]+)` (?:in|of) `([\w/]+\.py)`", CONTRIBUTING)
    assert len(named) >= 10
    for name, path in named:
        file = PACKAGE / path if (PACKAGE / path).exists() else ROOT / path
        inner = name.rpartition(".")[2]
        defined = rf"^ *(?:def|class) {inner}\b|^{inner}\b.* = "
        assert re.search(defined, file.read_text(encoding="utf-8"), re.MULTILINE), f"{path} has no {name}"
