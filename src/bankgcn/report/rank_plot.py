"""A picture of the mean ranks of the models over datasets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bankgcn.experiments.paper.layout import Column
from bankgcn.experiments.ranks import critical_difference, mean_ranks
from bankgcn.metrics import METRICS
from bankgcn.report.canvas import COLORS, render
from bankgcn.report.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def ranked_columns(results: Results) -> list[Column]:
    """The columns in which every row has a score."""
    rows = results.table.rows
    return [column for column in results.table.columns if all(results.at(row, column).spread.count for row in rows)]


def ranks_by_dataset(results: Results) -> dict[str, np.ndarray]:
    """The rank of each row, 1 for the best, on each dataset where every row has a score."""
    rows = results.table.rows
    return {
        column.label: mean_ranks(
            [results.at(row, column).spread.mean for row in rows], METRICS[column.metric].higher_is_better
        )
        for column in ranked_columns(results)
    }


def draw_ranks(results: Results, form: str = "svg") -> bytes:
    """The models in the order of their mean ranks, with their rank on each dataset and the critical difference.

    Args:
        results: The cells of the table.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.

    Raises:
        ValueError: There is no dataset on which every row has a score.
    """
    by_dataset = ranks_by_dataset(results)
    if not by_dataset:
        raise ValueError(f"{results.table.name}: on no dataset every row has a score")
    rows = results.table.rows
    ranks = np.stack(list(by_dataset.values()))
    order = np.argsort(ranks.mean(0), kind="stable")

    def paint(canvas: Canvas) -> None:
        axis = canvas.subplots()
        for height, index in enumerate(order):
            axis.plot(ranks[:, index], np.full(len(ranks), height), "|", color="#888888", markersize=9, zorder=1)
            axis.plot(ranks[:, index].mean(), height, "o", color=COLORS[0], markersize=7, zorder=2)
        axis.set_yticks(range(len(rows)), [rows[index].label for index in order])
        axis.set_xlim(0.7, len(rows) + 0.3)
        axis.set_xticks(range(1, len(rows) + 1))
        axis.set_axisbelow(True)
        axis.invert_yaxis()
        datasets = f"{len(ranks)} dataset{'s' if len(ranks) > 1 else ''}"
        axis.set_xlabel(f"rank, 1 is the best: mean over {datasets} (dot), on each of them (bar)")
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="y", color="#eeeeee")
        difference = critical_difference(len(rows), len(ranks))
        if not math.isnan(difference):
            start = ranks.mean(0).min()
            axis.plot((start, start + difference), (-0.8, -0.8), "|-", color="#000000", markersize=7)
            words = f"critical difference {difference:.1f} (Nemenyi, 0.05)"
            axis.text(start + difference / 2, -1.0, words, ha="center", va="bottom", fontsize=8)
            axis.set_xlim(0.7, max(len(rows), start + difference) + 0.3)
            axis.set_ylim(len(rows) - 0.5, -1.8)

    return render(f"{results.table.name}-ranks", (6.4, 0.9 + 0.27 * len(rows)), paint, form)
