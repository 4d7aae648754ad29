"""A picture of a table: the models of each dataset as dots with intervals, beside the paper's figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bankgcn.experiments.paper.layout import Column
from bankgcn.experiments.significance import Spread
from bankgcn.metrics import METRICS
from bankgcn.report.canvas import COLORS, render
from bankgcn.report.compact import LEVEL, verdict
from bankgcn.report.fields import unit
from bankgcn.report.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PER_LINE = 3
"""Number of panels side by side; with more, the letters become too small for a page."""

PAPER: dict[str, Any] = {
    "marker": "D",
    "markersize": 6.5,
    "markerfacecolor": "white",
    "markeredgecolor": "#666666",
    "linestyle": "",
}
"""How the paper's figures are drawn in all pictures: hollow."""

REFERENCE: dict[str, Any] = {"color": "#bbbbbb", "linewidth": 1.2}
"""The line at the mean of the reference."""

# Shape and colour say the same, so that the picture can be read in grey.
MARKS = {-1: ("v", COLORS[0]), 0: ("o", COLORS[6]), 1: ("^", COLORS[1])}
"""Shape and colour of a row that is worse than the reference, not shown to differ, or better."""


def occupied_columns(results: Results) -> list[Column]:
    """The columns with at least one score."""
    rows = results.table.rows
    return [column for column in results.table.columns if any(results.at(row, column).spread.count for row in rows)]


def draw_dots(results: Results, form: str = "svg") -> bytes:
    """One panel for each dataset with scores: mean and standard deviation of each model, and the paper's figure.

    Args:
        results: The cells of the table.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.

    Raises:
        ValueError: No cell has a score.
    """
    columns = occupied_columns(results)
    if not columns:
        raise ValueError(f"{results.table.name}: there is no score to draw")
    down = math.ceil(len(columns) / PER_LINE)
    across = math.ceil(len(columns) / down)  # as many in every line as possible: four are two and two

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots(down, across, squeeze=False, sharey=True)
        for axis in axes.flat[len(columns) :]:
            axis.set_axis_off()
        for column, axis in zip(columns, axes.flat, strict=False):
            _paint_panel(results, column, axis)
        labels = [row.label for row in results.table.rows]
        axes[0, 0].set_yticks(range(len(labels)), labels)
        axes[0, 0].invert_yaxis()
        _paint_legend(results, canvas, across)

    size = (max(6.0, 1.7 + 2.5 * across), 0.7 + (0.7 + 0.24 * len(results.table.rows)) * down)
    return render(f"{results.table.name}-dots", size, paint, form)


def _paint_panel(results: Results, column: Column, axis: Axes) -> None:
    reference = results.reference
    if reference is not None and results.at(reference, column).spread.count:
        axis.axvline(results.at(reference, column).spread.mean, zorder=0, **REFERENCE)
    for height, row in enumerate(results.table.rows):
        cell = results.at(row, column)
        if cell.published:
            axis.plot(cell.published.mean, height, zorder=2, **PAPER)
        if cell.spread.count:
            shape, color = MARKS[verdict(results, row, column)]
            axis.plot(_interval(cell.spread), (height, height), color=color, linewidth=1.3, zorder=1)
            axis.plot(cell.spread.mean, height, shape, color=color, markersize=5.5, zorder=3)
    metric = METRICS[column.metric]
    axis.set_title(column.label, fontsize=10)
    axis.set_xlabel(f"test {metric.label}{unit(metric)}")
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.grid(axis="y", color="#eeeeee")
    axis.set_axisbelow(True)


def _interval(spread: Spread) -> tuple[float, float]:
    half = 0.0 if math.isnan(spread.std) else spread.std
    return spread.mean - half, spread.mean + half


def _paint_legend(results: Results, canvas: Canvas, across: int) -> None:
    from matplotlib.lines import Line2D

    present = {verdict(results, row, column) for column in occupied_columns(results) for row in results.table.rows}
    words = {0: "ours, mean ± std"}
    if results.reference is not None:
        name = results.reference.label
        words |= {-1: f"worse than {name}, p < {LEVEL:g}", 1: f"better than {name}, p < {LEVEL:g}"}
    entries = {"paper": Line2D([], [], **PAPER)}
    for sign in sorted(present, key=abs):
        shape, color = MARKS[sign]
        entries[words[sign]] = Line2D([], [], marker=shape, color=color, markersize=5.5, linewidth=1.3)
    if results.reference is not None:
        entries[f"mean of {results.reference.label}"] = Line2D([], [], **REFERENCE)
    lines = list(entries.values())
    canvas.legend(lines, list(entries), loc="outside lower center", ncols=3 if across > 2 else 2, frameon=False)
