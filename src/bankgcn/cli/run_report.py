"""What ``train`` and ``evaluate`` print of a run: its graphs, its settings, its scores."""

from __future__ import annotations

import shlex
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bankgcn.cli.errors import print_note, print_warning, with_flags
from bankgcn.cli.output import say
from bankgcn.data.catalog import CATALOG
from bankgcn.data.features.descriptors import have_smiles
from bankgcn.extras import is_installed
from bankgcn.metrics import METRICS
from bankgcn.nn.convs import RIVALS
from bankgcn.rivals.forest import TREES
from bankgcn.tasks import LIKELY, Task
from bankgcn.training.assessment import Assessment, ClassAssessment, TargetAssessment, assess
from bankgcn.training.checks import class_notes, data_warnings, settings_for_skew, skew_note
from bankgcn.training.intervals import coverage, coverage_lines
from bankgcn.training.prepare import PreparedRun
from bankgcn.training.record import RunRecord
from bankgcn.training.rival import forest_beside
from bankgcn.training.run_folder import SMALLER_STEPS, RunFolder

if TYPE_CHECKING:
    from bankgcn.cli.model_input import Answered
    from bankgcn.training.ensemble import Ensemble
    from bankgcn.training.mixture import Mixture

CLASSES_SHOWN = 20
TARGETS_SHOWN = 40
LABEL_COLUMNS = (*(("graphs", 6), ("positive", 8), ("ROC-AUC", 7), ("avg. prec.", 10), ("MCC", 7), ("threshold", 9)),)
VALUE_COLUMNS = (("graphs", 6), ("MAE", 10), ("RMSE", 10), ("R2", 9), ("MAE of mean", 11))
NAME_WIDTH = 24  # characters of the name of a class
LINE_WIDTH = 80


def show_assessment(ensemble: Ensemble, answered: Answered, prefix: str = "", to_stderr: bool = False) -> Assessment:
    """Print how good models are on graphs whose targets are known.

    Args:
        ensemble: The models.
        answered: What they predict, and the targets.
        prefix: What stands before the first score.
        to_stderr: Whether standard output is needed for something else.

    Raises:
        ValueError: No target is known.
    """
    if not len(answered.y):
        raise ValueError(f"{answered.name} has no targets to compare with (--target NAME names their column)")
    assessment = assess(ensemble.task, answered.predictions.mean, answered.y, ensemble.first.constant)
    if len(answered.y) < answered.num_rows:
        without = answered.num_rows - len(answered.y)
        print_note(f"{without:,} of {answered.num_rows:,} rows have no graph or no target")
    metric = METRICS[assessment.metric]
    score = metric.text(assessment.score)
    if not prefix and ensemble.mixture is not None:  # train has just said so
        for line in mixture_lines(ensemble.mixture):
            say(line, stderr=to_stderr)
    say(f"{prefix}{metric.label}  {score}  ({assessment.graphs:,} graphs)", stderr=to_stderr)
    for line in assessment_lines(assessment):
        say(line, stderr=to_stderr)
    balanced = ensemble.spec is not None and ensemble.spec.train.class_weight is not None
    for warning in assessment.warnings(balanced):
        print_warning(warning)
    return assessment


def show_coverage(
    ensemble: Ensemble, answered: Answered, level: float, to_stderr: bool = False, notes: bool = True
) -> dict[str, Any]:
    """Print how often intervals or sets hold the known targets; see :func:`~bankgcn.training.intervals.coverage`."""
    found = ensemble.intervals(answered.predictions, level, answered.voters)
    figures = coverage(ensemble.task, found, answered.y)
    for line in coverage_lines(ensemble.task, figures):
        say(line, stderr=to_stderr)
    for note in found.notes if notes else ():
        print_note(note)
    return figures


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


def mixture_lines(mixture: Mixture) -> list[str]:
    """The weights of kinds of models, and the validation scores that speak for them."""
    metric = METRICS[mixture.metric]
    weights = ", ".join(f"{kind} {weight:.2g}" for kind, weight in mixture.weights.items())
    alone = ", ".join(f"{kind} alone {metric.text(score)}" for kind, score in mixture.scores.items())
    others = "" if mixture.is_equal else f"; equal weights {metric.text(mixture.equal_score)}"
    why = "equal, as no others are clearly better" if mixture.is_equal else "chosen"
    return [
        f"weights of the models: {weights} ({why} on {mixture.graphs:,} validation graphs)",
        f"validation {metric.label} of their mean  {metric.text(mixture.score)}{others}; {alone}",
    ]


def show_start(run: PreparedRun, folder: RunFolder, epochs: int, said: set[str]) -> None:
    """Print notes on the graphs, their numbers, and where the run is kept.

    Args:
        run: The run.
        folder: Its folder.
        epochs: Number of epochs before an interruption.
        said: As for :func:`show_graphs`.
    """
    show_graphs(run, said)
    doing = "fitting" if run.spec.model.conv in RIVALS else "training"
    say(f"resuming after epoch {epochs} in {folder.path}" if epochs else f"{doing} in {folder.path}", stderr=True)


