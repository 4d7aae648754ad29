"""Trained models: one, or those of the runs in a folder, whose predictions are averaged; in Python a ``Predictor``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data import GraphError
from bankgcn.data.combine import without_weights
from bankgcn.data.duplicates import graph_hashes
from bankgcn.data.features.descriptors import with_descriptors
from bankgcn.data.features.encodings import encoding_names, with_encodings
from bankgcn.data.features.graph_features import needed
from bankgcn.data.features.seen import joined_notes, unseen_notes
from bankgcn.data.features.spec import same_before_fit, widened
from bankgcn.data.frames import check_no_column, frame_of, is_frame
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import as_graph_set
from bankgcn.data.splits import PARTS, Split
from bankgcn.data.target_values import scalar
from bankgcn.files.checked import FileError, hash_of_parts
from bankgcn.files.tables import Columns
from bankgcn.messages import WITHOUT_ADVICE, Message, Option, message_of, spelled
from bankgcn.rivals import Rival
from bankgcn.settings import pick
from bankgcn.tasks import Task
from bankgcn.training.domain import SIMILARITY, Domain, Nearness
from bankgcn.training.evaluation import check_finite, prediction_columns
from bankgcn.training.intervals import Conformal, Group, Intervals, ValidationPredictions, gathered
from bankgcn.training.mixture import Mixture, choose_weights, kinds_of, weights_of
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RunSpec
from bankgcn.training.stepper import usable_device


@dataclass(frozen=True)
class Ensemble:
    """Models that were trained on the same graphs for the same task.

    Args:
        members: The models, by where they are.
        without_model: Runs beside them that have no model: not finished, or diverged.
        mixture: The weights of kinds of models; equal ones by default.
    """

    members: Mapping[Path, TrainedModel]
    without_model: tuple[Path, ...] = ()
    mixture: Mixture | None = None

    @classmethod
    def load(cls, path: Path) -> Ensemble:
        """The model of a run, or the models of all runs in a folder.

        Raises:
            FileError: There is none, or they do not belong together.
        """
        if RunFolder(path).model.exists():
            return cls({path: TrainedModel.load(RunFolder(path).model)})
        if not path.is_dir():
            raise FileError("is not a run folder; bankgcn train --out FOLDER makes one", path)
        runs = sorted(inner for inner in path.iterdir() if RunFolder(inner).started)
        done = [run for run in runs if RunFolder(run).model.exists()]
        if not done:
            first = next(iter(runs), path)
            raise FileError(RunFolder(first).why_no_model(), first)
        members = {run: TrainedModel.load(RunFolder(run).model) for run in done}
        _check_same_kind(path, members)
        mixture = Mixture.load(path, kinds_of(members))
        return cls(members, tuple(run for run in runs if run not in done), mixture)

    @cached_property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each model in the mean; ``None`` if they are equal, as those of one kind of model are."""
        return weights_of(self.members, self.mixture)

    def mixed(self) -> Ensemble:
        """The same models, with the weights of their kinds that the validation graphs choose.

        Raises:
            ValueError: A run keeps no predictions for its validation graphs.
        """
        stored = [self._validation(path, model) for path, model in self.members.items()]
        return replace(self, mixture=choose_weights(kinds_of(self.members), stored, self.task))

    def _weights_of(self, places: Sequence[int]) -> NDArray[np.float64] | None:
        """The weights of some of the models, which add up to 1; equal ones if none of them has a weight."""
        if self.weights is None:
            return None
        weights = self.weights[list(places)]
        return weights / weights.sum() if weights.sum() else None

    @property
    def shown(self) -> Path:
        """Where the model is whose layers and explanations a reader sees: the first network, if there is one."""
        networks = [path for path, model in self.members.items() if not isinstance(model.net, Rival)]
        return next(iter([*networks, *self.members]))

    def to(self, device: str) -> Ensemble:
        """The same models, moved to a device.

        Args:
            device: ``"cpu"`` or ``"cuda"``.

        Raises:
            ValueError: There is no such device.
        """
        place = usable_device(device)
        for model in self.members.values():
            model.net.to(place)
        return self

    @property
    def first(self) -> TrainedModel:
        """The first of the models; all share its task and its kind of features."""
        return next(iter(self.members.values()))

    @property
    def task(self) -> Task:
        """What the models learned; its names are those of the columns of a prediction."""
        return self.deciding()

    def deciding(self, calibrated: bool = True) -> Task:
        """The task with the thresholds that fit the mean prediction: the mean of those of the models.

        Args:
            calibrated: Whether the models apply their temperatures. They chose their thresholds with them; without
                them, the same logits are the thresholds, which are other probabilities then.
        """
        models = list(self.members.values())
        if not all(model.task.thresholds for model in models):
            return replace(self.first.task, thresholds=())
        chosen = torch.tensor([model.task.thresholds for model in models], dtype=torch.float64)
        if not calibrated:
            temperatures = torch.tensor([model.temperature for model in models], dtype=torch.float64)
            chosen = (chosen.logit() * temperatures[:, None]).sigmoid()
        middle = chosen.mean(0) if self.weights is None else torch.from_numpy(self.weights) @ chosen
        return replace(self.first.task, thresholds=tuple(middle.tolist()))

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
    def needed_features(self) -> list[str]:
        """Names of the features of graphs that a user must give, for any of the models."""
        return list(dict.fromkeys(name for model in self.members.values() for name in needed(model.graph_spec)))

    @property
    def spec(self) -> RunSpec | None:
        """The run of the first model; ``None`` if it was not trained by a run."""
        return self.first.spec

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the graphs of training came from, and those of test if they came from elsewhere."""
        if self.spec is None:
            return ()
        return (self.spec.dataset,) if self.spec.split.test is None else (self.spec.dataset, self.spec.split.test)

    @cached_property
    def content_hash(self) -> str:
        """A hash of the files of the models and of what is kept beside them, and of their weights in the mean."""
        folders = map(RunFolder, self.members)
        files = [file for folder in folders for file in (folder.model, folder.validation, folder.domain)]
        contents = [file.read_bytes() if file.exists() else b"" for file in files]
        weights = [] if self.weights is None else self.weights.tolist()
        return hash_of_parts([*contents, repr(weights).encode()])

    @property
    def reader(self) -> ReadOptions:
        """How the graphs of the first model were read."""
        return self.first.reader

    def trained_on(self, graphs: GraphSet) -> bool:
        """Whether any of the models was trained on these graphs."""
        models = self.members.values()
        return any(model.metadata.get("graphs") == model.conform(graphs).fingerprint for model in models)

    def seen(self, graphs: GraphSet) -> NDArray[np.bool_]:
        """Which graphs are equal to a training or validation graph of any of the models, shape ``(G,)``.

        Runs of earlier versions do not know the hashes of their graphs, nor do models without their folder.
        """
        seen = np.zeros(len(graphs), np.bool_)
        for path, hashes in self._learned.items():
            model = self.members[path]
            seen |= np.isin(graph_hashes(model.conform(graphs), model.edge_dim is not None), hashes)
        return seen

    @cached_property
    def _learned(self) -> dict[Path, NDArray]:
        """The hashes of the training and validation graphs of each model, as far as they are known."""
        files = {path: RunFolder(path).split for path in self.members}
        return {path: Split.load_seen(file) for path, file in files.items() if file.exists()}

    def part(self, graphs: GraphSet, part: str) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """The graphs of a part of the split that the models were trained with, and which models may predict them.

        Models with different splits, as in a cross-validation, have no part in common. Their test graphs are those of
        all models, and a graph is predicted by the models that were tested on it.

        Returns:
            The numbers of the graphs. With different splits also the voters, of shape ``(graphs of the part, models)``;
            otherwise ``None``: every model predicts every graph.

        Raises:
            ValueError: The graphs are not those of training, or models with different splits have no such part.
        """
        pick(dict.fromkeys(PARTS), part, "part")
        splits = {
            path: Split.load(RunFolder(path).split, model.conform(graphs).fingerprint)
            for path, model in self.members.items()
        }
        first, *others = splits
        differing = [path for path in others if splits[path].hash != splits[first].hash]
        if not differing:
            return getattr(splits[first], part), None
        if part != "test":
            conflict = f"{differing[0]} and {first} were trained with different splits"
            several = (
                "{conflict}, so that one may have learned from what the other did not: name one run, or {test} ({part} "
                "is for runs with one split)"
            )
            raise ValueError(
                Message(several, conflict=conflict, test=Option("part", "test"), part=Option("part", part))
            )
        voters = np.zeros((len(graphs), len(splits)), np.bool_)
        for number, split in enumerate(splits.values()):
            voters[split.test, number] = True
        tested = np.flatnonzero(voters.any(axis=1))
        return tested, voters[tested]

    def apply(
        self,
        graphs: GraphSet,
        calibrated: bool = True,
        voters: NDArray[np.bool_] | None = None,
        check: bool = True,
    ) -> Predictions:
        """What the models predict. Commands, Python, reports and the service all come here.

        Args:
            graphs: The graphs.
            calibrated: Whether each model applies its temperature.
            voters: Which models predict each graph, of shape ``(num_graphs, models)``, at least one; all by default.
            check: Whether predictions that are not finite are an error.
        """
        graphs = with_encodings(graphs, encoding_names(self.first.encoding_spec))  # once for all models
        if voters is None:
            applied = [model.apply(graphs, calibrated, check) for model in self.members.values()]
            each = [predictions for predictions, _ in applied]
            mean, spread = mean_and_spread(each, self.weights)
            embeddings = applied[0][1] if len(applied) == 1 else None
        else:
            each = self._by_voters(graphs, calibrated, voters)
            mean, spread = _mean_of_voters(torch.stack(each), voters, self.weights)
            embeddings = None
        return Predictions(mean, spread, embeddings, tuple(each))

    def intervals(self, predictions: Predictions, level: float, voters: NDArray[np.bool_] | None = None) -> Intervals:
        """Intervals of values or sets of answers for graphs; see :mod:`bankgcn.training.intervals`.

        Args:
            predictions: What :meth:`apply` returned for the graphs, with temperatures.
            level: Probability with which they hold the truth.
            voters: Which models predict each graph, as for :meth:`apply`. Their validation graphs alone count.

        Raises:
            ValueError: A run keeps no predictions for validation graphs, or they are too few for the level.
        """
        groups = self._validation_groups
        news = [
            mean_and_spread([predictions.members[place] for place in places], self._weights_of(places))
            for places in groups
        ]
        decided = None if self.task.kind == "values" else self.task.decide(predictions.mean).numpy()
        votes = np.ones((len(predictions.mean), len(groups)), np.bool_)
        if voters is not None:  # models of a group share their split, and so their test graphs
            votes = voters[:, [places[0] for places in groups]]
        parts = []
        for pattern in np.unique(votes, axis=0) if len(votes) else np.ones((1, len(groups)), np.bool_):
            rows, chosen = np.flatnonzero((votes == pattern).all(axis=1)), np.flatnonzero(pattern)
            conformal = Conformal(self.task, [list(groups.values())[one] for one in chosen], level)
            own = [tuple(None if part is None else part.numpy()[rows] for part in news[one]) for one in chosen]
            parts.append((rows, conformal.apply(own, None if decided is None else decided[rows])))  # type: ignore
        return gathered(parts, len(votes))

    def check_intervals(self, level: float) -> None:
        """Raise, before any work starts, if there can be no intervals of this level; see :meth:`intervals`."""
        Conformal(self.task, list(self._validation_groups.values()), level)

    @property
    def has_intervals(self) -> bool:
        """Whether all models keep what intervals need."""
        return all(
            model.validation is not None or _beside(path, RunFolder(path).validation)
            for path, model in self.members.items()
        )

    def nearness(self, graphs: GraphSet, voters: NDArray[np.bool_] | None = None) -> Nearness:
        """How near graphs are to the training graphs of any of the models; see :mod:`bankgcn.training.domain`.

        Args:
            graphs: The graphs.
            voters: Which models predict each graph: the training graphs of the others do not count.

        Raises:
            ValueError: No model keeps what its training graphs look like.
        """
        name = self.check_domain()
        nearer = np.fmax if name == SIMILARITY else np.fmin
        values = np.full(len(graphs), np.nan)
        notes: list[list[str]] = [[] for _ in range(len(graphs))]
        for place, domain in self._domains.items():
            model = list(self.members.values())[place]
            rows = np.arange(len(graphs)) if voters is None else np.flatnonzero(voters[:, place])
            part = graphs if voters is None else graphs[rows]
            near = domain.nearness(part, lambda some, model=model: model.apply(some, check=False)[1])  # type: ignore
            for row, words in zip(rows.tolist(), unseen_notes(part, model.conform(part), domain.seen), strict=True):
                known = np.isnan(values[row])
                notes[row] = words if known else [word for word in notes[row] if word in words]
            values[rows] = nearer(values[rows], near)
        return Nearness(name, values, [joined_notes(words) for words in notes])

    def check_domain(self) -> str:
        """What tells how near graphs are to the training graphs, the name of the column.

        Raises:
            ValueError: No model keeps what its training graphs look like.
        """
        if not self._domains:
            first = next(iter(self.members))
            raise ValueError(
                f"{_named(first)} does not keep what its training graphs look like: runs of earlier versions do not, "
                "nor do runs on datasets of the catalogue"
            )
        return next(iter(self._domains.values())).name

    @property
    def has_domain(self) -> bool:
        """Whether a model keeps what its training graphs look like."""
        return bool(self._domains)

    @cached_property
    def _validation_groups(self) -> dict[tuple[int, ...], Group]:
        """What models with the same validation graphs predict for them together, by the places of these models."""
        stored = [self._validation(path, model) for path, model in self.members.items()]
        places: dict[tuple[str, bytes], list[int]] = {}
        for place, one in enumerate(stored):
            places.setdefault((one.split, one.y.tobytes()), []).append(place)
        groups = {}
        for same in map(tuple, places.values()):
            own = [torch.from_numpy(stored[place].predictions) for place in same]
            mean, spread = mean_and_spread(own, self._weights_of(same))
            groups[same] = Group(mean.numpy(), None if spread is None else spread.numpy(), stored[same[0]].y)
        return groups

    def _validation(self, path: Path, model: TrainedModel) -> ValidationPredictions:
        if model.validation is not None:
            return model.validation
        folder = RunFolder(path)
        if not _beside(path, folder.validation):
            again = f": {folder.to_repeat}" if _beside(path, folder.config) else ""
            raise ValueError(
                f"{_named(path)} keeps no predictions for its validation graphs, from which intervals follow: runs of "
                f"earlier versions do not; train it again{again}"
            )
        return ValidationPredictions.load(folder.validation, model.task)

    @cached_property
    def _domains(self) -> dict[int, Domain]:
        """The domain of the first model of each split, by its place."""
        domains: dict[int, Domain] = {}
        for place, (path, model) in enumerate(self.members.items()):
            file, domain = RunFolder(path).domain, model.domain
            if domain is None and _beside(path, file):
                domain = Domain.load(file)
            if domain is not None and domain.split not in {one.split for one in domains.values()}:
                domains[place] = domain
        return domains

    def embed(self, graphs: GraphSet) -> NDArray:
        """The vector by which the network of a single model represents each graph, shape ``(num_graphs, width)``.

        Raises:
            ValueError: There are several models, or a vector is not finite.
        """
        if isinstance(self.first.net, Rival):
            _ = self.first.network  # which says that there is none
        if len(self.members) > 1:
            raise ValueError(
                f"there are {len(self.members)} models, and the vectors of different networks cannot be compared: load "
                "one run"
            )
        embeddings = self.apply(graphs, check=False).embeddings
        assert embeddings is not None
        if not np.isfinite(embeddings).all():
            check_finite(torch.from_numpy(embeddings), self.first.conform(graphs))
        return embeddings

    def _by_voters(self, graphs: GraphSet, calibrated: bool, voters: NDArray[np.bool_]) -> list[Tensor]:
        """What each model predicts for the graphs that it votes for; 0 for others."""
        models = self.members.values()
        predictions = torch.zeros(len(models), len(graphs), self.task.out_channels, dtype=torch.float64)
        for number, (model, votes) in enumerate(zip(models, voters.T, strict=True)):
            predictions[number, torch.from_numpy(votes)] = model.predictions(graphs[votes], calibrated)
        return list(predictions)


def _mean_of_voters(
    predictions: Tensor, voters: NDArray[np.bool_], weights: NDArray[np.float64] | None
) -> tuple[Tensor, Tensor | None]:
    """Mean and standard deviation over the models that predict each graph, with the weights of those that do."""
    votes = torch.from_numpy(voters.T)[:, :, None]
    count = votes.sum(0)
    if weights is None:
        mean = predictions.sum(0) / count
    else:  # of the models that vote, with a mean of 1
        weighted = votes * torch.from_numpy(weights)[:, None, None]
        total = weighted.sum(0)
        votes = torch.where(total > 0, weighted * count / torch.where(total > 0, total, 1), votes)
        mean = (votes * predictions).sum(0) / count
    if (count < 2).any():
        return mean, None
    return mean, ((votes * (predictions - mean) ** 2).sum(0) / (count - 1)).sqrt()


class Predictions(NamedTuple):
    """Predictions for G graphs: probabilities, or values in the user's units."""

    mean: Tensor  # (G, outputs), over the models, in double precision
    spread: Tensor | None  # (G, outputs): standard deviation, if each graph has several models
    embeddings: NDArray | None  # (G, width), of one model
    members: tuple[Tensor, ...] = ()  # (G, outputs) each: what each model predicts

    def finite(self) -> list[bool]:
        """Whether all numbers of a graph are finite, for each graph."""
        parts = [np.isfinite(np.asarray(part)).all(1) for part in self[:3] if part is not None]
        return np.logical_and.reduce(parts).tolist()


