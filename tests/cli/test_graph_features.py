"""Columns and descriptors beside graphs, from training to prediction: what is read, asked for and explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bankgcn
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import find_source
from bankgcn.serve.access import Limits
from bankgcn.serve.engine import Engine
from bankgcn.serve.requests import parse_request
from bankgcn.training.ensemble import Ensemble
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 40, "--hidden", 8, "--layers", 1, "--learning-rate", 0.03)
ATOMS = ("C", "O", "N", "CC", "CO", "CN", "CCO", "CCN")


def answers() -> list[tuple[str, float, str, str]]:
    """Molecules whose class is decided by temperature and assay alone."""
    random = np.random.default_rng(0)
    table = []
    for number in range(120):
        temperature, assay = round(random.uniform(0, 50), 1), "ab"[random.integers(2)]
        answer = "hot" if temperature > (20 if assay == "a" else 30) else "cold"
        table.append((ATOMS[number % len(ATOMS)], temperature, assay, answer))
    return table


def write(path: Path, lines: list[tuple], header: str = "smiles,temperature,assay,plate,answer") -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n")
    return path


@pytest.fixture
def table(folder: Path) -> Path:
    pytest.importorskip("rdkit")
    return write(folder / "own.csv", [(s, t, a, 7, c) for s, t, a, c in answers()])


def train(command: Command, table: Path, *options: object) -> str:
    given = ("--target", "answer", "--feature-columns", "temperature,assay,plate", *QUICK, *options)
    code, out, err = command("train", table, "--out", "run", *given)
    assert code == 0, err
    return out + err


def test_what_no_graph_tells_is_learned_from_columns_beside_it(command: Command, table: Path, folder: Path) -> None:
    said = train(command, table)
    assert "1 is constant (plate)" in said
    record = json.loads((folder / "run" / "record.json").read_text())
    assert record["test_score"] >= 0.75
    reader = {"target": "answer", "feature_columns": "temperature,assay,plate", "features": "onehot"}
    assert record["config"]["reader"] == reader

    assert command("predict", "run", "--part", "test", "--out", "test.csv")[0] == 0
    again, first = rows(folder / "test.csv"), rows(folder / "run" / "test_predictions.csv")
    assert [row["p_hot"] for row in again] == [row["p_hot"] for row in first]

    new = write(folder / "new.csv", [("CCO", 1, "b"), ("CCO", 49, "b")], "smiles,temperature,assay")  # without plate
    assert command("predict", "run", new, "--out", "p.csv")[0] == 0
    assert [row["predicted"] for row in rows(folder / "p.csv")] == ["cold", "hot"]

    graphs = find_source(new).load(ReadOptions(feature_columns="temperature,assay"), Expected(edges="any"))
    predictor = bankgcn.load_model(folder / "run")
    expected = predictor.predict_proba(graphs)
    assert [row["p_hot"] for row in rows(folder / "p.csv")] == [str(value) for value in expected[:, 1]]
    beside = {"temperature": [1, 49], "assay": ["b", "b"]}
    np.testing.assert_array_equal(predictor.predict_proba(["CCO", "CCO"], beside), expected)

    engine = Engine(Ensemble.load(folder / "run"))
    features = [{"temperature": 1, "assay": "b"}, {"temperature": 49, "assay": "b"}]
    request = parse_request(json.dumps({"smiles": ["CCO", "CCO"], "features": features}).encode(), Limits())
    (answer,) = engine.answer([request])
    assert [one["probabilities"]["hot"] for one in answer["predictions"]] == expected[:, 1].tolist()
    lacking = parse_request(json.dumps({"smiles": ["CCO"], "features": [{"assay": "b"}]}).encode(), Limits())
    (refusal,) = engine.answer([lacking])
    assert "'temperature'" in str(refusal)

    code, _, err = command("explain", "run", new, "--graphs", "1", "--out", "e.csv")
    assert code == 0, err
    lines = rows(folder / "e.csv")
    assert [line["label"] for line in lines if line["kind"] == "feature"] == ["temperature", "assay=a", "assay=b"]
    total = sum(float(line["adds_to_hot"]) for line in lines if line["kind"] in ("node", "feature", "constant"))
    (output,) = (float(line["adds_to_hot"]) for line in lines if line["kind"] == "output")
    assert total == pytest.approx(output)


@pytest.mark.parametrize(
    ("header", "line", "named"),
    [
        ("smiles,temperature", ("C", 1), ["--feature-columns", "'assay'"]),
        ("smiles,temperature,assay", ("C", "", "a"), ["new.csv:3", "'temperature'", "--fill-features"]),
        ("smiles,temperature,assay", ("C", 1, "zz"), ["'assay'", "graph 1", "'zz'", "--fill-features"]),
        ("smiles,temperature,assay", ("C", "warm", "a"), ["'temperature'", "number"]),
    ],
)
def test_a_table_that_lacks_a_feature_is_refused_by_row_and_column(
    command: Command, table: Path, folder: Path, header: str, line: tuple, named: list[str]
) -> None:
    train(command, table)
    new = write(folder / "new.csv", [("C", 1, "a")[: header.count(",") + 1], line], header)
    code, _, err = command("predict", "run", new, "--out", "p.csv")
    assert code != 0
    for part in named:
        assert part in err
    filled = command("predict", "run", new, "--out", "p.csv", "--fill-features")
    assert (filled[0] == 0) == ("--fill-features" in named)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--feature-columns", "temp,assay"), ["--feature-columns", "'temp'", "'temperature'"]),
        (("--feature-columns", "answer"), ["'answer'", "target"]),
        (("--feature-columns", "smiles"), ["'smiles'", "--descriptors"]),
        (("--descriptors", "morgen"), ["--descriptors morgen", "rdkit or morgan"]),
    ],
)
def test_columns_that_cannot_be_features_are_named(
    command: Command, table: Path, options: tuple[str, ...], named: list[str]
) -> None:
    code, _, err = command("train", table, "--target", "answer", *options, "--out", "run")
    assert code != 0
    for part in named:
        assert part in err


def test_keys_of_graphs_in_json_are_features(command: Command, folder: Path) -> None:
    lines = [
        {"graph": {"temperature": t, "y": c}, "assay": a, "nodes": [{"id": 0, "e": s}], "edges": []}
        for s, t, a, c in answers()
    ]
    (folder / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, _, err = command("train", "own.jsonl", "--feature-columns", "temperature,assay", *QUICK, "--out", "run")
    assert code == 0, err
    del lines[3]["assay"]
    (folder / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, _, err = command("predict", "run", "new.jsonl", "--out", "p.csv")
    assert code != 0
    for part in ("new.jsonl:4", "'assay'"):
        assert part in err
    assert command("predict", "run", "new.jsonl", "--out", "p.csv", "--fill-features")[0] == 0


def test_descriptors_are_computed_for_new_molecules(command: Command, table: Path, folder: Path) -> None:
    code, _, err = command(
        "train",
        table,
        "--target",
        "temperature",
        "--descriptors",
        "rdkit,morgan",
        *QUICK,
        "--epochs",
        2,
        "--out",
        "run",
    )
    assert code == 0, err
    predictor = bankgcn.load_model(folder / "run")
    new = write(folder / "new.csv", [("CCO",), ("c1ccccc1",)], "smiles")
    assert command("predict", "run", new, "--out", "p.csv")[0] == 0
    written = [float(row["predicted_temperature"]) for row in rows(folder / "p.csv")]
    np.testing.assert_array_equal(predictor.predict(["CCO", "c1ccccc1"]), written)
    code, _, err = command("train", "MUTAG", "--descriptors", "rdkit", "--out", "other")
    assert code != 0
    assert "--descriptors" in err
