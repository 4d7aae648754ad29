"""Molecules a second of ``bankgcn predict`` on a large table, beside RDKit's bare ``MolFromSmiles``, in turns.

    python scripts/make_library.py 200000 --out library.csv
    python benchmarks/library_rate.py runs/esol library.csv --workers 2 [--turns 3] [--chemprop model.pt]

The bare rate is that of as many processes, each with its share of the blocks; only the time within ``MolFromSmiles``
counts. That of ``predict`` is of the whole command: start, reading, writing. Its memory is the peak of the proportional
set size, summed over all its processes, looked at twice a second (Linux). ``--chemprop`` names a model that ``chemprop
train`` wrote (``model_0/best.pt``); chemprop is installed as in ``chemprop_runs.py`` and predicts the same rows, with
as many processes that read molecules. It ends at a molecule that RDKit refuses, so then all leave such rows out.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from chemprop_runs import installed

BLOCK = 1_000
LOOK_SECONDS = 0.5
WARM_UP = 1_000  # rows of a first call, which compiles


class Measured(NamedTuple):
    """What one call took."""

    seconds: float
    memory: int = 0  # bytes


def main() -> None:
    """Measure, and print each turn and the medians."""
    arguments = _arguments()
    ways = {"MolFromSmiles": lambda folder: bare(arguments.library, arguments.workers)}
    ways["bankgcn"] = lambda folder: run(_bankgcn(arguments, arguments.library, folder), folder)
    if arguments.chemprop:
        program = installed(arguments.environment)
        ways["chemprop"] = lambda folder: run(_chemprop(program, arguments, folder), folder)
    found: dict[str, list[Measured]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.chemprop:
            arguments.library = _readable(arguments.library, folder)
        rows = sum(len(block) for block in _blocks(arguments.library))
        print(f"{rows:,} rows, {arguments.workers} process{'es' * (arguments.workers > 1)}", flush=True)
        run(_bankgcn(arguments, _head(arguments.library, folder), folder), folder)
        for turn in range(1, arguments.turns + 1):
            for way, measure in ways.items():
                found[way].append(measure(folder))
                one = found[way][-1]
                memory = f", {one.memory / 2**20:,.0f} MiB" if one.memory else ""
                print(f"turn {turn}: {way}: {rows / one.seconds:,.0f} molecules a second{memory}", flush=True)
    for way, each in found.items():
        ratios = [base.seconds / one.seconds for base, one in zip(found["MolFromSmiles"], each, strict=True)]
        listed = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        rate = median(rows / one.seconds for one in each)
        memory = max(one.memory for one in each) / 2**20
        print(
            f"{way}: {rate:,.0f} molecules a second; {median(ratios):.3f} of MolFromSmiles ({listed})"
            + (f"; {memory:,.0f} MiB at most" if memory else "")
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, help="folder of a run, or of several")
    parser.add_argument("library", type=Path, help="table with a column 'smiles' (.csv)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--chemprop", type=Path, help="model of chemprop to compare with")
    parser.add_argument("--environment", type=Path, default=Path(".chemprop"), help="where chemprop is installed")
    return parser.parse_args()


def bare(library: Path, workers: int) -> Measured:
    """The time that the slowest of some processes spends in ``MolFromSmiles``."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        shares = [(library, worker, workers) for worker in range(workers)]
        return Measured(max(pool.starmap(_seconds_of_share, shares, chunksize=1)))


def _seconds_of_share(library: Path, worker: int, workers: int) -> float:
    from rdkit import RDLogger
    from rdkit.Chem import MolFromSmiles

    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    seconds = 0.0
    for number, block in enumerate(_blocks(library)):
        if number % workers == worker:
            started = time.perf_counter()
            for smiles in block:
                MolFromSmiles(smiles)
            seconds += time.perf_counter() - started
    return seconds


def _blocks(library: Path) -> Iterator[list[str]]:
    """The SMILES of each block of rows."""
    with library.open(newline="", encoding="utf-8") as file:
        table = csv.reader(file)
        place = next(table).index("smiles")
        while block := [row[place] for row in islice(table, BLOCK) if row]:
            yield block


def _head(library: Path, folder: Path) -> Path:
    """The first rows of a table, as a table."""
    path = folder / "head.csv"
    with library.open(encoding="utf-8") as file:
        path.write_text("".join(islice(file, 1 + WARM_UP)), encoding="utf-8")
    return path


def _readable(library: Path, folder: Path) -> Path:
    """The molecules that RDKit reads, as a table."""
    from rdkit import RDLogger
    from rdkit.Chem import MolFromSmiles

    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    path = folder / "readable.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["smiles"])
        table.writerows([smiles] for block in _blocks(library) for smiles in block if MolFromSmiles(smiles))
    return path


def _bankgcn(arguments: argparse.Namespace, library: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "bankgcn", "predict", arguments.run, library, "--out", folder / "predictions.csv"]
    workers = [] if arguments.workers == 1 else ["--workers", arguments.workers]
    return [str(word) for word in (*command, *workers)]


def _chemprop(program: Path, arguments: argparse.Namespace, folder: Path) -> list[str]:
    command = [program, "predict", "--test-path", arguments.library, "--smiles-columns", "smiles"]
    command += ["--model-paths", arguments.chemprop, "--preds-path", folder / "chemprop.csv", "--accelerator", "cpu"]
    workers = 0 if arguments.workers == 1 else arguments.workers
    return [str(word) for word in (*command, "--num-workers", workers)]


def run(command: Sequence[str], folder: Path) -> Measured:
    """Seconds of the clock and peak memory of a program and the processes that it starts."""
    variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(dir=folder) as cache, (folder / "messages").open("w+") as messages:
        variables["BANKGCN_CACHE"] = cache  # so that no turn finds the molecules that an earlier one has read
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=messages, stderr=messages, env={**os.environ, **variables})
        peak = _Peak(process.pid)
        status = process.wait()
        seconds = time.perf_counter() - started
        memory = peak.end()
        if status:
            messages.seek(0)
            sys.exit(f"{' '.join(command)} ended with status {status}: {messages.read()[-2000:]}")
    return Measured(seconds, memory)


class _Peak:
    """Looks at the memory of a tree of processes again and again."""

    def __init__(self, process: int):
        self._process, self._peak, self._over = process, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def end(self) -> int:
        """The largest sum of their proportional set sizes, in bytes."""
        self._over.set()
        self._thread.join()
        return self._peak

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._peak = max(self._peak, sum(map(_proportional_size, _tree(self._process))))


def _tree(process: int) -> Iterator[int]:
    """A process and those that it started."""
    yield process
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from _tree(int(child))


def _proportional_size(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
