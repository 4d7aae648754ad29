"""A run whose classes are decided by the features of edges: every command on its model uses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]


def write_rings(folder: Path, number: int, seed: int, edge_labels: bool = True) -> Path:
    """Rings of equal nodes in TU's format: of class 1 if the labels 1 and 2 of their edges alternate."""
    folder.mkdir()
    chance = np.random.default_rng(seed)
    columns: dict[str, list[object]] = {
        name: [] for name in ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")
    }
    for graph in range(number):
        size = 2 * int(chance.integers(3, 7))
        first = len(columns["node_labels"]) + 1
        for node in range(size):
            a, b = first + node, first + (node + 1) % size
            label = 1 + (node % 2 if graph % 2 else 2 * node // size)
            columns["A"] += [f"{a}, {b}", f"{b}, {a}"]
            columns["edge_labels"] += [label, label]
        columns["graph_indicator"] += [graph + 1] * size
        columns["node_labels"] += [0] * size
        columns["graph_labels"].append(graph % 2)
    for name, values in columns.items():
        if name != "edge_labels" or edge_labels:
            (folder / f"RINGS_{name}.txt").write_text("".join(f"{value}\n" for value in values))
    return folder


@pytest.fixture
def rings_run(command: Command, folder: Path) -> Path:
    """A run that has learned what alternates."""
    write_rings(folder / "rings", 60, seed=0)
    quick = ("--epochs", 30, "--hidden", 16, "--layers", 2, "--learning-rate", 0.01)
    code, _, err = command("train", "rings", *quick, "--out", "run")
    assert code == 0, err
    return folder / "run"


def test_every_command_uses_the_features_of_edges(command: Command, folder: Path, rings_run: Path) -> None:
    write_rings(folder / "new", 12, seed=9)
    assert command("predict", rings_run, "new", "--out", "p.csv")[0] == 0
    table = rows(folder / "p.csv")
    assert [row["predicted"] for row in table] == ["0", "1"] * 6
    code, out, _ = command("evaluate", rings_run, "new")
    assert code == 0
    assert "accuracy  1.0000" in out
    assert command("embed", rings_run, "new", "--out", "e.csv")[0] == 0
    vectors = np.array([[float(value) for value in list(row.values())[2:]] for row in rows(folder / "e.csv")])
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3

    code, _, err = command("explain", rings_run, "new", "--graphs", "0,1", "--out", "x.csv")
    assert code == 0
    assert "falls without the edge" in err
    assert "without the features of its edges" in err
    edges = [row for row in rows(folder / "x.csv") if row["kind"] == "edge"]
    nodes = [row for row in rows(folder / "x.csv") if row["kind"] == "node"]
    assert len(edges) == len(nodes)  # rings
    assert edges[0]["label"].startswith("0-1: ")
    by_label = {row["label"].split(": ")[1]: row["adds_to_1"] for row in edges if row["graph"] == "1"}
    assert len(by_label) == 2
    assert {row["adds_to_1"] for row in edges if row["graph"] == "1"} == set(by_label.values())  # equivalent ones share
    assert command("explain", rings_run, "new", "--graphs", "1", "--out", "x.json")[0] == 0
    (entry,) = json.loads((folder / "x.json").read_text())
    assert {tuple(edge["nodes"]) for edge in entry["edges"]} >= {(0, 1), (1, 2)}


def test_graphs_without_features_of_edges_are_refused(command: Command, folder: Path, rings_run: Path) -> None:
    write_rings(folder / "bare", 12, seed=9, edge_labels=False)
    for name, *more in (("predict", "--out", "p.csv"), ("evaluate",), ("embed", "--out", "e.csv"), ("explain",)):
        code, _, err = command(name, rings_run, "bare", *more)
        assert code == 1, name
        assert "the model uses the features of edges" in err
        assert "have none" in err
    assert not (folder / "p.csv").exists()


def test_many_edges_are_left_out_and_said_so(
    command: Command, folder: Path, rings_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bankgcn.explain.MAX_EDGES", 5)
    code, _, err = command("explain", rings_run, "rings", "--graphs", "0-2", "--out", "x.csv")
    assert code == 0
    assert "3 graphs have more than 5 edges" in err
    assert not [row for row in rows(folder / "x.csv") if row["kind"] == "edge"]


def test_the_page_shows_what_edges_weigh(command: Command, folder: Path, rings_run: Path) -> None:
    pytest.importorskip("plotly")
    assert command("report", rings_run, "--graphs", 2, "--out", "page.html")[0] == 0
    page = (folder / "page.html").read_text()
    assert "What an edge weighs for each filter" in page
    assert '"weights":[[[1,[' in page
