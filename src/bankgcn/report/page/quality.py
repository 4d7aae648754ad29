"""How good predictions are, as figures: confusion, ROC, calibration, predicted beside true values, and what to trust.

Intervals and their coverage, and errors beside the distance from the training graphs, say what to trust.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bankgcn.metrics import METRICS
from bankgcn.report.page.page import Axis, Chart, Figure, Series, Table, choice_of
from bankgcn.tasks import Task
from bankgcn.training.assessment import Assessment
from bankgcn.training.domain import SIMILARITY, Nearness
from bankgcn.training.fitting import Epoch
from bankgcn.training.intervals import LEVEL, coverage_lines

BINS = 10
MAX_POINTS = 2000  # of a cloud of points
MAX_ROC = 200  # points of a curve
MAX_CURVES = 12  # classes or labels with a curve of their own
MAX_NAME = 40  # characters of a name in a legend
FIFTHS = 5
SIMILARITY_WORDS = "The similarity is that of Morgan fingerprints (Tanimoto) to the most similar training molecule."
PERCENTILE_WORDS = (
    "The distance is that of representations from the nearest training graph, as a percentile: at 100, a graph is "
    "further away than any training graph is from the others."
)
LARGE = 480  # height of a chart that stands alone, in pixels

Floats = NDArray[np.float64]


def confusion_counts(predicted: NDArray[np.int64], y: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Number of graphs of each class (row) that are predicted as each class (column)."""
    return np.bincount(y * classes + predicted, minlength=classes**2).reshape(classes, classes)


