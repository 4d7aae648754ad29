"""Values and labels from a table to predictions, by the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.options import ReadOptions
from bankgcn.training import fitting
from bankgcn.training.execute import run
from bankgcn.training.spec import RunSpec
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


@pytest.fixture
def table(folder: Path) -> Path:
    """Chains of carbon with an oxygen or a ring at the end; some answers are missing."""
    rows = [(f"{'C' * n}O", 10.0 * n, -n, 0, "" if n % 3 == 0 else n % 2) for n in range(1, 16)]
    rows += [(f"{'C' * n}c1ccccc1", 10.0 * n + 3.5, n, 1, n % 2) for n in range(1, 16)]
    lines = ["smiles,price,charge,ring,odd", *(",".join(map(str, row)) for row in rows)]
    (folder / "own.csv").write_text("\n".join(lines) + "\n")
    return folder / "own.csv"


def test_a_value_is_scored_and_predicted_in_the_users_units(command: Command, folder: Path, table: Path) -> None:
    code, out, err = command("train", table, "--target", "price", *QUICK, "--out", "r")
    assert code == 0, err
    assert "own: 30 graphs, 1 value; train / validation / test: 24 / 3 / 3" in err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert out.startswith(f"test MAE  {record['test_score']:.5g}  (3 graphs)")
    assert record["task"]["center"][0] == pytest.approx(81.75, abs=15)
    assert record["split_from"] == "the seed: 8:1:1"
    code, out, err = command("predict", "r", table, "--part", "test", "--out", "p.csv")
    assert code == 0, err
    assert f"MAE  {record['test_score']:.5g}  (3 graphs)" in out
    assert "RMSE  " in out
    predicted = rows(folder / "p.csv")
    assert list(predicted[0]) == ["smiles", "price", "charge", "ring", "odd", "predicted_price"]
    errors = [abs(float(row["predicted_price"]) - float(row["price"])) for row in predicted]
    assert np.mean(errors) == pytest.approx(record["test_score"], rel=1e-4)
    code, out, err = command("embed", "r", table)
    assert code == 0, err
    assert out.startswith("30 vectors of 96 numbers")


def test_tables_hold_enough_digits_to_score_values_with_a_large_offset(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,{1_000_000 + 1.71 * n:.2f}" for n in range(1, 31)]
    (folder / "far.csv").write_text("\n".join(["smiles,height", *lines]))
    code, _, err = command("train", "far.csv", "--target", "height", *QUICK, "--out", "r")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    scored = rows(folder / "r" / "test_predictions.csv")
    errors = [abs(float(row["predicted_height"]) - float(row["height_true"])) for row in scored]
    assert np.mean(errors) == pytest.approx(record["test_score"], rel=1e-6)
    code, out, err = command("predict", "r", "far.csv", "--out", "p.csv")
    assert code == 0, err
    errors = [abs(float(row["predicted_height"]) - float(row["height"])) for row in rows(folder / "p.csv")]
    assert f"MAE  {np.mean(errors):.5g}  (30 graphs)" in out
    assert command("explain", "r", "far.csv", "--graphs", "3,3", "--out", "e.csv")[0] == 0
    explained = [(row["kind"], float(row["adds_to_height"])) for row in rows(folder / "e.csv")]
    parts = sum(adds for kind, adds in explained if kind in ("node", "constant"))
    assert parts == pytest.approx(dict(explained)["output"], abs=0.01)


def test_the_models_of_several_runs_have_a_mean_and_a_spread(command: Command, folder: Path, table: Path) -> None:
    for seed in (0, 1):
        assert command("train", table, "--target", "price", "--seed", seed, *QUICK, "--out", f"runs/{seed}")[0] == 0
        assert command("predict", f"runs/{seed}", table, "--out", f"{seed}.csv")[0] == 0
    code, out, err = command("predict", "runs", table, "--target", "price", "--out", "both.csv")
    assert code == 0, err
    assert "30 predictions by 2 models" in out
    single = np.array([[float(row["predicted_price"]) for row in rows(folder / f"{seed}.csv")] for seed in (0, 1)])
    both = rows(folder / "both.csv")
    np.testing.assert_allclose([float(row["predicted_price"]) for row in both], single.mean(0), rtol=1e-4)
    spread = [float(row["predicted_price_sd"]) for row in both]
    np.testing.assert_allclose(spread, single.std(0, ddof=1), rtol=1e-2, atol=1e-4)


def test_several_values_have_a_column_each(command: Command, folder: Path, table: Path) -> None:
    options = ("--target", "price,charge", "--loss", "absolute_error", "--metric", "r2", "--select", "score")
    code, out, err = command("train", table, *options, *QUICK, "--out", "r")
    assert code == 0, err
    assert "2 values" in err
    assert "validation R2" in out
    code, out, err = command("predict", "r", table, "--target", "charge,price", "--out", "p.csv")
    assert code == 0, err
    first = rows(folder / "p.csv")[0]
    assert list(first)[5:] == ["predicted_price", "predicted_charge", "unreadable"]
    assert (first["charge"], first["price"]) == ("-1", "10.0")
    assert "R2  " in out


def test_labels_may_be_missing_and_are_predicted_as_probabilities(command: Command, folder: Path, table: Path) -> None:
    code, out, err = command("train", table, "--target", "ring,odd", *QUICK, "--out", "r")
    assert code == 0, err
    assert "2 labels" in err
    assert "mean ROC-AUC" in out
    code, out, err = command("predict", "r", table, "--target", "ring,odd", "--out", "p.csv")
    assert code == 0, err
    assert "average precision  " in out
    predicted = rows(folder / "p.csv")
    assert list(predicted[0]) == ["smiles", "price", "charge", "ring", "odd", "p_ring", "p_odd", "unreadable"]
    assert all(0 <= float(row[name]) <= 1 for row in predicted for name in ("p_ring", "p_odd"))
    assert sum(row["odd"] == "" for row in predicted) == 5
    code, out, err = command("predict", "r", table, "--target", "ring", "--out", "p.csv")
    assert code == 0, err
    assert "note: no score: " in err


def test_whole_numbers_are_values_on_request(command: Command, folder: Path, table: Path) -> None:
    code, _, err = command("train", table, "--target", "charge", *QUICK, "--out", "c")
    assert code == 1
    assert "--task values" in err
    assert command("train", table, "--target", "charge", "--task", "values", *QUICK, "--out", "r")[0] == 0
    assert json.loads((folder / "r" / "record.json").read_text())["metric"] == "mae"


def test_an_interrupted_training_of_values_ends_as_if_it_had_not_been(
    command: Command, folder: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--target", "price", *QUICK)
    assert command("train", table, *options, "--out", "whole")[0] == 0
    evaluate, seen = fitting.evaluate_outputs, []

    def interrupted(*arguments: object) -> fitting.Evaluation:
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setattr(fitting, "evaluate_outputs", interrupted)
    assert command("train", table, *options, "--out", "resumed")[0] == 130
    code, _, err = command("train", "--out", "resumed")
    assert code == 0, err
    for name in ("history.csv", "model.safetensors", "split.json"):
        assert (folder / "resumed" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_folder_and_a_sweep_have_the_same_scores_bit_for_bit(command: Command, folder: Path, table: Path) -> None:
    options = ("--target", "price,charge", "--preset", "paper", "--seed", 2)
    assert command("train", table, *options, *QUICK, "--out", "r")[0] == 0
    ours = json.loads((folder / "r" / "record.json").read_text())
    spec = RunSpec(dataset=str(table), reader=ReadOptions(target="price,charge"), seed=2)
    theirs = run(spec.with_(max_epochs=3, hidden_channels=16, num_layers=2, edges="auto"))
    for name in ("test_score", "test_loss", "valid_score", "valid_loss", "fingerprint", "split_hash", "best_epoch"):
        assert ours[name] == getattr(theirs, name)
    assert math.isfinite(theirs.test_score or math.nan)
    assert ours["metric"] == "mae"
