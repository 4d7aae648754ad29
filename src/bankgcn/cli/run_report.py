"""What ``bankgcn train`` prints of a run: before its first epoch, and at its end."""

from __future__ import annotations

import shlex
from collections.abc import Container

import numpy as np

from bankgcn.cli.assessment_lines import assessment_lines
from bankgcn.cli.errors import with_flags
from bankgcn.cli.output import say
from bankgcn.data.catalog import CATALOG
from bankgcn.metrics import METRICS
from bankgcn.settings import Plain
from bankgcn.training.assessment import Assessment
from bankgcn.training.checks import class_notes, data_warnings, settings_for_skew, skew_note
from bankgcn.training.prepare import PreparedRun
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import SMALLER_STEPS, RunFolder


def show_start(run: PreparedRun, folder: RunFolder, epochs: int) -> None:
    """Print notes on the graphs, their numbers, and where the run is kept.

    Args:
        run: The run.
        folder: Its folder.
        epochs: Number of epochs before an interruption.
    """
    show_graphs(run)
    say(f"resuming after epoch {epochs} in {folder.path}" if epochs else f"training in {folder.path}", stderr=True)


def show_graphs(run: PreparedRun) -> None:
    """Print notes on the graphs, and their numbers."""
    graphs, task = run.graphs, run.task
    sizes = " / ".join(f"{len(part):,}" for part in (run.split.train, run.split.valid, run.split.test))
    for note in (*graphs.notes, *class_notes(graphs)):
        say(f"note: {with_flags(note)}", stderr=True)
    for warning in data_warnings(graphs, run.spec):
        say(f"warning: {with_flags(warning)}", stderr=True)
    name, targets = (
        graphs.name or run.spec.dataset,
        f"{len(task.names)} {task.kind if len(task.names) > 1 else task.kind[:-1]}",
    )
    say(
        f"{name}: {len(graphs):,} graphs, {targets}; train / validation / test: {sizes}",
        stderr=True,
    )


def choose_by_data(run: PreparedRun, free: Container[str], shown: bool = True) -> dict[str, Plain]:
    """The settings that skewed targets call for, and a note on them; none for datasets of the catalogue.

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
        say(f"note: {with_flags(skew_note(run.graphs, run.task, chosen))}", stderr=True)
    return dict(chosen)


def show_outcome(record: RunRecord, folder: RunFolder) -> None:
    """Print the scores of a run, how good they are, and what to type next.

    Raises:
        ValueError: There is no model.
    """
    if record.best_epoch is None:
        raise ValueError(
            "the training diverged: the loss was not a finite number in the first epoch, so there is no model; "
            f"{with_flags(SMALLER_STEPS)} (record: {folder.record})"
        )
    if record.status == "diverged":
        say(
            f"note: the training diverged: the loss of epoch {record.epochs} is not a finite number; the model has "
            f"the weights of epoch {record.best_epoch}, the best one before; {with_flags(SMALLER_STEPS)}",
            stderr=True,
        )
    _, valid, test = record.split_sizes
    metric = METRICS[record.metric]
    for part, score, size in (("test", record.test_score, test), ("validation", record.valid_score, valid)):
        say(f"{part} {metric.label}  {metric.text(score)}  ({size:,} graphs)")
    if test and not record.assessment:
        for note in record.notes[-1:]:  # the last one says why; the others were printed before the training
            say(f"note: {with_flags(note)}", stderr=True)
    elif record.assessment:
        for note in (note for note in record.notes if "threshold of" in note):
            say(f"note: {with_flags(note)}", stderr=True)
    if record.assessment:
        assessment = Assessment.from_dict(record.assessment)
        for line in assessment_lines(assessment):
            say(line)
        for warning in assessment.warnings(balanced=record.config.train.class_weight is not None):
            say(f"warning: {with_flags(warning)}", stderr=True)
    say(f"best epoch {record.best_epoch} of {record.epochs}, in {record.seconds:.1f} s")
    say(f"files: {folder.path}")
    say(f"next: bankgcn predict {shlex.quote(str(folder.path))} NEW_GRAPHS")
