"""One epoch of shuffled batches: GraphSet and PyG's DataLoader in one run.

    python benchmarks/batching.py [--case NCI1] [--repetitions 15]

Uses generated graphs of the same statistics if the dataset is not stored on this machine. PyG stores one-hot signals;
GraphSet makes them, and the shift, in every batch.
"""

from __future__ import annotations

import argparse
from statistics import median

import torch

from bankgcn.bench import OURS, batching_seconds, case_named


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="NCI1")
    parser.add_argument("--repetitions", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    case = case_named(arguments.case)
    graphs = case.load()
    print(graphs, *graphs.notes, sep="\n")
    seconds = batching_seconds(graphs, case.batch_size, arguments.repetitions)
    ours = median(seconds[OURS])
    for contender, times in seconds.items():
        spread = f"{1000 * min(times):.1f} to {1000 * max(times):.1f}"
        print(f"{contender:15} {1000 * median(times):7.1f} ms ({spread})   {median(times) / ours:5.1f} x ours")


if __name__ == "__main__":
    main()