def mean_and_spread(
    predictions: Sequence[Tensor], weights: NDArray[np.float64] | None = None
) -> tuple[Tensor, Tensor | None]:
    """Mean of the predictions of several models, and their standard deviation if there is more than one.

    They are added one after another: so the result for a graph does not depend on the number of graphs. Weights, which
    add up to 1, count in both.
    """
    count = len(predictions)
    if weights is not None:
        pairs = list(zip(weights.tolist(), predictions, strict=True))
        mean = reduce(torch.add, [weight * one for weight, one in pairs])
        variance = reduce(torch.add, [weight * (one - mean) ** 2 for weight, one in pairs])
        return mean, (variance * count / (count - 1)).sqrt()
    mean = reduce(torch.add, predictions) / count
    if count == 1:
        return mean, None
    return mean, (reduce(torch.add, [(one - mean) ** 2 for one in predictions]) / (count - 1)).sqrt()


def _beside(path: Path, file: Path) -> bool:
    """Whether a file lies in the folder of a model; one in Python has no folder."""
    return path != Path() and file.exists()


def _named(path: Path) -> str:
    """The model in a message; one in Python has no folder."""
    return "the model" if path == Path() else str(path)


def _check_same_kind(path: Path, members: Mapping[Path, TrainedModel]) -> None:
    """Raise unless all models learned the same targets from the same graphs."""
    (first, model), *others = members.items()
    differing = [f"{run.name}: {why}" for run, other in others if (why := _difference(first.name, model, other))]
    if differing:
        raise FileError(
            f"{'; '.join(differing)}: they cannot vote together; name one run, such as {first}, or a folder that "
            "holds nothing but runs of one training",
            path,
        )