def show_graphs(run: PreparedRun, said: set[str] | None = None) -> None:
    """Print notes on the graphs, and their numbers.

    Args:
        run: The run.
        said: What earlier trainings of the same command have printed: it is not printed again, and the rest joins it.
    """
    said = set() if said is None else said
    graphs, task = run.graphs, run.task
    sizes = " / ".join(f"{len(part):,}" for part in (run.split.train, run.split.valid, run.split.test))
    for note in (*graphs.notes, *class_notes(graphs)):
        if note not in said:
            print_note(note)
    for warning in data_warnings(graphs, run.spec):
        if warning not in said:
            print_warning(warning)
    said.update((*graphs.notes, *class_notes(graphs), *data_warnings(graphs, run.spec)))
    name, targets = (
        graphs.name or run.spec.dataset,
        f"{len(task.names)} {task.kind if len(task.names) > 1 else task.kind[:-1]}",
    )
    numbers = f"{name}: {len(graphs):,} graphs, {targets}; train / validation / test: {sizes}"
    if numbers not in said:
        say(numbers, stderr=True)
        said.add(numbers)


CHOSEN_BY_DATA = ("metric", "threshold")
"""The settings that the graphs may choose, where the user leaves them open."""


def choose_by_data(run: PreparedRun, free: Container[str], shown: bool = True) -> dict[str, str]:
    """The settings that the graphs call for, and notes on them; none for datasets of the catalogue.

    Args:
        run: A run with the settings of the user.
        free: Names of the settings that the user left open.
        shown: Whether to print the note.
    """
    if run.spec.dataset in CATALOG or run.graphs.y is None:
        return {}
    chosen = {name: value for name, value in settings_for_skew(run.graphs, run.task).items() if name in free}
    one_class = len(np.unique(run.graphs.y[run.split.valid])) == 1
    if run.spec.train.select == "score" and one_class:
        chosen.pop("metric", None)  # there would be no score to select the epoch by
    if chosen and shown:
        print_note(skew_note(run.graphs, run.task, chosen))
    return chosen


def show_outcome(record: RunRecord, folder: RunFolder, beside: PreparedRun | None = None) -> None:
    """Print the scores of a run, how good they are, and what to type next.

    Args:
        record: What is known of the run.
        folder: Where it is.
        beside: The run itself, to print what a forest has on its split; see :func:`show_forest`.

    Raises:
        ValueError: There is no model.
    """
    if record.best_epoch is None:
        raise ValueError(
            "the training diverged: the loss was not a finite number in the first epoch, so there is no model; "
            f"{with_flags(SMALLER_STEPS)} (record: {folder.record})"
        )
    if record.status == "diverged":
        print_note(
            f"the training diverged: the loss of epoch {record.epochs} is not a finite number; the model has "
            f"the weights of epoch {record.best_epoch}, the best one before; {with_flags(SMALLER_STEPS)}"
        )
    _, valid, test = record.split_sizes
    metric = METRICS[record.metric]
    for part, score, size in (("test", record.test_score, test), ("validation", record.valid_score, valid)):
        say(f"{part} {metric.label}  {metric.text(score)}  ({size:,} graphs)")
    if test and not record.assessment:
        for note in record.notes[-1:]:  # the last one says why; the others were printed before the training
            print_note(note)
    elif record.assessment:
        for note in (note for note in record.notes if "threshold of" in note):
            print_note(note)
    if record.assessment:
        assessment = Assessment.from_dict(record.assessment)
        for line in assessment_lines(assessment):
            say(line)
        if record.intervals:
            for line in coverage_lines(Task(**record.task), dict(record.intervals)):
                say(line)
        for warning in assessment.warnings(balanced=record.config.train.class_weight is not None):
            print_warning(warning)
    if record.config.model.conv in RIVALS:
        say(f"{record.protocol.partition(';')[0]}, in {record.seconds:.1f} s")
    else:
        say(f"best epoch {record.best_epoch} of {record.epochs}, in {record.seconds:.1f} s")
    if beside is not None and record.test_score is not None:
        show_forest(beside, record.seconds, record.test_score, "network", record.valid_score)
    say(f"files: {folder.path}")
    say(f"next: bankgcn predict {shlex.quote(str(folder.path))} NEW_GRAPHS")


def show_forest(run: PreparedRun, seconds: float, score: float | None, what: str, valid: float | None = None) -> None:
    """Print what a forest has on the split of networks that were trained on own data, if scikit-learn is installed.

    Args:
        run: The run of a network.
        seconds: How long the training took.
        score: The test score of the network, or of several.
        what: What has this score.
        valid: Its validation score.
    """
    if run.spec.dataset in CATALOG or run.spec.model.conv in RIVALS or not is_installed("sklearn"):
        return
    if have_smiles(run.graphs) and not is_installed("rdkit"):
        return
    metric, found = METRICS[run.task.metric], forest_beside(run, seconds)
    if found is None:
        print_note("no forest beside it: it would take more than a quarter of this time (--model forest trains one)")
        return
    own = "" if valid is None else f" ({metric.text(valid)})"
    say(
        f"forest on the same split: {metric.label} {metric.text(found.test_score)} ({what}: {metric.text(score)}); "
        f"validation {metric.text(found.valid_score)}{own}"
    )
    if found.trees < TREES:
        quick = " with quick descriptors" if have_smiles(run.graphs) else ""
        print_note(
            f"this forest has {found.trees} trees{quick} on {found.sample:,} of {found.train:,} training graphs: more "
            f"would take over a quarter of the training's time; --model forest trains {TREES} on all"
        )
