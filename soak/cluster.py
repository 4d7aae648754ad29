"""A sweep on a Ray cluster whose nodes are killed and added at random: nothing is lost, nothing done twice.

A run may be tried again only if the worker that tried it was lost. Needs Ray: pip install 'bankgcn[ray]'.

    python soak/cluster.py --rounds 10
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bankgcn.experiments import Event, Store, sweep
from bankgcn.experiments.engines.cluster import RayEngine
from two_sweeps import CONFIGS


class Saboteur(threading.Thread):
    """Kills and adds nodes until it is stopped. At most ``MOST`` nodes run beside the head."""

    MOST = 2

    def __init__(self, cluster: Any, rng: random.Random):
        super().__init__(daemon=True)
        self.cluster, self.rng = cluster, rng
        self.nodes = [cluster.add_node(num_cpus=1)]
        self.killed, self.added = 0, 1
        self.stopped = threading.Event()

    def run(self) -> None:
        """Wait a moment, and kill or add a node."""
        while not self.stopped.wait(self.rng.uniform(0.2, 1.5)):
            if self.nodes and (len(self.nodes) == self.MOST or self.rng.random() < 0.6):
                self.cluster.remove_node(self.nodes.pop(self.rng.randrange(len(self.nodes))), allow_graceful=False)
                self.killed += 1
            else:
                self.nodes.append(self.cluster.add_node(num_cpus=1))
                self.added += 1


def run_round(folder: Path, rng: random.Random) -> Counter[str]:
    """Sweep on a new cluster until all is done. How many nodes were killed and added, and attempts made."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    saboteur = Saboteur(cluster, rng)
    events: list[Event] = []
    sweeps = 0
    try:
        saboteur.start()
        engine = RayEngine(cluster.address, data_root=folder, runner="two_sweeps:Slow")
        missing = len(CONFIGS)
        while missing:  # a run whose worker is lost three times is left to the next sweep
            missing = len(sweep(CONFIGS, Store(folder / "store"), engine, events.append).failed)
            sweeps += 1
    finally:
        saboteur.stopped.set()
        saboteur.join()
        cluster.shutdown()
    attempts = [int(line.split()[0]) for line in (folder / "attempts").read_text().splitlines()]
    check_round(folder, events, attempts)
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