def roc_curve(score: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False and true positive rates as the threshold falls; equal scores make one step. Both answers must occur."""
    order = np.argsort(-score, kind="stable")
    last_of_ties = np.append(np.diff(score[order]) != 0, True)
    true = np.cumsum(positive[order])[last_of_ties] / positive.sum()
    false = np.cumsum(~positive[order])[last_of_ties] / (~positive).sum()
    return np.append(0.0, false), np.append(0.0, true)


def reliability(probability: Floats, happened: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Mean probability, share of what happened, and number of predictions, in each equal bin with predictions."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    number = np.bincount(place, minlength=BINS).astype(float)
    used = number > 0
    mean = np.bincount(place, probability, BINS)[used] / number[used]
    share = np.bincount(place, happened.astype(float), BINS)[used] / number[used]
    return mean, share, number[used]


def calibration_error(probability: Floats, happened: NDArray[np.bool_]) -> float:
    """Mean distance between probability and share over the bins, weighted by their numbers of predictions."""
    mean, share, number = reliability(probability, happened)
    return float((np.abs(mean - share) * number).sum() / number.sum())


def quality_figures(task: Task, predictions: Floats, y: NDArray, part: str) -> Iterator[Figure]:
    """The figures that fit the task.

    Args:
        task: What was learned.
        predictions: Probabilities or values, shape ``(num_graphs, out_channels)``.
        y: Targets in the order of the outputs; NaN where one is unknown.
        part: What the graphs are, for a reader: ``"test graphs"``.
    """
    if task.kind == "values":
        yield _truth(task, predictions, y, part)
        return
    if task.kind == "classes":
        yield _confusion(task, predictions, y, part)
        columns = range(len(task.names)) if len(task.names) > 2 else range(1, len(task.names))
        answers = {task.names[c]: (predictions[:, c], y == c) for c in columns}
        sure = predictions.max(1), predictions.argmax(1) == y
    else:
        is_known = {name: ~np.isnan(y[:, c]) for c, name in enumerate(task.names)}
        answers = {
            name: (predictions[is_known[name], c], y[is_known[name], c] == 1) for c, name in enumerate(task.names)
        }
        sure = tuple(np.concatenate([pair[part] for pair in answers.values()]) for part in (0, 1))  # type: ignore
    both = {name: pair for name, pair in answers.items() if pair[1].any() and not pair[1].all()}
    if both:
        yield _roc(both)
    yield _calibration(*sure, part, of_classes=task.kind == "classes")


def target_table(assessment: Assessment) -> Iterator[Table]:
    """The scores of each of several values or labels, beside those of a prediction that does not look at the graphs."""
    targets = assessment.targets
    if len(targets) < 2:
        return
    names = list(targets[0].scores)
    labels = targets[0].positive is not None
    varying = ["average_precision"] if labels else ["mae", "rmse"]  # of a constant, the others are always the same
    header = ["target", "graphs", *(["positive"] if labels else []), *(METRICS[name].label for name in names)]
    header += [f"{METRICS[name].label} of a constant" for name in varying]
    rows = []
    for row in targets:
        cells = [row.name, f"{row.graphs:,}", *([f"{row.positive:,}"] if labels else [])]
        cells += [METRICS[name].text(row.scores.get(name)) for name in names]
        cells += [METRICS[name].text(row.baseline_scores.get(name)) for name in varying]
        rows.append((*cells, *([f"{row.threshold:.4g}"] if row.threshold is not None else [])))
    guessing = " Its ROC-AUC is 0.5." if labels else ""
    yield Table(
        caption="Each target by itself; the score of the page is the mean of theirs. A constant does not look at the "
        f"graphs: it is the mean of the training graphs.{guessing}",
        header=(*header, *(["threshold"] if labels else [])),
        rows=tuple(rows),
    )


def _decided(task: Task, predictions: Floats) -> NDArray[np.int64]:
    return task.decide(torch.from_numpy(predictions)).numpy()


def _confusion(task: Task, predictions: Floats, y: NDArray[np.int64], part: str) -> Figure:
    counts = confusion_counts(_decided(task, predictions), y, len(task.names))
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    cells = Series(
        kind="heat", x=task.names, y=task.names, z=share.tolist(), text=[[f"{n:,}" for n in row] for row in counts]
    )
    size = max(300, min(620, 170 + 34 * len(task.names)))
    chart = Chart(x=Axis(title="predicted"), y=Axis(title="true", reverse=True), series=(cells,), height=size)
    return Figure(
        name="confusion",
        title="Confusion matrix",
        caption=f"Each row holds the {part} of one class, each column what they were predicted as. Correct "
        "predictions stand on the diagonal; a strong colour elsewhere is a frequent mistake.",
        charts=(chart,),
    )


def _roc(answers: dict[str, tuple[Floats, NDArray[np.bool_]]]) -> Figure:
    measured = []
    for name, (score, positive) in answers.items():
        false, true = roc_curve(score, positive)
        measured.append((float((np.diff(false) * (true[1:] + true[:-1])).sum() / 2), name, *_thinned(false, true)))
    measured.sort(key=lambda one: -one[0])  # the legend stands in the order of the curves
    curves = [
        Series(
            name=f"{area:.3f} {name if len(name) <= MAX_NAME else name[: MAX_NAME - 3] + '...'}",
            x=false.tolist(),
            y=true.tolist(),
            color=number,
            dash=number,
            hidden=number >= MAX_CURVES,
        )
        for number, (area, name, false, true) in enumerate(measured)
    ]
    chance = Series(name="0.500 guessing", x=(0, 1), y=(0, 1), color=None, dash=2)
    chart = Chart(
        x=Axis(title="false positive rate", limits=(0, 1)),
        y=Axis(title="true positive rate", limits=(0, 1.01)),
        series=(*curves, chance),
        square=True,
    )
    return Figure(
        name="roc",
        title="ROC curve",
        caption="As the threshold falls, more graphs of a class are found (up), and more others are wrongly called so "
        "(right). The nearer to the upper left corner, the better; the grey line is guessing. The legend has the area "
        "under each curve, the best first.",
        charts=(chart,),
    )


def _calibration(probability: Floats, happened: NDArray[np.bool_], part: str, of_classes: bool) -> Figure:
    mean, share, number = reliability(probability, happened)
    error = calibration_error(probability, happened)
    what = "the predicted class" if of_classes else "each label"
    points = Series(
        kind="points",
        name=part,
        x=mean.tolist(),
        y=share.tolist(),
        text=[f"{int(n):,} predictions" for n in number],
    )
    line = Series(x=mean.tolist(), y=share.tolist())
    ideal = Series(name="perfect", x=(0, 1), y=(0, 1), color=None, dash=2)
    chart = Chart(
        x=Axis(title=f"predicted probability of {what}", limits=(0, 1)),
        y=Axis(title="observed share", limits=(0, 1.02)),
        series=(ideal, line, points),
        square=True,
    )
    return Figure(
        name="calibration",
        title="Calibration",
        caption="Can the probabilities be believed? Of the graphs with a probability near 0.8, 80 % should be so: then "
        "the points lie on the grey line. Below it, the model is too sure; above it, not sure enough.",
        charts=(chart,),
        facts=(f"mean distance from the line (expected calibration error): {error:.3f}",),
    )


def _truth(task: Task, predictions: Floats, y: NDArray, part: str) -> Figure:
    charts, facts = [], []
    for column, name in enumerate(task.names):
        graphs = np.flatnonzero(~np.isnan(y[:, column]))
        kept = (
            graphs[np.linspace(0, len(graphs) - 1, min(len(graphs), MAX_POINTS)).astype(int)] if len(graphs) else graphs
        )
        true, estimate = y[kept, column].astype(float), predictions[kept, column]
        ends = [float(f(np.append(true, estimate))) for f in (np.min, np.max)] if len(kept) else [0.0, 1.0]
        series = (
            Series(name="perfect", x=ends, y=ends, color=None, dash=2),
            Series(kind="points", name=part, x=true.tolist(), y=estimate.tolist()),
        )
        margin = 0.03 * (ends[1] - ends[0]) or 0.5
        limits = (ends[0] - margin, ends[1] + margin)
        axes = [Axis(title=f"{word} {name}", limits=limits) for word in ("true", "predicted")]
        charts.append(Chart(x=axes[0], y=axes[1], series=series, height=LARGE, square=True))
        error = np.abs(predictions[graphs, column] - y[graphs, column]).mean() if len(graphs) else float("nan")
        facts.append(f"mean absolute error of {name}: {error:.4g} ({len(graphs):,} graphs)")
    return Figure(
        name="truth",
        title="Predicted and true values",
        caption=f"One point for each of the {part}. On the grey line, the prediction is correct; the further above or "
        "below it, the larger the error.",
        charts=tuple(charts),
        choices=choice_of("target", task.names),
        facts=tuple(facts),
    )


def coverage_figure(task: Task, figures: Sequence[dict[str, Any]], part: str) -> Figure:
    """How often intervals or sets hold the truth, over their levels.

    Args:
        task: What was learned.
        figures: What :func:`bankgcn.training.intervals.coverage` returns, for each level.
        part: What the graphs are.
    """
    levels, held = [row["level"] for row in figures], [row["coverage"] for row in figures]
    what = "intervals" if task.kind == "values" else "sets"
    lowest = min(0.5, *(share for share in held if share is not None), 1.0)
    limits = (lowest - 0.02, 1.02)
    series = (
        Series(name="as promised", x=(lowest, 1), y=(lowest, 1), color=None, dash=2),
        Series(x=levels, y=held),
        Series(
            kind="points", name=part, x=levels, y=held, text=["; ".join(coverage_lines(task, row)) for row in figures]
        ),
    )
    least = "" if task.kind == "values" else " A set holds at least what is predicted: more than a low level promises."
    chart = Chart(
        x=Axis(title=f"level of the {what}", limits=(0.48, 1.02)),
        y=Axis(title="share that holds the truth", limits=limits),
        series=series,
    )
    usual = min(figures, key=lambda row: abs(row["level"] - LEVEL))
    return Figure(
        name="coverage",
        title=f"{what.capitalize()} and what they hold",
        caption=f"The {what} of 90 % shall hold the true answer in 90 % of the {part}: then the points lie on the grey "
        f"line. Below it, they promise too much.{least}",
        charts=(chart,),
        facts=tuple(coverage_lines(task, usual)),
    )


def domain_figure(task: Task, predictions: Floats, y: NDArray, nearness: Nearness, part: str) -> Figure:
    """Errors beside the distance from the training graphs.

    Args:
        task: What was learned.
        predictions: Probabilities or values, shape ``(num_graphs, out_channels)``.
        y: Targets in the order of the outputs; NaN where one is unknown.
        nearness: How near the graphs are to the training graphs.
        part: What the graphs are.
    """
    similar = nearness.name == SIMILARITY
    errors = _errors(task, predictions, y)
    labels = ("the true class",) if task.kind == "classes" else task.names
    charts, facts = [], []
    for name, error in zip(labels, errors.T, strict=True):
        title = f"error of {name}" if task.kind == "values" else f"1 − probability of {_true_word(task, name)}"
        charts.append(_domain_chart(nearness, error, title, part))
        facts.append(_near_and_far(nearness, error, similar))
    far, measure = ("to the left", SIMILARITY_WORDS) if similar else ("to the right", PERCENTILE_WORDS)
    return Figure(
        name="domain",
        title="How far from training",
        caption=f"One point for each of the {part}. {measure} Where the line, the mean of a fifth of the graphs, rises "
        f"{far}, trust predictions there less.",
        charts=tuple(charts),
        choices=choice_of("target", labels),
        facts=tuple(facts),
    )


def _true_word(task: Task, name: str) -> str:
    return name if task.kind == "classes" else f"the true answer of {name}"


def _errors(task: Task, predictions: Floats, y: NDArray) -> Floats:
    """The error of each value, or one minus the probability of the true class or answer; shape ``(G, targets)``."""
    if task.kind == "classes":
        return 1 - predictions[np.arange(len(y)), y][:, None]
    return np.abs(predictions - y)


def _domain_chart(nearness: Nearness, error: Floats, title: str, part: str) -> Chart:
    known = np.flatnonzero(np.isfinite(error) & np.isfinite(nearness.values))
    x, mean = _means_of_fifths(nearness.values[known], error[known])
    kept = known[np.linspace(0, len(known) - 1, min(len(known), MAX_POINTS)).astype(int)] if len(known) else known
    new = np.array([nearness.unseen[row] is not None for row in kept.tolist()], np.bool_)
    points = [
        Series(
            kind="points",
            name=name,
            x=nearness.values[rows].tolist(),
            y=error[rows].tolist(),
            color=color,
            text=[nearness.unseen[row] or "" for row in rows.tolist()],
        )
        for name, color, rows in (
            (part, 0, kept[~new]),
            (f"{part} with values that training lacks", 2, kept[new]),
        )
        if len(rows)
    ]
    similar = nearness.name == SIMILARITY
    axis = Axis(
        title="similarity to the nearest training molecule" if similar else "percentile of the distance from training",
        limits=(-0.02, 1.02) if similar else (-2, 102),
    )
    line = Series(name="mean of a fifth", x=x.tolist(), y=mean.tolist(), color=1)
    return Chart(x=axis, y=Axis(title=title), series=(*points, line))


def _means_of_fifths(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Means of five parts with equal numbers of points, in the order of ``x``."""
    parts = [part for part in np.array_split(np.argsort(x, kind="stable"), FIFTHS) if len(part)]
    return np.array([x[part].mean() for part in parts]), np.array([y[part].mean() for part in parts])


def _near_and_far(nearness: Nearness, error: Floats, similar: bool) -> str:
    known = np.flatnonzero(np.isfinite(error) & np.isfinite(nearness.values))
    if len(known) < 2:
        return ""
    order = known[np.argsort(-nearness.values[known] if similar else nearness.values[known], kind="stable")]
    near, far = (error[half].mean() for half in np.array_split(order, 2))
    return f"mean of the nearer half: {near:.3g}; of the farther half: {far:.3g} ({len(known):,} graphs)"


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_ROC)).astype(int))
    return x[kept], y[kept]


