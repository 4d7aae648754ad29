"""Epochs of several trainings, interleaved in one run, and the memory of a step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F

from bankgcn.bench.cases import Case
from bankgcn.bench.memory import Steps, peak_bytes
from bankgcn.bench.peers import HIDDEN, LAYERS, PEERS, PlainTraining
from bankgcn.data.convert import to_pyg
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.fitting import Training

OURS, PRODUCTS = "ours", "matrix products"
TURN = 1.0  # seconds that each contender has at least before the next one's turn


class OurTraining:
    """Training as ``bankgcn train`` does it.

    Args:
        graphs: What to train on.
        batch_size: Graphs per step.
    """

    def __init__(self, graphs: GraphSet, batch_size: int):
        torch.manual_seed(0)
        net = ModelConfig().build(graphs.num_features, graphs.num_classes)
        config = TrainConfig(batch_size=batch_size, gamma=0.0)
        self.training = Training(net, graphs, graphs[:1], config, torch.Generator().manual_seed(0))

    def steps(self) -> Iterator[None]:
        """One epoch; a step is done whenever this yields."""
        yield from (None for _ in self.training.steps())


class MatrixProducts:
    """The dense products of such a training and nothing else: what nobody who computes with every node can do without.

    Args:
        graphs: What it would train on.
        batch_size: Graphs per step.
    """

    def __init__(self, graphs: GraphSet, batch_size: int):
        self.widths = [graphs.num_features] + [HIDDEN] * LAYERS
        self.sizes = [int(graphs.num_nodes[i : i + batch_size].sum()) for i in range(0, len(graphs), batch_size)]
        self.weights = [torch.randn(HIDDEN, width) for width in self.widths[:-1]]
        self.signals = torch.randn(max(self.sizes), max(self.widths))

    def steps(self) -> Iterator[None]:
        """One epoch; a step is done whenever this yields."""
        for size in self.sizes:
            for number, weight in enumerate(self.weights):
                x = self.signals[:size, : weight.size(1)].contiguous()
                y = F.linear(x, weight)
                y.T @ x  # gradient of the weights
                if number:
                    y @ weight  # gradient of the signals, which the first layer does not need
            yield


@dataclass(frozen=True)
class CaseResult:
    """What was measured on one set of graphs.

    Args:
        name: Of the case.
        seconds: Of an epoch, by contender: one for each repetition.
        peak_bytes: Memory that a training step adds, by contender, where the system tells.
        notes: Of the graphs.
    """

    name: str
    seconds: Mapping[str, list[float]]
    peak_bytes: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def medians(self) -> dict[str, float]:
        """Median seconds of each contender."""
        return {name: median(times) for name, times in self.seconds.items()}

    def to_dict(self) -> dict[str, Any]:
        """As ``bankgcn bench --json`` writes it."""
        medians = self.medians
        ours, products = medians.pop(OURS), medians.pop(PRODUCTS)
        return {
            "name": self.name,
            "ours_s": ours,
            "peers": medians,
            "gemm_s": products,
            "ratios": {name: seconds / ours for name, seconds in medians.items()} | {"gemm": ours / products},
            "seconds": {name: list(times) for name, times in self.seconds.items()},
            "peak_bytes": dict(self.peak_bytes),
            "notes": list(self.notes),
        }


def measure_case(
    name: str,
    case: Case,
    graphs: GraphSet,
    *,
    peers: tuple[str, ...] = tuple(PEERS),
    repetitions: int = 5,
    max_steps: int | None = None,
    on_epoch: Callable[[str, int], None] = lambda contender, repetition: None,
) -> CaseResult:
    """Time the contenders turn by turn, so that whatever else the machine does meets them all alike.

    Args:
        name: Of the case.
        case: How it is trained on.
        graphs: Its graphs.
        peers: Names in ``PEERS``.
        repetitions: Turns of each contender, of an epoch or a second; one before them is not counted.
        max_steps: Steps per epoch at most.
        on_epoch: Called before each epoch.
    """
    contenders: dict[str, Steps] = {OURS: OurTraining(graphs, case.batch_size)}
    contenders |= {peer: PlainTraining(peer, graphs, case.batch_size) for peer in peers}
    contenders[PRODUCTS] = MatrixProducts(graphs, case.batch_size)
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    for repetition in range(repetitions + 1):
        for contender, training in contenders.items():
            on_epoch(contender, repetition)
            elapsed = _epoch_seconds(training, max_steps)
            if repetition:
                seconds[contender].append(elapsed)
    peaks = {contender: peak_bytes(training) for contender, training in contenders.items() if contender != PRODUCTS}
    known = {contender: peak for contender, peak in peaks.items() if peak is not None}
    return CaseResult(name, seconds, known, graphs.notes)


def _epoch_seconds(training: Steps, max_steps: int | None) -> float:
    """Seconds of an epoch, as a mean over a whole turn: a short epoch alone would be at the mercy of a moment."""
    started, epochs = time.perf_counter(), 0
    while True:
        for _ in islice(training.steps(), max_steps):
            pass
        epochs += 1
        elapsed = time.perf_counter() - started
        if elapsed >= TURN:
            return elapsed / epochs


def batching_seconds(graphs: GraphSet, batch_size: int, repetitions: int = 5) -> dict[str, list[float]]:
    """Time to make the shuffled batches of an epoch, in turns: ours with all that a network takes, and PyG's loader."""
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
    """Fields of our batches are made when they are asked for; this asks."""
