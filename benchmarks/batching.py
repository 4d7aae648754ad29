"""One epoch of shuffled batches: GraphSet against PyG's DataLoader, side by side in one run.

Run it from the repository: ``python benchmarks/batching.py [--repetitions 15] [--batch-size 64]``. NCI1 is read from
``$BANKGCN_DATA/TU/NCI1.zip``; without it, random trees with a few more edges stand in, as many and as large as NCI1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from bankgcn.data import GraphSet
from bankgcn.data.convert import to_pyg

NCI1_GRAPHS, NCI1_MEAN_NODES, NCI1_MEAN_EDGES, NCI1_LABELS = 4110, 29.87, 32.30, 37


def nci1(archive: Path) -> GraphSet:
    """NCI1 from the official archive."""
    with zipfile.ZipFile(archive) as members:
        names = {Path(name).name: name for name in members.namelist()}

        def read(part: str) -> np.ndarray:
            with members.open(names[f"NCI1_{part}.txt"]) as file:
                return np.loadtxt(file, delimiter=",", dtype=np.int64)

        return GraphSet.from_edges(
            np.bincount(read("graph_indicator") - 1),
            read("A").T - 1,
            labels=read("node_labels") - 1,
            y=read("graph_labels"),
            name="NCI1",
        )


def like_nci1(seed: int = 0) -> GraphSet:
    """Random trees with some edges more, of the number and the mean size of NCI1's graphs."""
    rng = np.random.default_rng(seed)
    num_nodes = rng.poisson(NCI1_MEAN_NODES - 3, NCI1_GRAPHS) + 3
    start = np.cumsum(num_nodes) - num_nodes
    graph = np.repeat(np.arange(NCI1_GRAPHS), num_nodes)
    place = np.arange(len(graph)) - start[graph]
    child = np.flatnonzero(place > 0)
    parent = start[graph[child]] + rng.integers(0, place[child])
    more = rng.integers(0, NCI1_GRAPHS, round(NCI1_GRAPHS * (NCI1_MEAN_EDGES - NCI1_MEAN_NODES + 1)))
    ends = start[more] + rng.integers(0, num_nodes[more], (2, len(more)))
    half = np.unique(np.sort(np.concatenate([[child, parent], ends[:, ends[0] != ends[1]]], axis=1), axis=0), axis=1)
    return GraphSet.from_edges(
        num_nodes,
        np.concatenate([half, half[::-1]], axis=1),
        labels=rng.integers(0, NCI1_LABELS, len(graph)),
        label_widths=NCI1_LABELS,
        y=rng.integers(0, 2, NCI1_GRAPHS),
        name="random graphs like NCI1",
    )


def epoch_of_graph_set(graphs: GraphSet, batch_size: int) -> None:
    """All that a filter bank needs: signals, the normalised shift, the graph of each node, targets."""
    for batch in graphs.batches(batch_size, shuffle=True):
        _ = batch.x, batch.shift, batch.batch, batch.y


def epoch_of_graph_set_for_pyg(graphs: GraphSet, batch_size: int) -> None:
    """All that PyG's layers need: signals, edge list, the graph of each node, targets."""
    for batch in graphs.batches(batch_size, shuffle=True):
        _ = batch.x, batch.edge_index, batch.batch, batch.y


def epoch_of_data_loader(data_list: list[Data], batch_size: int) -> None:
    """The same from PyG, which has no shift: it would come on top."""
    for batch in DataLoader(data_list, batch_size=batch_size, shuffle=True):
        _ = batch.x, batch.edge_index, batch.batch, batch.y


def milliseconds(run: Callable[[], None]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    """Time the three in turn, again and again, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    archive = Path(os.environ.get("BANKGCN_DATA", "")) / "TU" / "NCI1.zip"
    graphs = nci1(archive) if archive.is_file() else like_nci1()
    data_list = to_pyg(graphs)
    runs: dict[str, Callable[[], None]] = {
        "PyG DataLoader": lambda: epoch_of_data_loader(data_list, arguments.batch_size),
        "GraphSet, edge_index": lambda: epoch_of_graph_set_for_pyg(graphs, arguments.batch_size),
        "GraphSet, shift": lambda: epoch_of_graph_set(graphs, arguments.batch_size),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.repetitions):
        for name, run in runs.items():
            times[name].append(milliseconds(run))
    print(f"{graphs}\none epoch, batch size {arguments.batch_size}, median of {arguments.repetitions}, one thread")
    slowest = statistics.median(times["PyG DataLoader"])
    for name, measured in times.items():
        median = statistics.median(measured)
        print(
            f"  {name:22s}{median:9.1f} ms{slowest / median:8.1f} x   ({min(measured):.1f} to {max(measured):.1f} ms)"
        )


if __name__ == "__main__":
    main()
