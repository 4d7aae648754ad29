"""The learning curves of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bankgcn.metrics import METRICS
from bankgcn.report.page.chart import Axis, Chart, Figure, Series
from bankgcn.training.fitting import Epoch


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
