"""One model, or several whose predictions are averaged: those of the runs in a folder."""

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
from bankgcn.tasks import Task
from bankgcn.training.evaluation import predict_logits
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.setting_names import spec_of
from bankgcn.training.spec import ReaderOptions


@dataclass(frozen=True)
class Ensemble:
    """Models that were trained on the same kind of graphs for the same task.

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
        _check_same_kind(members)
        return cls(members, tuple(run for run in runs if run not in done))

    @property
    def first(self) -> TrainedModel:
        """The first of the models; all share its task and its kind of features."""
        return next(iter(self.members.values()))

    @property
    def task(self) -> Task:
        """What the models learned; its names are those of the columns of a prediction."""
        return self.first.task

    @property
    def feature_spec(self) -> dict[str, Any] | None:
        """How to describe graphs for these models, if that is known; see :mod:`bankgcn.data.features.spec`.

        Models that were trained on other parts of the same graphs may have other columns: then with a column for every
        value, from which each model gets its own.
        """
        first = self.first.feature_spec
        same = all(model.feature_spec == first for model in self.members.values())
        return first if first is None or same else dict(widened(first))

    @property
    def reader(self) -> ReaderOptions:
        """How the graphs of the first model were read."""
        return _reader(self.first)

    def trained_on(self, graphs: GraphSet) -> bool:
        """Whether any of the models was trained on these graphs."""
        models = self.members.values()
        return any(model.metadata.get("graphs") == model.conform(graphs).fingerprint for model in models)

    def predictions(self, graphs: GraphSet) -> tuple[Tensor, Tensor | None]:
        """Mean prediction of the models, and their standard deviation if there are several.

        Returns:
            Probabilities, or values in the user's units: shape ``(num_graphs, out_channels)``, in double precision.
        """
        single = [
            model.task.predictions(predict_logits(model.net, model.conform(graphs)).cpu())
            for model in self.members.values()
        ]
        together = torch.stack(single)
        return together.mean(0), together.std(0) if len(single) > 1 else None


def _check_same_kind(members: Mapping[Path, TrainedModel]) -> None:
    """Raise unless all models learned the same targets from the same kind of graphs."""
    (first, model), *others = members.items()
    for path, other in others:
        if (other.task.kind, other.task.names) != (model.task.kind, model.task.names):
            raise FileError(
                f"has the {other.task.kind} {', '.join(other.task.names)}, but {first.name} has the "
                f"{model.task.kind} {', '.join(model.task.names)}: they cannot vote together",
                path,
            )
        if not same_before_fit(other.feature_spec or {}, model.feature_spec or {}):
            raise FileError(f"was trained on graphs with other features than {first.name}", path)
        ignores = [_reader(one).ignore_weights for one in (other, model)]
        if ignores[0] != ignores[1]:
            raise FileError(
                f"was trained with ignore_weights = {ignores[0]}, but {first.name} with {ignores[1]}: "
                "they cannot vote together",
                path,
            )


def _reader(model: TrainedModel) -> ReaderOptions:
    """How the training graphs of a model were read. Models of version 0.1.0 hold the settings of the command line."""
    if "run" in model.metadata:
        return ReaderOptions(**model.metadata["run"].get("reader", {}))
    settings = model.metadata.get("config")
    return spec_of(settings["source"], settings).reader if settings else ReaderOptions()
