"""What ``bankgcn train`` prints of a run: before its first epoch, and at its end."""

from __future__ import annotations

import shlex

from bankgcn.cli.assessment_lines import assessment_lines, assessment_warnings
from bankgcn.cli.messages import say
from bankgcn.data.catalog import CATALOG
from bankgcn.metrics import METRICS
from bankgcn.training.assessment import Assessment
from bankgcn.training.checks import class_notes, target_warnings
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
        say(f"note: {note}", stderr=True)
    if run.spec.dataset not in CATALOG:
        for warning in target_warnings(graphs, chosen=run.spec.task is not None):
            say(f"warning: {warning}", stderr=True)
    name, targets = (
        graphs.name or run.spec.dataset,
        f"{len(task.names)} {task.kind if len(task.names) > 1 else task.kind[:-1]}",
    )
    say(
        f"{name}: {len(graphs):,} graphs, {targets}; train / validation / test: {sizes}",
        stderr=True,
    )


def show_outcome(record: RunRecord, folder: RunFolder) -> None:
    """Print the scores of a run, how good they are, and what to type next.

    Raises:
        ValueError: There is no model.
    """
    if record.best_epoch is None:
        raise ValueError(
            "the training diverged: the loss was not a finite number in the first epoch, so there is no model; "
            f"{SMALLER_STEPS} (record: {folder.record})"
        )
    if record.status == "diverged":
        say(
            f"note: the training diverged: the loss of epoch {record.epochs} is not a finite number; the model has "
            f"the weights of epoch {record.best_epoch}, the best one before; {SMALLER_STEPS}",
            stderr=True,
        )
    _, valid, test = record.split_sizes
    metric = METRICS[record.metric]
    for part, score, size in (("test", record.test_score, test), ("validation", record.valid_score, valid)):
        say(f"{part} {metric.label}  {metric.text(score)}  ({size:,} graphs)")
    if test and not record.assessment:
        for note in record.notes[-1:]:  # the last one says why; the others were printed before the training
            say(f"note: {note}", stderr=True)
    if record.assessment:
        assessment = Assessment.from_dict(record.assessment)
        for line in assessment_lines(assessment):
            say(line)
        for warning in assessment_warnings(assessment):
            say(f"warning: {warning}", stderr=True)
    say(f"best epoch {record.best_epoch} of {record.epochs}, in {record.seconds:.1f} s")
    say(f"files: {folder.path}")
    say(f"next: bankgcn predict {shlex.quote(str(folder.path))} NEW_GRAPHS")