def _difference(first: str, model: TrainedModel, other: TrainedModel) -> str:
    """Why another model cannot vote with the first one; empty if it can."""
    if (other.task.kind, other.task.names) != (model.task.kind, model.task.names):
        return (
            f"has the {other.task.kind} {', '.join(other.task.names)}, but {first} has the {model.task.kind} "
            f"{', '.join(model.task.names)}"
        )
    if not same_before_fit(other.feature_spec or {}, model.feature_spec or {}):
        return f"was trained on graphs with other features than {first}"
    if _before_fit(other.graph_spec) != _before_fit(model.graph_spec):
        return f"was trained on other features of graphs than {first}"
    for name in ("ignore_weights", "target", "encoding"):
        theirs, ours = (getattr(one.reader, name) for one in (other, model))
        if theirs != ours:
            return f"was trained with {name} = {theirs}, but {first} with {ours}"
    spec, ours = other.spec, model.spec
    if spec is not None and ours is not None and spec.dataset != ours.dataset:
        return f"was trained on {spec.dataset}, but {first} on {ours.dataset}"
    return ""


def _before_fit(spec: Mapping[str, Any]) -> Any:
    """What decides which features are read: a column may be constant in the training part of one fold alone."""
    return spec.get("descriptors")


def load_model(path: str | os.PathLike[str], device: str = "cpu") -> Predictor:
    """The model of a run, or the models of all runs in a folder, whose predictions are averaged.

    Args:
        path: The folder that ``bankgcn train --out`` or ``save`` of an estimator wrote.
        device: Where the models compute: ``"cpu"``, or ``"cuda"`` for a GPU.

    Raises:
        FileError: There is no model.
        ValueError: There is no such device.
    """
    usable_device(device)  # before files are read
    return Predictor(Ensemble.load(Path(path).expanduser()).to(device))


