"""How good predictions are; and the end of a run: calibrate by validation graphs, then score the test graphs, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.files.tables import Columns
from bankgcn.messages import Message, advise
from bankgcn.metrics import METRICS, confusion_matrix
from bankgcn.tasks import LIKELY, Loss, Task, binary_cross_entropy, cross_entropy
from bankgcn.training.evaluation import (
    Evaluation,
    check_finite,
    evaluate_outputs,
    inference_of,
    name_columns,
    predict_logits,
    prediction_columns,
    true_columns,
    true_targets,
)

if TYPE_CHECKING:  # reading graphs is not needed to assess predictions
    from bankgcn.training.prepare import PreparedRun

RESAMPLES = 1000
COVERAGE = 0.95
CONFUSIONS = 3  # other classes that are listed for each class
TARGETS_NAMED = 3  # in a warning
LIKELIHOODS: dict[str, Loss] = {"classes": cross_entropy, "labels": binary_cross_entropy}
"""The mean negative log-likelihood for each kind of task that predicts probabilities."""
LARGEST_LOG_TEMPERATURE = math.log(20.0)  # in both directions
SEARCH_STEPS = 60  # for a temperature: the interval shrinks by 0.62 in each
_GOLDEN = (math.sqrt(5) - 1) / 2
LEAST_RARER = 3  # validation graphs of the rarer answer that can choose a threshold: one alone lies above any of them
FEW_RARER = 10  # validation graphs of the rarer answer: with fewer, a threshold is very uncertain


@dataclass(frozen=True)
class ClassAssessment:
    """How the graphs of one class are predicted.

    Args:
        name: The class.
        graphs: Number of its graphs.
        recall: Fraction of them that are predicted as this class; ``None`` without graphs.
        mistaken_for: The classes that most of the others are predicted as, with their numbers.
    """

    name: str
    graphs: int
    recall: float | None
    mistaken_for: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class TargetAssessment:
    """How good the predictions of one value or label are. A score that is NaN is ``None``.

    Args:
        name: The value or label.
        graphs: Number of the graphs for which it is known.
        scores: Its scores, by the names of metrics of a single target: ``"mae"``, ``"rmse"``, ``"r2"``; or
            ``"roc_auc"``, ``"average_precision"``, ``"mcc"``.
        baseline_scores: The same scores of the constant prediction.
        positive: Number of the graphs with a label; ``None`` for a value.
        threshold: The probability from which on a label is decided; ``None`` for a value.
    """

    name: str
    graphs: int
    scores: Mapping[str, float | None]
    baseline_scores: Mapping[str, float | None]
    positive: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """How good predictions for graphs with known targets are. A score that is NaN is ``None``.

    Args:
        metric: The metric of the task.
        graphs: Number of the graphs.
        scores: The score of every metric that fits the task.
        interval: Bounds between which the score lies in 95 % of 1000 bootstrap samples of the graphs.
        baseline: The constant prediction to compare with, in words: the largest class of the training graphs, or the
            mean of their targets.
        baseline_score: Its score.
        classes: The recall of each class; nothing for values and labels.
        targets: How good the predictions of each value or label are; nothing for classes. The score of several is the
            mean of theirs.
        threshold: The probability from which on the second one of two classes is decided, if one was chosen.
    """

    metric: str
    graphs: int
    scores: Mapping[str, float | None]
    interval: tuple[float, float] | None
    baseline: str
    baseline_score: float | None
    classes: tuple[ClassAssessment, ...] = ()
    targets: tuple[TargetAssessment, ...] = ()
    threshold: float | None = None

    @property
    def score(self) -> float | None:
        """The score of the metric of the task."""
        return self.scores[self.metric]

    @property
    def beats_baseline(self) -> bool:
        """Whether the score is better than that of the constant prediction; true if one of them is unknown."""
        return _beats(self.metric, self.score, self.baseline_score)

    @property
    def others(self) -> list[str]:
        """The metrics beside that of the task; average precision is the first one beside a ROC-AUC."""
        others = [name for name in self.scores if name != self.metric]
        return sorted(others, key="average_precision".__ne__) if "roc_auc" in self.metric else others

    def warnings(self, balanced: bool = False) -> list[str]:
        """What a reader of the score must know: the model, or a part of it, is no better than a constant prediction.

        Args:
            balanced: Whether the training gave all classes the same weight: then this is not advised.
        """
        warnings: list[str] = []
        predicted = {row.name for row in self.classes if row.recall}.union(*(row.mistaken_for for row in self.classes))
        if len(predicted) == 1 and len(self.classes) > 1:
            advice = [] if balanced else [advise("class_weight", "balanced", "gives a rare class more weight")]
            same = f"the model predicts {predicted.pop()!r} for all {self.graphs:,} graphs"
            warnings.append(Message("{same}", same=same, advice=advice))
        elif not self.beats_baseline:
            warnings.append(f"the {METRICS[self.metric].label} is not better than that of {self.baseline}")
        name = METRICS[self.metric].of_one or self.metric
        poor = [row.name for row in self.targets if not _beats(name, row.scores[name], row.baseline_scores[name])]
        if poor and len(self.targets) > 1:
            listed = ", ".join(poor[:TARGETS_NAMED]) + (", ..." if len(poor) > TARGETS_NAMED else "")
            warnings.append(
                f"the {METRICS[name].label} of {len(poor)} of {len(self.targets)} targets is not better than that of a "
                f"constant prediction: {listed}"
            )
        return warnings

    def to_dict(self) -> dict[str, Any]:
        """The assessment as JSON holds it, with classes or targets, and a threshold if there is one."""
        plain = asdict(self) | {"interval": list(self.interval) if self.interval else None}
        if self.threshold is None:
            del plain["threshold"]
        unused, used = ("classes", "targets") if self.targets else ("targets", "classes")
        del plain[unused]
        return {**plain, used: list(plain[used])}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Assessment:
        """The assessment that :meth:`to_dict` wrote."""
        classes = tuple(ClassAssessment(**row) for row in values.get("classes", ()))
        targets = tuple(TargetAssessment(**row) for row in values.get("targets", ()))
        interval = tuple(values["interval"]) if values["interval"] else None
        return cls(**{**values, "classes": classes, "targets": targets, "interval": interval})


def constant_prediction(task: Task, y: NDArray) -> tuple[float, ...]:
    """The best prediction that does not look at the graph, given targets of training graphs.

    Returns:
        The share of each class, the mean of each value, or the share of each label.
    """
    if task.kind == "classes":
        counts = np.bincount(y, minlength=len(task.names))
        return tuple((counts / max(len(y), 1)).tolist())
    columns = y.reshape(len(y), -1).astype(np.float64)
    return tuple(np.nanmean(columns, axis=0).tolist())


def assess(task: Task, predictions: Tensor, y: NDArray, constant: tuple[float, ...] | None = None) -> Assessment:
    """Assess predictions for graphs whose targets are known.

    Args:
        task: What was learned.
        predictions: What :meth:`Task.predictions` returns, shape ``(num_graphs, out_channels)``.
        y: Targets, in the order of the outputs.
        constant: :func:`constant_prediction` of the training graphs; by default that of these graphs.

    Raises:
        ValueError: There are no graphs.
    """
    if not len(y):
        raise ValueError("there are 0 graphs with known targets: an assessment needs some")
    constant = constant or constant_prediction(task, y)
    same = torch.tensor(constant, dtype=predictions.dtype).expand(len(y), -1)
    return Assessment(
        metric=task.metric,
        graphs=len(y),
        scores=_scores(task, predictions, y),
        interval=_interval(task, predictions, y),
        baseline=_baseline(task, constant),
        baseline_score=_scores(replace(task, thresholds=()), same, y)[task.metric],
        classes=_classes(task, predictions, y) if task.kind == "classes" else (),
        targets=() if task.kind == "classes" else tuple(_targets(task, predictions, y, same)),
        threshold=task.thresholds[0] if task.kind == "classes" and task.thresholds else None,
    )


def _scores(task: Task, predictions: Tensor, y: NDArray) -> dict[str, float | None]:
    """The score of every metric of the task."""
    return {name: _finite(task.score_predictions(predictions, y, name)) for name in task.metrics}


def _targets(task: Task, predictions: Tensor, y: NDArray, same: Tensor) -> Iterator[TargetAssessment]:
    """The scores of each value or label, beside those of the constant prediction."""
    columns = y.reshape(len(y), -1)
    for number, name in enumerate(task.names):
        part, true = slice(number, number + 1), columns[:, number]
        parts = {key: getattr(task, key)[part] for key in ("names", "center", "scale", "thresholds")}
        one = replace(task, **parts)
        scores = _scores(one, predictions[:, part], columns[:, part])
        constant = _scores(replace(one, thresholds=()), same[:, part], columns[:, part])
        own_names = {metric: METRICS[metric].of_one or metric for metric in scores}
        is_label = task.kind == "labels"
        yield TargetAssessment(
            name=name,
            graphs=int((~np.isnan(true)).sum()),
            scores={own: scores[metric] for metric, own in own_names.items()},
            baseline_scores={own: constant[metric] for metric, own in own_names.items()},
            positive=int((true == 1).sum()) if is_label else None,
            threshold=(one.thresholds or (LIKELY,))[0] if is_label else None,
        )


def _baseline(task: Task, constant: tuple[float, ...]) -> str:
    if task.kind == "classes":
        return f"always {task.names[int(np.argmax(constant))]!r}"
    if task.kind == "labels":
        return "the share of each label"
    return "the mean of the training graphs"


def _classes(task: Task, predictions: Tensor, y: NDArray) -> tuple[ClassAssessment, ...]:
    classes = []
    decided = torch.nn.functional.one_hot(task.decide(predictions), len(task.names))
    for number, row in enumerate(confusion_matrix(decided, torch.as_tensor(y)).tolist()):
        graphs = sum(row)
        others = sorted((other for other in range(len(row)) if other != number and row[other]), key=lambda o: -row[o])
        mistaken = {task.names[other]: row[other] for other in others[:CONFUSIONS]}
        classes.append(ClassAssessment(task.names[number], graphs, row[number] / graphs if graphs else None, mistaken))
    return tuple(classes)


def _interval(task: Task, predictions: Tensor, y: NDArray) -> tuple[float, float] | None:
    """The percentile interval of the bootstrap; ``None`` if no sample has a score. The samples are always the same."""
    rng = np.random.Generator(np.random.PCG64(0))
    scores = []
    for _ in range(RESAMPLES):
        sample = torch.from_numpy(rng.integers(len(y), size=len(y)))
        scores.append(task.score_predictions(predictions[sample], torch.as_tensor(y)[sample]))
    finite = [score for score in scores if math.isfinite(score)]
    if not finite:
        return None
    low, high = np.quantile(finite, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]).tolist()
    return low, high


def _beats(metric: str, score: float | None, baseline: float | None) -> bool:
    """Whether a score is better than that of the constant prediction; true if one of them is unknown."""
    return score is None or baseline is None or METRICS[metric].improves(score, baseline)


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None


def fit_temperature(task: Task, outputs: Tensor, y: NDArray) -> float:
    """The temperature T for which ``outputs / T`` gives the validation graphs the largest likelihood.

    As in Guo et al. (ICML 2017), but the logarithm of T has a normal prior with deviation 1. It keeps T finite where
    all validation graphs are predicted correctly, and has no effect on large validation sets.

    Args:
        task: What was learned.
        outputs: Outputs of the network for the validation graphs.
        y: Their targets.

    Returns:
        The temperature; 1 for values, which have no probabilities.
    """
    if task.kind not in LIKELIHOODS or not len(y):
        return 1.0
    targets, logits = task.targets(y), outputs.double()
    targets = targets.double() if task.kind == "labels" else targets
    count = len(y) if task.kind == "classes" else int((~np.isnan(y)).sum())

    def cost(log_temperature: float) -> float:
        mean = LIKELIHOODS[task.kind](logits / math.exp(log_temperature), targets, None).item()
        return count * mean + log_temperature**2 / 2

    return math.exp(_smallest(cost, -LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE))


def fit_thresholds(task: Task, predictions: Tensor, y: NDArray) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The threshold of the second class, or of each label, with the largest MCC on the validation graphs.

    Matthews' correlation counts both answers alike, and does not grow by predicting the frequent one. A threshold lies
    in the middle between two neighbouring probabilities; of equally good ones, the one nearest to 0.5 is taken.

    Args:
        task: What was learned: two classes, or labels.
        predictions: Calibrated probabilities of the validation graphs, shape ``(num_graphs, out_channels)``.
        y: Their targets.

    Returns:
        The thresholds, and a note on each one that the validation graphs cannot choose or that few of them choose.
    """
    probabilities = predictions.double().numpy()
    if task.kind == "classes":
        answers = {task.names[1]: (probabilities[:, 1], y.astype(np.float64))}
    else:
        answers = {name: (probabilities[:, c], y[:, c]) for c, name in enumerate(task.names)}
    thresholds, notes = [], []
    for name, (probability, answer) in answers.items():
        is_known = ~np.isnan(answer)
        positive = answer[is_known] == 1
        rarer = min(int(positive.sum()), int((~positive).sum()))
        threshold = best_threshold(probability[is_known], positive) if rarer >= LEAST_RARER else None
        thresholds.append(LIKELY if threshold is None else threshold)
        if rarer < LEAST_RARER:
            notes.append(
                f"the threshold of {name!r} is {LIKELY}: too few validation graphs ({rarer}) have the rarer answer"
            )
        elif threshold is None:
            notes.append(
                f"the threshold of {name!r} is {LIKELY}: no other one is better than guessing on validation graphs"
            )
        elif rarer < FEW_RARER:
            notes.append(
                f"the threshold of {name!r} is uncertain: it rests on {rarer} validation graphs of the rarer answer"
            )
    return tuple(thresholds), tuple(notes)


