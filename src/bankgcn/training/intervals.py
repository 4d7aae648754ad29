r"""Intervals of values and sets of classes that hold the truth with a chosen probability, by conformal prediction.

How strange is a target, given what was predicted? The scores of the validation graphs, whose targets are known, say how
strange a true target may be. The answers for a new graph are those that are not stranger than :math:`\lceil (n + 1) q
\rceil` of the :math:`n` validation graphs: for exchangeable graphs they hold the truth with a probability of at least
the level :math:`q` (Vovk et al., 2005). The score of a value is :math:`|y - \hat y| / \sigma`, where :math:`\sigma` is
the spread of several models; that of a class or an answer is one minus its probability.

Models with the same validation graphs are one predictor: their mean. Models with different ones, as in a
cross-validation, are a group for each split. Each validation graph is then compared with what its own group, which did
not learn from it, predicts for the new graph: bounds as of CV+, sets as of cross-conformal prediction (Barber et al.,
2021). With :math:`q = 0.9`, these are certain to hold the truth in 80 % of all cases, and mostly do in 90 %.

Nothing here knows a network: models of any kind that store their :class:`ValidationPredictions` have intervals.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.files.checked import FileError
from bankgcn.files.tables import Columns, number_cells
from bankgcn.files.tensors import UNREADABLE, read_arrays, write_arrays
from bankgcn.messages import Message, Option, advise
from bankgcn.tasks import Task

Floats = NDArray[np.float64]
Prediction = tuple[Floats, Floats | None]
"""Means and standard deviations of the models of a group, both of shape ``(num_graphs, out_channels)``."""

LEVEL = 0.9
"""The level of intervals where no other one is asked for."""
KIND = "predictions for validation graphs"
BLOCK = 1 << 22  # bounds that are sorted at once, for models with different validation graphs
SHOWN = 3  # names in a note


class TooFewGraphs(ValueError):
    """There are too few validation graphs for a level."""


@dataclass(frozen=True, eq=False)
class ValidationPredictions:
    """What a model predicts for its validation graphs, and their targets.

    Args:
        predictions: Calibrated probabilities, or values in the user's units, shape ``(n, out_channels)``.
        y: Numbers of classes, ``(n,)``, or values or labels, ``(n, out_channels)``, in which NaN is unknown.
        split: Hash of the split: models with equal ones have the same validation graphs.
    """

    predictions: Floats
    y: NDArray
    split: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to one file."""
        write_arrays(path, KIND, {"split": self.split}, {"predictions": self.predictions, "y": self.y})

    @classmethod
    def load(cls, path: str | os.PathLike[str], task: Task) -> ValidationPredictions:
        """Read the predictions of a model of this task.

        Raises:
            FileError: The file is damaged, or holds the predictions of another task.
        """
        fields, arrays = read_arrays(path, KIND)
        try:
            predictions, y = arrays["predictions"].astype(np.float64), arrays["y"]
            of_classes = task.kind == "classes"
            if predictions.ndim != 2 or predictions.shape[1] != task.out_channels:
                raise ValueError(f"the shape is {predictions.shape}, but there are {task.out_channels} targets")
            if y.shape != (predictions.shape[:1] if of_classes else predictions.shape):
                raise ValueError(f"there are {len(predictions)} predictions, but targets of the shape {y.shape}")
            if not np.isfinite(predictions).all() or np.isinf(y).any():
                raise ValueError("a number is not finite")
            if of_classes and not (y.dtype.kind in "iu" and np.isin(y, range(task.out_channels)).all()):
                raise ValueError(f"a target is none of the {task.out_channels} classes")
            return cls(predictions, y if of_classes else y.astype(np.float64), str(fields["split"]))
        except UNREADABLE as error:
            raise FileError(f"holds no predictions for the validation graphs of this model ({error})", path) from error


def rank(count: int, level: float) -> int:
    """The rank of the quantile among so many scores; more than there are, if they are too few for the level.

    Example:
        >>> rank(99, 0.9), rank(9, 0.9), rank(8, 0.9)
        (90, 9, 9)
    """
    return math.ceil(round((count + 1) * level, 9))  # 20 * 0.55 is 11.000000000000002


def least_graphs(level: float) -> int:
    """The least number of validation graphs for a level."""
    return math.ceil(round(level / (1 - level), 9))


