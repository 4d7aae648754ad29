r"""The Weisfeiler-Lehman subtree kernel with support vectors.

The kernel of two graphs is :math:`k(G, G') = \sum_{h \le d} \langle \phi_h(G), \phi_h(G') \rangle`, where
:math:`\phi_h` counts the colours of depth :math:`h`. It is divided by :math:`\sqrt{k(G, G)\, k(G', G')}`, so that large
graphs count as much as small ones, or by the mean of :math:`k(G, G)` over the training graphs, so that C means the same
for every set. It is an inner product, so the decision of support vectors is a weight for each colour, and that is what
a trained model holds.

There is one machine for two classes, and one for each class, value or label otherwise. Depth, divisor and C are those
with the best score on the validation graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from bankgcn.data import UnsuitableGraphs
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.messages import Message, Option
from bankgcn.rivals.base import Lesson, Rival
from bankgcn.rivals.colors import Colors, Vocabulary, graph_of_nodes

MOST_DEPTH = 7
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
"""The values of C."""
MOST_GRAPHS = 20_000  # of training: a matrix of every two of them is 3 GB
MOST_STEPS = 10_000_000  # of the solver
AT_ONCE = 2048  # graphs whose colours are made together


class Machine(NamedTuple):
    """Support vectors by their places among the training graphs, their coefficients, and the offset."""

    support: NDArray[np.integer]
    coefficient: NDArray[np.float64]
    offset: float

    def decide(self, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        """The decision for rows of the kernel with all training graphs."""
        return kernel[:, self.support] @ self.coefficient + self.offset


@dataclass(frozen=True)
class _Choice:
    """The best so far. Without a divisor, the kernel is normalised."""

    cost: tuple[float, float]
    depth: int
    divisor: float | None
    penalty: float
    machines: tuple[Machine, ...]


class KernelMachine(Rival):
    """Support vectors with the Weisfeiler-Lehman subtree kernel."""

    vocabulary: Vocabulary
    normalised: bool
    weight: NDArray[np.float64]  # (machines, colours)
    offset: NDArray[np.float64]  # (machines,)

    @property
    def machines(self) -> int:
        """Number of machines."""
        return 1 if self.kind == "classes" and self.out_channels == 2 else self.out_channels

    def fit(self, lesson: Lesson) -> str:
        """Fit all machines for every depth and C, and keep those with the best score on the validation graphs."""
        train, valid = map(self.without_unused, (lesson.train, lesson.valid))
        if len(train) > MOST_GRAPHS:
            many = f"wl-svm compares every two of {len(train):,} training graphs, and takes at most {MOST_GRAPHS:,}"
            raise UnsuitableGraphs(Message("{many}: {other} takes more", many=many, other=Option("model", "forest")))
        vocabulary = Vocabulary.of(train, MOST_DEPTH)
        best: _Choice | None = None
        for depth, kernel in enumerate(_kernels(vocabulary, train, valid)):
            for divisor in (None, float(np.square(kernel.norm).mean())):
                own, other = kernel.divided(divisor)
                for penalty in PENALTIES:
                    machines = tuple(self._machines(own, lesson, penalty))
                    decisions = np.stack([machine.decide(other) for machine in machines], axis=1)
                    cost = lesson.cost(torch.from_numpy(self._outputs(decisions)))
                    if best is None or cost < best.cost:
                        best = _Choice(cost, depth, divisor, penalty, machines)
        assert best is not None
        self._keep(best, vocabulary, train)
        form = "normalised" if best.divisor is None else "plain"
        tried = f"{MOST_DEPTH + 1} depths, both forms and {len(PENALTIES)} values of C"
        return f"chose the {form} kernel of depth {best.depth} and C = {best.penalty:g}, of {tried}, by validation"

    def _machines(self, kernel: NDArray[np.float64], lesson: Lesson, penalty: float) -> Iterator[Machine]:
        targets = lesson.targets()
        for output, target in enumerate(targets[:, -self.machines :].T):
            known = np.flatnonzero(~np.isnan(target))
            weights = lesson.weights_of(output)
            own = None if weights is None else weights[known] / weights[known].mean()
            machine = self._machine(kernel[np.ix_(known, known)], target[known], own, penalty)
            yield machine._replace(support=known[machine.support])

    def _machine(
        self, kernel: NDArray[np.float64], target: NDArray[np.float64], weights: NDArray | None, penalty: float
    ) -> Machine:
        """The support vectors for one target."""
        require("sklearn", "wl-svm")
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC, SVR

        if self.kind != "values" and target.min() == target.max():  # one answer alone: nothing to separate
            return Machine(np.zeros(0, np.int64), np.zeros(0), 2 * float(target[0]) - 1)
        machine_type = SVR if self.kind == "values" else SVC
        machine = machine_type(kernel="precomputed", C=penalty, cache_size=500, max_iter=MOST_STEPS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(kernel, target, weights)
        return Machine(machine.support_, machine.dual_coef_[0], float(machine.intercept_[0]))

    def _keep(self, best: _Choice, vocabulary: Vocabulary, train: GraphSet) -> None:
        """Keep the weights of colours that the support vectors stand for."""
        kept = Vocabulary(vocabulary.colors[: best.depth + 1], vocabulary.nodes, vocabulary.edges)
        colors, graph = kept.all_colors(train), graph_of_nodes(train)
        places = kept.places(colors)
        divisor = _norms(colors, graph, len(train)) if best.divisor is None else np.full(len(train), best.divisor)
        weight = np.zeros((len(best.machines), int(kept.starts[-1])))
        for row, machine in zip(weight, best.machines, strict=True):
            of_graph = np.zeros(len(train))
            of_graph[machine.support] = machine.coefficient / divisor[machine.support]
            for of_depth in places:
                row += np.bincount(of_depth, weights=of_graph[graph], minlength=len(row))
        self.vocabulary, self.weight, self.normalised = kept, weight, best.divisor is None
        self.offset = np.array([machine.offset for machine in best.machines])

    def compute(self, graphs: GraphSet) -> NDArray[np.float64]:
        """The decisions: of two classes, half of it for one and half against the other."""
        parts = [graphs[start : start + AT_ONCE] for start in range(0, len(graphs), AT_ONCE)] or [graphs]
        return self._outputs(np.concatenate([self._decisions(part) for part in parts]))

    def _decisions(self, graphs: GraphSet) -> NDArray[np.float64]:
        colors, graph = self.vocabulary.all_colors(graphs), graph_of_nodes(graphs)
        places = self.vocabulary.places(colors)
        decisions = np.zeros((len(graphs), len(self.weight)))
        for of_depth in places:
            known = of_depth >= 0
            for column, weight in zip(decisions.T, self.weight, strict=True):  # from the first node to the last
                column += np.bincount(graph[known], weights=weight[of_depth[known]], minlength=len(graphs))
        if self.normalised:
            decisions /= _norms(colors, graph, len(graphs))[:, None]
        return decisions + self.offset

    def _outputs(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.kind == "classes" and self.out_channels == 2:
            return np.concatenate([-decisions / 2, decisions / 2], axis=1)
        return decisions

    @property
    def words(self) -> str:
        """The depth and the number of colours."""
        return (
            f"the Weisfeiler-Lehman subtree kernel of depth {self.vocabulary.depth}, {self.weight.shape[1]:,} colours"
        )

    def to_dict(self) -> dict[str, Any]:
        """What the colours depend on, and whether the kernel is normalised."""
        return {"colors": self.vocabulary.to_dict(), "normalised": self.normalised}

    def arrays(self) -> dict[str, NDArray]:
        """The colours, and the weight of each in each machine."""
        return {**self.vocabulary.arrays(), "weight": self.weight, "offset": self.offset}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Self:
        """The machines of a file; see :class:`Rival`."""
        layout, self.normalised = self.layout, values["normalised"]
        if not isinstance(self.normalised, bool):
            raise ValueError(f"normalised is {str(self.normalised)[:100]}, expected true or false")
        self.vocabulary = Vocabulary.stored(values["colors"], arrays, layout.attributes, layout.edge_attributes)
        shapes = {"weight": (self.machines, int(self.vocabulary.starts[-1])), "offset": (self.machines,)}
        for name, shape in shapes.items():
            array = arrays[name]
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, expected {shape}, finite")
        self.weight, self.offset = arrays["weight"], arrays["offset"]
        return self


def _norms(colors: Colors, graph: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    r""":math:`\sqrt{k(G, G)}` of each graph, all its colours counted; 1 for a graph without nodes."""
    squares = np.zeros(count, np.int64)
    for of_depth in colors:
        squares += _squares(of_depth, graph, count)
    return np.sqrt(np.maximum(squares, 1))


def _squares(colors: Colors, graph: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Sum over the colours of one depth of the squares of how often each occurs, for each graph."""
    order = np.lexsort((colors, graph))
    color, graph = colors[order], graph[order]
    starts = np.flatnonzero(np.r_[True, (color[1:] != color[:-1]) | (graph[1:] != graph[:-1])][: len(color)])
    repeats = np.diff(np.r_[starts, len(color)])
    return np.bincount(graph[starts], weights=repeats.astype(np.float64) ** 2, minlength=count).astype(np.int64)


