"""What ``bankgcn bench`` measures, and how long: everything, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bankgcn.bench.cases import CASES, Case, case_named
from bankgcn.bench.ours import our_name
from bankgcn.bench.peers import peer_name
from bankgcn.bench.products import products_name
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.convs import CONVS

# Guesses for the progress bar, and for nothing else:
SIZE_PER_SECOND = 150_000  # nodes and edges that a slow contender trains on
GROWTH_EDGES_PER_SECOND = 200_000  # of the largest graph, for all growth measurements together


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What is measured, and how long.

    Args:
        quick: Whether this is a quick look, whose figures are too noisy to quote.
        cases: Names in ``CASES``.
        models: Names in ``CONVS``.
        threads: Number of threads to compare with one thread; ``None`` compares none.
        thread_models: The models of that comparison.
        repetitions: Number of timed turns of each contender, after one turn to warm up.
        turn_seconds: Minimum seconds of a turn.
        max_steps: Maximum number of steps in an epoch; ``None`` trains on all graphs of the case.
        memory: Whether to measure the memory of steps.
        max_edges: Directed edges of the largest graph for the growth measurements; 0 skips them.
    """

    quick: bool
    cases: tuple[str, ...]
    models: tuple[str, ...] = tuple(CONVS)
    threads: int | None = None
    thread_models: tuple[str, ...] = ("bank", "gcn")
    repetitions: int
    turn_seconds: float
    max_steps: int | None
    memory: bool
    max_edges: int

    def graphs_of_epoch(self, graphs: GraphSet, batch_size: int) -> GraphSet:
        """The graphs of an epoch.

        Fewer steps are steps on fewer graphs, for every contender: one call of our executor takes several steps. The
        graphs are evenly spaced, because many datasets are sorted by class.
        """
        if self.max_steps is None or self.max_steps * batch_size >= len(graphs):
            return graphs
        return graphs[np.linspace(0, len(graphs) - 1, self.max_steps * batch_size).astype(np.int64)]

    @property
    def contenders(self) -> list[str]:
        """The contenders of a case, in the order of their turns; models with equal matrix products share them."""
        kinds = (our_name, peer_name, products_name)
        return list(dict.fromkeys(kind(model) for model in self.models for kind in kinds))

    @property
    def num_turns(self) -> int:
        """Number of turns of a case."""
        timed = len(self.contenders) + (2 * len(self.thread_models) if self.threads else 0)
        return timed * (self.repetitions + 1) + (2 * len(self.models) if self.memory else 0)

    def estimate_turn(self, case: Case) -> float:
        """Rough estimate of the seconds of a turn, before anything is measured."""
        graphs = case.graphs if self.max_steps is None else min(case.graphs, self.max_steps * case.batch_size)
        return max(self.turn_seconds, graphs / case.graphs * case.size / SIZE_PER_SECOND)

    def estimate_growth(self) -> float:
        """Rough estimate of the seconds of the growth measurements."""
        return self.max_edges / GROWTH_EDGES_PER_SECOND

    def estimate(self) -> float:
        """Rough estimate of the seconds of all measurements."""
        turns = sum(self.num_turns * self.estimate_turn(case_named(name)) for name in self.cases)
        return turns + self.estimate_growth()


FULL = Protocol(
    quick=False,
    cases=tuple(CASES),
    repetitions=5,
    turn_seconds=1.0,
    max_steps=None,
    memory=True,
    max_edges=10_000_000,
)
QUICK = Protocol(
    quick=True,
    cases=("NCI1", "ENZYMES"),
    repetitions=3,
    turn_seconds=0.2,
    max_steps=6,
    memory=False,
    max_edges=0,
)
