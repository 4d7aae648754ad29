"""An epoch of each baseline, with the edges prepared once by the network and with each layer preparing its own.

    python benchmarks/baselines.py [--repetitions 20] [--convs gcn,sage,gin]

NCI1 (or generated graphs of the same statistics), one thread. The two take turns; the script prints the median ratio.
Nothing is prepared for GIN, GAT and ChebNet: their ratio shows the noise.
"""

from __future__ import annotations

import argparse
import time
from statistics import median, quantiles

import torch

from bankgcn.bench import case_named
from bankgcn.nn import CONVS, GraphNetwork
from bankgcn.training import TrainConfig, evaluate
from bankgcn.training.fitting import Training

PREPARED, PLAIN = "prepared", "plain"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--convs", default="gcn,sage,gin")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    case = case_named("NCI1")
    graphs = case.load()
    print(graphs, *graphs.notes, sep="\n")
    config = TrainConfig(batch_size=case.batch_size, gamma=0.0)
    for name in arguments.convs.split(","):
        trainings = {}
        for way, conv in ((PREPARED, name), (PLAIN, CONVS[name])):  # a network knows how to prepare for a name only
            torch.manual_seed(0)
            net = GraphNetwork(graphs.num_features, graphs.num_classes, conv=conv)
            trainings[way] = Training(net, graphs, graphs[:1], config, torch.Generator().manual_seed(0))
        _compare(name, trainings, arguments.repetitions)


def _compare(name: str, trainings: dict[str, Training], repetitions: int) -> None:
    seconds: dict[str, dict[str, list[float]]] = {
        part: {way: [] for way in trainings} for part in ("train", "evaluate")
    }
    for repetition in range(repetitions + 1):  # one more, which is not counted
        turns = list(trainings.items())
        for way, training in turns if repetition % 2 else reversed(turns):
            started = time.perf_counter()
            for _ in training.steps():
                pass
            between = time.perf_counter()
            evaluate(training.net, training.train)
            ended = time.perf_counter()
            if repetition:
                seconds["train"][way].append(between - started)
                seconds["evaluate"][way].append(ended - between)
    for part, times in seconds.items():
        ratios = [after / before for after, before in zip(times[PREPARED], times[PLAIN], strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        medians = ", ".join(f"{way} {median(times[way]):.3f} s" for way in (PLAIN, PREPARED))
        print(f"{name:5} {part:8}  {medians}   ratio {middle:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
