"""Measure one case: the time of an epoch of each contender, the memory of its steps, and the time to make batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bankgcn.bench.memory import Steps, peak_bytes
from bankgcn.bench.ours import OURS, OurTraining, our_name
from bankgcn.bench.peers import PlainTraining, peer_name
from bankgcn.bench.products import MatrixProducts, products_name
from bankgcn.bench.protocol import FULL, Protocol
from bankgcn.bench.result import CaseResult
from bankgcn.bench.turns import OnTurn, ignore_turn, take_turns
from bankgcn.data.convert import to_pyg
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require


def make_contenders(graphs: GraphSet, batch_size: int, models: Sequence[str]) -> dict[str, Steps]:
    """For each model: our training, that of plain PyG, and the matrix products, unless an earlier model has the same.

    Args:
        graphs: The graphs of an epoch.
        batch_size: Graphs per step.
        models: Names in ``CONVS``.
    """
    contenders: dict[str, Steps] = {}
    for model in models:
        contenders[our_name(model)] = OurTraining(graphs, batch_size, model)
        contenders[peer_name(model)] = PlainTraining(peer_name(model), graphs, batch_size)
        if products_name(model) not in contenders:
            contenders[products_name(model)] = MatrixProducts(graphs, batch_size, model)
    return contenders


def measure_case(
    name: str, graphs: GraphSet, batch_size: int, protocol: Protocol = FULL, on_turn: OnTurn = ignore_turn
) -> CaseResult:
    """Time the contenders in turns, then measure the memory of their steps.

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
    peaks = _peaks(contenders, protocol.models, on_turn) if protocol.memory else {}
    steps = -(-len(graphs) // batch_size)
    return CaseResult(name, protocol.models, steps, seconds, peaks, graphs.notes)


def _peaks(contenders: dict[str, Steps], models: Sequence[str], on_turn: OnTurn) -> dict[str, int]:
    peaks = {}
    for contender in (name(model) for model in models for name in (our_name, peer_name)):
        on_turn(f"{contender}, memory")
        peak = peak_bytes(contenders[contender])
        if peak is not None:
            peaks[contender] = peak
    return peaks


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
