"""Pictures of results: models as dots, mean ranks, and the filters of the paper's Figure 3."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Column, Figure, Panel
from bankgcn.experiments.statistics import LEVEL, Spread, critical_difference
from bankgcn.extras import require
from bankgcn.metrics import METRICS
from bankgcn.report.notes import shortened
from bankgcn.report.results import Records, Results
from bankgcn.report.sheet import MISSING, Block, Sheet, number, unit
from bankgcn.report.tables import NOT_RUN
from bankgcn.settings import pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


# The palette of Okabe and Ito, safe for colour-blind readers; grey replaces yellow, which is too faint for lines.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")

IMAGES: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""Image formats, with the options that keep timestamps out of the files."""


def render(name: str, size: tuple[float, float], paint: Callable[[Canvas], None], form: str) -> bytes:
    """A picture as the bytes of an image file. The same content gives the same bytes with the same matplotlib.

    Args:
        name: Name of the picture, which fixes the identifiers in an SVG file.
        size: Width and height in inches.
        paint: Draws on the canvas.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.
    """
    options = pick(IMAGES, form, "kind of image")
    require("matplotlib", "drawing figures")
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": name, "font.size": 9}):
        canvas = Canvas(figsize=size, layout="constrained")
        paint(canvas)
        canvas.savefig(buffer, format=form, **options)
    return buffer.getvalue()


def panels(canvas: Canvas, count: int, across: int, sharey: bool = False) -> list[Axes]:
    """The axes of some panels, line by line; the last line may have empty places."""
    axes = canvas.subplots(math.ceil(count / across), across, squeeze=False, sharey=sharey).flatten().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return axes[:count]


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


def draw_dots(results: Results, form: str = "svg") -> bytes:
    """One panel for each dataset with scores: mean and standard deviation of each model, and the paper's figure.

    Args:
        results: The cells of the table.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.

    Raises:
        ValueError: No cell has a score.
    """
    columns = results.occupied_columns()
    if not columns:
        raise ValueError(f"{results.design.name}: there is no score to draw")
    down = math.ceil(len(columns) / PER_LINE)
    across = math.ceil(len(columns) / down)  # as many in every line as possible: four are two and two

    def paint(canvas: Canvas) -> None:
        axes = panels(canvas, len(columns), across, sharey=True)
        for column, axis in zip(columns, axes, strict=True):
            _paint_panel(results, column, axis)
        labels = [row.label for row in results.design.rows]
        axes[0].set_yticks(range(len(labels)), labels)
        axes[0].invert_yaxis()
        _paint_legend(results, canvas, across)

    size = (max(6.0, 1.7 + 2.5 * across), 0.7 + (0.7 + 0.24 * len(results.design.rows)) * down)
    return render(f"{results.design.name}-dots", size, paint, form)


def _paint_panel(results: Results, column: Column, axis: Axes) -> None:
    reference = results.reference
    if reference is not None and results.at(reference, column).spread.count:
        axis.axvline(results.at(reference, column).spread.mean, zorder=0, **REFERENCE)
    for height, row in enumerate(results.design.rows):
        cell = results.at(row, column)
        if cell.published:
            axis.plot(cell.published.mean, height, zorder=2, **PAPER)
        if cell.spread.count:
            shape, color = MARKS[results.verdict(row, column)]
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

    present = {results.verdict(row, column) for column in results.occupied_columns() for row in results.design.rows}
    label_of = {0: "ours, mean ± std"}
    if results.reference is not None:
        name = results.reference.label
        label_of |= {-1: f"worse than {name}, p < {LEVEL:g}", 1: f"better than {name}, p < {LEVEL:g}"}
    entries = {"paper": Line2D([], [], **PAPER)}
    for sign in sorted(present, key=abs):
        shape, color = MARKS[sign]
        entries[label_of[sign]] = Line2D([], [], marker=shape, color=color, markersize=5.5, linewidth=1.3)
    if results.reference is not None:
        entries[f"mean of {results.reference.label}"] = Line2D([], [], **REFERENCE)
    lines = list(entries.values())
    canvas.legend(lines, list(entries), loc="outside lower center", ncols=3 if across > 2 else 2, frameon=False)


def draw_ranks(results: Results, form: str = "svg") -> bytes:
    """The models in the order of their mean ranks, with their rank on each dataset and the critical difference.

    Args:
        results: The cells of the table.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.

    Raises:
        ValueError: There is no dataset on which every row has a score.
    """
    by_dataset = results.ranks()
    if not by_dataset:
        raise ValueError(f"{results.design.name}: on no dataset every row has a score")
    rows = results.design.rows
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
            label = f"critical difference {difference:.1f} (Nemenyi, 0.05)"
            axis.text(start + difference / 2, -1.0, label, ha="center", va="bottom", fontsize=8)
            axis.set_xlim(0.7, max(len(rows), start + difference) + 0.3)
            axis.set_ylim(len(rows) - 0.5, -1.8)

    return render(f"{results.design.name}-ranks", (6.4, 0.9 + 0.27 * len(rows)), paint, form)


