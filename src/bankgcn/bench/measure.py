"""Measure one case: what is measured and how long, in which turns, and the figures that are made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bankgcn.bench.cases import CASES, Case, case_named
from bankgcn.bench.peers import (
    OURS,
    PRODUCTS,
    MatrixProducts,
    OurTraining,
    PlainTraining,
    Steps,
    our_name,
    peer_name,
    products_name,
)
from bankgcn.data.convert import to_pyg
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.nn.convs import PLAIN_CONVS

SIZE_PER_SECOND = 150_000
"""Nodes and edges that a slow contender trains on: a guess for the progress bar, and for nothing else."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What is measured, and how long.

    Args:
        quick: Whether this is a quick look, whose figures are too noisy to quote.
        cases: Names in ``CASES``.
        models: Names in ``PLAIN_CONVS``.
        repetitions: Number of timed turns of each contender, after one turn to warm up.
        turn_seconds: Minimum seconds of a turn.
        max_steps: Maximum number of steps in an epoch; ``None`` trains on all graphs of the case.
    """

    quick: bool
    cases: tuple[str, ...]
    models: tuple[str, ...] = PLAIN_CONVS
    repetitions: int
    turn_seconds: float
    max_steps: int | None

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
        return len(self.contenders) * (self.repetitions + 1)

    def estimate_turn(self, case: Case) -> float:
        """Rough estimate of the seconds of a turn, before anything is measured."""
        graphs = case.graphs if self.max_steps is None else min(case.graphs, self.max_steps * case.batch_size)
        return max(self.turn_seconds, graphs / case.graphs * case.size / SIZE_PER_SECOND)

    def estimate(self) -> float:
        """Rough estimate of the seconds of all measurements."""
        return sum(self.num_turns * self.estimate_turn(case_named(name)) for name in self.cases)


FULL = Protocol(quick=False, cases=tuple(CASES), repetitions=5, turn_seconds=1.0, max_steps=None)
QUICK = Protocol(quick=True, cases=("NCI1", "ENZYMES"), repetitions=3, turn_seconds=0.2, max_steps=6)


OnTurn = Callable[[str], None]
"""Called before each turn, with a description."""


def ignore_turn(description: str) -> None:
    """Show nothing."""


def describe_turn(contender: str, repetition: int, repetitions: int) -> str:
    """What happens in a turn; the turn before the first one warms up."""
    return f"{contender}, turn {repetition} of {repetitions}" if repetition else f"{contender}, warm-up"


def take_turns(
    contenders: Mapping[str, Steps], *, repetitions: int, turn_seconds: float, on_turn: OnTurn = ignore_turn
) -> dict[str, list[float]]:
    """Seconds of an epoch of each contender, one value for each repetition.

    Args:
        contenders: The trainings by name.
        repetitions: Number of timed turns of each contender, after one turn to warm up.
        turn_seconds: Minimum seconds of a turn.
        on_turn: Called before each turn.
    """
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    for repetition in range(repetitions + 1):
        for contender, training in contenders.items():
            on_turn(describe_turn(contender, repetition, repetitions))
            elapsed = epoch_seconds(training, turn_seconds)
            if repetition:
                seconds[contender].append(elapsed)
    return seconds


def epoch_seconds(training: Steps, turn_seconds: float) -> float:
    """Seconds of an epoch, as a mean over a turn: a single short epoch would be too noisy."""
    started, epochs = time.perf_counter(), 0
    while True:
        run_epoch(training)
        epochs += 1
        elapsed = time.perf_counter() - started
        if elapsed >= turn_seconds:
            return elapsed / epochs


def run_epoch(training: Steps) -> None:
    """Take all steps of an epoch."""
    for _ in training.steps():
        pass


@dataclass(frozen=True)
class CaseResult:
    """Measurements on one set of graphs.

    Args:
        name: Name of the case.
        models: Names of the models.
        steps: Number of steps in an epoch.
        seconds: Seconds of an epoch, by contender, one value for each repetition.
        notes: Notes of the graphs.
    """

    name: str
    models: tuple[str, ...]
    steps: int
    seconds: Mapping[str, list[float]]
    notes: tuple[str, ...]

    @property
    def medians(self) -> dict[str, float]:
        """Median seconds of each contender."""
        return {name: median(times) for name, times in self.seconds.items()}

    def figures(self, model: str) -> dict[str, float]:
        """A model, ours and PyG's: medians, PyG's time by ours, and our time by that of the model's matrix products."""
        medians = self.medians
        ours, pyg, products = (medians[name(model)] for name in (our_name, peer_name, products_name))
        return {"ours_s": ours, "pyg_s": pyg, "ratio": pyg / ours, "gemm_s": products, "gemm_ratio": ours / products}

    def to_dict(self) -> dict[str, Any]:
        """The values that ``bankgcn bench --json`` writes.

        ``models`` compares each model of ours with the same model of PyG. ``ours_s``, ``gemm_s`` and ``ratios`` compare
        our BankGCN with all models of PyG; without BankGCN, ``ours_s`` is ``None`` and ``ratios`` is empty.
        """
        medians = self.medians
        peers = {peer_name(model): medians[peer_name(model)] for model in self.models}
        ours, products = medians.get(OURS), medians.get(PRODUCTS)
        ratios = {}
        if ours is not None and products is not None:
            ratios = {peer: seconds / ours for peer, seconds in peers.items()} | {"gemm": ours / products}
        return {
            "name": self.name,
            "steps": self.steps,
            "models": {model: self.figures(model) for model in self.models},
            "ours_s": ours,
            "peers": peers,
            "gemm_s": products,
            "ratios": ratios,
            "seconds": {name: list(times) for name, times in self.seconds.items()},
            "notes": list(self.notes),
        }


