"""Pictures of Tables 2 and 3: the score over the order K, the number s of subspaces and the weight gamma."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bankgcn.experiments.design import Column, Row
from bankgcn.metrics import METRICS
from bankgcn.report.plots import COLORS, PAPER, PER_LINE, render
from bankgcn.report.results import Results
from bankgcn.report.sheet import unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

OURS = "ours, mean ± std"


@dataclass(frozen=True, kw_only=True)
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
        Curve(
            name="K",
            label="order K of the filters (s = 8)",
            table="table2",
            fixed={"num_subspaces": 8},
            value=lambda row: row.options["order"],
        ),
        Curve(
            name="s",
            label="number s of subspaces (K = 2)",
            table="table2",
            fixed={"order": 2},
            value=lambda row: row.options["num_subspaces"],
        ),
        Curve(
            name="gamma",
            label=r"weight $\gamma$ of diversity (K = 2, s = 8)",
            table="table3",
            fixed={},
            value=lambda row: row.gamma or 0.0,
        ),
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
        axes = canvas.subplots(down, across, squeeze=False)
        for axis in axes.flat[len(columns) :]:
            axis.set_axis_off()
        for column, axis in zip(columns, axes.flat, strict=False):
            _paint_panel(curve, rows, results, column, axis)
        handles, labels = axes[0, 0].get_legend_handles_labels()
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
