"""The paper's Figure 3 from records: which frequencies the first layer's filters let pass."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.layout import Figure, Panel
from bankgcn.extras import require
from bankgcn.report.results import Records
from bankgcn.report.sheet import Block, Entry, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito: told apart with any kind of colour vision; yellow, too faint for lines, is left out for grey.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
DASHES = ("-", "--", "-.", ":")
IMAGES: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""The kinds of images, with what keeps the time of day out of them."""


def responses(record: RunRecord, lam: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Response :math:`\sum_k \alpha_k T_k(\lambda - 1)` of every filter of the first layer, without the shortcut.

    Args:
        record: Of a run with filter banks in the Chebyshev basis.
        lam: Frequencies in [0, 2].

    Returns:
        One row per filter.
    """
    basis = record.config.model.conv_options.get("basis")
    if not record.alpha or basis != "chebyshev":
        raise ValueError(f"run {record.config.key} has no filters in the basis 'chebyshev' (basis={basis!r})")
    return np.polynomial.chebyshev.chebval(lam - 1, np.asarray(record.alpha).T)


def draw(figure: Figure, records: Records, form: str = "png") -> bytes:
    """The figure as an image: the panels side by side, and a place for each whose record is missing.

    Args:
        figure: What to draw.
        records: Records by the keys of their runs.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.
    """
    options = pick(IMAGES, form, "kind of image")
    require("matplotlib", "drawing figures")
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": figure.name, "font.size": 9}):
        canvas = Canvas(figsize=(2.9 * len(figure.panels), 3.1), layout="constrained")
        axes = canvas.subplots(1, len(figure.panels), squeeze=False)[0]
        for panel, axis in zip(figure.panels, axes, strict=True):
            _draw_panel(panel, records.get(panel.config.key), axis)
        axes[0].set_ylabel("response")
        for note in _shortened(figure):
            canvas.supxlabel(note, fontsize=8)
        canvas.savefig(buffer, format=form, **options)
    return buffer.getvalue()


def omegas(figure: Figure, records: Records) -> Sheet:
    """The diversity of the filters in each panel, beside the paper's."""
    rows = []
    for panel in figure.panels:
        record = records.get(panel.config.key)
        finished = record if record and record.status == "finished" else None
        ours = f"{finished.coherence[0]:.3f}" if finished and finished.coherence else "-"
        score = f"{100 * finished.test_score:.2f}" if finished and finished.test_score is not None else "-"
        published = "-" if panel.published is None else f"{panel.published:.3f}"
        name = f"({panel.name}) {panel.label}, {panel.setting}"
        rows.append(tuple(map(Entry, (name, ours, published, score))))
    block = Block(title="", header=("", "Ω", "paper", "test accuracy in %"), rows=tuple(rows))
    notes = ["Ω: largest |cos| between the coefficients of two filters of the first layer (Eq. 18); one run, seed 0."]
    known = [(panel, records[panel.config.key]) for panel in figure.panels if panel.config.key in records]
    notes += dict.fromkeys(f"{panel.label}: {note}." for panel, record in known for note in record.notes)
    notes += ["No weight decay.", *_shortened(figure)]
    return Sheet(title=f"Figure 3: {figure.title}", blocks=(block,), notes=tuple(notes))


def _shortened(figure: Figure) -> list[str]:
    return [f"SHORTENED to {figure.max_epochs} epochs: not the paper's protocol."] if figure.max_epochs else []


def _draw_panel(panel: Panel, record: RunRecord | None, axis: Axes) -> None:
    setting = panel.setting.replace("gamma", r"$\gamma$")
    title = f"({panel.name}) {panel.label}\n{setting}"
    if record is None or record.status == "diverged" or not record.alpha:
        reason = "not run yet" if record is None else record.status
        axis.text(0.5, 0.5, reason, ha="center", va="center", transform=axis.transAxes)
        axis.set_title(f"{title}\nΩ: -", fontsize=9)
        axis.set_axis_off()
        return
    lam = np.linspace(0, 2, 201)
    axis.axhline(0, color="#cccccc", linewidth=0.8)
    for number, response in enumerate(responses(record, lam)):
        style = DASHES[number // len(COLORS) % len(DASHES)]
        axis.plot(lam, response, style, color=COLORS[number % len(COLORS)], linewidth=1.4)
    published = "" if panel.published is None else f" (paper {panel.published:.3f})"
    axis.set_title(f"{title}\nΩ = {record.coherence[0]:.3f}{published}", fontsize=9)
    axis.set_xlabel("frequency λ")
    axis.set_xlim(0, 2)
    axis.set_xticks([0, 0.5, 1, 1.5, 2])
