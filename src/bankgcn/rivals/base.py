"""What a forest and a kernel machine have in common: fitted once, by scikit-learn, and applied from their arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.tasks import Task


class Layout(NamedTuple):
    """Widths of what the training graphs carry, which other graphs must have, too."""

    attributes: int  # numbers of a node
    edge_attributes: int  # numbers of an edge
    edge_dim: int | None  # features of an edge; None if they are not used
    graph_dim: int  # features of a graph


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a model is fitted to.

    Args:
        train: The training graphs.
        valid: The validation graphs.
        task: What is learned.
        cost: From outputs for the validation graphs to what choices minimise.
        weights: Weight of each training graph, ``(G,)``, or of each of its labels, ``(G, T)``; all are equal by
            default.
        seed: What draws at random.
        threads: Number of threads; it changes no digit.
    """

    train: GraphSet
    valid: GraphSet
    task: Task
    cost: Callable[[Tensor], tuple[float, float]]
    weights: NDArray[np.float64] | None = None
    seed: int = 0
    threads: int = 1

    def targets(self) -> NDArray[np.float64]:
        """A column of targets for each output: NaN is unknown; 0 or 1 for classes and labels, values in units."""
        y = self.task.targets(torch.as_tensor(self.train.y))
        if self.task.kind == "classes":
            return np.eye(self.task.out_channels)[y.numpy()]
        return y.double().numpy()

    def weights_of(self, output: int) -> NDArray[np.float64] | None:
        """The weights of the training graphs for an output."""
        if self.weights is None or self.weights.ndim == 1:
            return self.weights
        return self.weights[:, output]


class Rival(ABC):
    """A model that is no network. It is made empty, and then fitted or read from a file.

    Args:
        kind: The kind of task.
        out_channels: Number of outputs.
        layout: What the graphs carry.
    """

    def __init__(self, kind: str, out_channels: int, layout: Layout):
        self.kind, self.out_channels, self.layout = kind, out_channels, layout

    @abstractmethod
    def fit(self, lesson: Lesson) -> str:
        """Learn, and return what was done, in words that continue a sentence about the run."""

    @abstractmethod
    def compute(self, graphs: GraphSet) -> NDArray[np.float64]:
        """Outputs for graphs, shape ``(G, out_channels)``: logits, or values in standard units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What a file holds beside the arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray]:
        """The arrays by their names."""

    @abstractmethod
    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Self:
        """This model as :meth:`to_dict` and :meth:`arrays` describe it.

        Raises:
            ValueError: A value or an array is not one that the model can have; the message names it.
            KeyError: One is missing.
        """

    @property
    @abstractmethod
    def words(self) -> str:
        """What the model is made of, in a few words."""

    @property
    def edge_dim(self) -> int | None:
        """Number of features of edges that are used; ``None`` if none are."""
        return self.layout.edge_dim

    @property
    def graph_dim(self) -> int:
        """Number of features of each graph."""
        return self.layout.graph_dim

    @property
    def size(self) -> int:
        """How many numbers the model is made of."""
        return sum(array.size for array in self.arrays().values())

    def logits(self, graphs: GraphSet) -> Tensor:
        """Outputs for graphs, in double precision; those of a graph do not depend on the others."""
        return torch.from_numpy(self.compute(self.without_unused(graphs)))

    def apply(self, graphs: GraphSet) -> tuple[Tensor, None]:
        """The same, without representations of the graphs, which only networks have."""
        return self.logits(graphs), None

    def without_unused(self, graphs: GraphSet) -> GraphSet:
        """The graphs without features of edges that are not used: some sets hold them all the same."""
        if self.edge_dim is not None or not graphs.num_edge_features:
            return graphs
        return replace(graphs, edge_labels=None, edge_label_widths=(), edge_attributes=None, edge_spec={})

    def state_dict(self) -> dict[str, Tensor]:
        """The arrays as tensors."""
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in self.arrays().items()}

    def to(self, device: Any) -> Self:
        """The model itself: it computes on the CPU."""
        return self
