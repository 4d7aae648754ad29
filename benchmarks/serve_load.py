"""Load on ``bankgcn serve``: throughput and latency beside a plain service, memory over time, and kills.

Each client sends graphs whose predictions are known, one graph a request, and compares every answer with them: ours to
the last byte, those of the plain service to four digits.

    python benchmarks/serve_load.py compare RUN GRAPHS.jsonl             # beside FastAPI and PyG, and one at a time
    python benchmarks/serve_load.py soak RUN GRAPHS.jsonl --seconds 600  # resident memory, every ten seconds
    python benchmarks/serve_load.py kill RUN GRAPHS.jsonl --kills 5      # SIGKILL at random times, and a new start

The time of the processor for a request depends less on other load on the machine than the throughput does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import orjson
import psutil

from bankgcn.data.options import Expected
from bankgcn.data.sources import find_source
from bankgcn.serve.engine import Engine
from bankgcn.serve.requests import PredictRequest
from bankgcn.training.ensemble import Ensemble, load_model
from serve_client import Check, Outcome, Question, ask_until_end, load, same_bytes, same_numbers

OURS, PLAIN, THREADS = "bankgcn serve", "FastAPI and PyG", "the same, threads"
_PLAIN_COMMAND = [sys.executable, str(Path(__file__).with_name("plain_service.py"))]
COMMANDS = {
    OURS: [sys.executable, "-m", "bankgcn", "serve"],
    PLAIN: [*_PLAIN_COMMAND, "--handler", "async"],
    THREADS: [*_PLAIN_COMMAND, "--handler", "def"],
}
CHECKS: dict[str, Check] = {OURS: same_bytes, PLAIN: same_numbers, THREADS: same_numbers}
START_SECONDS = 60
PROBE_SECONDS = 0.05


def questions_of(run: Path, source: Path, count: int) -> list[Question]:
    """Graphs of a file with their answers, each computed alone, and compared with ``predict`` of all of them."""
    ensemble = Ensemble.load(run)
    engine = Engine(ensemble)
    documents = [json.loads(line) for line in source.read_text().splitlines() if line.strip()][:count]
    together, _ = ensemble.predictions(
        find_source(source).load(expected=Expected(features=ensemble.feature_spec, has_target=False))[:count]
    )
    questions = []
    for document, expected in zip(documents, together.tolist(), strict=True):
        graph = {key: document[key] for key in ("nodes", "edges")}
        (answer,) = engine.answer([PredictRequest("graphs", [graph], [len(graph["nodes"])])])
        assert isinstance(answer, dict), answer
        np.testing.assert_allclose([*answer["predictions"][0]["probabilities"].values()], expected, atol=1e-6)
        body = orjson.dumps({"graphs": [graph]})
        head = "POST /predict HTTP/1.1\r\nHost: load\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        questions.append(Question(request, orjson.dumps(answer)))
    return questions


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(name: str, run: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a service, and wait until it listens."""
    command = [*COMMANDS[name], str(run), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    deadline = time.perf_counter() + START_SECONDS
    while time.perf_counter() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(PROBE_SECONDS)
    raise RuntimeError(f"{' '.join(command)} does not answer")


@contextmanager
def service(name: str, run: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A service that is stopped in the end."""
    process = start(name, run, port)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_SECONDS)


def compare(options: argparse.Namespace) -> None:
    """Print throughput and latency of our service, of two plain ones, and of predictions one at a time."""
    questions = questions_of(options.run, options.source, options.graphs)
    rates: dict[str, list[float]] = {name: [] for name in COMMANDS}
    ports = {name: free_port() for name in rates}
    with ExitStack() as running:
        processes = {
            name: psutil.Process(running.enter_context(service(name, options.run, port)).pid)
            for name, port in ports.items()
        }
        for turn in range(options.turns + 1):  # in turns, so that other load on the machine meets all
            for name, port in ports.items():
                before = sum(processes[name].cpu_times()[:2])
                outcome = load(port, questions, CHECKS[name], options.seconds, options.connections)
                spent = (sum(processes[name].cpu_times()[:2]) - before) / len(outcome.latencies)
                if turn:  # the first one warms up
                    rates[name].append(outcome.rate)
                    print(f"{name:17} {outcome}; {1e3 * spent:.2f} ms of the processor each", flush=True)
    alone = one_at_a_time(options)
    fast, *others = (float(np.median(rates[name])) for name in COMMANDS)
    plain = max(others)
    print(f"one at a time     {alone:7,.0f} graphs/s, by load_model(RUN).predict_proba")
    print(
        f"medians: {fast:,.0f} and {plain:,.0f} requests/s; {fast / plain:.1f} times the faster plain service, ", end=""
    )
    print(f"{fast / alone:.1f} times one at a time")


def one_at_a_time(options: argparse.Namespace, count: int = 200) -> float:
    """Graphs a second if a program predicts them one by one, without a service."""
    predictor = load_model(options.run)
    graphs = find_source(options.source).load(
        expected=Expected(features=predictor.ensemble.feature_spec, has_target=False)
    )
    singles = [graphs[number] for number in range(count)]
    predictor.predict_proba(singles[0])
    begin = time.perf_counter()
    for single in singles:
        predictor.predict_proba(single)
    return count / (time.perf_counter() - begin)


def soak(options: argparse.Namespace) -> None:
    """Print the resident memory of the service under load, over time."""
    questions, port = questions_of(options.run, options.source, options.graphs), free_port()
    with service(OURS, options.run, port) as process:
        total = Outcome()
        while time.perf_counter() < total.start + options.seconds:
            outcome = load(port, questions, same_bytes, min(10.0, options.seconds), options.connections)
            memory = psutil.Process(process.pid).memory_info().rss / 2**20
            print(f"{outcome.end - total.start:6.0f} s  {memory:7.1f} MiB  {outcome}", flush=True)
            total.add(outcome)
        total.end = outcome.end
    print(f"{len(total.latencies):,} answers: {total}")


def kill(options: argparse.Namespace) -> None:
    """Kill the service under load at random times, start it again, and count wrong answers."""
    questions, port = questions_of(options.run, options.source, options.graphs), free_port()
    chance, outcome, back = random.Random(0), Outcome(), []

    async def kill_and_start() -> None:
        clients = asyncio.create_task(ask_until_end(port, questions, same_bytes, outcome, options.connections))
        process = await asyncio.to_thread(start, OURS, options.run, port)
        for _ in range(options.kills):
            await asyncio.sleep(chance.uniform(1, 4))
            process.kill()
            process.wait()
            begin = time.perf_counter()
            process = await asyncio.to_thread(start, OURS, options.run, port)
            back.append(time.perf_counter() - begin)
            print(
                f"killed after {len(outcome.latencies):,} answers; it answers again after {back[-1]:.1f} s", flush=True
            )
        await asyncio.sleep(2)
        outcome.end = time.perf_counter()
        await clients
        process.send_signal(signal.SIGTERM)
        process.wait(START_SECONDS)

    asyncio.run(kill_and_start())
    print(f"{options.kills} kills, {len(outcome.latencies):,} answers: {outcome}")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("compare", "soak", "kill"))
    parser.add_argument("run", type=Path, help="Folder of a run of the paper's BankGCN.")
    parser.add_argument("source", type=Path, help="File of JSON lines whose nodes have one word.")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    {"compare": compare, "soak": soak, "kill": kill}[options.mode](options)


if __name__ == "__main__":
    main()
