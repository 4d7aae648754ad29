"""What both estimators share: training with early stopping, embeddings, and folders of runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bankgcn.data.combine import without_weights
from bankgcn.data.duplicates import Duplicates, first_equals, merge_duplicates
from bankgcn.data.edges import warn_of_edge_data
from bankgcn.data.errors import GraphError
from bankgcn.data.features.signals import with_features
from bankgcn.data.features.spec import refit, scale_numbers
from bankgcn.data.graphs import GraphSet
from bankgcn.data.inputs import as_graph_set
from bankgcn.data.options import Expected
from bankgcn.data.splits import PARTS, Split
from bankgcn.estimator.parameters import AUTO, NO_SETTINGS, RunParameters
from bankgcn.estimator.targets import validation_split
from bankgcn.files.checked import FileError, write_toml
from bankgcn.messages import Message, Spelling, message_of, parameter
from bankgcn.predictor import Predictor
from bankgcn.settings import plain_value
from bankgcn.training.callbacks import Callback
from bankgcn.training.checks import check_run, check_weights, settings_for_skew
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.execute import RunResult, execute
from bankgcn.training.model import TrainedModel
from bankgcn.training.prepare import prepare_graphs
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import settings_of_run


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

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model to the folder of a run, which ``bankgcn predict`` and :meth:`load` take.

        Args:
            path: The folder; it is made if needed.
            overwrite: Whether to replace a run that the folder holds.

        Raises:
            FileError: The folder holds a run, or other files.
        """
        check_is_fitted(self)
        folder = RunFolder(Path(path).expanduser())
        folder.check_free()
        if folder.started and not overwrite:
            raise FileError("holds a run: name another folder, or replace it by overwrite=True", folder.path)
        with folder.lock():
            folder.clear()
            spec = self.record_.config
            settings = {"source": spec.dataset, "data_root": "", **settings_of_run(spec)}
            write_toml(folder.config, settings, f"settings of a {type(self).__name__}, under the names of the flags")
            self.split_.save(folder.split, self.model_.metadata["graphs"], self.seen_hashes_)
            folder.write_result(RunResult(self.record_, self.history_, self.model_))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of a finished run, trained in Python or by ``bankgcn train``.

        Raises:
            FileError: There is no finished run, or it learned another kind of task.
        """
        folder = RunFolder(Path(path).expanduser())
        record = folder.read_record()
        if not folder.model.exists():
            raise FileError("its training diverged in the first epoch, so there is no model", folder.path)
        model = TrainedModel.load(folder.model)
        if model.task.kind not in cls._tasks:
            raise FileError(
                f"holds a model of {model.task.kind}, but {cls.__name__} predicts {' or '.join(cls._tasks)}: "
                "bankgcn.load_model(path) loads models of every task",
                folder.path,
            )
        split = Split.load(folder.split, model.metadata.get("graphs", ""))
        try:
            estimator = cls(**{**cls._parameters_of(record.config), **model.metadata.get("parameters", {})})
        except TypeError as error:
            raise FileError(f"holds other parameters than those of {cls.__name__} ({error})", folder.model) from error
        seen = Split.load_seen(folder.split)
        return estimator._set_result(RunResult(record, folder.read_history(), model), split, seen)

    def _train(self, graphs: GraphSet, sample_weight: ArrayLike | None, callbacks: Sequence[Callback]) -> Self:
        """Train on graphs with targets, apart from a share that decides when to stop."""
        warn_of_edge_data(graphs, stacklevel=3)  # at the call of fit
        weights = None if sample_weight is None else check_weights(sample_weight, len(graphs))
        kind = "classes" if graphs.classes else next(kind for kind in self._tasks if kind != "classes")
        with _spelled_as_parameters(self):
            spec = self._spec(kind)
        graphs, weights = self._merged(graphs, weights)
        weighted = np.arange(len(graphs)) if weights is None else np.flatnonzero(weights > 0)
        learned = graphs if len(weighted) == len(graphs) else graphs[weighted]
        duplicates = None if self.duplicates == "keep" else Duplicates.of(learned)
        among_weighted = validation_split(learned, self.validation_fraction, spec.seeds.split, duplicates)
        split = Split(*(weighted[getattr(among_weighted, part)] for part in PARTS))
        fitted = refit(graphs, split.train)
        if spec.reader.scale is not None:
            fitted = scale_numbers(fitted, split.train, spec.reader.scale)
        share = f"the seed: {len(split.valid):,} of {len(weighted):,} graphs for validation, none for test"
        with _spelled_as_parameters(self):
            if learned is not graphs:  # graphs of weight 0 must not count as graphs of a class
                check_run(fitted[weighted], among_weighted, spec.model, spec.train, spec.task)
            run = prepare_graphs(spec, fitted, split, split_from=share, weights=weights)
            if self.threshold == AUTO:
                chosen = settings_for_skew(learned, run.task).get("threshold")
                run = replace(run, spec=spec.with_(threshold=chosen))
        result = execute(run, callbacks=callbacks)
        assert result is not None  # this process is not one of a group
        if result.model is None:
            raise ValueError(
                "the training diverged: the loss was not a finite number in the first epoch; "
                f"learning_rate={self.learning_rate:g} may be too large"
            )
        own = {name: plain_value(getattr(self, name)) for name in NO_SETTINGS}
        model = replace(result.model, metadata={**result.model.metadata, "parameters": own})
        return self._set_result(replace(result, model=model), split, run.seen_hashes())

    def _merged(
        self, graphs: GraphSet, weights: NDArray[np.float64] | None
    ) -> tuple[GraphSet, NDArray[np.float64] | None]:
        """The graphs as the network sees them. If equal ones are merged, a graph has the sum of their weights."""
        graphs = with_features(without_weights(graphs) if self.ignore_weights else graphs)
        if self.duplicates != "merge":
            return graphs, weights
        merged = merge_duplicates(graphs)
        if weights is not None:
            total = np.zeros(len(graphs))
            np.add.at(total, first_equals(graphs), weights)
            weights = total[np.searchsorted(graphs.rows, merged.rows)]
        return merged, weights

    def _set_result(self, result: RunResult, split: Split, seen: NDArray[np.uint64]) -> Self:
        assert result.model is not None
        self.model_, self.record_, self.history_ = result.model, result.record, result.epochs
        self.split_, self.seen_hashes_ = split, seen
        self.n_iter_ = len(result.epochs)
        self._n_features_out = result.model.net.embedding_channels
        return self

    def _read(self, X: Any, y: Any) -> GraphSet:
        """The graphs; with their own targets if none are given."""
        with _spelled_as_parameters(self):
            return as_graph_set(X, self._read_options(), Expected(has_target=y is None))

    @property
    def _predictor(self) -> Predictor:
        check_is_fitted(self)
        return Predictor(Ensemble({Path(): self.model_}))


@contextmanager
def _spelled_as_parameters(estimator: RunParameters) -> Iterator[None]:
    """Errors of the library name settings as the parameters of the estimator, and advise no others."""
    names = estimator.get_params()
    try:
        yield
    except ValueError as error:
        message = message_of(error)
        if not isinstance(message, Message):
            raise
        text = message.spelled(Spelling(parameter, has=names.__contains__))
        raise (GraphError if isinstance(error, GraphError) else ValueError)(text) from error