class Predictor:
    """Applies trained models to graphs.

    Graphs are a :class:`GraphSet`, a list of NetworkX graphs, PyG's ``Data``, SMILES or molecules of RDKit, or a
    DataFrame of pandas or Polars with a column of molecules: that of the training, or one with a usual name. They get
    the features of the training graphs; graphs whose features are of another kind are refused.

    Args:
        ensemble: The models.
    """

    def __init__(self, ensemble: Ensemble):
        self.ensemble = ensemble

    @property
    def task(self) -> Task:
        """What the models learned."""
        return self.ensemble.task

    @property
    def classes(self) -> NDArray:
        """The classes, in the order of the columns of :meth:`predict_proba`; those named by numbers are numbers."""
        values = self.ensemble.first.metadata.get("classes")
        return np.array(values) if values is not None else class_values(self.task.names)

    def predict(
        self, graphs: Any, graph_features: Any = None, *, smiles: str | None = None, interval: float | None = None
    ) -> Any:
        """Class of each graph, shape ``(G,)``; its values, ``(G,)`` or ``(G, T)``; or its labels, 0 or 1, ``(G, T)``.

        The most probable class is predicted, or the one that the threshold of the model decides; see ``task``.

        Args:
            graphs: The graphs. For a DataFrame, the result is a DataFrame of the same library with the same index: the
                columns of the tables that ``bankgcn predict`` writes, without those of the input. Rows that cannot be
                read are empty, and the column "unreadable" says why.
            graph_features: Features of each graph, as in the training; by default those that the graphs carry.
            smiles: Column of a DataFrame that holds the molecules.
            interval: Probability, such as 0.9, with which intervals or sets shall hold the truth; see
                :mod:`bankgcn.training.intervals`. The result is then a pair; of a DataFrame, it has their columns.

        Returns:
            The predictions. With ``interval`` also the bounds of values, shape ``(G, 2)`` or ``(G, T, 2)``, infinite
            where there are too few validation graphs; or whether each class is in the set, ``(G, num_classes)``, or
            each of the answers 0 and 1 of the labels, ``(G, T, 2)``.

        Raises:
            ValueError: The graphs do not have the features of the training graphs; the message names the graph. Or
                there are no intervals of this level.
        """
        if interval is not None:
            self.ensemble.check_intervals(interval)
        if is_frame(graphs):
            return self._predict_frame(graphs, graph_features, smiles, interval)
        check_no_column(smiles)
        predictions = self.ensemble.apply(self.as_graph_set(graphs, graph_features))
        decided = self._decided(predictions.mean)
        if interval is None:
            return decided
        found = self.ensemble.intervals(predictions, interval)
        if found.low is None or found.high is None:
            return decided, found.sets
        bounds = np.stack([found.low, found.high], axis=2)
        return decided, bounds[:, 0] if bounds.shape[1] == 1 else bounds

    def nearness(self, graphs: Any, graph_features: Any = None, *, smiles: str | None = None) -> Any:
        """How near graphs are to the training graphs, and which of their values no training graph has.

        Molecules have the Tanimoto similarity to the nearest training molecule, other graphs the percentile of their
        distance from the nearest training graph; see :mod:`bankgcn.training.domain`.

        Args:
            graphs: The graphs, as for :meth:`predict`. Of a DataFrame, the result is one.
            graph_features: Features of each graph.
            smiles: Column of a DataFrame that holds the molecules.

        Raises:
            ValueError: The model does not keep what its training graphs look like.
        """
        self.ensemble.check_domain()
        if not is_frame(graphs):
            check_no_column(smiles)
            return self.ensemble.nearness(self.as_graph_set(graphs, graph_features))
        converted = self.as_graph_set(graphs, graph_features, smiles, skip_unreadable=True)
        return _frame_of_rows(graphs, converted, self.ensemble.nearness(converted).columns)

    def _decided(self, mean: Tensor) -> NDArray:
        if self.task.kind == "values":
            values = mean.numpy()
            return values[:, 0] if values.shape[1] == 1 else values
        decided = self.task.decide(mean).numpy()
        return self.classes[decided] if self.task.kind == "classes" else decided

    def predict_proba(self, graphs: Any, graph_features: Any = None) -> NDArray[np.float64]:
        """Probability of each class or label, shape ``(G, out_channels)``."""
        if self.task.kind == "values":
            raise ValueError("the model predicts values, which have no probabilities: use predict")
        return self._predictions(graphs, graph_features)[0]

    def spread(self, graphs: Any, graph_features: Any = None) -> NDArray[np.float64]:
        """Standard deviation of the predictions of several models, shape ``(G, out_channels)``.

        Raises:
            ValueError: There is one model only.
        """
        deviation = self._predictions(graphs, graph_features)[1]
        if deviation is None:
            raise ValueError("there is one model, so there is no spread: load a folder of several runs")
        return deviation

    def embed(self, graphs: Any) -> NDArray[np.float32]:
        """The vector by which the network represents each graph, before its last layer: shape ``(G, width)``.

        Features of each graph beside it are no part of the vector.
        """
        return self.ensemble.embed(self.as_graph_set(graphs))

    def _predict_frame(self, frame: Any, graph_features: Any, smiles: str | None, interval: float | None) -> Any:
        graphs = self.as_graph_set(frame, graph_features, smiles, skip_unreadable=True)
        predictions = self.ensemble.apply(graphs)
        columns = prediction_columns(self.task, predictions.mean, predictions.spread)
        if self.task.kind == "classes":  # as they were given to an estimator: words or numbers
            columns[0] = ("predicted", self.classes[self.task.decide(predictions.mean).numpy()].tolist())
        if interval is not None:
            columns += self.ensemble.intervals(predictions, interval).columns(self.task)
        return _frame_of_rows(frame, graphs, columns)

    def as_graph_set(
        self, graphs: Any, graph_features: Any = None, smiles: str | None = None, skip_unreadable: bool = False
    ) -> GraphSet:
        """The graphs as a set, read as the training graphs were.

        Args:
            graphs: The graphs.
            graph_features: Features of each graph; by default those that the graphs carry.
            smiles: Column of a DataFrame that holds the molecules; by default that of the training, or a usual one.
            skip_unreadable: Whether to leave out rows of a DataFrame that cannot be read.
        """
        reader = self.ensemble.reader
        options = ReadOptions(symmetrise=reader.symmetrise, standardize=reader.standardize)
        if self.ensemble.first.graph_spec.get("descriptors"):
            options = replace(options, descriptors=",".join(self.ensemble.first.graph_spec["descriptors"]))
        if is_frame(graphs):
            named = reader.smiles if reader.smiles in list(map(str, graphs.columns)) else None
            options = replace(options, smiles=smiles or named, skip_unreadable=skip_unreadable)
        expected = Expected(features=self.ensemble.feature_spec or {}, has_target=False)
        try:
            converted = as_graph_set(graphs, replace(options, descriptors=None), expected)
            if graph_features is not None:
                converted = converted.with_graph_features(graph_features, fill=reader.fill_features)
            converted = with_descriptors(converted, options)
        except GraphError as error:  # the options of a trained model are fixed
            raise GraphError(spelled(message_of(error), WITHOUT_ADVICE)) from error
        return without_weights(converted) if reader.ignore_weights else converted

    def _predictions(
        self, graphs: Any, graph_features: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        predictions = self.ensemble.apply(self.as_graph_set(graphs, graph_features))
        return predictions.mean.numpy(), None if predictions.spread is None else predictions.spread.numpy()


def _frame_of_rows(frame: Any, graphs: GraphSet, columns: Columns) -> Any:
    """A DataFrame with a cell of each column for each row, and why rows have no graph."""
    reasons, rows = dict(graphs.skipped), graphs.rows.tolist()
    by_row = [dict(zip(rows, cells, strict=True)) for _, cells in columns]
    lined_up: Columns = [
        (name, [cells.get(row) for row in range(len(frame))]) for (name, _), cells in zip(columns, by_row, strict=True)
    ]
    unreadable = [reasons.get(row) for row in range(len(frame))]
    return frame_of(frame, [*lined_up, ("unreadable", unreadable)])


def class_values(names: tuple[str, ...]) -> NDArray:
    """Classes by their names: numbers if all names are whole numbers, else words.

    Example:
        >>> class_values(("-1", "1")), class_values(("1", "b"))
        (array([-1,  1]), array(['1', 'b'], dtype='<U1'))
    """
    numbers = [scalar(name) for name in names]
    whole = all(isinstance(number, int) and str(number) == name for number, name in zip(numbers, names, strict=True))
    return np.array(numbers if whole else names)
