"""How good a model is, in a few lines that fit a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from bankgcn.metrics import METRICS
from bankgcn.tasks import LIKELY
from bankgcn.training.assessment import Assessment, ClassAssessment, TargetAssessment

CLASSES_SHOWN = 20
TARGETS_SHOWN = 40
LABEL_COLUMNS = (*(("graphs", 6), ("positive", 8), ("ROC-AUC", 7), ("avg. prec.", 10), ("MCC", 7), ("threshold", 9)),)
VALUE_COLUMNS = (("graphs", 6), ("MAE", 10), ("RMSE", 10), ("R2", 9), ("MAE of mean", 11))
NAME_WIDTH = 24  # characters of the name of a class
LINE_WIDTH = 80


def assessment_lines(assessment: Assessment) -> list[str]:
    """The interval of the score, the score of a constant prediction, further scores, and a row of each class or target.

    A single value has no row: its scores are those of the task.
    """
    metric = METRICS[assessment.metric]
    lines = []
    if assessment.interval is not None:
        low, high = map(metric.text, assessment.interval)
        lines.append(f"95 % interval of the {metric.label}  {low} to {high}")
    lines.append(f"{metric.label} of {assessment.baseline}  {metric.text(assessment.baseline_score)}")
    for name in assessment.others:
        lines.append(
            f"{METRICS[name].label}{_of_rarer(name, assessment)}  {METRICS[name].text(assessment.scores[name])}"
        )
    if assessment.threshold is not None:
        name = assessment.classes[1].name
        chosen = "" if assessment.threshold == LIKELY else ", chosen on the validation graphs"
        lines.append(f"threshold of {name!r}{chosen}  {assessment.threshold:.4g}")
    rows = assessment.targets if len(assessment.targets) > 1 else ()
    return [*lines, *_class_lines(assessment.classes), *_target_lines(rows)]


def _of_rarer(name: str, assessment: Assessment) -> str:
    """Which of two classes an average precision is about, and what guessing gives: the share of the class."""
    if name != "average_precision" or len(assessment.classes) != 2:
        return ""
    first, second = assessment.classes
    rarer = second if second.graphs <= first.graphs else first
    return f" of {rarer.name!r} (guessing: {rarer.graphs / max(assessment.graphs, 1):.4f})"


def _target_lines(targets: Sequence[TargetAssessment]) -> list[str]:
    """A row for each value or label, with its own scores."""
    if not targets:
        return []
    width = min(NAME_WIDTH, max(len("target"), *(len(row.name) for row in targets)))
    labels = targets[0].positive is not None
    columns = LABEL_COLUMNS if labels else VALUE_COLUMNS
    lines = [f"{'label' if labels else 'target':<{width}}  " + "  ".join(f"{title:>{size}}" for title, size in columns)]
    for row in targets[:TARGETS_SHOWN]:
        cells = _label_cells(row) if labels else _value_cells(row)
        sizes = (size for _, size in columns)
        lines.append(f"{_cut(row.name):<{width}}  " + "  ".join(f"{c:>{s}}" for c, s in zip(cells, sizes, strict=True)))
    more = len(targets) - TARGETS_SHOWN
    return [*lines, f"and {more:,} more targets"] if more > 0 else lines


def _label_cells(row: TargetAssessment) -> list[str]:
    threshold = "-" if row.threshold is None else f"{row.threshold:.4f}"
    scores = [METRICS[name].text(row.scores.get(name)) for name in ("roc_auc", "average_precision", "mcc")]
    return [f"{row.graphs:,}", f"{row.positive:,}", *scores, threshold]


def _value_cells(row: TargetAssessment) -> list[str]:
    scores = [METRICS[name].text(row.scores.get(name)) for name in ("mae", "rmse", "r2")]
    return [f"{row.graphs:,}", *scores, METRICS["mae"].text(row.baseline_scores.get("mae"))]


def _class_lines(classes: tuple[ClassAssessment, ...]) -> list[str]:
    if not classes:
        return []
    width = min(NAME_WIDTH, max(len("class"), *(len(row.name) for row in classes)))
    lines = [f"{'class':<{width}}  graphs  recall  mistaken for"]
    for row in classes[:CLASSES_SHOWN]:
        mistaken = ", ".join(f"{_cut(name)} ({count:,})" for name, count in row.mistaken_for.items())
        recall = "     -" if row.recall is None else f"{row.recall:.4f}"
        lines.append(_cut(f"{_cut(row.name):<{width}}  {row.graphs:>6,}  {recall}  {mistaken}".rstrip(), LINE_WIDTH))
    more = len(classes) - CLASSES_SHOWN
    return [*lines, f"and {more:,} more classes"] if more > 0 else lines


def _cut(text: str, width: int = NAME_WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