class Intervals(NamedTuple):
    """Bounds of values, or sets of answers, for G graphs."""

    level: float
    low: Floats | None = None  # (G, T), of values; infinite where there are too few validation graphs
    high: Floats | None = None  # (G, T)
    sets: NDArray[np.bool_] | None = None  # (G, C) of classes; (G, T, 2) of labels: whether the answers 0 and 1 are in
    notes: tuple[str, ...] = ()  # on targets with few validation graphs

    def columns(self, task: Task) -> Columns:
        """The columns of a table: ``NAME_low`` and ``NAME_high``, ``set``, or ``set_NAME`` of each label."""
        if self.sets is None:
            assert self.low is not None
            assert self.high is not None
            return [
                (f"{name}_{end}", number_cells(np.where(np.isfinite(bounds[:, place]), bounds[:, place], np.nan)))
                for place, name in enumerate(task.names)
                for end, bounds in (("low", self.low), ("high", self.high))
            ]
        if task.kind == "classes":
            return [("set", ["|".join(names) for names in self.named(task)])]
        answers = [["|".join(map(str, answer)) for answer in row.values()] for row in self.named(task)]
        return [(f"set_{name}", [row[place] for row in answers]) for place, name in enumerate(task.names)]

    def named(self, task: Task) -> Iterator[Any]:
        """What JSON holds of each graph: the bounds of each value, the classes of a set, or the answers of each label.

        A value without bounds is ``None``.
        """
        if self.sets is None:
            assert self.low is not None
            assert self.high is not None
            for bounds in np.stack([self.low, self.high], axis=2).tolist():
                pairs = [pair if all(map(math.isfinite, pair)) else None for pair in bounds]
                yield dict(zip(task.names, pairs, strict=True))
            return
        for row in self.sets.tolist():
            if task.kind == "classes":
                yield [name for name, is_in in zip(task.names, row, strict=True) if is_in]
            else:
                answers = [[answer for answer in (0, 1) if pair[answer]] for pair in row]
                yield dict(zip(task.names, answers, strict=True))


def gathered(parts: Sequence[tuple[NDArray[np.int64], Intervals]], graphs: int) -> Intervals:
    """The intervals of all graphs, from those of parts of them with their numbers."""
    first = parts[0][1]
    arrays: dict[str, Any] = {}
    for name in ("low", "high", "sets"):
        own = getattr(first, name)
        if own is not None:
            arrays[name] = np.empty((graphs, *own.shape[1:]), own.dtype)
            for rows, part in parts:
                arrays[name][rows] = getattr(part, name)
    notes = tuple(dict.fromkeys(note for _, part in parts for note in part.notes))
    return Intervals(first.level, **arrays, notes=notes)


class Group(NamedTuple):
    """What models with the same validation graphs predict for these graphs, and their targets."""

    mean: Floats  # (n, out_channels)
    spread: Floats | None  # (n, out_channels), of several models
    y: NDArray  # as in ValidationPredictions


