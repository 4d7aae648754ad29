"""The memory that a training step adds to the process, allocated by PyTorch, NumPy or compiled code.

    python benchmarks/step_memory.py [--case NCI1] [--models bank,gcn]

Ours beside plain PyG, one line for each model.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
from itertools import cycle, islice
from pathlib import Path

import torch

from bankgcn.bench import case_named
from bankgcn.bench.peers import OurTraining, PlainTraining, Steps
from bankgcn.nn.convs import CONVS
from bankgcn.training.fitting import MMAP_THRESHOLD, TRIM_THRESHOLD, reuse_memory

GLIBC_DEFAULT = 128 << 10  # bytes, of both thresholds
STEPS = 20  # more than one call of the compiled code takes
RESET_PEAK = "5"  # written to /proc/self/clear_refs, it resets the peak; see proc(5)


def peak_bytes(training: Steps) -> int | None:
    """Peak memory of the process during some steps, minus its memory before them, in bytes.

    During the measurement, freed memory returns to the system, which is the default of the C library, so that
    reusable memory counts in the same way for every contender. ``None`` if the system does not report the peak.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    for threshold in (MMAP_THRESHOLD, TRIM_THRESHOLD):
        libc.mallopt(threshold, GLIBC_DEFAULT)
    try:
        next(training.steps())  # allocate what lasts for the whole training
        gc.collect()
        libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
        before = _bytes("VmRSS")
        for _ in islice((None for _ in cycle([None]) for _ in training.steps()), STEPS):
            pass
        return _bytes("VmHWM") - before
    except OSError:  # some kernels do not allow it
        return None
    finally:
        reuse_memory.cache_clear()
        reuse_memory()


def _bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="NCI1")
    parser.add_argument("--models", default=",".join(CONVS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    case = case_named(arguments.case)
    graphs = case.load()
    print(graphs, *graphs.notes, sep="\n")
    for model in arguments.models.split(","):
        pair = (OurTraining(graphs, case.batch_size, model), PlainTraining(model, graphs, case.batch_size))
        peaks = [peak_bytes(training) for training in pair]
        ours, pyg = ("unknown" if peak is None else f"{peak / 2**20:.1f} MiB" for peak in peaks)
        print(f"{model}: memory of a step {ours}, PyG {pyg}")


if __name__ == "__main__":
    main()
