"""Encodings of nodes from training to prediction: whoever computes them for new graphs gets the same digits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bankgcn
from bankgcn.serve.access import Limits
from bankgcn.serve.engine import Engine
from bankgcn.serve.requests import parse_request
from bankgcn.training.ensemble import Ensemble
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 1)


def write(path: Path, molecules: list[str]) -> Path:
    lines = [f"{smiles},{number / 8 - 1}" for number, smiles in enumerate(molecules)]
    path.write_text("\n".join(["smiles,logp", *lines]) + "\n")
    return path


@pytest.fixture
def table(folder: Path) -> Path:
    pytest.importorskip("rdkit")
    return write(folder / "own.csv", [f"{'C' * n}{end}" for n in range(1, 15) for end in ("O", "C1CCC1", "c1ccccc1")])


def test_new_molecules_get_the_encodings_of_the_training(command: Command, table: Path, folder: Path) -> None:
    test = write(folder / "test.csv", ["CCN", "CC(C)(C)N", "C1CCCCC1N", "N"])
    given = ("--target", "logp", "--encoding", "rwse,laplacian", "--seeds", "0-1", *QUICK)
    code, _, err = command("train", table, "--test", test, "--out", "run", *given)
    assert code == 0, err
    runs = sorted(path.parent for path in (folder / "run").glob("*/record.json"))
    assert len(runs) == 2
    assert json.loads((runs[0] / "record.json").read_text())["config"]["reader"]["encoding"] == "rwse,laplacian"
    assert command("predict", runs[0], "--part", "test", "--out", "again.csv")[0] == 0
    first = [row["predicted_logp"] for row in rows(runs[0] / "test_predictions.csv")]
    assert [row["predicted_logp"] for row in rows(folder / "again.csv")] == first
    assert command("predict", runs[0], "test.csv", "--out", "new.csv")[0] == 0
    assert [row["predicted_logp"] for row in rows(folder / "new.csv")] == first

    assert command("predict", "run", "test.csv", "--out", "both.csv")[0] == 0
    written = [float(row["predicted_logp"]) for row in rows(folder / "both.csv")]
    smiles = [row["smiles"] for row in rows(test)]
    np.testing.assert_array_equal(bankgcn.load_model(folder / "run").predict(smiles), written)
    (answer,) = Engine(Ensemble.load(folder / "run")).answer(
        [parse_request(json.dumps({"smiles": smiles}).encode(), Limits())]
    )
    assert [one["values"]["logp"] for one in answer["predictions"]] == written
    for words in (("evaluate", "run", "test.csv"), ("explain", runs[0], "test.csv", "--out", "why.csv")):
        code, _, err = command(*words)
        assert code == 0, err


def test_graphs_in_json_are_encoded_and_compared(command: Command, folder: Path) -> None:
    graphs = []
    for number in range(40):
        nodes = 6
        links = [(i, (i + 1) % 6) for i in range(6)] if number % 2 else [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
        edges = [{"source": i, "target": j} for i, j in links]
        label = {"class": ["triangles", "ring"][number % 2]}
        graphs.append({"nodes": [{"id": i, "size": 1} for i in range(nodes)], "edges": edges, "graph": label})
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, graphs)))
    fixed = ("--target", "class", "--duplicates", "keep", "--learning-rate", 0.1, *QUICK, "--epochs", 20)
    for encoding, correct in (("none", False), ("rwse", True), ("laplacian", True)):
        code, _, err = command("train", "own.jsonl", "--encoding", encoding, "--out", encoding, *fixed)
        assert code == 0, err
        assert (json.loads((folder / encoding / "record.json").read_text())["test_score"] == 1) == correct
    request = parse_request(json.dumps({"graphs": graphs[:2]}).encode(), Limits())
    (answer,) = Engine(Ensemble.load(folder / "rwse")).answer([request])
    assert [one["class"] for one in answer["predictions"]] == ["triangles", "ring"]

    words = ("compare", "own.jsonl", "--models", "gcn,mlp", "--runs", 1, "--encoding", "rwse", "--store", "store")
    code, out, err = command(*words, *fixed, "--weight-decays", 0, "--engine", "serial")
    assert code == 0, err
    assert out.count("100") >= 2


def test_a_wrong_name_and_embedded_atoms_are_refused(command: Command, table: Path) -> None:
    for words, said in (
        (("--encoding", "walks"), "--encoding walks: expected rwse or laplacian"),
        (("--features", "embedded", "--encoding", "rwse"), "choose --features onehot"),
    ):
        code, _, err = command("train", table, "--target", "logp", "--out", "run", *words)
        assert code != 0
        assert said in " ".join(err.split())
