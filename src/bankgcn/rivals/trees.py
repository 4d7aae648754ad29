"""Decision trees as flat arrays: taken from scikit-learn's, checked when they come from a file, and applied.

The left child of a node is the next node, and the right one comes later, so that a way down a tree ends: an array that
breaks this is refused. A threshold in single precision decides as scikit-learn's in double precision does, because the
columns are single.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 18  # places in trees that are followed together
LEAF = 0
"""What stands for the right child of a leaf."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees whose values are averaged.

    Args:
        ptr: Where the nodes of each tree start, and the number of nodes, shape ``(T + 1,)``.
        right: Right child of each node, counted from the first node of its tree; 0 for a leaf.
        feature: Column that a node looks at; 0 for a leaf.
        threshold: A row goes left if its column is not larger; 0 for a leaf.
        value: What a leaf predicts, shape ``(nodes, outputs)``; 0 for the other nodes.
    """

    ptr: NDArray[np.int64]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: NDArray[np.float32]

    @classmethod
    def of(cls, estimators: Sequence[Any], places: Sequence[int] | None, outputs: int) -> Trees:
        """The trees of a forest of scikit-learn.

        Args:
            estimators: Its trees.
            places: The output of each class that the forest knows; ``None`` for values.
            outputs: Number of outputs.
        """
        trees = [estimator.tree_ for estimator in estimators]
        is_leaf = np.concatenate([tree.children_right < 0 for tree in trees])
        nodes = [tree.node_count for tree in trees]
        left = np.concatenate([tree.children_left for tree in trees])
        number = np.concatenate([np.arange(count) for count in nodes])
        if (left[~is_leaf] != number[~is_leaf] + 1).any():
            raise AssertionError("scikit-learn's trees are not in the order in which they are walked")
        values = np.concatenate([tree.value[:, 0, :] for tree in trees])
        value = np.zeros((len(values), outputs), np.float32)
        value[:, list(range(outputs)) if places is None else list(places)] = values
        return cls(
            np.concatenate([[0], np.cumsum(nodes)]).astype(np.int64),
            np.where(is_leaf, LEAF, np.concatenate([tree.children_right for tree in trees])).astype(np.int32),
            np.where(is_leaf, 0, np.concatenate([tree.feature for tree in trees])).astype(np.int32),
            np.where(is_leaf, 0, _not_above(np.concatenate([tree.threshold for tree in trees]))).astype(np.float32),
            np.where(is_leaf[:, None], value, 0).astype(np.float32),
        )

    @property
    def count(self) -> int:
        """Number of trees."""
        return len(self.ptr) - 1

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Mean over the trees of what they predict for each row, shape ``(rows, outputs)``.

        The trees are added in their order, so that the result for a row does not depend on other rows.
        """
        step = max(1, AT_ONCE // max(self.count, 1))
        parts = [self._predict(rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.empty((0, self.value.shape[1]))

    def _predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        row, start = np.divmod(np.arange(len(rows) * self.count), self.count)
        start = self.ptr[start]
        place = start.copy()  # of every row in every tree
        going = np.flatnonzero(self.right[place] != LEAF)
        while len(going):
            node = place[going]
            goes_left = rows[row[going], self.feature[node]] <= self.threshold[node]
            place[going] = np.where(goes_left, node + 1, start[going] + self.right[node])
            going = going[self.right[place[going]] != LEAF]
        of_trees = self.value[place].astype(np.float64).reshape(len(rows), self.count, -1)
        return of_trees.cumsum(axis=1)[:, -1] / self.count  # a cumulative sum has one order of addition

    def arrays(self) -> dict[str, NDArray]:
        """The arrays by their names."""
        return dict(vars(self))

    @classmethod
    def stored(cls, arrays: Mapping[str, NDArray], columns: int, outputs: int, probabilities: bool) -> Trees:
        """The trees of a file.

        Args:
            arrays: What :meth:`arrays` wrote.
            columns: Number of columns that the trees look at.
            outputs: Number of outputs.
            probabilities: Whether the values of a leaf are shares.

        Raises:
            ValueError: These are no trees; the message names the array.
        """
        trees = cls(**{name: _checked(arrays, name) for name in _TYPES})
        ptr, nodes = trees.ptr, len(trees.right)
        if len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != nodes or (ptr[1:] <= ptr[:-1]).any():
            raise ValueError(f"ptr does not cut {nodes:,} nodes into trees")
        for name in ("feature", "threshold", "value"):
            if len(getattr(trees, name)) != nodes:
                raise ValueError(f"{name} has {len(getattr(trees, name)):,} rows, but there are {nodes:,} nodes")
        sizes = np.diff(ptr)
        number, size = np.arange(nodes) - np.repeat(ptr[:-1], sizes), np.repeat(sizes, sizes)
        inner = trees.right != LEAF
        if not ((trees.right > number + 1) & (trees.right < size))[inner].all():
            raise ValueError("right names a node that is no later one of its tree")
        if not ((trees.feature >= 0) & (trees.feature < max(columns, 1))).all():
            raise ValueError(f"feature names a column that is none of {columns:,}")
        if not np.isfinite(trees.threshold).all():
            raise ValueError("threshold holds a number that is not finite")
        if trees.value.shape[1] != outputs or not np.isfinite(trees.value).all():
            raise ValueError(f"value has shape {trees.value.shape}, expected {outputs} finite numbers a node")
        if probabilities and ((trees.value < 0) | (trees.value > 1.0001)).any():
            raise ValueError("value holds a share that is not between 0 and 1")
        return trees


_TYPES = {
    "ptr": (np.int64, 1),
    "right": (np.int32, 1),
    "feature": (np.int32, 1),
    "threshold": (np.float32, 1),
    "value": (np.float32, 2),
}
"""Type and number of dimensions of each array."""


def _checked(arrays: Mapping[str, NDArray], name: str) -> NDArray:
    dtype, dimensions = _TYPES[name]
    array = arrays[name]
    if array.dtype != dtype or array.ndim != dimensions:
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, expected {np.dtype(dtype)}")
    return array


def _not_above(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest numbers in single precision that are not larger."""
    single = numbers.astype(np.float32)
    return np.where(single > numbers, np.nextafter(single, np.float32(-np.inf)), single)
