"""MUTAG inside the package is MUTAG."""

from __future__ import annotations

import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.builtin import MUTAG_ATOMS, MUTAG_BONDS, mutag


def test_mutag_has_its_published_statistics() -> None:
    graphs = mutag()
    assert len(graphs) == 188
    assert round(graphs.num_nodes.mean(), 2) == 17.93
    assert round(graphs.num_edges.mean(), 2) == 19.79
    assert graphs.num_features == 7
    assert graphs.classes == ("-1", "1")
    assert np.bincount(graphs.y).tolist() == [63, 125]
    assert graphs.notes == ()  # nothing had to be repaired


def test_mutag_takes_a_few_kilobytes() -> None:
    assert len(files("bankgcn.data.builtin").joinpath("mutag.npz").read_bytes()) < 5_000


def test_every_compound_of_mutag_has_a_nitro_group() -> None:
    """Chemistry as oracle: they are nitro compounds, so somewhere a nitrogen has two oxygens for neighbours."""
    graphs = mutag()
    atoms = np.array(MUTAG_ATOMS)[graphs.labels[:, 0]]
    bonds = np.array(MUTAG_BONDS)[graphs.edge_labels[:, 0]]
    row = np.repeat(np.arange(len(atoms)), graphs.degree)
    first_atom = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    col = graphs.neighbor + first_atom
    to_oxygen = (atoms[row] == "N") & (atoms[col] == "O") & np.isin(bonds, ["single", "double"])
    oxygens = np.bincount(row[to_oxygen], minlength=len(atoms))
    nitro = np.add.reduceat(oxygens == 2, graphs.node_ptr[:-1])
    assert (nitro >= 1).all()


@pytest.mark.datasets("TU/MUTAG.zip")
def test_mutag_equals_the_original_files_graph_by_graph(data_root: Path) -> None:
    original = _read_tu(data_root / "TU" / "MUTAG.zip")
    graphs = mutag()
    batch = graphs.batch()
    bonds = {
        (int(i), int(j), int(label)) for (i, j), label in zip(batch.edge_index.T, graphs.edge_labels[:, 0], strict=True)
    }
    assert bonds == {
        (i - 1, j - 1, label) for (i, j), label in zip(original["A"], original["edge_labels"], strict=True)
    }
    assert graphs.labels[:, 0].tolist() == original["node_labels"].tolist()
    assert (batch.batch.numpy() + 1).tolist() == original["graph_indicator"].tolist()
    assert [int(graphs.classes[y]) for y in graphs.y] == original["graph_labels"].tolist()


def _read_tu(path: Path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as archive:
        members = {name.rsplit("MUTAG_")[-1].removesuffix(".txt"): name for name in archive.namelist()}
        names = ("A", "edge_labels", "node_labels", "graph_indicator", "graph_labels")
        return {
            name: np.loadtxt(archive.read(members[name]).decode().splitlines(), dtype=int, delimiter=",")
            for name in names
        }