class Conformal:
    """From predictions to intervals or sets.

    Where every class has enough validation graphs, each class has scores of its own: then the sets hold the true class
    of each class with the probability of the level. Otherwise all have the same, and only all graphs together do. The
    two answers of a label are two classes. Notes say where there were too few.

    Args:
        task: What was learned.
        groups: The validation graphs of each group of models.
        level: Probability with which the truth is to be held.

    Raises:
        ValueError: The level is no probability.
        TooFewGraphs: There are too few validation graphs for it.
    """

    def __init__(self, task: Task, groups: Sequence[Group], level: float):
        if not 0 < level < 1:
            raise ValueError(
                Message("{given}: expected a share between 0 and 1, such as 0.9", given=Option("interval", level))
            )
        self.task, self.level, self._groups = task, level, groups
        known = self._known()
        self._check_enough(max(known, default=0))
        self.notes = tuple(self._notes(known))
        self._floors = [_floors(group.spread) for group in groups]

    def apply(self, predictions: Sequence[Prediction], decided: NDArray[np.int64] | None = None) -> Intervals:
        """The intervals or sets of new graphs.

        Args:
            predictions: What each group predicts for them.
            decided: What is decided for each graph or label, which a set always holds; not for values.
        """
        if self.task.kind == "values":
            low, high = (np.stack(bounds, axis=1) for bounds in zip(*self._bounds(predictions), strict=True))
            return Intervals(self.level, low, high, notes=self.notes)
        assert decided is not None
        if self.task.kind == "classes":
            sets = self._sets([(group.mean, group.y) for group in self._groups], [mean for mean, _ in predictions])
            sets[np.arange(len(sets)), decided] = True
            return Intervals(self.level, sets=sets, notes=self.notes)
        sets = np.stack([self._label(place, predictions) for place in range(self.task.out_channels)], axis=1)
        np.put_along_axis(sets, decided[:, :, None], True, axis=2)
        return Intervals(self.level, sets=sets, notes=self.notes)

    def _known(self) -> list[int]:
        """Number of validation graphs whose target is known, for each value or label; or of all, for classes."""
        if self.task.kind == "classes":
            return [sum(len(group.y) for group in self._groups)]
        return sum((~np.isnan(group.y)).sum(axis=0) for group in self._groups).tolist()

    def _check_enough(self, most: int) -> None:
        if rank(most, self.level) <= most:
            return
        highest = math.floor(100 * most / (most + 1)) / 100
        needs = (
            f"an interval of {_percent(self.level)} needs at least {least_graphs(self.level)} validation graphs with a "
            f"known target, and the run has {most}"
        )
        way = Option("interval", highest)
        choose = "{needs}: choose {way} or less, or train with more validation graphs"
        if not most:
            choose = "{needs}: train with validation graphs"
        more = advise("ratios", "7,2,1", "takes more of them")
        raise TooFewGraphs(Message(choose, needs=needs, way=way, advice=[more]))

    def _notes(self, known: Sequence[int]) -> Iterator[str]:
        level, least = _percent(self.level), least_graphs(self.level)
        if self.task.kind == "classes":
            y = np.concatenate([group.y for group in self._groups])
            counts = np.bincount(y, minlength=self.task.out_channels)
            if counts.min() < least:
                rarest = self.task.names[int(counts.argmin())]
                yield (
                    f"too few validation graphs for each class by itself ({level} needs {least}, and {rarest} has "
                    f"{counts.min()}): the sets hold {level} of all graphs, but not of each class"
                )
            return
        for name, count in zip(self.task.names, known, strict=True):
            if count < least:
                what = "no interval" if self.task.kind == "values" else "both answers in every set"
                needs = f"{level} needs {least} validation graphs with a known target, and it has {count}"
                yield f"{name} has {what}: {needs}"
        if self.task.kind == "labels":
            rare = [name for name, fewest in zip(self.task.names, self._rarer(), strict=True) if fewest < least]
            if rare:
                listed = ", ".join(rare[:SHOWN]) + (", ..." if len(rare) > SHOWN else "")
                yield (
                    f"too few validation graphs for each answer by itself ({level} needs {least}) of {len(rare)} of "
                    f"{len(self.task.names)} labels: {listed}; their sets hold {level} of all answers, but not of each"
                )

    def _rarer(self) -> list[int]:
        """Number of the validation graphs with the rarer answer of each label."""
        y = np.concatenate([group.y for group in self._groups])
        return np.minimum((y == 0).sum(axis=0), (y == 1).sum(axis=0)).tolist()

    def _bounds(self, predictions: Sequence[Prediction]) -> Iterator[tuple[Floats, Floats]]:
        """The lower and the upper bound of each value of the graphs."""
        for place in range(self.task.out_channels):
            scores, means, scales = [], [], []
            for group, floors, (mean, spread) in zip(self._groups, self._floors, predictions, strict=True):
                known = ~np.isnan(group.y[:, place])
                error = np.abs(group.y[known, place] - group.mean[known, place])
                scores.append(np.sort(error / _scale(group.spread, floors, place, known)))
                means.append(mean[:, place])
                scales.append(np.broadcast_to(_scale(spread, floors, place), mean.shape[:1]))
            yield _bounds_of(scores, means, scales, self.level)

    def _label(self, place: int, predictions: Sequence[Prediction]) -> NDArray[np.bool_]:
        """Whether each answer of a label is in the set of each graph, shape ``(G, 2)``."""
        validation = []
        for group in self._groups:
            known = ~np.isnan(group.y[:, place])
            validation.append((_both(group.mean[known, place]), group.y[known, place].astype(np.int64)))
        return self._sets(validation, [_both(mean[:, place]) for mean, _ in predictions])

    def _sets(self, validation: Sequence[tuple[Floats, NDArray]], news: Sequence[Floats]) -> NDArray[np.bool_]:
        """Which classes are not too strange for each graph, shape ``(G, C)``.

        Args:
            validation: Probabilities and classes of the validation graphs, for each group.
            news: The probabilities of the new graphs, by each group.
        """
        classes = news[0].shape[1]
        counts = np.bincount(np.concatenate([y for _, y in validation]), minlength=classes)
        alone = bool((counts >= least_graphs(self.level)).all())
        sets = np.zeros(news[0].shape, np.bool_)
        for c in range(classes):
            stranger, total = np.zeros(len(sets), np.int64), 0
            for (p, y), new in zip(validation, news, strict=True):
                scores = np.sort(1 - (p[y == c, c] if alone else p[np.arange(len(y)), y]))
                stranger += np.searchsorted(scores, 1 - new[:, c], side="left")
                total += len(scores)
            sets[:, c] = stranger < rank(total, self.level)
        return sets


