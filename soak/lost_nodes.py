"""A sweep on a Ray cluster whose nodes are killed and added at random: nothing is lost, nothing done twice.

A run may be tried again only if the worker that tried it was lost. Needs Ray: pip install 'bankgcn[ray]'.

    python soak/lost_nodes.py --rounds 10
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bankgcn.experiments import Event, Store, sweep
from bankgcn.experiments.engines.cluster import RayEngine
from two_sweeps import CONFIGS as MANY
from two_sweeps import Slow

CONFIGS = MANY[:16]

MOST = 2
"""Nodes beside the head."""


class LongRuns(Slow):
    """Runs that take long enough to be in flight when a node is lost."""

    seconds = (1.0, 3.0)


class Saboteur:
    """Kills and adds nodes in the middle of a sweep, by chance at one of its events."""

    def __init__(self, cluster: Any, rng: random.Random):
        self.cluster, self.rng = cluster, rng
        self.nodes = [cluster.add_node(num_cpus=1) for _ in range(MOST)]
        self.killed, self.added = 0, MOST
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Note the event, and perhaps kill or add a node, by Ray in this thread."""
        self.events.append(event)
        if self.rng.random() > 0.25:
            return
        if self.nodes and event.kind == "started":  # others are in flight
            self.cluster.remove_node(self.nodes.pop(self.rng.randrange(len(self.nodes))), allow_graceful=False)
            self.killed += 1
        elif len(self.nodes) < MOST:
            self.nodes.append(self.cluster.add_node(num_cpus=1))
            self.added += 1


def run_round(folder: Path, rng: random.Random) -> Counter[str]:
    """Sweep on a new cluster until all is done. How many nodes were killed and added, and attempts made."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    saboteur = Saboteur(cluster, rng)
    sweeps = 0
    try:
        engine = RayEngine(cluster.address, data_root=folder, runner="lost_nodes:LongRuns")
        missing = len(CONFIGS)
        while missing:  # a run whose worker is lost three times is left to the next sweep
            missing = len(sweep(CONFIGS, Store(folder / "store"), engine, saboteur).failed)
            sweeps += 1
    finally:
        cluster.shutdown()
    attempts = [int(line.split()[0]) for line in (folder / "attempts").read_text().splitlines()]
    check_round(folder, saboteur.events, attempts)
    return Counter(killed=saboteur.killed, added=saboteur.added, attempts=len(attempts), sweeps=sweeps)


def check_round(folder: Path, events: list[Event], attempts: list[int]) -> None:
    """Raise unless every run has its record, and was tried again only when its worker was lost."""
    store = Store(folder / "store")
    assert [record.config.seed for record in sorted(store.records(), key=lambda record: record.config.seed)] == [
        config.seed for config in CONFIGS
    ]
    assert len(list(store.folder.iterdir())) == len(CONFIGS)
    lost = Counter(event.config.seed for event in events if event.kind in ("retried", "failed"))
    for seed, count in Counter(attempts).items():
        assert count <= 1 + lost[seed], f"run {seed} was tried {count} times, but lost {lost[seed]} times"
    finished = Counter(event.config.seed for event in events if event.kind == "finished")
    assert set(finished.values()) == {1}, "a run was stored twice"


def main() -> None:
    """Run the rounds, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # as an installed package would be, on every node
    rng = random.Random(options.seed)
    total: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as name:
            total += run_round(Path(name), rng)
        print(f"round {number + 1}, {time.monotonic() - started:.0f} s: {dict(total)}", file=sys.stderr, flush=True)
    print(f"{options.rounds} sweeps of {len(CONFIGS)} runs on a cluster: {dict(total)}; every run stored once")


if __name__ == "__main__":
    main()
