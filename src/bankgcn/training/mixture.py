"""Models of several kinds that vote together: the weight of each kind, chosen by validation graphs.

The models of a kind, such as the networks of five seeds, have equal votes; their mean is the vote of the kind. The
weights of the kinds are multiples of a tenth. They are equal, unless others are clearly better on the validation
graphs: no graph on which a model is judged has trained it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.files.checked import FileError, atomic_write, read_json, with_checksum, without_checksum
from bankgcn.files.tensors import UNREADABLE
from bankgcn.tasks import Task
from bankgcn.training.intervals import ValidationPredictions
from bankgcn.training.model import TrainedModel

FILE = "ensemble.json"
"""The file beside the folders of the models that keeps the weights."""
STEPS = 10
"""A weight is a multiple of one part in so many."""
SAMPLES = 200  # of the validation graphs, drawn with replacement
CLEARLY = 0.9  # the share of them on which other weights must be better than equal ones


class Mixture(NamedTuple):
    """Weights of kinds of models, and why.

    Args:
        weights: The weight of each kind, by the name of the model; they add up to 1.
        scores: Score on the validation graphs of each kind alone.
        score: Score of the mean with these weights.
        equal_score: Score with equal weights.
        metric: What the scores are.
        graphs: Number of validation graphs, each counted for every split in which it validates.
    """

    weights: dict[str, float]
    scores: dict[str, float | None]
    score: float | None
    equal_score: float | None
    metric: str
    graphs: int

    @property
    def is_equal(self) -> bool:
        """Whether all kinds have one weight."""
        return len(set(self.weights.values())) == 1

    def save(self, folder: Path) -> None:
        """Write the weights beside the models."""
        with atomic_write(folder / FILE) as file:
            file.write(json.dumps(with_checksum(self._asdict()), indent=2, allow_nan=False).encode() + b"\n")

    @classmethod
    def load(cls, folder: Path, kinds: Sequence[str]) -> Mixture | None:
        """The weights in a folder; ``None`` if it has none.

        Args:
            folder: The folder.
            kinds: The kinds of the models that are there.

        Raises:
            FileError: The file is damaged, or has no weights of these kinds.
        """
        path = folder / FILE
        if not path.exists():
            return None
        try:
            mixture = cls(**without_checksum(read_json(path)))
            _check(mixture.weights)
        except FileError:
            raise
        except UNREADABLE as error:
            raise FileError(f"holds no weights of models ({error})", path) from error
        lacking = [kind for kind in kinds if kind not in mixture.weights]
        if lacking:
            raise FileError(
                f"has no weight of {lacking[0]}: name a folder with the models of one training, or remove this file "
                "for equal weights",
                path,
            )
        return mixture


def _check(weights: Any) -> None:
    if not isinstance(weights, dict) or not weights:
        raise ValueError(f"the weights are {str(weights)[:100]}")
    for kind, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise ValueError(f"the weight of {kind} is {str(weight)[:100]}, expected a number from 0 to 1")
    if not math.isclose(sum(weights.values()), 1, abs_tol=1e-9):
        raise ValueError(f"the weights add up to {sum(weights.values())}, not 1")


def kinds_of(members: Mapping[Path, TrainedModel]) -> list[str]:
    """The kind of each model: the name that ``--model`` takes."""
    return [model.config.conv for model in members.values()]


def weights_of(members: Mapping[Path, TrainedModel], mixture: Mixture | None) -> NDArray[np.float64] | None:
    """The weight of each model; ``None`` if all models are of one kind, and so have equal votes."""
    kinds = kinds_of(members)
    names = list(dict.fromkeys(kinds))
    if len(names) < 2:
        return None
    shares = dict.fromkeys(names, 1 / len(names)) if mixture is None else mixture.weights
    weights = np.array([shares[kind] / kinds.count(kind) for kind in kinds])
    return weights / weights.sum() if weights.sum() else np.full(len(kinds), 1 / len(kinds))


def choose_weights(kinds: Sequence[str], stored: Sequence[ValidationPredictions], task: Task) -> Mixture:
    """The weights of the kinds of models, chosen by their validation graphs.

    Each model is judged by the validation graphs of its own split, whatever the splits of the others are.

    Args:
        kinds: The kind of each model.
        stored: What each model predicts for its validation graphs.
        task: What they learned.
    """
    names, votes, y = _votes(kinds, stored)
    equal = np.full(len(names), 1 / len(names))
    best = min((np.array(parts) / STEPS for parts in _parts(STEPS, len(names))), key=lambda w: _key(task, votes, y, w))
    chosen = best if _clearly_better(task, votes, y, best, equal) else equal
    alone = {name: _score(task, vote, y) for name, vote in zip(names, votes, strict=True)}
    return Mixture(
        weights=dict(zip(names, chosen.tolist(), strict=True)),
        scores={name: score if math.isfinite(score) else None for name, score in alone.items()},
        score=_finite(_score(task, _mean(votes, chosen), y)),
        equal_score=_finite(_score(task, _mean(votes, equal), y)),
        metric=task.metric,
        graphs=len(y),
    )


def _votes(kinds: Sequence[str], stored: Sequence[ValidationPredictions]) -> tuple[list[str], Tensor, NDArray]:
    """The kinds; the vote of each for the validation graphs of every split, ``(kinds, G, outputs)``; their targets.

    A split on which a kind has no model is left out.
    """
    names = list(dict.fromkeys(kinds))
    by_split: dict[str, dict[str, list[Tensor]]] = {}
    truth: dict[str, NDArray] = {}
    for kind, one in zip(kinds, stored, strict=True):
        truth.setdefault(one.split, one.y)
        by_split.setdefault(one.split, {}).setdefault(kind, []).append(torch.from_numpy(one.predictions))
    complete = [key for key, votes in by_split.items() if set(votes) == set(names)]
    if not complete:
        raise ValueError(f"no split has a model of each of {', '.join(names)}, so that they have no weights")
    votes = [torch.cat([torch.stack(by_split[key][name]).mean(0) for key in complete]) for name in names]
    return names, torch.stack(votes), np.concatenate([truth[key] for key in complete])


def _parts(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of so many numbers from 0."""
    if count == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _parts(total - first, count - 1):
            yield (first, *rest)


def _mean(votes: Tensor, weights: NDArray[np.float64]) -> Tensor:
    return (votes * torch.from_numpy(weights)[:, None, None]).sum(0)


def _score(task: Task, predictions: Tensor, y: NDArray) -> float:
    return task.score_predictions(predictions, y)


def _key(task: Task, votes: Tensor, y: NDArray, weights: NDArray[np.float64]) -> tuple[float, float]:
    """What the weights minimise: the cost of the score, then how unequal they are."""
    return task.scoring.cost(_score(task, _mean(votes, weights), y)), float(((weights - weights.mean()) ** 2).sum())


def _clearly_better(
    task: Task, votes: Tensor, y: NDArray, weights: NDArray[np.float64], equal: NDArray[np.float64]
) -> bool:
    """Whether weights have a better score than equal ones on most samples of the graphs, which are always the same."""
    random = np.random.Generator(np.random.PCG64(0))
    pair = _mean(votes, weights), _mean(votes, equal)
    better = 0
    for _ in range(SAMPLES):
        sample = random.integers(len(y), size=len(y))
        score, other = (_score(task, each[torch.from_numpy(sample)], y[sample]) for each in pair)
        better += task.scoring.improves(score, other)
    return better >= CLEARLY * SAMPLES


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None
