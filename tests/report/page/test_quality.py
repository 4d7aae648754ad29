"""How good predictions are, and the learning curves of a run, as figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import auc, confusion_matrix, roc_auc_score, roc_curve

from bankgcn.report.page import quality
from bankgcn.report.page.page import DASHES, styled
from bankgcn.report.page.quality import learning_figures
from bankgcn.tasks import Task
from bankgcn.training.assessment import assess
from bankgcn.training.domain import Nearness

RNG = np.random.default_rng(0)
VALUES = Task(kind="values", names=("u", "v"), center=(0.0, 0.0), scale=(1.0, 1.0))


def test_confusion_and_roc_are_those_of_scikit_learn() -> None:
    y, predicted = RNG.integers(3, size=50), RNG.integers(3, size=50)
    assert (quality.confusion_counts(predicted, y, 3) == confusion_matrix(y, predicted)).all()
    score, positive = RNG.integers(8, size=60) / 8, RNG.integers(2, size=60) == 1  # with ties
    false, true = quality.roc_curve(score, positive)
    expected = roc_curve(positive, score, drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0])
    np.testing.assert_allclose(true, expected[1])
    assert auc(false, true) == pytest.approx(roc_auc_score(positive, score))


def test_bins_of_calibration_count_every_prediction_once() -> None:
    probability = np.array([0.0, 0.05, 0.55, 0.58, 1.0])
    happened = np.array([False, True, True, False, True])
    mean, share, number = quality.reliability(probability, happened)
    assert number.tolist() == [2, 2, 1]
    np.testing.assert_allclose(mean, [0.025, 0.565, 1.0])
    np.testing.assert_allclose(share, [0.5, 0.5, 1.0])
    assert quality.calibration_error(probability, happened) == pytest.approx((2 * 0.475 + 2 * 0.065) / 5)


def names(task: Task, predictions: np.ndarray, y: np.ndarray) -> list[str]:
    return [figure.name for figure in quality.quality_figures(task, predictions, y, "test graphs")]


def test_each_task_has_its_figures() -> None:
    three = RNG.dirichlet(np.ones(3), 30)
    assert names(Task(names=("a", "b", "c")), three, RNG.integers(3, size=30)) == ["confusion", "roc", "calibration"]
    labels = np.array([[1, np.nan], [0, np.nan], [1, np.nan]])
    assert names(Task(kind="labels", names=("x", "y")), RNG.random((3, 2)), labels) == ["roc", "calibration"]
    (truth,) = quality.quality_figures(VALUES, RNG.random((4, 2)), np.array([[1, np.nan]] * 4), "test graphs")
    assert len(truth.charts) == 2
    assert "0 graphs" in truth.facts[1]


def test_figures_name_the_graphs_that_they_show() -> None:
    classes = Task(names=("a", "b", "c"))
    confusion, _, calibration = quality.quality_figures(
        classes, RNG.dirichlet(np.ones(3), 30), RNG.integers(3, size=30), "training graphs"
    )
    (truth,) = quality.quality_figures(VALUES, RNG.random((4, 2)), RNG.random((4, 2)), "training graphs")
    assert "training graphs" in confusion.caption
    assert "training graphs" in truth.caption
    for figure in (calibration, truth):
        assert "training graphs" in [series.name for series in figure.charts[0].series]
    assert "test graph" not in repr((confusion, calibration, truth))


def test_a_class_that_no_graph_has_gets_no_roc_curve() -> None:
    assert names(Task(names=("a", "b")), np.array([[0.4, 0.6]] * 3), np.ones(3, int)) == ["confusion", "calibration"]


def test_curves_stand_in_the_order_of_their_areas_and_charts_with_equal_axes_are_square() -> None:
    y = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    predictions = np.stack([np.linspace(1, 0, 20), np.linspace(0, 1, 20)], axis=1)
    roc, calibration = quality.quality_figures(Task(kind="labels", names=("bad", "good")), predictions, y, "graphs")
    assert [s.name for s in roc.charts[0].series] == ["1.000 good", "0.000 bad", "0.500 guessing"]
    (truth,) = quality.quality_figures(VALUES, RNG.random((4, 2)), 9 * RNG.random((4, 2)), "graphs")
    for chart in (*roc.charts, *calibration.charts, *truth.charts):
        assert chart.square
    assert all(chart.x.limits == chart.y.limits for chart in truth.charts)


def test_styles_of_lines_do_not_repeat_within_a_colour() -> None:
    assert len({styled(DASHES, number) for number in range(16)}) == 16
    assert len({(number % 8, styled(DASHES, number)) for number in range(128)}) == 128


def test_several_targets_have_a_table_of_their_own_scores() -> None:
    labels = Task(kind="labels", names=("x", "y"), thresholds=(0.4, 0.6))
    y, p = RNG.integers(2, size=(40, 2)).astype(float), RNG.random((40, 2))
    (table,) = quality.target_table(assess(labels, torch.from_numpy(p), y))
    assert table.header[:4] == ("target", "graphs", "positive", "ROC-AUC")
    assert table.header[-1] == "threshold"
    for column, row in enumerate(table.rows):
        assert row[:4] == (
            "xy"[column],
            "40",
            f"{y[:, column].sum():.0f}",
            f"{roc_auc_score(y[:, column], p[:, column]):.4f}",
        )
        assert row[-1] == f"{labels.thresholds[column]}"
        assert len(row) == len(table.header)
    (table,) = quality.target_table(assess(VALUES, torch.from_numpy(p), y))
    assert table.header == ("target", "graphs", "MAE", "RMSE", "R2", "MAE of a constant", "RMSE of a constant")
    assert list(quality.target_table(assess(Task(names=("a", "b")), torch.from_numpy(p), y[:, 0].astype(int)))) == []


def test_the_confusion_matrix_follows_the_threshold() -> None:
    rare = Task(names=("a", "b"), thresholds=(0.1,))
    p = np.array([[0.95, 0.05], [0.8, 0.2], [0.7, 0.3]])
    figure = next(iter(quality.quality_figures(rare, p, np.array([0, 0, 1]), "test graphs")))
    assert [list(row) for row in figure.charts[0].series[0].text] == [["1", "1"], ["0", "1"]]


@pytest.mark.parametrize("select", ["loss", "score"])
def test_captions_name_what_selected_the_best_epoch(select: str) -> None:
    loss, score = learning_figures([], 3, "accuracy", select, has_bank=False)
    assert f"the best epoch, which the validation {select} selects" in loss.caption
    assert "epoch" not in score.caption


def test_coverage_stands_beside_its_level() -> None:
    rows = [{"level": level, "graphs": 40, "coverage": share} for level, share in ((0.5, 0.4), (0.9, 0.85))]
    figure = quality.coverage_figure(VALUES, rows, "test graphs")
    promised, _, points = figure.charts[0].series
    assert (list(promised.x), list(promised.y)) == ([0.4, 1], [0.4, 1])
    assert (list(points.x), list(points.y)) == ([0.5, 0.9], [0.4, 0.85])
    assert figure.facts == ("90 % intervals hold 85.0 % of the true values  (40 graphs)",)


def test_errors_stand_beside_the_distance_from_training() -> None:
    values = np.array([0.9, 0.8, 0.5, 0.2, 0.1])
    nearness = Nearness("similarity", values, [None, None, None, None, "element Si"])
    y = np.array([[0.0, np.nan]] * 5)
    figure = quality.domain_figure(
        VALUES, np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0], [0.4, 1.0], [0.5, 1.0]]), y, nearness, "graphs"
    )
    _, unseen, mean = figure.charts[0].series
    assert (list(unseen.x), list(unseen.y), list(unseen.text)) == ([0.1], [0.5], ["element Si"])
    np.testing.assert_allclose(mean.x, np.sort(values))
    np.testing.assert_allclose(mean.y, [0.5, 0.4, 0.3, 0.2, 0.1])
    assert figure.facts == ("mean of the nearer half: 0.2; of the farther half: 0.45 (5 graphs)", "")
    classes = Task(names=("no", "yes"))
    nearness = Nearness("distance_percentile", np.array([0.0, 100.0]), [None, None])
    (chart,) = quality.domain_figure(
        classes, np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0, 0]), nearness, "graphs"
    ).charts
    np.testing.assert_allclose(chart.series[0].y, [0.1, 0.7])
