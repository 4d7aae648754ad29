"""What both estimators share: parameters, training with early stopping, embeddings, and folders of runs.

The parameters are the settings of a run, under the names of the command line's flags.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bankgcn.data import GraphError, UnsuitableGraphs
from bankgcn.data.combine import without_weights
from bankgcn.data.duplicates import Duplicates, first_equals, merge_duplicates
from bankgcn.data.edge_data import check_equal_directions, warn_of_edge_data, without_edge_features
from bankgcn.data.features.descriptors import with_descriptors
from bankgcn.data.features.encodings import fit as fit_encodings
from bankgcn.data.features.encodings import with_encodings
from bankgcn.data.features.graph_features import fit as fit_graph_features
from bankgcn.data.features.signals import with_features
from bankgcn.data.features.spec import refit, scale_numbers
from bankgcn.data.frames import FRAME_OPTIONS, is_frame, read_options, rows_of
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EdgeData, Expected, ReadOptions
from bankgcn.data.sources import are_molecules, as_graph_set
from bankgcn.data.splits import PARTS, Split, random_split, stratified_split
from bankgcn.data.standardize import is_standardized
from bankgcn.files.checked import FileError, write_toml
from bankgcn.messages import Message, Option, Spelling, message_of, parameter
from bankgcn.nn.convs import RIVALS
from bankgcn.nn.network import check_available
from bankgcn.rivals import Rival
from bankgcn.settings import pick, plain_value
from bankgcn.training.callbacks import Callback, ProgressLine
from bankgcn.training.checks import check_run, check_weights, settings_for_skew
from bankgcn.training.domain import Domain
from bankgcn.training.ensemble import Ensemble, Predictor
from bankgcn.training.execute import RunResult, execute
from bankgcn.training.fitting import Epoch
from bankgcn.training.intervals import ValidationPredictions
from bankgcn.training.mixture import Mixture
from bankgcn.training.model import TrainedModel
from bankgcn.training.prepare import PreparedRun, prepare_graphs
from bankgcn.training.presets import NAMED_BY_PRESETS, PAPER, PRESETS, STANDARD
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import (
    BANK_ONLY,
    IN_PYTHON,
    OF_NETWORKS,
    RUN_SETTINGS,
    SOURCE,
    RunSpec,
    complete_settings,
    given_settings,
    settings_of_run,
    spec_of,
)
from bankgcn.training.stepper import ProcessGroup, usable_device
from bankgcn.training.warm_start import Parent

LARGEST_SEED = 2**31 - 1
NO_SETTINGS = ("attributes", "categories", "validation_fraction", "threshold")
"""Parameters that no setting of a run holds as they are: a trained model keeps them."""
READING = ("features", "attributes", "categories", "symmetrise", "descriptors", "fill_features", "standardize")
"""Parameters that decide how graphs are read."""
AUTO = "auto"
"""The threshold is chosen by the validation graphs where the targets are skewed."""


class RunParameters(BaseEstimator):
    """The parameters that both estimators have. ``None`` is what the preset says."""

    def __init__(
        self,
        *,
        preset: str = STANDARD,
        model: str | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        normalize: str | None = None,
        norm: str | None = None,
        readout: str | None = None,
        scale_sum: bool | None = None,
        pooling: str | None = None,
        residual: bool | None = None,
        feed_forward: int | None = None,
        dropout: float | None = None,
        head: str | None = None,
        edges: str = "auto",
        order: int | None = None,
        subspaces: int | None = None,
        basis: str | None = None,
        projection: str | None = None,
        shortcut: bool | None = None,
        bias: bool | None = None,
        initial_alpha: str | None = None,
        heads: int | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        gamma: float | None = None,
        coherence: str | None = None,
        select: str | None = None,
        metric: str = "accuracy",
        loss: str | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        threshold: str | None = "auto",
        decay_patience: int | None = None,
        decay_factor: float | None = None,
        min_learning_rate: float | None = None,
        optimizer: str | None = None,
        schedule: str | None = None,
        warmup: int | None = None,
        clip_norm: float | None = None,
        init_from: str | os.PathLike[str] | None = None,
        freeze: int | None = None,
        features: str | None = None,
        scale: str | None = None,
        encoding: str | None = None,
        attributes: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        descriptors: str | None = None,
        fill_features: bool = False,
        symmetrise: bool = False,
        ignore_weights: bool = False,
        duplicates: str | None = None,
        standardize: bool = False,
        validation_fraction: float = 0.1,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
        device: str = "cpu",
    ):
        self.preset = preset
        self.model = model
        self.hidden = hidden
        self.layers = layers
        self.normalize = normalize
        self.norm = norm
        self.readout = readout
        self.scale_sum = scale_sum
        self.pooling = pooling
        self.residual = residual
        self.feed_forward = feed_forward
        self.dropout = dropout
        self.head = head
        self.edges = edges
        self.order = order
        self.subspaces = subspaces
        self.basis = basis
        self.projection = projection
        self.shortcut = shortcut
        self.bias = bias
        self.initial_alpha = initial_alpha
        self.heads = heads
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.gamma = gamma
        self.coherence = coherence
        self.select = select
        self.metric = metric
        self.loss = loss
        self.class_weight = class_weight
        self.threshold = threshold
        self.decay_patience = decay_patience
        self.decay_factor = decay_factor
        self.min_learning_rate = min_learning_rate
        self.optimizer = optimizer
        self.schedule = schedule
        self.warmup = warmup
        self.clip_norm = clip_norm
        self.init_from = init_from
        self.freeze = freeze
        self.features = features
        self.scale = scale
        self.encoding = encoding
        self.attributes = attributes
        self.categories = categories
        self.descriptors = descriptors
        self.fill_features = fill_features
        self.symmetrise = symmetrise
        self.ignore_weights = ignore_weights
        self.duplicates = duplicates
        self.standardize = standardize
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def _specs(self, task: str, reading: ReadOptions, graphs: GraphSet) -> dict[str, RunSpec]:
        """The runs that the parameters describe, by their names; several if the preset has models that vote."""
        row, seed = pick(PRESETS, self.preset, "preset"), _seed(self.random_state)
        models = () if self.model is not None else row.voters(are_molecules(graphs))
        if not models:
            return {"": self._spec(self.model or "bank", seed, task, reading, graphs)}
        return {
            f"{model}-seed-{number}": self._spec(model, number, task, reading, graphs)
            for model in models
            for number in range(seed, seed + (1 if model in RIVALS else row.seeds))
        }

    def _spec(self, model: str, seed: int, task: str, reading: ReadOptions, graphs: GraphSet) -> RunSpec:
        """The run of a model that the parameters describe.

        Args:
            model: The model.
            seed: What draws at random.
            task: What is learned.
            reading: How the graphs were read.
            graphs: The graphs.

        Raises:
            ValueError: A value is of the wrong type, out of range, or not one of the model's options.
        """
        values = {**self.get_params(deep=False), "model": model}
        if isinstance(self.class_weight, Mapping):
            if task != "classes":
                raise ValueError(f"class_weight={self.class_weight} needs classes, but the task is {task}")
            values["class_weight"] = None  # the classifier makes weights of graphs of it
        if self.init_from is not None:
            values["init_from"] = str(Path(self.init_from).expanduser().absolute())
        if self.threshold == AUTO:
            values["threshold"] = None  # the classifier chooses by its targets
        if self.edges == AUTO and not (graphs.num_edge_features and graphs.unequal_edge is None):
            values["edges"] = "none"
        atoms = graphs.feature_spec.get("features") if are_molecules(graphs) else None
        values["features"] = self.features or (atoms if atoms != "raw" else None)
        # They have defaults, so that they are always there.
        unused = OF_NETWORKS if model in RIVALS else BANK_ONLY if model != "bank" else ()
        given = {
            name: RUN_SETTINGS[name].setting.plain(values[name])
            for name in RUN_SETTINGS
            if name in values and name not in unused and values[name] is not None
        }
        given = given_settings({**given, "task": task, "seed": seed})
        spec = spec_of(
            IN_PYTHON, complete_settings({SOURCE: IN_PYTHON, "features": "", **given}, are_molecules(graphs))
        )
        of_table = {name: getattr(reading, name) for name in FRAME_OPTIONS}
        return replace(spec, reader=replace(spec.reader, **of_table))

    def _read_options(self, molecules: bool = False) -> ReadOptions:
        """How to read graphs, whose nodes are atoms or not."""
        of_preset = pick(PRESETS, self.preset, "preset").for_graphs(molecules)
        given = {name: value for name in READING if (value := getattr(self, name)) is not None}
        rows = {name: place.setting for name, place in RUN_SETTINGS.items() if name in READING}
        values = {**{name: of_preset[name] for name in READING if name in of_preset}, **given}
        return ReadOptions(
            **{name: rows[name].parsed(value) if name in rows else value for name, value in values.items()}
        )

    @classmethod
    def _parameters_of(cls, spec: RunSpec) -> dict[str, Any]:
        """The parameters that describe a run, as far as estimators have them."""
        values = settings_of_run(spec)
        parameters: dict[str, Any] = {"random_state": spec.seed}
        for name in (name for name in cls._get_param_names() if name in values):
            row = RUN_SETTINGS[name].setting
            if not (_is_option(name) and values[name] == row.default):  # None would be what the preset says
                depends = name in ("preset", *NAMED_BY_PRESETS)
                parameters[name] = values[name] if depends else row.parsed(values[name])
        return parameters


def _is_option(name: str) -> bool:
    """Whether a parameter belongs to some convolutions only; ``None`` is then the default of the convolution."""
    return RUN_SETTINGS[name].part == "conv_options"


def _seed(random_state: int | RandomState | None) -> int:
    """The seed of the run: a number as it is, else drawn as scikit-learn's estimators do."""
    if random_state is None or isinstance(random_state, RandomState):
        return int(check_random_state(random_state).randint(LARGEST_SEED))
    return random_state


class GraphEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RunParameters):
    """An estimator of graphs; its subclasses know their targets."""

    _tasks: ClassVar[tuple[str, ...]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []  # graphs are stored in single precision
        return tags

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vector by which the network represents each graph, before its last layer: shape ``(G, width)``."""
        return self._predictor.embed(X)

    def nearness(self, X: Any, graph_features: Any = None, *, smiles: str | None = None) -> Any:
        """How near graphs are to the training graphs; see :meth:`bankgcn.training.ensemble.Predictor.nearness`."""
        return self._predictor.nearness(X, graph_features, smiles=smiles)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to the folder of a run, which ``bankgcn predict`` and :meth:`load` take.

        Args:
            path: The folder; it is made if needed.
            overwrite: Whether to replace a run that the folder holds.

        Raises:
            FileError: The folder holds a run, or other files.
        """
        check_is_fitted(self)
        whole = Path(path).expanduser()
        for name, result in self.results_.items():
            self._save_run(RunFolder(whole / name), result, overwrite)
        if self.mixture_ is not None:
            self.mixture_.save(whole)

    def _save_run(self, folder: RunFolder, result: RunResult, overwrite: bool) -> None:
        folder.check_free()
        if folder.started and not overwrite:
            raise FileError("holds a run: name another folder, or replace it by overwrite=True", folder.path)
        assert result.model is not None
        with folder.lock():
            folder.clear()
            spec = result.record.config
            settings = {"source": spec.dataset, "data_root": "", **settings_of_run(spec)}
            write_toml(folder.config, settings, f"settings of a {type(self).__name__}, under the names of the flags")
            self.split_.save(folder.split, result.model.metadata["graphs"], self.seen_hashes_)
            folder.write_result(result)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of a finished run, trained in Python or by ``bankgcn train``.

        Raises:
            FileError: There is no finished run, or it learned another kind of task.
        """
        whole = Path(path).expanduser()
        folders = {"": RunFolder(whole)}
        if not folders[""].started and whole.is_dir():  # perhaps one of several runs
            inner = {one.name: RunFolder(one) for one in sorted(whole.iterdir())}
            folders = {name: one for name, one in inner.items() if one.started} or folders
        results = {name: cls._load_run(folder) for name, folder in folders.items()}
        (first, result), folder = next(iter(results.items())), next(iter(folders.values()))
        assert result.model is not None
        splits = {result.record.split_hash for result in results.values()}
        if len(splits) > 1:
            raise FileError(
                f"holds runs with {len(splits)} splits, and an estimator has one: bankgcn.load_model(path) loads them",
                whole,
            )
        split = Split.load(folder.split, result.model.metadata.get("graphs", ""))
        parameters = {**cls._parameters_of(result.record.config), **result.model.metadata.get("parameters", {})}
        if first and PRESETS[result.record.config.preset or PAPER].models:  # which vote
            parameters["model"] = None
        try:
            estimator = cls(**parameters)
        except TypeError as error:
            raise FileError(f"holds other parameters than those of {cls.__name__} ({error})", folder.model) from error
        kinds = [result.record.config.model.conv for result in results.values()]
        return estimator._set_results(results, Mixture.load(whole, kinds), split, Split.load_seen(folder.split))

    @classmethod
    def _load_run(cls, folder: RunFolder) -> RunResult:
        record = folder.read_record()
        if not folder.model.exists():
            raise FileError("its training diverged in the first epoch, so there is no model", folder.path)
        model = TrainedModel.load(folder.model)
        validation = ValidationPredictions.load(folder.validation, model.task) if folder.validation.exists() else None
        domain = Domain.load(folder.domain) if folder.domain.exists() else None
        model = replace(model, validation=validation, domain=domain)
        if model.task.kind not in cls._tasks:
            raise FileError(
                f"holds a model of {model.task.kind}, but {cls.__name__} predicts {' or '.join(cls._tasks)}: "
                "bankgcn.load_model(path) loads models of every task",
                folder.path,
            )
        return RunResult(record, folder.read_history(), model)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        callbacks: Sequence[Callback] = (),
        graph_features: Any = None,
        **options: Any,
    ) -> Self:
        """Train.

        Args:
            X: The graphs. In a DataFrame of pandas or Polars, the molecules are in the column that ``smiles`` names, by
                default in one with a usual name.
            y: Their targets; by default what the graphs carry. A classifier learns a class of each graph, a word, a
                number or a truth value; or a matrix of labels, 0, 1 or NaN for an unknown one. A regressor learns a
                value of each graph, shape ``(G,)``, or several, ``(G, T)``, in which NaN is unknown. The columns of a
                matrix may have names (a table of pandas).
            sample_weight: Weight of each graph in the loss. Graphs of weight 0 are left out.
            callbacks: See :class:`~bankgcn.training.Callback`.
            graph_features: Features of each graph, which join its representation before the last layers: a matrix of
                numbers, shape ``(G, f)``, or a table with numbers and words. By default those that the graphs carry.
            **options: How a DataFrame is read, under the names of the flags of ``bankgcn train``: ``target`` (the
                column of the targets, or several, separated by commas), ``smiles``, ``id``, ``skip_unreadable``,
                ``skip_missing``, ``missing_words``, ``fill_missing`` and ``ignore_case``. Without ``y`` and ``target``,
                the column of the targets is found as in a file.

        Raises:
            ValueError: The graphs cannot be read or learned; the message names the graph.
        """
        usable_device(self.device)  # before any work
        X = list(X) if isinstance(X, Iterator) else X
        molecules = are_molecules(X)
        with _spelled_as_parameters(self, X):
            reading = read_options(self._read_options(molecules), options, is_frame(X))
        if y is not None and reading.target is not None:
            raise ValueError(f"y and target={reading.target!r} are both given: choose one")
        graphs = self._read(X, y, reading, graph_features)
        y, sample_weight = (_of_rows(values, graphs) for values in (y, sample_weight))
        return self._fit(graphs, y, sample_weight, callbacks, reading)

    def _fit(
        self,
        graphs: GraphSet,
        y: Any,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback],
        reading: ReadOptions,
    ) -> Self:
        """Train on graphs with these targets, which were read in this way."""
        raise NotImplementedError

    def _train(
        self,
        graphs: GraphSet,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback],
        reading: ReadOptions,
    ) -> Self:
        """Train on graphs with targets, apart from a share that decides when to stop."""
        weights = None if sample_weight is None else check_weights(sample_weight, len(graphs))
        kind = "classes" if graphs.classes else next(kind for kind in self._tasks if kind != "classes")
        with _spelled_as_parameters(self):
            specs = self._specs(kind, reading, graphs)
            spec = next(iter(specs.values()))
            for one in specs.values():
                check_available(one.model.conv)
            uses = bool(spec.model.edge_uses)
            if uses:
                check_equal_directions(graphs)
        if not uses:
            warn_of_edge_data(graphs, stacklevel=4)  # at the call of fit
            graphs = without_edge_features(graphs)
        graphs = with_features(without_weights(graphs) if self.ignore_weights else graphs)
        with _spelled_as_parameters(self):
            graphs = with_encodings(graphs, spec.reader.encodings)
        graphs, weights = self._merged(graphs, weights, uses)
        weighted = np.arange(len(graphs)) if weights is None else np.flatnonzero(weights > 0)
        learned = graphs if len(weighted) == len(graphs) else graphs[weighted]
        duplicates = None if self.duplicates == "keep" else Duplicates.of(learned, uses)
        among_weighted = validation_split(learned, self.validation_fraction, spec.seeds.split, duplicates)
        split = Split(*(weighted[getattr(among_weighted, part)] for part in PARTS))
        with _spelled_as_parameters(self):
            parent = Parent.of(spec)
        if parent is not None:
            fitted = parent.model.conform(graphs)
        else:
            fitted = fit_encodings(fit_graph_features(refit(graphs, split.train, uses), split.train), split.train)
            if spec.reader.scale is not None:
                fitted = scale_numbers(fitted, split.train, spec.reader.scale, uses)
        share = f"the seed: {len(split.valid):,} of {len(weighted):,} graphs for validation, none for test"
        with _spelled_as_parameters(self):
            if learned is not graphs:  # graphs of weight 0 must not count as graphs of a class
                check_run(fitted[weighted], among_weighted, spec.model, spec.train, spec.task)
        results: dict[str, RunResult] = {}
        seen = np.zeros(0, np.uint64)
        for name, one in specs.items():
            try:
                with _spelled_as_parameters(self):
                    run = prepare_graphs(one, fitted, split, split_from=share, weights=weights, parent=parent)
                    if self.threshold == AUTO:
                        chosen = settings_for_skew(learned, run.task).get("threshold")
                        run = replace(run, spec=one.with_(threshold=chosen))
                    results[name] = self._executed(run, callbacks)
                    seen = run.seen_hashes()
            except UnsuitableGraphs:
                if not results:  # a further model that votes by the preset is left out
                    raise
        mixture = _ensemble_of(results).mixed().mixture if len(results) > 1 else None
        return self._set_results(results, mixture, split, seen)

    def _executed(self, run: PreparedRun, callbacks: Sequence[Callback]) -> RunResult:
        """The result of a run, whose model knows the parameters of the estimator."""
        group = ProcessGroup(device=usable_device(self.device))
        progress = self.verbose and run.spec.model.conv not in RIVALS
        watching = [*callbacks, *([ProgressLine(run.spec.train.max_epochs)] if progress else [])]
        result = execute(run, callbacks=watching, group=group, for_new_graphs=True)
        assert result is not None  # this process is not one of a group
        if result.model is None:
            raise ValueError(
                "the training diverged: the loss was not a finite number in the first epoch; "
                f"learning_rate={run.spec.train.learning_rate:g} may be too large"
            )
        parameters = {name: plain_value(getattr(self, name)) for name in NO_SETTINGS}
        return replace(
            result, model=replace(result.model, metadata={**result.model.metadata, "parameters": parameters})
        )

    def _merged(
        self, graphs: GraphSet, weights: NDArray[np.float64] | None, edges: bool
    ) -> tuple[GraphSet, NDArray[np.float64] | None]:
        """The graphs as the network sees them. If equal ones are merged, a graph has the sum of their weights."""
        if self.duplicates != "merge":
            return graphs, weights
        merged = merge_duplicates(graphs, edges)
        if weights is not None:
            total = np.zeros(len(graphs))
            np.add.at(total, first_equals(graphs, edges, with_features=True), weights)
            weights = total[np.searchsorted(graphs.rows, merged.rows)]
        return merged, weights

    def _set_results(
        self, results: dict[str, RunResult], mixture: Mixture | None, split: Split, seen: NDArray[np.uint64]
    ) -> Self:
        self.results_, self.mixture_ = results, mixture
        self.split_, self.seen_hashes_ = split, seen
        self.n_iter_ = len(self.history_)
        if len(results) == 1 and not isinstance(self.model_.net, Rival):
            self._n_features_out = self.model_.net.embedding_channels
        return self

    @property
    def _first(self) -> RunResult:
        if not hasattr(self, "results_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit")
        return next(iter(self.results_.values()))

    @property
    def model_(self) -> TrainedModel:
        """The trained model; the first of several that vote."""
        model = self._first.model
        assert model is not None
        return model

    @property
    def record_(self) -> RunRecord:
        """What is known of its training."""
        return self._first.record

    @property
    def history_(self) -> tuple[Epoch, ...]:
        """One entry for each epoch of it."""
        return self._first.epochs

    def _read(self, X: Any, y: Any, reading: ReadOptions, graph_features: Any = None) -> GraphSet:
        """The graphs; with their own targets and features if none are given."""
        features = None if self.init_from is None else Parent.load(self.init_from).model.feature_spec
        edges: EdgeData = "none" if self.edges == "none" else "any"
        expected = Expected(features=features or {}, has_target=y is None, task=self._only_task, edges=edges)
        with _spelled_as_parameters(self, X):
            graphs = as_graph_set(X, replace(reading, descriptors=None), expected)
            if graph_features is not None:
                graphs = graphs.with_graph_features(graph_features, fill=reading.fill_features)
            graphs = with_descriptors(graphs, reading)
            if self.standardize and not is_standardized(graphs.feature_spec):
                needs = "{given} is for SMILES, molecules of RDKit and DataFrames; a set of molecules is read with it"
                raise GraphError(Message(needs, given=Option("standardize", True)))
            return graphs

    @property
    def _only_task(self) -> str | None:
        """What the targets of a DataFrame are, if the estimator learns nothing else."""
        return self._tasks[0] if len(self._tasks) == 1 else None

    def _to_score(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Any, Any, ArrayLike | None]:
        """Graphs as a list that can be read twice, with the targets and weights of those that can be read.

        A DataFrame becomes a set, which has its targets if none are given.
        """
        check_is_fitted(self)
        X = list(X) if isinstance(X, Iterator) else X
        if not is_frame(X):
            return X, y, sample_weight
        graphs = self._read(X, y, self.model_.reader)
        return graphs, _of_rows(y, graphs), _of_rows(sample_weight, graphs)

    @property
    def _predictor(self) -> Predictor:
        check_is_fitted(self)
        return Predictor(_ensemble_of(self.results_, self.mixture_).to(self.device))


def _ensemble_of(results: Mapping[str, RunResult], mixture: Mixture | None = None) -> Ensemble:
    """The models of results, which no folder holds."""
    members = {Path(name): result.model for name, result in results.items() if result.model is not None}
    return Ensemble(members, mixture=mixture)


def _of_rows(values: Any, graphs: GraphSet) -> Any:
    """Targets or weights of the graphs, if some rows of their table have none."""
    return rows_of(values, graphs.rows.tolist()) if values is not None and graphs.skipped else values


def validation_split(graphs: GraphSet, share: float, seed: int, duplicates: Duplicates | None = None) -> Split:
    """Training and validation graphs, stratified by class.

    Args:
        graphs: The graphs with their targets.
        share: Share of the validation graphs, as far as every class has a training graph. There is at least one
            validation graph.
        seed: Number of the split.
        duplicates: The equal graphs, if they shall stay together.
    """
    if not 0 < share < 1:
        raise ValueError(f"validation_fraction={share}: expected a number between 0 and 1")
    y = graphs.y
    if y is None or len(graphs) < 2:
        raise ValueError(f"n_samples={len(graphs)}: a training needs at least two graphs, one of them for validation")
    if duplicates is not None and duplicates.repeated and len(duplicates.distinct) > 1:
        together = duplicates.spread(validation_split(graphs[duplicates.distinct], share, seed))
        if not graphs.classes or np.isin(y, y[together.train]).all():
            return together  # otherwise equal graphs contradict each other, and a class would never be trained
    ratios = (1 - share, share, 0)
    split = stratified_split(y, ratios, seed) if graphs.classes else random_split(len(y), ratios, seed)
    labels = y if graphs.classes else np.zeros(len(y), np.int64)  # numbers are one class
    classes, first = np.unique(labels[split.valid], return_index=True)
    untrained = first[~np.isin(classes, labels[split.train])]  # the network would never see their classes
    valid = np.delete(split.valid, untrained)
    if not len(valid):
        classes, counts = np.unique(labels, return_counts=True)
        valid = np.flatnonzero(labels == classes[counts.argmax()])[:1]
    rest = np.setdiff1d(np.arange(len(y)), valid)
    return Split(train=rest, valid=valid, test=np.zeros(0, np.int64))


@contextmanager
def _spelled_as_parameters(estimator: RunParameters, graphs: Any = None) -> Iterator[None]:
    """Errors of the library name settings as the parameters of the estimator, and advise no others.

    Args:
        estimator: The estimator.
        graphs: What it is given; for a DataFrame, ``fit`` has further options.
    """
    names = {*estimator.get_params(), *(FRAME_OPTIONS if is_frame(graphs) else ())}
    try:
        yield
    except ValueError as error:
        message = message_of(error)
        if not isinstance(message, Message):
            raise
        text = message.spelled(Spelling(parameter, has=names.__contains__))
        raise (type(error) if isinstance(error, GraphError | UnsuitableGraphs) else ValueError)(text) from error