class _Kernel(NamedTuple):
    """The kernel of every two training graphs, and of validation graphs with training graphs, divided by nothing."""

    own: NDArray[np.float64]  # (train, train)
    other: NDArray[np.float64]  # (valid, train)
    norm: NDArray[np.float64]  # (train,): the root of k(G, G)
    other_norm: NDArray[np.float64]  # (valid,)

    def divided(self, divisor: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both, divided by a number, or normalised without one."""
        if divisor is not None:
            return self.own / divisor, self.other / divisor
        return self.own / self.norm[:, None] / self.norm, self.other / self.other_norm[:, None] / self.norm


def _kernels(vocabulary: Vocabulary, train: GraphSet, valid: GraphSet) -> Iterator[_Kernel]:
    """The kernel for each depth."""
    from scipy.sparse import csr_array  # comes with scikit-learn

    sets = [(part, vocabulary.all_colors(part), graph_of_nodes(part)) for part in (train, valid)]
    places = [vocabulary.places(colors) for _, colors, _ in sets]
    own, other = np.zeros((len(train), len(train))), np.zeros((len(valid), len(train)))
    squares = [np.zeros(len(part), np.int64) for part, _, _ in sets]
    columns = int(vocabulary.starts[-1])
    for depth in range(vocabulary.depth + 1):
        counts = []
        for (part, _, graph), of_set in zip(sets, places, strict=True):
            known = of_set[depth] >= 0
            cells = (graph[known], of_set[depth][known])
            counts.append(csr_array((np.ones(int(known.sum())), cells), shape=(len(part), columns)))
        own += (counts[0] @ counts[0].T).toarray()
        other += (counts[1] @ counts[0].T).toarray()
        for total, (part, colors, graph) in zip(squares, sets, strict=True):
            total += _squares(colors[depth], graph, len(part))
        yield _Kernel(own, other, *(np.sqrt(np.maximum(total, 1)) for total in squares))
