"""Tables of any length: block by block, by several processes, and again after a kill; the bytes are always the same."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankgcn.data.readers import molecule_tables
from bankgcn.files import row_blocks
from bankgcn.training.ensemble import Ensemble
from csv_rows import rows
from deadly_jobs import deadly

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


def killed_before(number: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that kills itself before its file operation of this number; whether it was killed."""
    child = os.fork()
    if not child:
        calls, real = [0], os.fsync

        def counted(file: int) -> None:
            calls[0] += 1
            if calls[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)
            real(file)

        os.fsync = counted
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_killed_command_goes_on_and_ends_with_the_same_bytes_and_scores(
    command: Command, library: Path, small_blocks: None, ending: str
) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    table = f"p{ending}"
    words = ("predict", "r", library, "--target", "size", "--workers", 2)
    bytes_, said, notes = written(command, *words, out=table)
    assert "RMSE" in said
    Path(table).unlink()
    kills = [killed_before(6, lambda: command(*words, "--out", table)) for _ in range(2)]
    assert kills == [True, True]
    assert not Path(table).exists()
    assert Path(f"{table}.journal").read_text().count('"noted"') >= 3
    code, _, err = command(*words, "--out", table, "--no-calibrate")
    assert (code, f"{table}.partial: holds the first rows of another command (calibrate: True, now False)" in err) == (
        1,
        True,
    )
    assert "start again by --overwrite" in err
    assert written(command, *words, out=table) == (bytes_, said, notes)
    assert not list(library.parent.glob("*.journal"))
    assert killed_before(6, lambda: command(*words, "--out", table))
    assert Path(table).read_bytes() == bytes_  # the finished one stays until the next is finished
    assert written(command, *words, "--no-calibrate", "--overwrite", out=table)[0] == bytes_  # values have none


def test_rows_of_another_model_or_another_file_are_not_mixed(
    command: Command, library: Path, small_blocks: None
) -> None:
    words = ("predict", "r", library, "--out", "p.csv")
    assert killed_before(6, lambda: command(*words))
    assert command("train", "own.csv", *QUICK, "--seed", 1, "--out", "other")[0] == 0
    code, _, err = command("predict", "other", library, "--out", "p.csv")
    assert (code, "holds the first rows of another command (models: " in err) == (1, True)
    library.write_text(library.read_text().replace("CCO", "CCS"))
    code, _, err = command(*words)
    assert (code, "new.csv: the first 12 rows are not those that were predicted before: start again" in err) == (
        1,
        True,
    )
    assert command(*words, "--overwrite")[0] == 0
    assert len(rows(Path("p.csv"))) == 35


