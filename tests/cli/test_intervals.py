"""``--interval`` and ``--domain``: columns of tables, scores of runs, several models, and runs that keep nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bankgcn
from bankgcn import BankGCNClassifier, BankGCNRegressor
from bankgcn.training.ensemble import Ensemble
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 1)


@pytest.fixture
def table(folder: Path) -> Path:
    """Molecules with a value, a class and two labels; every molecule is another one."""
    ends = ("O", "N", "Cl", "C(=O)O")
    smiles = [f"{'C' * n}{end}" for n in range(1, 31) for end in ends]
    lines = [f"{one},{len(one)}.5,{'odd' if n % 2 else 'even'},{n % 2},{n // 2 % 2}" for n, one in enumerate(smiles)]
    (folder / "own.csv").write_text("\n".join(["smiles,size,kind,one,two", *lines]) + "\n")
    (folder / "new.csv").write_text("smiles\nCCO\nCC[Si](C)(C)C\noops\n")
    return folder / "own.csv"


def train(command: Command, target: str, out: str, *more: object) -> str:
    code, output, err = command(
        "train", "own.csv", "--target", target, *QUICK, "--ratios", "4,3,3", *more, "--out", out
    )
    assert code == 0, err
    return output


def test_values_have_bounds_and_the_run_says_how_often_they_hold(command: Command, folder: Path, table: Path) -> None:
    output = train(command, "size", "runs/v")
    record = json.loads((folder / "runs/v/record.json").read_text())
    figures = record["intervals"]
    assert (figures["level"], figures["graphs"]) == (0.9, 36)
    line = (
        f"90 % intervals hold {100 * figures['coverage']:.1f} % of the true values; mean width {figures['width']:.4g}"
    )
    assert line in output
    assert command("predict", "runs/v", "--part", "test", "--interval", 0.9, "--domain", "--out", "p.csv")[0] == 0
    found = rows(folder / "p.csv")
    low, high, true = (np.array([float(row[name]) for row in found]) for name in ("size_low", "size_high", "size"))
    assert np.mean((low <= true) & (true <= high)) == pytest.approx(figures["coverage"])
    assert np.mean(high - low) == pytest.approx(figures["width"])
    assert all(0 < float(row["similarity"]) <= 1 for row in found)
    code, output, _ = command("evaluate", "runs/v", "--part", "test", "--interval", 0.9, "--json", "e.json")
    assert code == 0
    assert line in output
    evaluated = json.loads((folder / "e.json").read_text())["intervals"]
    assert evaluated["coverage"] == pytest.approx(figures["coverage"])
    assert evaluated["width"] == pytest.approx(figures["width"])


def test_new_rows_have_sets_and_what_was_never_seen(command: Command, folder: Path, table: Path) -> None:
    train(command, "kind", "runs/c")
    assert command("predict", "runs/c", "new.csv", "--out", "plain.csv")[0] == 0
    code, _, err = command("predict", "runs/c", "new.csv", "--interval", 0.8, "--domain", "--out", "p.csv")
    assert code == 0, err
    plain, found = rows(folder / "plain.csv"), rows(folder / "p.csv")
    assert list(found[0]) == [*list(plain[0])[:-1], "set", "similarity", "unseen", "unreadable"]
    for row in found[:2]:
        assert set(row["set"].split("|")) <= {"even", "odd"}
        assert row["predicted"] in row["set"].split("|")
    assert 0 < float(found[0]["similarity"]) <= 1
    assert found[0]["unseen"] == ""
    assert found[1]["unseen"] == "element Si"
    assert float(found[1]["similarity"]) < 1
    assert [found[2][name] for name in ("set", "similarity", "unseen")] == ["", "", ""]
    message = command("predict", "runs/c", "new.csv", "--interval", 0.8, "--no-calibrate")[2]
    assert "--interval needs calibrated probabilities: leave out --no-calibrate" in message


def test_labels_have_a_set_each(command: Command, folder: Path, table: Path) -> None:
    output = train(command, "one,two", "runs/l", "--task", "labels")
    assert "% of the known answers; mean size" in output
    assert command("predict", "runs/l", "new.csv", "--interval", 0.8, "--out", "p.csv")[0] == 0
    assert all(row[f"set_{name}"] in ("0", "1", "0|1") for row in rows(folder / "p.csv")[:2] for name in ("one", "two"))


def test_models_with_one_split_are_one_predictor_and_their_spread_scales(
    command: Command, folder: Path, table: Path
) -> None:
    output = train(command, "size", "runs/e", "--seeds", "0,1")
    assert "90 % intervals hold" in output.partition("all 2 models together")[2]
    assert command("predict", "runs/e", "new.csv", "--interval", 0.9, "--out", "p.csv")[0] == 0
    (group,) = Ensemble.load(folder / "runs/e")._validation_groups.values()
    spread, error = group.spread[:, 0], np.abs(group.y - group.mean)[:, 0]
    scale = np.median(spread)
    quantile = np.sort(error / (spread + scale))[int(np.ceil(0.9 * 37)) - 1]
    for row in rows(folder / "p.csv")[:2]:
        margin = quantile * (float(row["predicted_size_sd"]) + scale)
        assert float(row["size_high"]) - float(row["predicted_size"]) == pytest.approx(margin)
        assert float(row["predicted_size"]) - float(row["size_low"]) == pytest.approx(margin)


def test_models_of_folds_compare_each_validation_graph_with_its_own_model(
    command: Command, folder: Path, table: Path
) -> None:
    code, output, err = command("train", "own.csv", "--target", "size", *QUICK, "--folds", 3, "--out", "runs/f")
    assert code == 0, err
    assert "90 % intervals hold" in output.partition("each on its test graphs")[2]
    assert command("predict", "runs/f", "new.csv", "--interval", 0.9, "--domain", "--out", "p.csv")[0] == 0
    ensemble = Ensemble.load(folder / "runs/f")
    model = bankgcn.load_model(folder / "runs/f")
    ends: dict[str, list[float]] = {"low": [], "high": []}
    for run, member in ensemble.members.items():
        (group,) = Ensemble.load(run)._validation_groups.values()
        new = member.predictions(model.as_graph_set(["CCO"])).item()
        errors = np.abs(group.y - group.mean)[:, 0]
        ends["low"] += (errors - new).tolist()
        ends["high"] += (errors + new).tolist()
    place = int(np.ceil(0.9 * (len(ends["low"]) + 1))) - 1
    row = rows(folder / "p.csv")[0]
    assert float(row["size_low"]) == pytest.approx(-sorted(ends["low"])[place])
    assert float(row["size_high"]) == pytest.approx(sorted(ends["high"])[place])
    assert row["similarity"] == "1.0"  # one of the models was trained on it
    # Each test graph is compared with the graphs that its own model was trained on, and so not with itself.
    assert command("predict", "runs/f", "--part", "test", "--interval", 0.9, "--domain", "--out", "t.csv")[0] == 0
    tested = rows(folder / "t.csv")
    assert len(tested) == 120
    assert sum(row["similarity"] != "1.0" for row in tested) >= 10


def test_few_validation_graphs_and_runs_of_before_are_refused(command: Command, folder: Path, table: Path) -> None:
    train(command, "size", "runs/v")
    message = command("predict", "runs/v", "new.csv", "--interval", 0.99)[2]
    assert "an interval of 99 % needs at least 99 validation graphs with a known target, and the run has 36" in message
    assert "choose --interval 0.97 or less" in message
    assert "expected a share between 0 and 1" in command("predict", "runs/v", "new.csv", "--interval", 90)[2]
    for name in ("validation", "domain"):
        (folder / f"runs/v/{name}.safetensors").unlink()
    message = command("predict", "runs/v", "new.csv", "--interval", 0.9)[2]
    assert "runs/v keeps no predictions for its validation graphs" in message
    assert "train it again: bankgcn train --config runs/v/config.toml --out runs/v --overwrite" in message
    message = command("predict", "runs/v", "new.csv", "--domain")[2]
    assert "runs/v does not keep what its training graphs look like" in message
    assert command("predict", "runs/v", "new.csv")[0] == 0


def test_python_gives_the_same_intervals(command: Command, folder: Path, table: Path) -> None:
    pandas = pytest.importorskip("pandas")
    train(command, "size", "runs/v")
    assert command("predict", "runs/v", "new.csv", "--interval", 0.9, "--domain", "--out", "p.csv")[0] == 0
    expected = rows(folder / "p.csv")[:2]
    model, smiles = bankgcn.load_model(folder / "runs/v"), ["CCO", "CC[Si](C)(C)C"]
    values, bounds = model.predict(smiles, interval=0.9)
    assert values.tolist() == [float(row["predicted_size"]) for row in expected]
    assert bounds.tolist() == [[float(row["size_low"]), float(row["size_high"])] for row in expected]
    nearness = model.nearness(smiles)
    assert nearness.values.tolist() == [float(row["similarity"]) for row in expected]
    assert nearness.unseen == [None, "element Si"]
    frame = pandas.DataFrame({"smiles": [*smiles, "oops"]}, index=[7, 8, 9])
    assert list(model.predict(frame, interval=0.9)) == ["predicted_size", "size_low", "size_high", "unreadable"]
    assert model.nearness(frame)["unseen"].tolist()[1] == "element Si"


def test_estimators_have_intervals_before_and_after_they_are_saved(folder: Path, table: Path) -> None:
    smiles = [f"{'C' * n}{end}" for n in range(1, 31) for end in ("O", "N")]
    options = {"hidden": 8, "layers": 1, "epochs": 2, "random_state": 0, "validation_fraction": 0.3}
    regressor = BankGCNRegressor(**options).fit(smiles, [float(len(one)) for one in smiles])
    values, bounds = regressor.predict(smiles, interval=0.8)
    assert (bounds[:, 0] < values).all()
    assert (values < bounds[:, 1]).all()
    regressor.save(folder / "saved")
    loaded = BankGCNRegressor.load(folder / "saved")
    np.testing.assert_array_equal(loaded.predict(smiles, interval=0.8)[1], bounds)
    np.testing.assert_array_equal(loaded.nearness(smiles).values, regressor.nearness(smiles).values)
    classifier = BankGCNClassifier(**options).fit(smiles, ["ON"[n % 2] for n in range(60)])
    decided, sets = classifier.predict(smiles, interval=0.8)
    assert sets.shape == (60, 2)
    assert sets[np.arange(60), np.searchsorted(classifier.classes_, decided)].all()
