"""The paper's Figure 3 from records: the frequency responses of the first layer's filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.layout import Figure, Panel
from bankgcn.experiments.significance import Spread
from bankgcn.metrics import METRICS
from bankgcn.report.canvas import COLORS, render
from bankgcn.report.compact import NOT_RUN
from bankgcn.report.fields import MISSING, number, unit
from bankgcn.report.notes import shortened
from bankgcn.report.results import Records
from bankgcn.report.sheet import Block, Cell, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

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


def draw(figure: Figure, records: Records, form: str = "png") -> bytes:
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
            _draw_panel(panel, records.get(panel.config.key), axis)
        axes[0].set_ylabel("response")
        for words in shortened(figure.max_epochs):
            canvas.supxlabel(f"{words}: not the paper's protocol", fontsize=8)

    return render(figure.name, (2.9 * len(panels), 3.1), paint, form)


def omegas(figure: Figure, records: Records) -> Sheet:
    """Omega in each panel, mean and standard deviation over its runs, beside the paper's value."""
    title = "Ω: largest |cos| between the coefficients of two filters of the first layer"
    header = ("", "Ω", "paper", f"test {METRIC.label}{unit(METRIC)}")
    found = [
        (panel, [records[config.key] for config in figure.configs_of(panel) if config.key in records])
        for panel in figure.panels
    ]
    rows = tuple(tuple(map(Cell, _omega_line(panel, runs))) for panel, runs in found)
    planned = len(figure.configs())
    missing = planned - sum(len(runs) for _, runs in found)
    exceptions = [f"INCOMPLETE: {missing} of {planned} runs missing"] if missing else []
    exceptions += shortened(figure.max_epochs)
    return Sheet(
        title=f"Figure 3: {figure.title}",
        blocks=(Block(title=title, header=header, rows=rows),),
        footer=(
            f"No selection: without weight decay, {_seeds(figure)}.",
            f"{'; '.join(exceptions) or 'Complete: all runs of the protocol'}.",
        ),
        notes=(
            "Ω is the term of Eq. 18; it falls as the filters become more diverse.",
            *dict.fromkeys(f"{panel.label}: {note}." for panel, runs in found for run in runs for note in run.notes),
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


def _draw_panel(panel: Panel, record: RunRecord | None, axis: Axes) -> None:
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