def test_a_molecule_that_kills_its_process_is_an_unreadable_row(
    command: Command, library: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(command, "predict", "r", library, out="p.csv")
    expected = rows(Path("p.csv"))
    monkeypatch.setattr(molecule_tables, "parse_smiles", deadly)
    assert "3 of 35 rows could not be read" in written(command, "predict", "r", library, out="p.csv")[2]
    found = rows(Path("p.csv"))
    differing = [(one, other) for one, other in zip(found, expected, strict=True) if one != other]
    assert [one["smiles"] for one, _ in differing] == ["CCCCCCO"]
    assert differing[0][0]["predicted_size"] == ""
    assert differing[0][0]["unreadable"] == "the process that read it was killed by SIGSEGV"


def test_a_full_disk_keeps_what_is_there(
    command: Command, library: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = written(command, "predict", "r", library, out="p.csv")
    Path("p.csv").unlink()
    with monkeypatch.context() as full:
        left = [6]

        def fsync(file: int, real: Callable[[int], None] = os.fsync) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(file)

        full.setattr(os, "fsync", fsync)
        code, _, err = command("predict", "r", library, "--out", "p.csv")
    assert (code, Path("p.csv").exists()) == (1, False)
    assert "p.csv.partial: No space left on device" in err
    assert "note: p.csv.partial keeps the rows so far: the same command goes on; --overwrite starts again" in err
    assert written(command, "predict", "r", library, out="p.csv") == expected


def test_a_quoted_cell_without_end_is_named_and_what_came_before_is_kept(
    command: Command, library: Path, small_blocks: None
) -> None:
    whole = library.read_text()
    library.write_text(whole + '"m35","CCO,1,x\n')
    code, _, err = command("predict", "r", library, "--out", "p.csv")
    assert code == 1
    assert f"{library}:37: cannot be read as a table: unexpected end of data" in err
    assert "p.csv.partial keeps the rows so far" in err
    library.write_text(whole)  # the rows that were predicted are the same, so the command goes on
    assert command("predict", "r", library, "--out", "p.csv")[0] == 0
    assert len(rows(Path("p.csv"))) == 35


def test_an_error_in_the_second_block_leaves_the_first(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = written(command, "predict", "r", library, out="p.csv")[0]
    Path("p.csv").unlink()
    whole = library.read_text()
    library.write_text(whole + "m35\n")
    in_blocks(monkeypatch, 30)
    code, _, err = command("predict", "r", library, "--out", "p.csv")
    assert (code, f"{library}:37: has 1 cell(s) where the header has 4" in err) == (1, True)
    assert Path("p.csv.partial").read_bytes() == b"".join(expected.splitlines(keepends=True)[:31])
    library.write_text(whole)
    assert written(command, "predict", "r", library, out="p.csv")[0] == expected
    in_blocks(monkeypatch, 1000)
    library.write_text(whole + "m35\n")  # a source of one block leaves nothing
    assert command("predict", "r", library, "--out", "q.csv")[0] == 1
    assert not list(library.parent.glob("q.csv*"))


def test_a_file_that_changes_while_it_is_read_is_an_error(
    command: Command, library: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Ensemble.apply

    def apply(*arguments: Any, **options: Any) -> Any:
        with library.open("a") as file:
            file.write("x,CC,1,y\n")
        return real(*arguments, **options)

    monkeypatch.setattr(row_blocks, "ROWS", 2)
    monkeypatch.setattr(Ensemble, "apply", apply)
    code, _, err = command("predict", "r", library, "--out", "p.csv", "--workers", 1)
    assert (code, "new.csv: changed while it was read" in err) == (1, True)
    assert not Path("p.csv").exists()


def test_standard_output_gets_the_bytes_of_the_file(command: Command, library: Path, small_blocks: None) -> None:
    expected = written(command, "predict", "r", library, out="p.csv")[0]
    code, out, _ = command("predict", "r", library, "--out", "-")
    assert (code, out.encode()) == (0, expected)


def test_arrays_are_written_block_by_block_as_numpy_writes_them(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = written(command, "embed", "r", library, out="e.npy")
    table = np.load("e.npy", allow_pickle=False)
    assert np.isnan(table).all(axis=1).sum() == 2
    np.save("same.npy", table)
    assert Path("same.npy").read_bytes() == expected[0]
    in_blocks(monkeypatch, 6)
    assert written(command, "embed", "r", library, out="e.npy") == expected


def test_evaluate_gives_the_same_figures_block_by_block(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = command("evaluate", "r", library, "--target", "size", "--skip-unreadable")
    in_blocks(monkeypatch, 6)
    code, out, err = command("evaluate", "r", library, "--target", "size", "--skip-unreadable", "--workers", 2)
    assert (code, out) == expected[:2]
    assert "rows have no graph or no target" in err


def test_intervals_and_nearness_are_the_same_in_blocks(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("train", "own.csv", *QUICK, "--ratios", "4,3,3", "--out", "i")[0] == 0
    words = ("predict", "i", library, "--interval", 0.8, "--domain", "--keep", "id")
    expected = written(command, *words, out="p.csv")
    in_blocks(monkeypatch, 6)
    assert written(command, *words, out="p.csv") == expected


@pytest.fixture
def parts(library: Path) -> Path:
    """The same molecules in three files of a folder, with the columns in another order in the second."""
    folder, table = library.with_name("parts"), rows(library)
    folder.mkdir()
    for number, part in enumerate((table[:13], table[13:14], table[14:])):
        names = ["size", "note", "smiles", "id"] if number == 1 else list(part[0])
        lines = [",".join(names), *(",".join(f'"{row[name]}"' for name in names) for row in part)]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("source", ["parts", "parts/*.csv", "pa*/[0-9].csv"])
def test_files_are_predicted_in_order_as_one_table_with_their_names(
    command: Command, library: Path, parts: Path, small_blocks: None, source: str
) -> None:
    _, said, _ = written(command, "predict", "r", library, "--target", "size", out="p.csv")
    assert written(command, "predict", "r", source, "--target", "size", out="q.csv")[1] == said.replace(
        "p.csv", "q.csv"
    )
    one, several = rows(Path("p.csv")), rows(Path("q.csv"))
    assert [row.pop("file") for row in several] == ["parts/0.csv"] * 13 + ["parts/1.csv"] + ["parts/2.csv"] * 21
    assert several == one
    assert list(several[0]) == list(one[0])
    assert command("evaluate", "r", source, "--target", "size", "--skip-unreadable")[0] == 0
    Path("q.csv").unlink()
    words = ("predict", "r", source, "--target", "size", "--out", "q.csv")
    assert killed_before(8, lambda: command(*words))
    assert command(*words)[0] == 0
    assert [{**row, "file": ""} for row in rows(Path("q.csv"))] == [{**row, "file": ""} for row in one]


def test_a_file_without_a_column_is_named_before_any_work(
    command: Command, library: Path, parts: Path, small_blocks: None
) -> None:
    (parts / "2.csv").write_text("smiles,id,more\nCC,x,1\n")
    code, _, err = command("predict", "r", "parts")
    assert (code, "parts/2.csv: has no column 'size', which parts/0.csv has: the files need the same" in err) == (
        1,
        True,
    )
    code, _, err = command("predict", "r", "parts", "--keep", "smiles,id", "--out", "p.csv")
    assert code == 0, err
    assert list(rows(Path("p.csv"))[0]) == ["file", "smiles", "id", "predicted_size", "unreadable"]
    (parts / "2.csv").write_text("smiles,id,size,note,more\nCC,x,1,2,3\n")
    code, _, err = command("predict", "r", "parts")
    assert (code, "parts/2.csv: has a column 'more', which parts/0.csv has not" in err) == (1, True)
    code, _, err = command("predict", "r", "*.nothing")
    assert (code, "no file has a name like '*.nothing'" in err) == (1, True)
    code, _, err = command("explain", "r", "parts/*.csv")
    assert (code, "stands for 3 files, and this command reads one" in err) == (1, True)
    code, _, err = command("predict", "r", "parts", "--out", "parts/1.csv")
    assert (code, "parts/1.csv is an input" in err or "which this command reads" in err) == (1, True)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".csv.gz"])
def test_the_best_rows_are_those_of_the_whole_table_sorted(
    command: Command, library: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    written(command, "predict", "r", library, out="p.csv")
    all_rows = [{"row": str(row), **one} for row, one in enumerate(rows(Path("p.csv"))) if one["predicted_size"]]
    for one in all_rows:
        del one["unreadable"]
    for flags, sign in (((), -1), (("--lowest",), 1)):
        key = [(sign * float(one["predicted_size"]), int(one["row"])) for one in all_rows]
        expected = [one for _, one in sorted(zip(key, all_rows, strict=True), key=lambda pair: pair[0])][:9]
        for size in (1000, 6, 11):
            in_blocks(monkeypatch, size)
            _, said, _ = written(command, "predict", "r", library, "--best", 9, *flags, out=f"b{ending}")
            assert said == f"the best 9 of 33 predictions are in b{ending}\n"
            text = Path(f"b{ending}").read_bytes()
            text = gzip.decompress(text) if ending == ".csv.gz" else text
            if ending == ".jsonl":
                found = [{name: str(cell) for name, cell in json.loads(line).items()} for line in text.splitlines()]
            else:
                found = list(csv.DictReader(io.StringIO(text.decode())))
            assert found == expected


def test_equal_rows_keep_their_order_and_a_killed_ranking_goes_on(
    command: Command, library: Path, small_blocks: None
) -> None:
    library.write_text("smiles\n" + "CCO\nCCN\nCCCCCCCCCO\n" * 8)
    words = ("predict", "r", library, "--best", 10, "--out", "b.csv")
    assert command(*words)[0] == 0
    expected = Path("b.csv").read_bytes()
    best = rows(Path("b.csv"))
    assert len({row["predicted_size"] for row in best[:8]}) == 1
    assert [int(row["row"]) for row in best] == sorted(int(row["row"]) for row in best[:8]) + [
        int(row["row"]) for row in best[8:]
    ]
    Path("b.csv").unlink()
    assert killed_before(8, lambda: command(*words))
    assert command(*words)[0] == 0
    assert Path("b.csv").read_bytes() == expected


def test_a_ranking_needs_a_column_of_numbers(command: Command, library: Path) -> None:
    for flags, message in (
        (("--by", "size"), "unknown column of predictions 'size'"),
        (("--by", "predicted_sise"), "did you mean 'predicted_size'"),
    ):
        code, _, err = command("predict", "r", library, "--best", 3, *flags)
        assert (code, message in err) == (1, True), err
    code, _, err = command("predict", "r", library, "--lowest")
    assert (code, "--by and --lowest say which rows are the best: add --best K" in err) == (1, True)
    lines = [f"{one},{'ab'[n % 2]},{n % 3}" for n, one in enumerate(SMILES)]
    Path("three.csv").write_text("\n".join(["smiles,two,three", *lines]) + "\n")
    for target, named in (("two", "p_b"), ("three", None)):
        code, _, err = command("train", "three.csv", "--target", target, "--task", "classes", *QUICK, "--out", target)
        assert code == 0, err
        code, _, err = command("predict", target, library, "--best", 3, "--out", "b.csv")
        assert code == (0 if named else 1), err
        if named:
            ranks = [float(row[named]) for row in rows(Path("b.csv"))]
            assert ranks == sorted(ranks, reverse=True)
        else:
            assert "--best 3 needs --by COLUMN, because there are several predictions: p_0, p_1, p_2" in err
    code, _, err = command("predict", "two", library, "--best", 3, "--by", "predicted")
    assert (code, "the column 'predicted' holds words, which have no best" in err) == (1, True)


def test_ctrl_c_keeps_the_blocks_that_are_written(
    command: Command, library: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = written(command, "predict", "r", library, out="p.csv")
    Path("p.csv").unlink()
    real, calls = Ensemble.apply, [0]

    def apply(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Ensemble, "apply", apply)
        code, _, err = command("predict", "r", library, "--out", "p.csv")
    assert code == 130
    assert err.splitlines()[-2].startswith("note: p.csv.partial keeps the rows so far")
    assert err.splitlines()[-1] == "interrupted"
    assert written(command, "predict", "r", library, out="p.csv") == expected
