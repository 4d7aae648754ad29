"""One model, or several that vote: those of the runs in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bankgcn.data.features.refit import same_before_fit, widened
from bankgcn.data.graphs import GraphSet
from bankgcn.files.errors import FileError
from bankgcn.training.evaluation import predict_logits
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder


@dataclass(frozen=True)
class Ensemble:
    """Models that were trained on the same kind of graphs for the same classes.

    Args:
        members: The models, by where they are.
        unfinished: Runs beside them that have no model yet.
    """

    members: Mapping[Path, TrainedModel]
    unfinished: tuple[Path, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Ensemble:
        """The model of a run, or the models of all runs in a folder.

        Raises:
            FileError: There is none, or they do not fit together.
        """
        if RunFolder(path).model.exists():
            return cls({path: TrainedModel.load(RunFolder(path).model)})
        if not path.is_dir():
            raise FileError("is no folder of a run", path)
        runs = sorted(inner for inner in path.iterdir() if RunFolder(inner).started)
        done = [run for run in runs if RunFolder(run).model.exists()]
        if not done:
            cure = f"; its run is not finished: bankgcn train --out {path}" if RunFolder(path).started else ""
            raise FileError(f"has no trained model{cure}", path)
        members = {run: TrainedModel.load(RunFolder(run).model) for run in done}
        _check_alike(members)
        return cls(members, tuple(run for run in runs if run not in done))

    @property
    def first(self) -> TrainedModel:
        """The first of the models, which knows what they share."""
        return next(iter(self.members.values()))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in order of the columns of a prediction."""
        return self.first.classes

    @property
    def signals(self) -> dict[str, Any] | None:
        """How to describe graphs for these models, if that is known; see :mod:`bankgcn.data.features.spec`.

        Models that were trained on other parts of the same graphs may have other columns: then with a column for every
        value, from which each model gets its own.
        """
        first = self.first.signals
        same = all(model.signals == first for model in self.members.values())
        return first if first is None or same else dict(widened(first))

    @property
    def settings(self) -> dict[str, Any]:
        """What was asked for when the first model was trained, by the names of the command line; empty if unknown."""
        return self.first.about.get("config", {})

    def knows(self, graphs: GraphSet) -> bool:
        """Whether any of the models was trained on these graphs."""
        models = self.members.values()
        return any(model.about.get("graphs") == model.described(graphs).fingerprint for model in models)

    def probabilities(self, graphs: GraphSet) -> Tensor:
        """Mean probability of each class: shape ``(num_graphs, num_classes)``, in double precision."""
        logits = [predict_logits(model.net, model.described(graphs)) for model in self.members.values()]
        return torch.stack([torch.softmax(each.double(), 1) for each in logits]).mean(0)


def _check_alike(members: Mapping[Path, TrainedModel]) -> None:
    """Raise unless all models know the same classes and the same kind of graphs."""
    (first, model), *others = members.items()
    for path, other in others:
        if other.classes != model.classes:
            raise FileError(
                f"has the classes {', '.join(other.classes)}, but {first.name} has {', '.join(model.classes)}: "
                "they cannot vote together",
                path,
            )
        if not same_before_fit(other.signals or {}, model.signals or {}):
            raise FileError(f"was trained on graphs described otherwise than those of {first.name}", path)
        ignores = [bool(one.about.get("config", {}).get("ignore_weights")) for one in (other, model)]
        if ignores[0] != ignores[1]:
            raise FileError(
                f"was trained with ignore_weights = {ignores[0]}, but {first.name} with {ignores[1]}: "
                "they cannot vote together",
                path,
            )