def _bounds_of(
    scores: Sequence[Floats], means: Sequence[Floats], scales: Sequence[Floats], level: float
) -> tuple[Floats, Floats]:
    """The bounds of one value for each graph, given sorted scores, and means and scales by each group."""
    total, graphs = sum(map(len, scores)), len(means[0])
    place = rank(total, level)
    if place > total:
        return np.full(graphs, -np.inf), np.full(graphs, np.inf)
    if len(scores) == 1:
        margin = scores[0][place - 1] * scales[0]
        return means[0] - margin, means[0] + margin
    low, high = np.empty(graphs), np.empty(graphs)
    step = max(1, BLOCK // total)
    for start in range(0, graphs, step):
        rows = slice(start, start + step)
        for bounds, sign in ((low, -1), (high, 1)):
            ends = [
                sign * mean[rows, None] + scale[rows, None] * score
                for score, mean, scale in zip(scores, means, scales, strict=True)
            ]
            bounds[rows] = sign * np.partition(np.concatenate(ends, axis=1), place - 1, axis=1)[:, place - 1]
    return low, high


def _floors(spread: Floats | None) -> Floats | None:
    """What is added to the spread of each value: its median over the validation graphs. Models may agree by chance."""
    if spread is None:
        return None
    middle = np.median(spread, axis=0) if len(spread) else np.zeros(spread.shape[1])
    return np.where(middle > 0, middle, 1.0)


def _scale(spread: Floats | None, floors: Floats | None, place: int, rows: Any = slice(None)) -> Any:
    """What divides the errors of a value: the spread and its floor; 1 for a single model."""
    return 1.0 if spread is None or floors is None else spread[rows, place] + floors[place]


def _both(probability: Floats) -> Floats:
    """Probabilities of the answers 0 and 1."""
    return np.stack([1 - probability, probability], axis=1)


def _percent(level: float) -> str:
    return f"{100 * level:.4g} %"


def coverage(task: Task, intervals: Intervals, y: NDArray) -> dict[str, Any]:
    """How often intervals or sets hold the truth, and how wide they are, as JSON holds it.

    Args:
        task: What was learned.
        intervals: Those of graphs.
        y: The targets of these graphs, in the order of the outputs; NaN where one is unknown.

    Returns:
        ``level``, ``graphs``, ``coverage`` of all known targets, and ``width``, the mean width of the intervals of a
        single value, or ``size``, the mean number of answers in a set. Several values or labels have rows ``targets``.
    """
    truth = y.reshape(len(y), -1)
    known = ~np.isnan(truth) if truth.dtype.kind == "f" else np.ones(truth.shape, np.bool_)
    name, held, extent = _held(task, intervals, truth)
    rows = [
        {"name": target, "graphs": int(own.sum()), "coverage": _mean(hits[own]), name: _mean(sizes[own])}
        for target, own, hits, sizes in zip(task.names, known.T, held.T, extent.T, strict=False)
    ]
    several = task.kind != "classes" and len(task.names) > 1
    figures = {"level": intervals.level, "graphs": len(y), "coverage": _mean(held[known])}
    if not (several and name == "width"):  # values may have different units
        figures[name] = _mean(extent[known])
    return {**figures, "targets": rows} if several else figures


def _held(task: Task, intervals: Intervals, truth: NDArray) -> tuple[str, NDArray[np.bool_], Floats]:
    """What the extent is called; whether each target is held, and the extent: the width, or the number of answers."""
    if intervals.sets is None:
        assert intervals.low is not None
        assert intervals.high is not None
        return "width", (intervals.low <= truth) & (truth <= intervals.high), intervals.high - intervals.low
    sets = intervals.sets[:, None, :] if task.kind == "classes" else intervals.sets
    answer = np.nan_to_num(truth).astype(np.int64)[:, :, None]
    return "size", np.take_along_axis(sets, answer, axis=2)[:, :, 0], sets.sum(axis=2).astype(np.float64)


def _mean(numbers: NDArray) -> float | None:
    mean = float(numbers.mean()) if len(numbers) else math.nan
    return mean if math.isfinite(mean) else None


def coverage_lines(task: Task, figures: dict[str, Any]) -> list[str]:
    """What :func:`coverage` returns, in one line; in two for several targets."""
    held = "unknown" if figures["coverage"] is None else f"{100 * figures['coverage']:.1f} %"
    noun = {"values": "true values", "classes": "true classes", "labels": "known answers"}[task.kind]
    what = "intervals" if task.kind == "values" else "sets"
    parts = [f"{_percent(figures['level'])} {what} hold {held} of the {noun}"]
    if figures.get("width") is not None and task.out_channels == 1:  # the units of several values differ
        parts.append(f"mean width {figures['width']:.4g}")
    if figures.get("size") is not None:
        parts.append(f"mean size {figures['size']:.2f} of {task.out_channels if task.kind == 'classes' else 2}")
    shares = [row["coverage"] for row in figures.get("targets", ()) if row["coverage"] is not None]
    by_target = [f"by target, they hold {100 * min(shares):.1f} to {100 * max(shares):.1f} %"] if shares else []
    return [f"{'; '.join(parts)}  ({figures['graphs']:,} graphs)", *by_target]