METRIC = METRICS["accuracy"]  # of all runs in the figure
DASHES = ("-", "--", "-.", ":")


def responses(record: RunRecord, lam: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Response :math:`\sum_k \alpha_k T_k(\lambda - 1)` of every filter of the first layer, without the shortcut.

    Args:
        record: Record of a run with filter banks in the Chebyshev basis.
        lam: Frequencies in [0, 2].

    Returns:
        Responses, of shape (filters, frequencies).
    """
    basis = record.config.model.conv_options.get("basis")
    if not record.alpha or basis != "chebyshev":
        raise ValueError(f"run {record.config.key} has no filters in the basis 'chebyshev' (basis={basis!r})")
    return np.polynomial.chebyshev.chebval(lam - 1, np.asarray(record.alpha).T)


def draw_filters(figure: Figure, records: Records, form: str = "png") -> bytes:
    """The figure as an image: the panels side by side; a panel without a record is empty and says so.

    Args:
        figure: The figure.
        records: Records by the keys of their runs.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.
    """
    panels = figure.panels

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots(1, len(panels), squeeze=False)[0]
        for panel, axis in zip(panels, axes, strict=True):
            _draw_filters(panel, records.get(panel.config.key), axis)
        axes[0].set_ylabel("response")
        for words in shortened(figure.max_epochs):
            canvas.supxlabel(f"{words}: not the paper's protocol", fontsize=8)

    return render(figure.name, (2.9 * len(panels), 3.1), paint, form)


def omegas(figure: Figure, records: Records) -> Sheet:
    """Omega in each panel, mean and standard deviation over its runs, beside the paper's value."""
    title = "Ω: largest |cos| between the coefficients of two filters of the first layer"
    header = ("", "Ω", "paper", f"test {METRIC.label}{unit(METRIC)}")
    runs_of_panels = [
        (panel, [records[config.key] for config in figure.configs_of(panel) if config.key in records])
        for panel in figure.panels
    ]
    lines = [_omega_line(panel, runs) for panel, runs in runs_of_panels]
    planned = len(figure.configs())
    missing = planned - sum(len(runs) for _, runs in runs_of_panels)
    exceptions = [f"INCOMPLETE: {missing} of {planned} runs missing"] if missing else []
    exceptions += shortened(figure.max_epochs)
    return Sheet(
        title=f"Figure 3: {figure.title}",
        blocks=(Block.of(title, header, lines),),
        footer=(
            f"No selection: without weight decay, {_seeds(figure)}.",
            f"{'; '.join(exceptions) or 'Complete: all runs of the protocol'}.",
        ),
        notes=(
            "Ω is the term of Eq. 18; it falls as the filters become more diverse.",
            *dict.fromkeys(
                f"{panel.label}: {note}." for panel, runs in runs_of_panels for run in runs for note in run.notes
            ),
        ),
    )


def _seeds(figure: Figure) -> str:
    return "one run per panel, with seed 0" if figure.runs == 1 else f"{figure.runs} seeds per panel; seed 0 is drawn"


def _omega_line(panel: Panel, records: list[RunRecord]) -> tuple[str, ...]:
    finished = [record for record in records if record.status == "finished"]
    omega = [record.coherence[0] for record in finished if record.coherence]
    scores = [100 * record.test_score for record in finished if record.test_score is not None]
    published = MISSING if panel.published is None else f"{panel.published:.3f}"
    name = f"({panel.name}) {panel.label}, {panel.setting}"
    return name, _spread(omega, "{:.3f}".format), published, _spread(scores, lambda score: number(score, METRIC))


def _spread(values: list[float], write: Callable[[float], str]) -> str:
    if len(values) < 2:
        return write(values[0]) if values else MISSING
    spread = Spread.of(values)
    return f"{write(spread.mean)} ± {write(spread.std)}"


def _draw_filters(panel: Panel, record: RunRecord | None, axis: Axes) -> None:
    setting = panel.setting.replace("gamma", r"$\gamma$")
    title = f"({panel.name}) {panel.label}\n{setting}"
    if record is None or record.status == "diverged" or not record.alpha:
        reason = NOT_RUN if record is None else record.status
        axis.text(0.5, 0.5, reason, ha="center", va="center", transform=axis.transAxes)
        axis.set_title(f"{title}\nΩ: -", fontsize=9)
        axis.set_axis_off()
        return
    lam = np.linspace(0, 2, 201)
    axis.axhline(0, color="#cccccc", linewidth=0.8)
    for index, response in enumerate(responses(record, lam)):
        style = DASHES[index // len(COLORS) % len(DASHES)]
        axis.plot(lam, response, style, color=COLORS[index % len(COLORS)], linewidth=1.4)
    published = "" if panel.published is None else f" (paper {panel.published:.3f})"
    axis.set_title(f"{title}\nΩ = {record.coherence[0]:.3f}{published}", fontsize=9)
    axis.set_xlabel("frequency λ")
    axis.set_xlim(0, 2)
    axis.set_xticks([0, 0.5, 1, 1.5, 2])
