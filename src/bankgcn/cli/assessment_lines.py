"""How good a model is, in a few lines that fit a terminal of 80 columns."""

from __future__ import annotations

from bankgcn.metrics import METRICS
from bankgcn.training.assessment import Assessment, ClassAssessment

CLASSES_SHOWN = 20
NAME_WIDTH = 24  # characters of the name of a class
LINE_WIDTH = 80


def assessment_lines(assessment: Assessment) -> list[str]:
    """The interval of the score, the score of a constant prediction, further scores, and the recall of each class."""
    metric = METRICS[assessment.metric]
    lines = []
    if assessment.interval is not None:
        low, high = map(metric.text, assessment.interval)
        lines.append(f"95 % interval of the {metric.label}  {low} to {high}")
    lines.append(f"{metric.label} of {assessment.baseline}  {metric.text(assessment.baseline_score)}")
    others = [name for name in assessment.scores if name != assessment.metric]
    lines += [f"{METRICS[name].label}  {METRICS[name].text(assessment.scores[name])}" for name in others]
    return [*lines, *_class_lines(assessment.classes)]


def assessment_warnings(assessment: Assessment) -> list[str]:
    """What a reader of the score must know: the model is not better than a constant prediction."""
    warnings = []
    predicted = _predicted_classes(assessment)
    label = METRICS[assessment.metric].label
    if len(predicted) == 1 and len(assessment.classes) > 1:
        warnings.append(
            f"the model predicts {predicted.pop()!r} for all {assessment.graphs:,} graphs; if one class is rare, "
            "--class-weight balanced gives it more weight"
        )
    elif not assessment.beats_baseline:
        warnings.append(f"the {label} is not better than that of {assessment.baseline}")
    return warnings


def _predicted_classes(assessment: Assessment) -> set[str]:
    correct = {row.name for row in assessment.classes if row.recall}
    return correct.union(*(row.mistaken_for for row in assessment.classes))


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