def learning_figures(
    epochs: Sequence[Epoch], best_epoch: int | None, metric: str, select: str, has_bank: bool
) -> Iterator[Figure]:
    """Losses, and the validation score; with filter banks, the score beside Omega.

    Args:
        epochs: The epochs.
        best_epoch: The one whose weights the model has.
        metric: Name of the score.
        select: What selected the best epoch, the validation ``"loss"`` or ``"score"``.
        has_bank: Whether Omega is defined.
    """
    number = [epoch.number for epoch in epochs]
    marks = ((float(best_epoch), "best epoch"),) if best_epoch else ()
    train = Series(name="training", x=number, y=[epoch.train_loss for epoch in epochs], color=0)
    valid = Series(name="validation", x=number, y=[epoch.valid_loss for epoch in epochs], color=1, dash=1)
    yield Figure(
        name="loss",
        title="Loss",
        caption="The loss over the epochs: lower is better. Where training falls and validation rises, the network "
        "learns its training graphs by heart; the model has the weights of the best epoch, which the validation "
        f"{select} selects.",
        charts=(Chart(x=Axis(title="epoch"), y=Axis(title="loss"), series=(train, valid), marks=marks),),
    )
    label = METRICS[metric].label
    better = "higher" if METRICS[metric].higher_is_better else "lower"
    score = Series(name=f"validation {label}", x=number, y=[epoch.valid_score for epoch in epochs], color=1)
    omega = Series(name="Ω", x=number, y=[epoch.coherence for epoch in epochs], color=2, dash=1, axis="y2")
    note = " Ω (right axis) says how alike the filters of a layer are, mean over the layers." if has_bank else ""
    chart = Chart(
        x=Axis(title="epoch"),
        y=Axis(title=f"validation {label}"),
        series=(score, omega) if has_bank else (score,),
        y2=Axis(title="Ω") if has_bank else None,
        marks=marks,
    )
    yield Figure(
        name="score",
        title="Validation score",
        caption=f"The {label} on the validation graphs: {better} is better.{note}",
        charts=(chart,),
    )
