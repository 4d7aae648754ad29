"""What mattered in a search: the importance of each setting, and the score over its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bankgcn.metrics import Metric
from bankgcn.report.plots import COLORS, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

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
    panels = len(ordered) + bool(importances)
    rows = math.ceil(panels / COLUMNS)

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots(rows, COLUMNS, squeeze=False).flatten().tolist()
        for unused in axes[panels:]:
            unused.axis("off")
        if importances:
            _draw_importances(axes.pop(0), importances)
        for axis, name in zip(axes, ordered, strict=False):
            _draw_scores(axis, name, trials, best)
        for axis in axes[: len(ordered)]:
            axis.set_ylabel(f"validation {metric.label}", fontsize=7)
        handles = _legend()
        canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)

    return render("trials", (PANEL[0] * COLUMNS, PANEL[1] * rows + 0.4), paint, form)


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
