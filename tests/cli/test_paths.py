"""Paths that would cost a user something: an output that is an input, links without an end, names that are no text."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.cli.output import check_not_input
from bankgcn.cli.settings import MAX_NAME, Settings

Command = Callable[..., tuple[int, str, str]]

TABLE = "smiles,y\n" + "".join(f"{'C' * (n % 7 + 1)}O,{n % 7}.5\n" for n in range(40))
SMALL = ("--epochs", 1, "--hidden", 8, "--layers", 1)
LINKS: dict[str, Callable[[Path, Path], object]] = {
    "itself": lambda file, out: None,
    "symbolic": lambda file, out: out.symlink_to(file),
    "hard": lambda file, out: out.hardlink_to(file),
}


@pytest.fixture
def own_run(command: Command, folder: Path) -> Path:
    """A run on a table of molecules."""
    (folder / "own.csv").write_text(TABLE)
    code, _, err = command("train", "own.csv", *SMALL, "--out", "run")
    assert code == 0, err
    return folder / "run"


WRITING = [
    (("predict", "run", "own.csv", "--out"), ".csv"),
    (("predict", "run", "--part", "test", "--out"), ".csv"),
    (("embed", "run", "own.csv", "--out"), ".csv"),
    (("explain", "run", "own.csv", "--out"), ".csv"),
    (("evaluate", "run", "own.csv", "--json"), ".csv"),
    (("report", "run", "--out"), ".html"),
    (("paper", "figure", "run", "--out"), ".svg"),
    (("compare", "own.csv", "--out"), ".csv"),
    (("export", "run", "--onnx"), ".onnx"),
]


@pytest.mark.parametrize(
    ("words", "suffix", "link"),
    [(*case, link) for case in WRITING for link in LINKS if link != "itself" or case[1] == ".csv"],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_an_output_never_replaces_the_graphs(
    command: Command, own_run: Path, folder: Path, words: tuple, suffix: str, link: str
) -> None:
    out = folder / "own.csv" if link == "itself" else folder / f"link{suffix}"
    LINKS[link](folder / "own.csv", out)
    code, _, err = command(*words, out)
    assert code == 1
    assert "which this command reads: name another file to write" in err
    assert (folder / "own.csv").read_text() == TABLE
    assert out.read_text() == TABLE


@pytest.mark.parametrize("file", ["record.json", "split.json", "history.csv", "model.safetensors", "config.toml"])
def test_an_output_never_replaces_a_file_of_the_run(command: Command, own_run: Path, file: str) -> None:
    before = (own_run / file).read_bytes()
    code, _, err = command("evaluate", "run", "own.csv", "--json", own_run / file)
    assert code == 1
    assert f"{file}, which this command reads" in err
    assert (own_run / file).read_bytes() == before


def test_an_older_output_is_replaced(command: Command, own_run: Path, folder: Path) -> None:
    for out in ("predictions.csv", "run/predictions.csv"):
        for _ in range(2):
            assert command("predict", "run", "own.csv", "--out", out)[0] == 0
    assert len((folder / "predictions.csv").read_text().splitlines()) == 41


def test_a_file_among_the_graphs_of_a_folder_is_an_input(folder: Path) -> None:
    (folder / "graphs").mkdir()
    for number in range(3):
        (folder / "graphs" / f"{number}.json").write_text('{"nodes": [{"id": 0}], "edges": []}')
    with pytest.raises(ValueError, match=r"1\.json, which this command reads"):
        check_not_input(folder / "graphs" / "1.json", sources=["graphs"])
    (folder / "graphs" / "explanations.csv").touch()  # an older output, which no reader of the folder reads
    check_not_input(folder / "graphs" / "explanations.csv", sources=["graphs"])


def test_records_are_inputs_and_their_verification_is_none(command: Command, folder: Path) -> None:
    records = Path(__file__).parents[1] / "records_v010" / "store"
    shutil.copytree(records, folder / "store")
    file = next((folder / "store").glob("*.json"))
    before = file.read_bytes()
    for words in (("paper", "table", "table1", "--store", "store", "--out"), ("paper", "verify", "store", "--json")):
        code, _, err = command(*words, file)
        assert code == 1
        assert "which this command reads" in err
    assert file.read_bytes() == before
    (folder / "store" / "verify.json").touch()
    check_not_input(folder / "store" / "verify.json", store=folder / "store")


def test_an_empty_name_is_not_the_current_folder(command: Command, own_run: Path) -> None:
    for words in (("train", ""), ("predict", "run", ""), ("data", "describe", "")):
        code, _, err = command(*words)
        assert code == 1
        assert "the name of the graphs is empty" in err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("train", "--out", ""), "--out"),
        (("train", "--out="), "--out"),
        (("train", "--config", ""), "--config"),
        (("tune", "--out", ""), "--out"),
        (("compare", "--store", ""), "--store"),
        (("compare", "--out", ""), "--out"),
        (("predict", "run", "own.csv", "--out", ""), "--out"),
        (("predict", "", "own.csv"), "RUN"),
        (("evaluate", "run", "--json", ""), "--json"),
        (("report", "run", "--out", ""), "--out"),
        (("data", "describe", "MUTAG", "--data-root", ""), "--data-root"),
    ],
)
def test_an_empty_output_is_not_the_current_folder(
    command: Command, folder: Path, words: tuple[str, ...], name: str
) -> None:
    code, out, err = command(*words)
    assert (code, out) == (1, "")
    assert err == f"error: {name} is empty: expected the name of a file or folder; . is the current folder\n"
    assert not list(folder.iterdir())


def test_the_current_folder_can_be_named(command: Command, folder: Path) -> None:
    code, _, err = command("train", *SMALL, "--out", ".")
    assert code == 0, err
    assert (folder / "record.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("train", "loop"),
        ("train", "--out", "loop"),
        ("train", "--config", "loop"),
        ("tune", "--out", "loop", "--trials", 1),
        ("predict", "run", "loop"),
        ("predict", "run", "own.csv", "--out", "loop.csv"),
        ("evaluate", "run", "own.csv", "--json", "loop"),
    ],
    ids=lambda words: "-".join(map(str, words)),
)
def test_a_symbolic_link_to_itself_is_an_error_with_its_name(command: Command, own_run: Path, words: tuple) -> None:
    for name in ("loop", "loop.csv"):
        Path(name).symlink_to(name)
    code, _, err = command(*words)
    assert code == 1
    assert "loop" in err
    assert "symbolic link" in err


def test_names_that_are_not_text_are_named_with_escapes(command: Command, own_run: Path, folder: Path) -> None:
    name = os.fsdecode(b"\xff.csv")
    (folder / name).write_text(TABLE)
    for words in (("train", name), ("train", "own.csv", "--test", name), ("train", "own.csv", "--out", name[0])):
        code, _, err = command(*words)
        assert code == 1
        assert r"\udcff" in err
        assert "the name is not in UTF-8: rename it" in err
    out = os.fsdecode(b"\xff-out.csv")
    code, said, err = command("predict", "run", name, "--out", out)
    assert code == 0, err
    assert r"\udcff-out.csv" in said
    assert (folder / out).exists()


def test_names_of_255_bytes_work_and_longer_ones_are_refused(command: Command, own_run: Path, folder: Path) -> None:
    for letter, count in (("a", 251), ("\N{LATIN SMALL LETTER U WITH DIAERESIS}", 125)):
        source = f"{letter * count}.csv"
        (folder / source).write_text(TABLE)
        code, _, err = command("predict", "run", source, "--out", f"{source[1:-4]}x.csv")
        assert code == 0, err
        code, _, err = command("train", source, *SMALL)  # in a folder that is called after it
        assert code == 0, err
    assert len(list((folder / "runs").iterdir())) == 2
    code, _, err = command("predict", "run", "own.csv", "--out", "a" * 252 + ".csv")
    assert code == 1
    assert "File name too long" in err


def test_the_name_of_a_run_fits_a_file_system(folder: Path) -> None:
    name = Settings.resolve({"source": "\N{OLD ITALIC LETTER A}" * 60}).name
    assert 0 < len(name.encode()) <= MAX_NAME
