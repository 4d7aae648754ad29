"""The times of two checkouts, measured in turns: old, new, old, new, ...

Seconds are those of the processor, which other programs on the machine change less than those of the clock. A ratio is
the median over the turns of new by old.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

FEW = 2
EPOCHS = {"NCI1": 40, "DD": 10}
TURNS, STARTS = 5, 11

_TIME_EPOCHS = """
import runpy, sys, time
def train(epochs):
    sys.argv = ["bankgcn", "train", sys.argv_of_script[1], "--epochs", str(epochs), "--out", f"run{epochs}"]
    start = time.process_time()
    try:
        runpy.run_module("bankgcn", run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
    return time.process_time() - start
sys.argv_of_script = sys.argv
few, more = int(sys.argv[2]), int(sys.argv[3])
train(1)
short = train(few)
print("seconds", (train(few + more) - short) / more)
"""
"""Constant costs, such as reading the graphs, are those of the short run; a first run compiles and fills caches."""


def environment(checkout: Path, cache: Path) -> dict[str, str]:
    """The variables for a process that uses a checkout, with a cache of its own."""
    return {
        **os.environ,
        "PYTHONPATH": str(checkout / "src"),
        "BANKGCN_CACHE": str(cache),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "80",
        "PYTHONUTF8": "1",
    }


def compare_speed(old: Path, new: Path) -> None:
    """Measure and print the seconds of both checkouts and their ratio."""
    root = Path(os.environ.get("BANKGCN_DATA") or "nowhere")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [(old, Path(scratch) / "old"), (new, Path(scratch) / "new")]
        for checkout, folder in folders:
            folder.mkdir()
            (folder / "one.csv").write_text("smiles\nCCO\n")
            (folder / "few.csv").write_text("smiles,active\n" + "".join(f"{'C' * n}O,{n % 2}\n" for n in range(1, 31)))
            _command(checkout, folder, "train", "few.csv", "--epochs", "2", "--out", "model")
        for name, more in EPOCHS.items():
            if (root / "TU" / f"{name}.zip").exists():
                _in_turns(f"epoch of {name}", folders, TURNS, lambda c, f, n=name, m=more: _epoch(c, f, n, m))
        _in_turns("bankgcn --help", folders, STARTS, lambda c, f: _command(c, f, "--help"))
        _in_turns("predict one molecule", folders, TURNS, lambda c, f: _command(c, f, "predict", "model", "one.csv"))


def _in_turns(name: str, folders: list[tuple[Path, Path]], turns: int, measure: Callable[[Path, Path], float]) -> None:
    for checkout, folder in folders:
        measure(checkout, folder)  # not counted: files that the system reads for the first time
    rows = [[measure(checkout, folder) for checkout, folder in folders] for _ in range(turns)]
    old, new = (median(column) for column in zip(*rows, strict=True))
    ratio = median(second / first for first, second in rows)
    print(f"{name:22} old {old:.3f} s, new {new:.3f} s, ratio {ratio:.3f} ({turns} turns)", flush=True)


def _epoch(checkout: Path, folder: Path, dataset: str, more: int) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as runs:
        command = [sys.executable, "-c", _TIME_EPOCHS, dataset, str(FEW), str(more)]
        variables = environment(checkout, folder / "cache")
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=runs, env=variables)
    return float(done.stdout.rpartition("seconds ")[2])


def _command(checkout: Path, folder: Path, *arguments: str) -> float:
    """Seconds of the processor that a command takes, with the start of Python."""
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "bankgcn", *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment(checkout, folder / "cache"))
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
