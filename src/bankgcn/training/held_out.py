"""The end of a run: calibrate by the validation graphs, then score the test graphs, once."""

from __future__ import annotations

from dataclasses import dataclass, field

from bankgcn.files.tables import Columns
from bankgcn.training.assessment import Assessment, assess, constant_prediction
from bankgcn.training.calibration import fit_temperature
from bankgcn.training.evaluation import Evaluation, check_finite, evaluate_outputs, predict_logits
from bankgcn.training.prediction_table import name_columns, prediction_columns, true_columns, true_targets
from bankgcn.training.prepare import PreparedRun
from bankgcn.training.weights import LossWeights


@dataclass(frozen=True)
class HeldOut:
    """What the trained network does on the validation graphs (the temperature) and the test graphs (the rest).

    If an output for a test graph is not finite, there is nothing but a note that says so.
    """

    temperature: float = 1.0
    evaluation: Evaluation | None = None
    assessment: Assessment | None = None
    table: Columns = field(default_factory=list)
    notes: tuple[str, ...] = ()


def score_held_out(run: PreparedRun) -> HeldOut:
    """Calibrate by the validation graphs, then score the test graphs, which are weighed as the training graphs are."""
    graphs, split, task = run.graphs, run.split, run.task
    valid, test = graphs[split.valid], graphs[split.test]
    assert graphs.y is not None
    assert valid.y is not None
    assert test.y is not None
    temperature = fit_temperature(task, predict_logits(run.net, valid).cpu(), valid.y)
    if not len(test):
        return HeldOut(temperature)
    outputs = predict_logits(run.net, test).cpu()
    try:
        check_finite(outputs, graphs, split.test)
    except ValueError as error:  # one huge number in the data must not cost the training
        return HeldOut(temperature, notes=(f"the test graphs have no score: {error}",))
    predictions = task.predictions(outputs.double() / temperature)
    constant = constant_prediction(task, graphs.y[split.train])
    names = name_columns(graphs, split.test.tolist())
    own = None if run.weights is None else run.weights[split.test]
    weights = LossWeights(run.spec.train, task, graphs.y[split.train]).of(test.y, own)
    return HeldOut(
        temperature,
        evaluate_outputs(outputs, test.y, task, weights),
        assess(task, predictions, true_targets(task, test), constant),
        [*names, *true_columns(task, test), *prediction_columns(task, predictions)],
    )
