"""Time epochs of several trainings in turns, and measure the memory of a step."""

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
TURN = 1.0  # minimum seconds of a turn


class OurTraining:
    """Training as in ``bankgcn train``.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
    """

    def __init__(self, graphs: GraphSet, batch_size: int):
        torch.manual_seed(0)
        net = ModelConfig().build(graphs.num_features, graphs.num_classes)
        config = TrainConfig(batch_size=batch_size, gamma=0.0)
        self.training = Training(net, graphs, graphs[:1], config, torch.Generator().manual_seed(0))

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        yield from (None for _ in self.training.steps())


class MatrixProducts:
    """Only the dense matrix products of such a training: a lower bound for programs that compute with every node.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
    """

    def __init__(self, graphs: GraphSet, batch_size: int):
        self.widths = [graphs.num_features] + [HIDDEN] * LAYERS
        self.sizes = [int(graphs.num_nodes[i : i + batch_size].sum()) for i in range(0, len(graphs), batch_size)]
        self.weights = [torch.randn(HIDDEN, width) for width in self.widths[:-1]]
        self.signals = torch.randn(max(self.sizes), max(self.widths))

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        for size in self.sizes:
            for number, weight in enumerate(self.weights):
                x = self.signals[:size, : weight.size(1)].contiguous()
                y = F.linear(x, weight)
                y.T @ x  # gradient of the weights
                if number:
                    y @ weight  # gradient of the signals; the first layer does not need it
            yield


@dataclass(frozen=True)
class CaseResult:
    """Measurements on one set of graphs.

    Args:
        name: Name of the case.
        seconds: Seconds of an epoch, by contender, one value for each repetition.
        peak_bytes: Memory that a training step adds, by contender, if the system reports it.
        notes: Notes of the graphs.
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
        """The values that ``bankgcn bench --json`` writes."""
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
    """Time the contenders in turns, so that other work on the machine slows all of them.

    Args:
        name: Name of the case.
        case: The case.
        graphs: The graphs of the case.
        peers: Names in ``PEERS``.
        repetitions: Number of timed turns of each contender, after one turn to warm up.
        max_steps: Maximum number of steps per epoch.
        on_epoch: Called before each turn.
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
    measured = {contender: peak for contender, peak in peaks.items() if peak is not None}
    return CaseResult(name, seconds, measured, graphs.notes)


def _epoch_seconds(training: Steps, max_steps: int | None) -> float:
    """Seconds of an epoch, as a mean over a turn: a single short epoch would be too noisy."""
    started, epochs = time.perf_counter(), 0
    while True:
        for _ in islice(training.steps(), max_steps):
            pass
        epochs += 1
        elapsed = time.perf_counter() - started
        if elapsed >= TURN:
            return elapsed / epochs


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