def best_threshold(probability: NDArray[np.float64], positive: NDArray[np.bool_]) -> float | None:
    """The threshold with the largest MCC; ``None`` if one answer is missing, or no threshold has an MCC above 0.

    Example:
        >>> best_threshold(np.array([0.1, 0.2, 0.4]), np.array([False, False, True]))
        0.30000000000000004
    """
    order = np.argsort(-probability, kind="stable")
    ranked, hits_by_rank = probability[order], np.cumsum(positive[order])
    last = np.flatnonzero(ranked[1:] != ranked[:-1])  # the threshold lies below this rank
    if not len(last):
        return None
    taken, hits, total, positives = last + 1.0, hits_by_rank[last], float(len(ranked)), float(hits_by_rank[-1])
    spread = taken * (total - taken) * positives * (total - positives)
    if spread[0] == 0:
        return None
    mcc = (hits * total - taken * positives) / np.sqrt(spread)
    if mcc.max() <= 0:
        return None
    middle = (ranked[last] + ranked[last + 1]) / 2
    best = np.flatnonzero(mcc >= mcc.max() - 1e-12)
    return float(middle[best[np.abs(middle[best] - LIKELY).argmin()]])


def _smallest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one minimum is smallest, by golden-section search."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    cost_left, cost_right = cost(left), cost(right)
    for _ in range(SEARCH_STEPS):
        if cost_left <= cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - _GOLDEN * (high - low)
            cost_left = cost(left)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + _GOLDEN * (high - low)
            cost_right = cost(right)
    return (low + high) / 2


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
    predictions: Tensor | None = None


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
    of_each, _ = inference_of(run.net).apply(test)  # the digits that predict gives later
    predictions = task.predictions(of_each.double() / temperature)
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
        predictions,
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
