"""A random forest on columns of numbers: see :mod:`bankgcn.rivals.columns`.

Classes have one forest, which predicts the shares of all of them; each value or label has a forest of its own, fitted
to the graphs for which it is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.rivals.base import Lesson, Rival
from bankgcn.rivals.columns import GraphColumns
from bankgcn.rivals.trees import Trees

TREES = 500
SEEDS = 2**32  # scikit-learn takes smaller ones


class Forest(Rival):
    """500 trees of scikit-learn with its settings, for each group of outputs."""

    columns: GraphColumns
    groups: tuple[Trees, ...]

    def fit(self, lesson: Lesson, trees: int = TREES, quick: bool = False) -> str:
        """Grow the trees on the training graphs; nothing is chosen. Quick columns are for an estimate."""
        train = self.without_unused(lesson.train)
        self.columns = GraphColumns.of(train, quick)
        rows, targets = self.columns(train), lesson.targets()
        if self.kind == "classes":
            self.groups = (self._grow(rows, targets.argmax(1), lesson, 0, trees),)
        else:
            self.groups = tuple(
                self._grow(rows, target, lesson, output, trees) for output, target in enumerate(targets.T)
            )
        each = "" if len(self.groups) == 1 else f" for each of {len(self.groups)} {self.kind}"
        return f"grew {trees} trees{each} on the training graphs ({self.columns.words})"

    def _grow(self, rows: NDArray[np.float32], target: NDArray, lesson: Lesson, output: int, trees: int) -> Trees:
        """The trees for one group of outputs, on the graphs whose target is known."""
        require("sklearn", "The forest")
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest_type = RandomForestRegressor if self.kind == "values" else RandomForestClassifier
        known = np.flatnonzero(~np.isnan(target))
        weights = lesson.weights_of(output)
        forest = forest_type(trees, n_jobs=lesson.threads, random_state=(lesson.seed + output) % SEEDS)
        answers = target[known] if self.kind == "values" else target[known].astype(np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # many classes: the run has said so
            forest.fit(rows[known], answers, None if weights is None else weights[known])
        if self.kind == "values":
            return Trees.of(forest.estimators_, None, 1)
        outputs = self.out_channels if self.kind == "classes" else 2
        return Trees.of(forest.estimators_, forest.classes_.tolist(), outputs)

    def shares(self, graphs: GraphSet) -> NDArray[np.float64]:
        """What the trees predict: the share of each class or label, or values in standard units."""
        rows = self.columns(self.without_unused(graphs))
        found = [trees.predict(rows) for trees in self.groups]
        return np.concatenate([each[:, 1:] for each in found] if self.kind == "labels" else found, axis=1)

    def compute(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Logits of the shares, as if one more tree had given every class the same share: none is 0 or 1."""
        shares = self.shares(graphs)
        if self.kind == "values":
            return shares
        trees = self.groups[0].count
        answers = self.out_channels if self.kind == "classes" else 2
        shares = (trees * shares + 1 / answers) / (trees + 1)
        return np.log(shares) if self.kind == "classes" else np.log(shares) - np.log1p(-shares)

    @property
    def words(self) -> str:
        """How many trees there are, and what they look at."""
        count = sum(trees.count for trees in self.groups)
        return f"{count:,} trees on {len(self.columns.fill):,} columns: {self.columns.words}"

    def to_dict(self) -> dict[str, Any]:
        """What the columns are."""
        return {"columns": self.columns.to_dict()}

    def arrays(self) -> dict[str, NDArray]:
        """The arrays of the columns, and those of each group of trees."""
        arrays = self.columns.arrays()
        for number, trees in enumerate(self.groups):
            arrays |= {f"trees.{number}.{name}": array for name, array in trees.arrays().items()}
        return arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Self:
        """The forest of a file; see :class:`Rival`."""
        columns = values["columns"]
        if not isinstance(columns, Mapping):
            raise ValueError(f"its columns are {str(columns)[:100]}")
        self.columns = GraphColumns.stored(columns, arrays, self.layout.attributes, self.layout.edge_attributes)
        self._check_width()
        groups = 1 if self.kind == "classes" else self.out_channels
        outputs = {"classes": self.out_channels, "labels": 2, "values": 1}[self.kind]
        found = []
        for number in range(groups):
            start = f"trees.{number}."
            own = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
            found.append(Trees.stored(own, len(self.columns.fill), outputs, self.kind != "values"))
        self.groups = tuple(found)
        return self

    def _check_width(self) -> None:
        """Raise unless there are as many means as columns."""
        columns, layout = self.columns, self.layout
        expected = len(columns.names) + layout.graph_dim
        if columns.vocabulary is not None:  # two counts; a sum and a mean of every number, and of edge weights
            numbers = layout.attributes + (layout.edge_dim or 0) + columns.weighted
            expected = int(columns.vocabulary.starts[-1]) + 2 + 2 * numbers + layout.graph_dim
        if len(columns.fill) != expected:
            raise ValueError(f"it has means of {len(columns.fill):,} columns, expected {expected:,}")
