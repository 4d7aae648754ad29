"""Pictures of curves: training histories of a figure, and the trials of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bankgcn.experiments.design import Column, Row
from bankgcn.metrics import METRICS, Metric
from bankgcn.report.plots import COLORS, PAPER, PER_LINE, panels, render
from bankgcn.report.results import Results
from bankgcn.report.sheet import unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

OURS = "ours, mean ± std"


@dataclass(frozen=True)
class Curve:
    """What varies along a curve.

    Args:
        name: Identifier on the command line: ``K``, ``s`` or ``gamma``.
        label: Label of the horizontal axis.
        table: Name of the table.
        fixed: Options of the convolution that the rows of the curve share.
        value: The value of a row.
    """

    name: str
    label: str
    table: str
    fixed: Mapping[str, Any]
    value: Callable[[Row], float]

    def rows(self, results: Results) -> list[Row]:
        """The rows of the curve, by value."""
        fixed = self.fixed.items()
        rows = [row for row in results.design.rows if row.conv == "bank" and fixed <= row.options.items()]
        return sorted(rows, key=self.value)

    def columns(self, results: Results) -> list[Column]:
        """The datasets on which every row of the curve has a score."""
        return results.ranked_columns(self.rows(results))


CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in (
        Curve("K", "order K of the filters (s = 8)", "table2", {"num_subspaces": 8}, lambda row: row.options["order"]),
        Curve("s", "number s of subspaces (K = 2)", "table2", {"order": 2}, lambda row: row.options["num_subspaces"]),
        Curve("gamma", r"weight $\gamma$ of diversity (K = 2, s = 8)", "table3", {}, lambda row: row.gamma or 0.0),
    )
}


def draw_curve(curve: Curve, results: Results, form: str = "svg") -> bytes:
    """One panel for each dataset with all scores: ours with its standard deviation, and the paper's figures.

    Args:
        curve: What varies.
        results: The cells of the curve's table.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.

    Raises:
        ValueError: There is no dataset on which every row of the curve has a score.
    """
    rows, columns = curve.rows(results), curve.columns(results)
    if not columns:
        raise ValueError(f"{curve.table}: on no dataset every value of {curve.name} has a score")
    across = min(PER_LINE, len(columns))
    down = math.ceil(len(columns) / across)

    def paint(canvas: Canvas) -> None:
        axes = panels(canvas, len(columns), across)
        for column, axis in zip(columns, axes, strict=True):
            _paint_panel(curve, rows, results, column, axis)
        handles, labels = axes[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
        canvas.supxlabel(curve.label)

    return render(f"{curve.table}-{curve.name}", (0.6 + 2.8 * across, 0.7 + 2.2 * down), paint, form)


def _paint_panel(curve: Curve, rows: list[Row], results: Results, column: Column, axis: Axes) -> None:
    cells = [results.at(row, column) for row in rows]
    papers = [(place, cell.published.mean) for place, cell in enumerate(cells) if cell.published]
    if papers:
        axis.plot(*zip(*papers, strict=True), **{**PAPER, "linestyle": ":"}, color="#666666", label="paper")
    means = [cell.spread.mean for cell in cells]
    spans = [0.0 if math.isnan(cell.spread.std) else cell.spread.std for cell in cells]
    axis.errorbar(range(len(rows)), means, spans, fmt="o-", color=COLORS[0], markersize=5, capsize=2, label=OURS)
    metric = METRICS[column.metric]
    axis.set_title(column.label, fontsize=10)
    axis.set_ylabel(f"test {metric.label}{unit(metric)}")
    axis.set_xticks(range(len(rows)), [f"{curve.value(row):g}" for row in rows])  # evenly spaced: 0 has no logarithm
    axis.spines[["top", "right"]].set_visible(False)


COLUMNS = 4
PANEL = (2.6, 2.0)  # inches
COMPLETE, STOPPED, BEST = COLORS[0], COLORS[7], COLORS[1]
DECADES = 10.0  # a range of numbers with this ratio is drawn on a logarithmic axis


class Trial(Protocol):
    """What is drawn of a trial."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings of the trial."""

    @property
    def score(self) -> float | None:
        """Its validation score."""

    @property
    def stopped(self) -> bool:
        """Whether it was stopped early."""


def draw_trials(
    trials: Sequence[Trial],
    best: Trial,
    names: Sequence[str],
    importances: Mapping[str, float],
    metric: Metric,
    form: str,
) -> bytes:
    """A panel with the importances, if they are known, and one for each setting with the scores over its values.

    Args:
        trials: The trials that have ended.
        best: The winner.
        names: The settings that they vary.
        importances: The importance of settings.
        metric: What the scores are.
        form: Kind of the image, see :data:`~bankgcn.report.plots.IMAGES`.
    """
    ordered = sorted(names, key=lambda name: -importances.get(name, 0.0))
    count = len(ordered) + bool(importances)

    def paint(canvas: Canvas) -> None:
        axes = panels(canvas, count, COLUMNS)
        if importances:
            _draw_importances(axes.pop(0), importances)
        for axis, name in zip(axes, ordered, strict=True):
            _draw_scores(axis, name, trials, best)
            axis.set_ylabel(f"validation {metric.label}", fontsize=7)
        handles = _legend()
        canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)

    return render("trials", (PANEL[0] * COLUMNS, PANEL[1] * math.ceil(count / COLUMNS) + 0.4), paint, form)


def _draw_importances(axis: Axes, importances: Mapping[str, float]) -> None:
    names = list(importances)[::-1]
    axis.barh(names, [importances[name] for name in names], color=COMPLETE)
    axis.set_title("importance", fontsize=9)
    axis.tick_params(labelsize=7)


def _draw_scores(axis: Axes, name: str, trials: Sequence[Trial], best: Trial) -> None:
    axis.set_title(name, fontsize=9)
    axis.tick_params(labelsize=7)
    places, labels = _places([trial.values[name] for trial in trials])
    for place, trial in zip(places, trials, strict=True):
        if trial.score is None:
            continue
        color = BEST if trial is best else STOPPED if trial.stopped else COMPLETE
        face = "none" if trial.stopped else color
        order = 3 if trial is best else 1 if trial.stopped else 2
        axis.plot(place, trial.score, "o", markersize=4, color=color, markerfacecolor=face, zorder=order, alpha=0.8)
    if labels:
        axis.set_xticks(range(len(labels)), labels)
        axis.set_xlim(-0.5, len(labels) - 0.5)
    elif min(places, default=0) > 0 and max(places) / min(places) > DECADES:
        axis.set_xscale("log")


def _places(values: Sequence[Any]) -> tuple[list[float], list[str]]:
    """Where values stand on the axis, and the labels of the axis; no labels for many different numbers."""
    different = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    if len(different) > 6:
        return [float(value) for value in values], []
    return [float(different.index(value)) for value in values], [_label(value) for value in different]


def _label(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.replace("_", "\n") if isinstance(value, str) else f"{value:g}"


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    kinds = (("complete", COMPLETE, COMPLETE), ("stopped early", STOPPED, "none"), ("best", BEST, BEST))
    return [
        Line2D([], [], linestyle="", marker="o", markersize=4, color=color, markerfacecolor=face, label=label)
        for label, color, face in kinds
    ]
