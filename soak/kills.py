"""Kill trainings, sweeps, tables, predictions and reports at random moments, resume, and compare with no kills.

Half of the kills come at a random time; the other half before a random file operation: in the middle of the write of a
record, a model, a checkpoint, the cache of a dataset, a table, a page. After each kill the same commands run again.
At last all files must be those of the undisturbed run, byte for byte apart from times, and no other file may be there.

    python soak/kills.py --kills 200
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import torch

import bankgcn.training.fitting
from bankgcn.cli import app
from bankgcn.data.builtin import mutag
from bankgcn.data.readers.json_graphs import write_jsonlines
from children import count_operations, kill, start, wait

SETTINGS = ("--epochs", "4")
SMALL = ("--hidden", "8", "--layers", "2", *SETTINGS)
TABLE = ("table1", "--datasets", "MUTAG", "--models", "mlp,bank-K2-s8", "--runs", "2", *SETTINGS)
ENGINES = ("serial",) * 5 + ("local",)  # processes take seconds to start
GRID = ("--gammas", "0.1", "--weight-decays", "0")


def commands(work: Path, data: Path, engine: str) -> list[list[str]]:
    """What is typed, again and again."""
    train = ["train", str(data), "--out", str(work / "run"), *SMALL]
    sweep = ["paper", "reproduce", *TABLE, *GRID, "--store", str(work / "store"), "--engine", engine]
    table = ["paper", "table", *TABLE, *GRID, "--store", str(work / "store"), "--format", "csv"]
    table += ["--out", str(work / "table.csv")]
    predict = ["predict", str(work / "run"), str(data), "--out", str(work / "predictions.csv")]
    embed = ["embed", str(work / "run"), str(data), "--out", str(work / "embeddings.npy")]
    compare = ["compare", str(data), "--models", "mlp,bank", "--runs", "2", *SMALL, *GRID, "--engine", engine]
    compare += ["--store", str(work / "comparison")]
    explain = ["explain", str(work / "run"), str(data), "--out", str(work / "explanations.csv")]
    report = ["report", str(work / "run"), "--graphs", "3", "--out", str(work / "report.html")]
    return [train, sweep, table, predict, embed, compare, explain, report]


def run_commands(work: Path, data: Path, engine: str = "serial") -> None:
    """Type all commands in this process."""
    for command in commands(work, data, engine):
        try:
            app(command, standalone_mode=True)
        except SystemExit as ended:
            if ended.code:
                raise


def contents(work: Path) -> dict[str, bytes]:
    """All files below a folder by name, without the times in records and pages."""
    return {str(path.relative_to(work)): _without_times(path) for path in sorted(work.rglob("*")) if path.is_file()}


def _without_times(path: Path) -> bytes:
    if path.suffix == ".html":
        return re.sub(rb", in \d+ s", b"", path.read_bytes())
    if path.suffix != ".json":
        return path.read_bytes()
    content = json.loads(path.read_text())
    for part in (content, content.get("record", {})):
        for name in ("seconds", "sha256"):
            part.pop(name, None)
    return json.dumps(content).encode()


def differences(found: dict[str, bytes], expected: dict[str, bytes]) -> list[str]:
    """Names of files that are missing, that should not be there, or that differ."""
    return [name for name in sorted(found.keys() | expected.keys()) if found.get(name) != expected.get(name)]


def main() -> None:
    """Kill and resume until there were as many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    torch.set_num_threads(1)
    bankgcn.training.fitting.CHECKPOINT_SECONDS = 0.0  # a checkpoint after every epoch
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        data, work, log = folder / "own.jsonl", folder / "work", folder / "log"
        os.environ["BANKGCN_CACHE"] = str(work / "cache")
        write_jsonlines(mutag()[:60], data)
        os.utime(data, (time.time() - 100,) * 2)  # old enough for the cache
        operations = count_operations(lambda: run_commands(work, data), work)  # compiles for all children
        expected = contents(work)
        shutil.rmtree(work)
        started = time.monotonic()
        assert wait(start(lambda: run_commands(work, data), log)) == 0, log.read_text()
        seconds = time.monotonic() - started
        print(f"{len(expected)} files, {operations} file operations, {seconds:.1f} s undisturbed", flush=True)
        assert not differences(contents(work), expected), "two undisturbed runs differ"
        kills: Counter[str] = Counter()
        chains = 0
        while kills.total() < options.kills:
            shutil.rmtree(work)
            for _ in range(rng.randint(1, 6)):
                at_operation = rng.random() < 0.5
                number = rng.randint(1, operations) if at_operation else None
                engine = rng.choice(ENGINES)
                child = start(partial(run_commands, work, data, engine), log, number, work)
                if not at_operation:
                    time.sleep(rng.uniform(0, seconds))
                    kill(child)
                code = wait(child)
                assert code in (0, -9), f"exit code {code}\n{log.read_text()[-3000:]}"
                if code == -9:
                    kills["before a file operation" if at_operation else "at a random time"] += 1
            code = wait(start(lambda: run_commands(work, data), log))
            assert code == 0, f"the last resume ended with {code}\n{log.read_text()[-3000:]}"
            found = contents(work)
            wrong = differences(found, expected)
            state = {name: "differs" if name in expected and name in found else name in found for name in wrong}
            assert not wrong, f"after {kills.total()} kills, these files differ, or are there or not: {state}"
            chains += 1
            print(f"{kills.total()} kills in {chains} chains: all files as undisturbed", end="\r", file=sys.stderr)
        print(f"\n{dict(kills)} kills, {chains} times resumed to the end: all files as undisturbed, none left over")


if __name__ == "__main__":
    main()
