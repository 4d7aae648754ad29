"""Targets of which nearly all are the same: the score, the threshold, and what names of the user keep."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.files.checked import read_toml

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 8, "--layers", 1, "--ratios", "6:2:2", "--edges", "none")
CHOSEN = {"metric": "roc_auc", "threshold": "validation"}


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
    code, out, err = command("predict", "r", rare, "--part", "test", "--out", "p.csv")
    assert code == 0, err
    scores = [line.split("  ")[0] for line in out.splitlines() if line.endswith(" graphs)")]
    assert scores[:2] == ["ROC-AUC", "accuracy"]  # the headline first
    code, _, err = command("predict", "r", rare, "--out", "p.csv")
    assert code == 0, err
    rows = rows_of(folder / "p.csv")
    assert [row["predicted"] for row in rows] == ["yes" if float(row["p_yes"]) >= threshold else "no" for row in rows]
    tested = rows_of(folder / "r" / "test_predictions.csv")
    assert all((row["predicted"] == "yes") == (float(row["p_yes"]) >= threshold) for row in tested)


def test_without_the_temperature_the_threshold_decides_the_same(command: Command, folder: Path, rare: Path) -> None:
    assert command("train", rare, *QUICK, "--out", "r")[0] == 0
    (threshold,) = json.loads((folder / "r" / "record.json").read_text())["task"]["thresholds"]
    assert threshold != 0.5
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
    assert {key: read_toml(config)[key] for key in CHOSEN} == CHOSEN
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
    assert {key: read_toml(folder / "s" / "comparison.toml")[key] for key in CHOSEN} == CHOSEN
    code, again, err = command("compare", "--store", "s")
    assert code == 0, err
    assert again == out


def test_a_search_for_a_rare_class_is_by_its_rank(command: Command, folder: Path, rare: Path) -> None:
    pytest.importorskip("optuna")
    code, out, err = command("tune", rare, *QUICK, "--trials", 4, "--picture", "none", "--out", "s")
    assert code == 0, err
    assert err.index("so the score is the ROC-AUC (--metric accuracy keeps accuracy)") < err.index("4 trials in s")
    assert "--metric balanced_accuracy" not in err  # the score has been chosen
    trials = rows_of(folder / "s" / "trials.csv")
    best = max(trials, key=lambda row: float(row["validation_roc_auc"] or 0))
    score = f"best validation ROC-AUC  {float(best['validation_roc_auc']):.4f}  (trial {best['trial']} of 4,"
    assert out.startswith(score)
    (typed,) = (shlex.split(line) for line in out.splitlines() if line.startswith("bankgcn train "))
    assert " --metric roc_auc --threshold validation " in " ".join(typed)
    assert {key: read_toml(folder / "s" / "best.toml")[key] for key in CHOSEN} == CHOSEN
    code, again, err = command("tune", "--out", "s", "--picture", "none")
    assert (code, again) == (0, out), err
    code, out, err = command(*typed[1:])
    assert code == 0, err
    assert out.startswith("test ROC-AUC  ")
    for words in (("evaluate", "s/best", "--part", "test"), ("explain", "s/best", "--part", "test")):
        code, _, err = command(*words)
        assert code == 0, err


def test_a_comparison_offers_no_other_score_than_it_has_chosen(command: Command, rare: Path) -> None:
    grid = ("--weight-decays", "0", "--gammas", "0", "--runs", 1, "--models", "mlp", "--store", "s")
    code, _, err = command("compare", rare, *QUICK, *grid)
    assert code == 0, err
    assert "--class-weight balanced gives small classes more weight" in err
    assert "--metric balanced_accuracy" not in err


@pytest.fixture
def rarest(folder: Path, rare: Path) -> Path:
    """Three active molecules among 100: none of them is a validation graph."""
    lines = rare.read_text().splitlines()
    chosen = [line for line in lines if "no" in line][:97] + [line for line in lines if "yes" in line][:3]
    (folder / "rarest.csv").write_text("\n".join([lines[0], *chosen]) + "\n")
    return folder / "rarest.csv"


def test_a_search_without_a_score_is_refused_before_its_first_trial(
    command: Command, folder: Path, rarest: Path
) -> None:
    pytest.importorskip("optuna")
    code, _, err = command("tune", rarest, "--trials", 2, "--epochs", 1, "--out", "s")
    assert code == 1
    assert "the 10 validation graphs have no ROC-AUC, because their targets are all the same: choose another" in err
    assert "trials in s" not in err
    assert not (folder / "s").exists()


def test_a_threshold_that_was_not_chosen_is_not_called_so(command: Command, folder: Path, rarest: Path) -> None:
    pytest.importorskip("plotly")
    code, out, err = command("train", rarest, "--epochs", 1, "--hidden", 8, "--layers", 1, "--out", "r")
    assert code == 0, err
    assert "note: the threshold of 'yes' is 0.5: too few validation graphs (0) have the rarer answer" in err
    code, evaluated, err = command("evaluate", "r", "--part", "test")
    assert code == 0, err
    for text in (out, evaluated):
        assert "\nthreshold of 'yes'  0.5\n" in text
    assert "threshold" not in json.loads((folder / "r" / "record.json").read_text())["protocol"]
    code, _, err = command("report", "r", "--out", "page.html")
    assert code == 0, err
    page = (folder / "page.html").read_text()
    assert "yes: 0.5" in page
    assert "threshold, chosen on the validation graphs" not in page


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
