"""ogbg-molhiv, read from a miniature of its folder and from the real one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.options import ReadOptions
from bankgcn.data.readers.benchmark_sets import read_molhiv, scaffold_split
from bankgcn.files.checked import FileError
from refusals import refused

ATOM = "5,0,4,5,3,0,2,0,0"
FILES = {
    "raw/num-node-list": ["2", "1", "3"],
    "raw/num-edge-list": ["1", "0", "2"],
    "raw/node-feat": [ATOM, ATOM, "7,0,2,5,2,0,2,0,0", ATOM, ATOM, ATOM],
    "raw/edge": ["0,1", "0,1", "2,1"],
    "raw/graph-label": ["0", "1", "0"],
    "split/scaffold/train": ["2"],
    "split/scaffold/valid": ["0"],
    "split/scaffold/test": ["1"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in FILES.items():
        _write(tmp_path, name, lines)
    return tmp_path


def _write(folder: Path, name: str, lines: list[str]) -> None:
    path = folder / f"{name}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def test_bonds_are_counted_within_a_molecule_and_get_their_reverse(folder: Path) -> None:
    graphs = read_molhiv(folder)
    assert graphs.num_nodes.tolist() == [2, 1, 3]
    assert {tuple(edge) for edge in graphs.batch().edge_index.T.tolist()} == {
        (0, 1), (1, 0), (3, 4), (4, 3), (5, 4), (4, 5)
    }  # fmt: skip
    assert graphs.y.tolist() == [0, 1, 0]
    assert graphs.attributes[2].tolist() == [7, 0, 2, 5, 2, 0, 2, 0, 0]
    assert read_molhiv(folder, ReadOptions(features="onehot")).num_features == 174


def test_the_split_is_the_published_one(folder: Path) -> None:
    split = scaffold_split(folder, 3)
    assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == ([2], [0], [1])


@pytest.mark.parametrize(
    ("name", "lines", "line", "message"),
    [
        ("raw/num-node-list", ["2", "1"], 3, "has 3 lines, but there are 2 molecules"),
        ("raw/num-node-list", ["2", "-1", "5"], 2, "-1 is not a number"),
        ("raw/num-node-list", ["2", "2", "3"], 7, "has 6 lines, but there are 7 atoms"),
        ("raw/num-edge-list", ["1", "0", "1"], 3, "has 3 lines, but there are 2 bonds"),
        ("raw/node-feat", [ATOM] * 5 + ["5,0,4,5,3,0,2,0,2"], 6, "is in ring 2 is not among 0 to 1"),
        ("raw/node-feat", [ATOM] * 5 + ["5,0,4"], 6, r"3 value\(s\) where 9"),
        ("raw/edge", ["0,1", "0,3", "2,1"], 2, r"bond \(0, 3\) leaves molecule 2, which has 3 atoms"),
        ("raw/edge", ["0,1", "1,2", "2,1"], 3, "the bond is listed twice"),
        ("raw/edge", ["0,1", "a,2", "2,1"], 2, "'a' is not a whole number"),
        ("raw/graph-label", ["0", "nan", "0"], 2, "'nan' is not a whole number"),
        ("raw/graph-label", ["0", "2", "0"], 2, "label 2 is neither 0 nor 1"),
        ("raw/graph-label", ["0", "1"], 3, "has 2 lines, but there are 3 molecules"),
    ],
)
def test_a_contradiction_is_told_with_file_and_line(
    folder: Path, name: str, lines: list[str], line: int, message: str
) -> None:
    _write(folder, name, lines)
    with pytest.raises(FileError, match=message) as caught:
        read_molhiv(folder)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), r"edge\.csv\.gz: cannot be opened: No such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be unpacked"),
        (lambda path: path.write_bytes(b"0,1\n"), "cannot be unpacked: Not a gzipped file"),
        (lambda path: path.write_bytes(gzip.compress(b"")), "is empty"),
    ],
)
def test_a_damaged_file_is_told(folder: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(folder / "raw" / "edge.csv.gz")
    with pytest.raises(FileError, match=message):
        read_molhiv(folder)


def test_a_split_of_other_molecules_is_refused(folder: Path) -> None:
    with refused(FileError, "molecule 2", at="train.csv.gz:1"):
        scaffold_split(folder, 2)
    _write(folder, "split/scaffold/valid", ["2"])
    with refused(FileError, "graph 2", at="split/scaffold"):
        scaffold_split(folder, 3)


@pytest.mark.datasets("ogbg_molhiv")
def test_the_real_molhiv_has_its_published_statistics(data_root: Path) -> None:
    folder = data_root / "ogbg_molhiv"
    graphs = read_molhiv(folder)
    assert len(graphs) == 41_127
    assert round(graphs.num_nodes.mean(), 2) == 25.51
    assert round(graphs.num_edges.mean(), 2) == 27.47
    assert graphs.num_features == 9
    assert np.bincount(graphs.y).tolist() == [39_684, 1_443]
    assert graphs.notes == ()
    split = scaffold_split(folder, len(graphs))
    assert [len(split.train), len(split.valid), len(split.test)] == [32_901, 4_113, 4_113]
