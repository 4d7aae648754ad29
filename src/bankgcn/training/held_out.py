"""The end of a run: calibrate and choose thresholds by the validation graphs, then score the test graphs, once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from torch import Tensor

from bankgcn.files.tables import Columns
from bankgcn.tasks import Task
from bankgcn.training.assessment import Assessment, assess, constant_prediction
from bankgcn.training.calibration import fit_temperature, fit_thresholds
from bankgcn.training.evaluation import Evaluation, check_finite, evaluate_outputs, predict_logits
from bankgcn.training.prediction_table import name_columns, prediction_columns, true_columns, true_targets
from bankgcn.training.prepare import PreparedRun


@dataclass(frozen=True)
class HeldOut:
    """What the trained network does on the validation graphs (temperature and task) and the test graphs (the rest).

    The task has the thresholds that the validation graphs choose. If an output for a test graph is not finite, the test
    graphs have nothing but a note that says so.
    """

    task: Task
    temperature: float = 1.0
    evaluation: Evaluation | None = None
    assessment: Assessment | None = None
    table: Columns = field(default_factory=list)
    notes: tuple[str, ...] = ()


def score_held_out(run: PreparedRun) -> HeldOut:
    """Calibrate by the validation graphs, then score the test graphs, which are weighed as the training graphs are."""
    graphs, split = run.graphs, run.split
    valid, test = graphs[split.valid], graphs[split.test]
    assert graphs.y is not None
    assert valid.y is not None
    assert test.y is not None
    outputs = predict_logits(run.net, valid).cpu()
    temperature = fit_temperature(run.task, outputs, valid.y)
    task, notes = _with_thresholds(run, outputs, temperature)
    if not len(test):
        return HeldOut(task, temperature, notes=notes)
    outputs = predict_logits(run.net, test).cpu()
    try:
        check_finite(outputs, graphs, split.test)
    except ValueError as error:  # one huge number in the data must not cost the training
        return HeldOut(task, temperature, notes=(*notes, f"the test graphs have no score: {error}"))
    predictions = task.predictions(outputs.double() / temperature)
    constant = constant_prediction(task, graphs.y[split.train])
    names = name_columns(graphs, split.test.tolist())
    evaluation = evaluate_outputs(outputs, test.y, task, run.loss_weights(split.test))
    if task.thresholds:  # which the outputs of a network do not know
        evaluation = replace(evaluation, score=task.score_predictions(predictions, test.y))
    return HeldOut(
        task,
        temperature,
        evaluation,
        assess(task, predictions, true_targets(task, test), constant),
        [*names, *true_columns(task, test), *prediction_columns(task, predictions)],
        notes,
    )


def _with_thresholds(run: PreparedRun, outputs: Tensor, temperature: float) -> tuple[Task, tuple[str, ...]]:
    """The task with the thresholds that the validation graphs choose, if the run asks for them, and notes on them."""
    y = run.graphs[run.split.valid].y
    if run.spec.train.threshold is None or y is None:
        return run.task, ()
    if not outputs.isfinite().all():
        return run.task, ("an output for a validation graph is not finite, so that no threshold is chosen",)
    thresholds, notes = fit_thresholds(run.task, run.task.predictions(outputs.double() / temperature), y)
    return replace(run.task, thresholds=thresholds), notes
