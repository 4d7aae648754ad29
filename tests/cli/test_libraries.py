"""Tables of any length: block by block, by several processes, and again after a kill; the bytes are always the same."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bankgcn.files import row_blocks
from csv_rows import rows

pytest.importorskip("rdkit")
Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 1)
SMILES = [f"{'C' * n}{end}" for n in range(1, 12) for end in ("O", "N", "Cl")]


@pytest.fixture
def library(command: Command, folder: Path) -> Path:
    """A run on molecules, and 35 molecules to predict, two of which cannot be read."""
    lines = [f"{one},{len(one)}.5" for one in SMILES]
    (folder / "own.csv").write_text("\n".join(["smiles,size", *lines]) + "\n")
    code, _, err = command("train", "own.csv", *QUICK, "--out", "r")
    assert code == 0, err
    texts = [*SMILES[:20], "oops", *SMILES[20:], ""]
    known = [f'm{n},"{one}",{n if n % 3 else ""},"a, b"' for n, one in enumerate(texts)]
    (folder / "new.csv").write_text("\n".join(["id,smiles,size,note", *known]) + "\n")
    return folder / "new.csv"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of six rows."""
    monkeypatch.setattr(row_blocks, "ROWS", 6)


def in_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(row_blocks, "ROWS", size)


def written(command: Command, *words: object, out: str) -> tuple[bytes, str, str]:
    """The file that a command writes, and what it says on both streams, without the progress."""
    code, said, err = command(*words, "--out", out)
    assert code == 0, err
    notes = [line for line in err.splitlines() if not line.startswith("reading ")]
    return Path(out).read_bytes(), said, "\n".join(notes)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".csv.gz"])
def test_blocks_and_workers_do_not_change_a_byte(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    expected = written(command, "predict", "r", library, out=f"p{ending}")
    for size, workers in ((6, 1), (6, 3), (11, 2)):
        in_blocks(monkeypatch, size)
        assert written(command, "predict", "r", library, "--workers", workers, out=f"p{ending}") == expected
    assert sorted(path.name for path in library.parent.iterdir()) == ["new.csv", "own.csv", f"p{ending}", "r"]
    if ending == ".csv.gz":
        table = gzip.decompress(expected[0]).decode()
        assert table.startswith("id,smiles,size,note,predicted_size,unreadable\nm0,CO,,")


def test_graphs_in_json_lines_are_predicted_block_by_block(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"nodes": [{"id": 0, "x": %d}], "edges": [], "graph": {%s}}\n'
    (folder / "own.jsonl").write_text("".join(line % (n, f'"height": {n}.5') for n in range(20)))
    code, _, err = command("train", "own.jsonl", "--target", "height", *QUICK, "--out", "r")
    assert code == 0, err
    graphs = [line % (n, f'"height": {n}.25' if n == 9 else '"name": "z"' if n == 15 else "") for n in range(20)]
    (folder / "new.jsonl").write_text("".join(["oops\n", *graphs]))
    expected = written(command, "predict", "r", "new.jsonl", out="p.csv")
    evaluated = command("evaluate", "r", "new.jsonl")
    for size in (4, 7):
        in_blocks(monkeypatch, size)
        assert written(command, "predict", "r", "new.jsonl", out="p.csv") == expected
        assert command("evaluate", "r", "new.jsonl")[:2] == evaluated[:2]
    assert list(rows(folder / "p.csv")[0]) == ["name", "height_true", "predicted_height", "unreadable"]


@pytest.mark.parametrize("ending", [".smi", ".tab.smi", ".sdf", ".tsv", ".csv.gz", ".csv.zip", ".parquet"])
def test_every_format_is_read_block_by_block(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    new = library.with_name(f"lib{ending}")
    write_as(library, new)
    expected = written(command, "predict", "r", new, out="p.csv")
    in_blocks(monkeypatch, 6)
    assert written(command, "predict", "r", new, out="p.csv") == expected
    assert written(command, "embed", "r", new, out="e.csv")[1].startswith("33 vectors")
    small = (library.parent / "e.csv").read_bytes()
    in_blocks(monkeypatch, 1000)
    assert written(command, "embed", "r", new, out="e.csv")[0] == small


def write_as(library: Path, path: Path) -> None:
    """The molecules in another format; some of the columns have cells in the last rows alone."""
    table = rows(library)
    if path.name.endswith(".tab.smi"):
        ends = ["\t7" if n > 30 else "" for n in range(len(table))]
        lines = [f"{row['smiles']}\t{row['id']}{end}\n" for row, end in zip(table, ends, strict=True)]
        path.write_text("".join(lines))
    elif path.suffix == ".smi":
        path.write_text("".join(f"{row['smiles'] or 'x'} {row['id']} b\n" for row in table))
    elif path.suffix == ".sdf":
        write_sd_file(table, path)
    elif path.suffix == ".tsv":
        lines = [f"{row['id']}\t{row['smiles']}\t{'x' if n == 20 else ''}\t\n" for n, row in enumerate(table)]
        path.write_text("".join(["id\tsmiles\t\t\n", *lines]))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(library.read_bytes()))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(library, "new.csv")
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {name: [row[name] or None for row in table] for name in table[0]}
        parquet.write_table(pytest.importorskip("pyarrow").table(columns), path, row_group_size=10)


def write_sd_file(table: list[dict[str, str]], path: Path) -> None:
    from rdkit.Chem import MolFromSmiles, MolToMolBlock

    with path.open("w", encoding="latin-1") as file:
        for number, row in enumerate(table):
            molecule = MolFromSmiles(row["smiles"]) if row["smiles"] not in ("", "oops") else None
            block = "nothing\n" if molecule is None else MolToMolBlock(molecule)
            late = "> <late>\né\n\n" if number > 30 else ""
            file.write(f"{row['id']}{block}> <size>\n{row['size']}\n\n{late}$$$$\n")
