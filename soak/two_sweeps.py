"""Several sweeps on one store at once, killed and started again at random: each run is done once, nothing is corrupt.

A run may be tried twice only if the process that tried it first was killed.

    python soak/two_sweeps.py --rounds 20
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bankgcn.experiments import RunRecord, RunSpec, Store, sweep
from bankgcn.experiments.engines.base import SerialEngine
from bankgcn.training.callbacks import Callback
from children import kill, start, wait

RUNS, PROCESSES = 30, 3
START_SECONDS = 120
CONFIGS = [RunSpec(dataset="MUTAG", seed=seed) for seed in range(RUNS)]


class Slow:
    """A runner that trains nothing: it notes the attempt in a file, and takes a moment."""

    seconds = (0.01, 0.05)

    def __init__(self, folder: str, checkpoints: str | None = None):
        self.folder = Path(folder)

    def __call__(self, config: RunSpec, callbacks: Sequence[Callback] = ()) -> RunRecord:
        """The same record for the same configuration."""
        with (self.folder / "attempts").open("a") as file:
            file.write(f"{config.seed} {os.getpid()}\n")
        time.sleep(random.uniform(*self.seconds))
        score = int(config.key, 16) % 1000 / 1000
        return RunRecord(config=config, status="finished", metric="accuracy", valid_score=score, test_score=0.5)


def run_round(folder: Path, rng: random.Random, kills: int) -> tuple[int, int]:
    """Sweep with several processes, some of which are killed and replaced.

    A kill waits for a certain attempt, so that it comes during the runs, however long the processes take to start. Half
    of the kills meet the process of this attempt, the others any process.

    Returns:
        The numbers of attempts and of kills.
    """

    def work() -> None:
        sweep(CONFIGS, Store(folder / "store"), SerialEngine(folder, runner="two_sweeps:Slow"))

    children = {start(work, folder / "log") for _ in range(PROCESSES)}
    killed = set()
    for number in sorted(rng.sample(range(1, RUNS), kills)):
        busy = _process_of_attempt(folder, number)
        time.sleep(rng.uniform(0, Slow.seconds[0]))
        child = busy if busy in children and rng.random() < 0.5 else rng.choice(sorted(children))
        kill(child)
        if wait(child) == -9:
            killed.add(child)
        children.remove(child)
        children.add(start(work, folder / "log"))
    codes = [wait(child) for child in children]
    assert codes == [0] * PROCESSES, f"{codes}\n{(folder / 'log').read_text()[-3000:]}"
    check_round(folder, killed)
    attempts = (folder / "attempts").read_text().splitlines()
    return len(attempts), len(killed)


def _process_of_attempt(folder: Path, number: int) -> int:
    """The process that makes the attempt of this number, counted from 1, when it has begun."""
    path, deadline = folder / "attempts", time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= number:
            return int(lines[-1].split()[1])
        time.sleep(0.001)
    raise AssertionError(f"there were no {number} attempts after {START_SECONDS} seconds")


def check_round(folder: Path, killed: set[int]) -> None:
    """Raise unless the store is complete, intact and tidy, and no run was done twice."""
    store = Store(folder / "store")
    assert {record.config.key for record in store.records()} == {config.key for config in CONFIGS}
    assert store.skipped == []
    assert len(list(store.folder.iterdir())) == RUNS, sorted(path.name for path in store.folder.iterdir())
    done: dict[int, int] = {}
    for seed, process in (map(int, line.split()) for line in (folder / "attempts").read_text().splitlines()):
        if seed in done:
            assert done[seed] in killed, f"run {seed} was done by {done[seed]} and again by {process}"
        done[seed] = process


def main() -> None:
    """Run the rounds, and print how many attempts and kills there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=4, help="in each round")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    attempts = kills = 0
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as name:
            more_attempts, more_kills = run_round(Path(name), rng, options.kills)
        attempts, kills = attempts + more_attempts, kills + more_kills
        print(f"round {number + 1}: {attempts} attempts, {kills} kills", end="\r", file=sys.stderr)
    runs = options.rounds * RUNS
    print(f"\n{runs} runs by {PROCESSES} sweeps at once with {kills} kills: {attempts} attempts, every run done once")


if __name__ == "__main__":
    main()
