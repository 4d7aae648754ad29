"""The memory of a process must not grow: over many epochs of one training, and over many runs.

The resident memory is compared after a tenth of the work, when all is compiled and all buffers are there, and at the
end.

    python soak/memory.py --epochs 1000 --runs 100
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
import tempfile
from pathlib import Path

import torch

from bankgcn.experiments import RunSpec, Store, sweep
from bankgcn.experiments.engines.base import Event, SerialEngine
from bankgcn.training.callbacks import Callback
from bankgcn.training.execute import execute
from bankgcn.training.fitting import Epoch

LIMIT = 0.05
SPEC = RunSpec(dataset="MUTAG").with_(hidden_channels=16, num_layers=2)


def resident() -> int:
    """Bytes of memory that the process has, after what is free is given back."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth_over_epochs(epochs: int, checkpoint: Path) -> float:
    """By which share the memory grows over a training with checkpoints."""
    measured = _Measured(epochs // 10, epochs)
    execute(SPEC.with_(max_epochs=epochs, patience=epochs), callbacks=[measured], checkpoint=checkpoint)
    return measured.sizes[epochs] / measured.sizes[epochs // 10] - 1


class _Measured(Callback):
    """Measures the memory after some epochs."""

    def __init__(self, *epochs: int):
        self.epochs = epochs
        self.sizes: dict[int, int] = {}

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Measure, if it is one of the epochs."""
        if epoch.number in self.epochs:
            self.sizes[epoch.number] = resident()


def growth_over_runs(runs: int, folder: Path) -> float:
    """By which share the memory grows over a sweep in this process: different models, options and seeds."""
    bases = [
        SPEC,
        SPEC.with_(conv="mlp"),
        SPEC.with_(dropout=0.2),
        SPEC.with_(num_subspaces=4),
        SPEC.with_(norm="layer"),
    ]
    configs = [bases[number % len(bases)].with_(seed=number, max_epochs=3) for number in range(runs)]
    ended, sizes = [0], {}

    def measure(event: Event) -> None:
        if event.kind == "finished":
            ended[0] += 1
            if ended[0] in (runs // 10, runs):
                sizes[ended[0]] = resident()

    sweep(configs, Store(folder), SerialEngine(), measure)
    return sizes[runs] / sizes[runs // 10] - 1


def main() -> None:
    """Measure both, and print the growth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        over_epochs = growth_over_epochs(options.epochs, Path(folder) / "checkpoint")
        over_runs = growth_over_runs(options.runs, Path(folder) / "store")
    print(f"memory: {over_epochs:+.1%} over {options.epochs:,} epochs, {over_runs:+.1%} over {options.runs:,} runs")
    if max(over_epochs, over_runs) > LIMIT:
        sys.exit(f"error: more than {LIMIT:.0%}")


if __name__ == "__main__":
    main()