def make_contenders(graphs: GraphSet, batch_size: int, models: Sequence[str]) -> dict[str, Steps]:
    """For each model: our training, that of plain PyG, and the matrix products, unless an earlier model has the same.

    Args:
        graphs: The graphs of an epoch.
        batch_size: Graphs per step.
        models: Names in ``PLAIN_CONVS``.
    """
    contenders: dict[str, Steps] = {}
    for model in models:
        contenders[our_name(model)] = OurTraining(graphs, batch_size, model)
        contenders[peer_name(model)] = PlainTraining(model, graphs, batch_size)
        if products_name(model) not in contenders:
            contenders[products_name(model)] = MatrixProducts(graphs, batch_size, model)
    return contenders


def measure_case(
    name: str, graphs: GraphSet, batch_size: int, protocol: Protocol = FULL, on_turn: OnTurn = ignore_turn
) -> CaseResult:
    """Time the contenders in turns.

    Args:
        name: Name of the case.
        graphs: The graphs of an epoch.
        batch_size: Graphs per step.
        protocol: What is measured.
        on_turn: Called before each turn.
    """
    contenders = make_contenders(graphs, batch_size, protocol.models)
    seconds = take_turns(
        contenders, repetitions=protocol.repetitions, turn_seconds=protocol.turn_seconds, on_turn=on_turn
    )
    steps = -(-len(graphs) // batch_size)
    return CaseResult(name, protocol.models, steps, seconds, graphs.notes)


def batching_seconds(graphs: GraphSet, batch_size: int, repetitions: int = 5) -> dict[str, list[float]]:
    """Seconds to make the shuffled batches of an epoch, in turns: ours with all fields, and those of PyG's loader."""
    require("torch_geometric", "the comparison with PyG")
    from torch_geometric.loader import DataLoader

    loader: Any = DataLoader(to_pyg(graphs), batch_size=batch_size, shuffle=True)
    seconds: dict[str, list[float]] = {OURS: [], "PyG DataLoader": []}
    for _ in range(repetitions):
        started = time.perf_counter()
        for batch in graphs.batches(batch_size, shuffle=True):
            _touch(batch.x, batch.shift, batch.batch, batch.y)
        between = time.perf_counter()
        for collated in loader:
            _touch(collated.x, collated.edge_index, collated.batch, collated.y)
        seconds[OURS].append(between - started)
        seconds["PyG DataLoader"].append(time.perf_counter() - between)
    return seconds


def _touch(*fields: object) -> None:
    """Evaluate the lazy fields of a batch."""
