"""Targets of which nearly all are the same: the score, the threshold, and what names of the user keep."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.files.checked import read_toml

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 8, "--layers", 1, "--ratios", "6:2:2")


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def rare(folder: Path) -> Path:
    """160 molecules, of which every twelfth has a ring and is active."""
    rows = [
        (f"c1ccccc1{'C' * (n // 12)}", "yes") if n % 12 == 0 else (f"{'C' * (n % 17 + 1)}{'O' * (n // 17)}", "no")
        for n in range(160)
    ]
    (folder / "rare.csv").write_text("\n".join(["smiles,active", *(",".join(row) for row in rows)]) + "\n")
    return folder / "rare.csv"


def test_a_rare_class_is_scored_by_its_rank_and_decided_by_a_threshold(
    command: Command, folder: Path, rare: Path
) -> None:
    code, out, err = command("train", rare, *QUICK, "--out", "r")
    assert code == 0, err
    assert "note: the class 'no' has 91 % of the graphs, so the score is the ROC-AUC" in err
    assert out.startswith("test ROC-AUC  ")
    record = json.loads((folder / "r" / "record.json").read_text())
    (threshold,) = record["task"]["thresholds"]
    assert f"threshold of 'yes', chosen on the validation graphs  {threshold:.4g}" in out
    assert out.index("average precision of 'yes' (guessing: 0.0") < out.index("accuracy")
    assert "\nMCC  " in out
    assert record["metric"] == "roc_auc"
    assert record["assessment"]["threshold"] == threshold
    assert "chose the threshold with the largest MCC on them" in record["protocol"]
    assert "of the graphs have the class 'no'" in record["warnings"][0]
    code, _, err = command("predict", "r", rare, "--out", "p.csv")
    assert code == 0, err
    rows = rows_of(folder / "p.csv")
    assert [row["predicted"] for row in rows] == ["yes" if float(row["p_yes"]) >= threshold else "no" for row in rows]
    tested = rows_of(folder / "r" / "test_predictions.csv")
    assert all((row["predicted"] == "yes") == (float(row["p_yes"]) >= threshold) for row in tested)


def test_without_the_temperature_the_threshold_decides_the_same(command: Command, folder: Path, rare: Path) -> None:
    assert command("train", rare, *QUICK, "--out", "r")[0] == 0
    assert command("predict", "r", rare, "--out", "p.csv")[0] == 0
    assert command("predict", "r", rare, "--no-calibrate", "--out", "raw.csv")[0] == 0
    calibrated, raw = (rows_of(folder / name) for name in ("p.csv", "raw.csv"))
    assert [row["predicted"] for row in raw] == [row["predicted"] for row in calibrated]
    assert [row["p_yes"] for row in raw] != [row["p_yes"] for row in calibrated]


def test_a_metric_and_a_threshold_that_the_user_names_stay(command: Command, folder: Path, rare: Path) -> None:
    code, out, err = command("train", rare, *QUICK, "--metric", "accuracy", "--threshold", "likely", "--out", "a")
    assert code == 0, err
    assert out.startswith("test accuracy  ")
    assert "threshold" not in out + err
    code, out, err = command("train", rare, *QUICK, "--metric", "macro_f1", "--out", "f")
    assert code == 0, err
    assert out.startswith("test macro F1  ")
    assert "so the validation graphs choose the threshold of 'yes'" in err
    record = json.loads((folder / "f" / "record.json").read_text())
    assert record["test_score"] == record["assessment"]["scores"]["macro_f1"]


def test_the_same_command_finds_its_finished_run_and_a_file_repeats_it(
    command: Command, folder: Path, rare: Path
) -> None:
    code, first, err = command("train", rare, *QUICK)
    assert code == 0, err
    code, again, err = command("train", rare, *QUICK)
    assert code == 0, err
    assert "this run is finished already" in err
    assert again == first
    (config,) = folder.glob("runs/*/config.toml")
    assert {key: read_toml(config)[key] for key in ("metric", "threshold")} == {
        "metric": "roc_auc",
        "threshold": "validation",
    }
    code, _, err = command("train", "--config", config, "--out", "again")
    assert code == 0, err
    records = [json.loads((path / "record.json").read_text()) for path in (config.parent, folder / "again")]
    assert records[0]["assessment"] == records[1]["assessment"]


def test_several_skewed_classes_are_scored_alike(command: Command, folder: Path, rare: Path) -> None:
    lines = rare.read_text().splitlines()
    third = [line.replace("yes", "maybe") if number % 24 == 1 else line for number, line in enumerate(lines)]
    (folder / "three.csv").write_text("\n".join(third))
    code, out, err = command("train", "three.csv", *QUICK, "--out", "r")
    assert code == 0, err
    assert "the class 'no' has 91 % of the graphs, so the score is the balanced accuracy" in err
    assert out.startswith("test balanced accuracy  ")
    assert "threshold" not in out


def test_a_comparison_of_a_rare_class_is_by_its_rank(command: Command, folder: Path, rare: Path) -> None:
    grid = ("--weight-decays", "0", "--gammas", "0", "--runs", 1, "--models", "gcn,mlp", "--store", "s")
    code, out, err = command("compare", rare, *QUICK, *grid)
    assert code == 0, err
    assert "Test ROC-AUC in %" in out
    kept = read_toml(folder / "s" / "comparison.toml")
    assert (kept["metric"], kept["threshold"]) == ("roc_auc", "validation")
    code, again, err = command("compare", "--store", "s")
    assert code == 0, err
    assert again == out


def test_each_label_and_value_has_its_row(command: Command, folder: Path) -> None:
    rows = [f"{'C' * (n % 23 + 1)}{'N' * (n // 23)},{n % 2},{int(n % 3 == 0)},{n}.5,{n / 1000}" for n in range(90)]
    (folder / "own.csv").write_text("\n".join(["smiles,x,y,grams,moles", *rows]))
    code, out, err = command("train", "own.csv", "--target", "x,y", *QUICK, "--class-weight", "balanced", "--out", "l")
    assert code == 0, err
    assert "label   graphs  positive  ROC-AUC  avg. prec.      MCC  threshold" in out
    record = json.loads((folder / "l" / "record.json").read_text())
    assert [row["name"] for row in record["assessment"]["targets"]] == ["x", "y"]
    code, out, err = command("train", "own.csv", "--target", "grams,moles", *QUICK, "--out", "v")
    assert code == 0, err
    assert "target  graphs         MAE        RMSE         R2  MAE of mean" in out
    assert all(len(line) <= 80 for line in out.splitlines() if not line.startswith(("files", "next")))
    code, out, err = command("evaluate", "v", "--part", "test", "--json", "figures.json")
    assert code == 0, err
    targets = json.loads((folder / "figures.json").read_text())["targets"]
    assert targets[0]["scores"]["mae"] > 100 * targets[1]["scores"]["mae"]
    assert set(targets[0]["baseline_scores"]) == {"mae", "rmse", "r2"}


def test_warnings_of_the_terminal_stand_in_the_report(command: Command, folder: Path, rare: Path) -> None:
    pytest.importorskip("plotly")
    assert command("train", rare, *QUICK, "--out", "r")[0] == 0
    code, _, err = command("report", "r", "--out", "page.html")
    assert code == 0, err
    page = (folder / "page.html").read_text()
    assert "Warning: 91% of the graphs have the class" in page
    assert "threshold, chosen on the validation graphs" in page
