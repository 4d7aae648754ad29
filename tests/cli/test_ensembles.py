"""Folders of several runs: who votes, and who may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


def test_a_folder_of_runs_is_an_ensemble(command: Command, folder: Path, mutag_run: Path) -> None:
    assert command("train", *QUICK, "--seed", 1, "--out", "runs/two")[0] == 0
    (folder / "runs" / "three").mkdir()
    (folder / "runs" / "three" / "config.toml").touch()
    code, out, err = command("predict", "runs", "MUTAG")
    assert code == 0
    assert "188 predictions by 2 models" in out
    assert "three has no model" in err
    singles = []
    for name in ("one", "two"):
        command("predict", f"runs/{name}", "MUTAG", "--out", f"{name}.csv")
        singles.append([float(row["p_1"]) for row in rows(folder / f"{name}.csv")])
    votes = [float(row["p_1"]) for row in rows(folder / "predictions.csv")]
    np.testing.assert_allclose(votes, np.mean(singles, axis=0), rtol=1e-5)
    err = command("predict", "runs", "MUTAG", "--part", "train")[2]
    assert "error: runs/two and runs/one were trained with different splits" in err
    assert "name one run, or --part test (--part train is for runs with one split" in err
    code, _, err = command("embed", "runs", "MUTAG")
    assert code == 1
    assert "holds 2 models, and the vectors of different networks cannot be compared" in err


def test_models_that_do_not_fit_together_do_not_vote(command: Command, mutag_run: Path) -> None:
    command("train", "smooth-or-alternating", *QUICK, "--epochs", 1, "--out", "runs/two")
    code, _, err = command("predict", "runs", "MUTAG")
    assert code == 1
    assert "two: has the classes smooth, alternating, but one has the classes -1, 1: they cannot vote together" in err


def test_models_with_and_without_weights_do_not_vote_together(command: Command, folder: Path, mutag_run: Path) -> None:
    assert command("train", *QUICK, "--ignore-weights", "--out", "runs/two")[0] == 0
    code, _, err = command("predict", "runs", "MUTAG")
    assert code == 1
    assert "two: was trained with ignore_weights = True, but one with False: they cannot vote together" in err


def test_runs_of_different_data_or_targets_do_not_vote_together(command: Command, folder: Path) -> None:
    table = "\n".join(["smiles,a,b", *(f"{'C' * n},{n % 2},{n // 2 % 2}" for n in range(1, 31))])
    for name in ("one", "other"):
        (folder / f"{name}.csv").write_text(table)
    for name, source, target in (("1", "one", "a"), ("2", "one", "b"), ("3", "other", "a")):
        assert command("train", f"{source}.csv", "--target", target, *QUICK, "--out", f"runs/{name}")[0] == 0
    code, _, err = command("predict", "runs", "one.csv")
    assert code == 1
    assert "runs: 2: was trained with target = b, but 1 with a; 3: was trained on " in err
    assert f"{folder / 'other.csv'}, but 1 on {folder / 'one.csv'}: they cannot vote together; name one run" in err


def test_folds_predict_each_graph_by_the_model_that_was_tested_on_it(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--folds", 3, "--out", "r")[0] == 0
    code, out, err = command("predict", "r", "--part", "test")
    assert code == 0, err
    assert "188 predictions by 3 models" in out
    assert "each graph is predicted by those that were tested on it" in err
    tested = {row["graph"]: row for n in range(3) for row in rows(folder / "r" / f"fold-{n}" / "test_predictions.csv")}
    predicted = rows(folder / "predictions.csv")
    assert [row["graph"] for row in predicted] == [str(number) for number in range(188)]
    for row in predicted:
        assert row.keys() == tested[row["graph"]].keys()
        assert float(row["p_1"]) == pytest.approx(float(tested[row["graph"]]["p_1"]), abs=1e-6)
    code, scores, err = command("evaluate", "r", "--part", "test")
    assert code == 0, err
    assert scores.splitlines()[0] == out.splitlines()[1]
    code, _, err = command("predict", "r", "--part", "valid")
    assert code == 1
    assert "r/fold-1 and r/fold-0 were trained with different splits" in err
    assert "name one run, or --part test" in err


def test_the_page_of_folds_shows_all_graphs_and_says_who_predicts_them(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--folds", 3, "--out", "r")[0] == 0
    code, _, err = command("report", "r", "--out", "page.html", "--graphs", 3)
    assert code == 0, err
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Predictions for the 188 test graphs." in page
    assert "3 models with different splits: each graph is predicted by those that were tested on it" in page
    assert "Filters, learning curves and settings are those of fold-0." in page


def test_folds_explain_each_graph_by_the_model_that_was_tested_on_it(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--folds", 3, "--out", "r")[0] == 0
    tested = [rows(folder / "r" / f"fold-{n}" / "test_predictions.csv")[0]["graph"] for n in range(3)]
    code, _, err = command("explain", "r", "--part", "test", "--graphs", ",".join(tested))
    assert code == 0, err
    assert "the first is explained" not in err
    together = rows(folder / "explanations.csv")
    for number, graph in enumerate(tested):
        assert command("explain", f"r/fold-{number}", "--part", "test", "--graphs", graph, "--out", "one.csv")[0] == 0
        assert [row for row in together if row["graph"] == graph] == rows(folder / "one.csv")
    code, _, err = command("explain", "r", "MUTAG", "--graphs", "0")
    assert code == 0, err
    assert "note: 3 models; the first is explained, r/fold-0" in err
