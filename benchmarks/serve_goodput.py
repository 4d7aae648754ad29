"""How many clients ``bankgcn serve`` answers in time when all of them send large requests at once.

Each client sends one request, so that the load is bounded: 60 requests with 200 molecules of 300 atoms each. A client
waits a little longer than the service's own limit. The time until a small request is answered after the last client
shows whether the model still works on requests that nobody waits for.

    python benchmarks/serve_goodput.py RUN [--clients 60] [--molecules 200] [--atoms 300]

RUN is a model of molecules. The service is started for the measurement and listens at 127.0.0.1 alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import psutil

from serve_load import OURS, free_port, service

PATIENCE = 60.0  # seconds until a client gives up; the service gives up after 30
NO_ANSWER = "no answer"
STEP = 0.25  # seconds between looks at the memory


def request_of(molecules: int, atoms: int) -> bytes:
    """A request with different molecules: chains of carbon with a nitrogen at another place in each."""
    smiles = ["C" * (number % atoms) + "N" + "C" * (atoms - 1 - number % atoms) for number in range(molecules)]
    body = json.dumps({"smiles": smiles}).encode()
    head = "POST /predict HTTP/1.1\r\nHost: load\r\nConnection: close\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def ask(port: int, request: bytes) -> tuple[str, float]:
    """Status of the answer to one request, and the seconds until it came."""
    begin, status = time.perf_counter(), NO_ANSWER
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.read(-1)
            writer.close()
            status = answer[9:12].decode() or NO_ANSWER
    except (OSError, TimeoutError):
        pass
    return status, time.perf_counter() - begin


async def ask_together(port: int, request: bytes, clients: int, process: psutil.Process) -> tuple[list, int]:
    """The answers to equal requests that are sent at once, and the largest resident memory meanwhile."""
    asked = asyncio.gather(*(ask(port, request) for _ in range(clients)))
    largest = 0
    while not asked.done():
        largest = max(largest, process.memory_info().rss)
        await asyncio.wait([asked], timeout=STEP)
    return asked.result(), largest


def seconds_of_a_small_request(port: int) -> float:
    """How long a request with one small molecule takes."""
    connection = HTTPConnection("127.0.0.1", port, timeout=4 * PATIENCE)
    begin = time.perf_counter()
    connection.request("POST", "/predict", b'{"smiles": ["CCO"]}', {"Content-Type": "application/json"})
    connection.getresponse().read()
    connection.close()
    return time.perf_counter() - begin


def main() -> None:
    """Parse, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="Folder of a run on molecules.")
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--molecules", type=int, default=200)
    parser.add_argument("--atoms", type=int, default=300)
    options = parser.parse_args()
    request, port = request_of(options.molecules, options.atoms), free_port()
    with service(OURS, options.run, port) as process:
        watched = psutil.Process(process.pid)
        alone, seconds = asyncio.run(ask(port, request))
        print(f"alone: status {alone} after {seconds:.2f} s", flush=True)
        begin, spent = time.perf_counter(), sum(watched.cpu_times()[:2])
        answers, memory = asyncio.run(ask_together(port, request, options.clients, watched))
        took = time.perf_counter() - begin
        after = seconds_of_a_small_request(port)
        spent = sum(watched.cpu_times()[:2]) - spent
        show(answers)
        print(f"{took:.1f} s for all, {spent:.1f} s of the processor, largest memory {memory / 2**20:,.0f} MiB")
        print(f"a small request after the last answer takes {after:.2f} s", flush=True)


def show(answers: list[tuple[str, float]]) -> None:
    """Print the statuses that the clients got, and when."""
    counts = Counter(status for status, _ in answers)
    good = [wait for status, wait in answers if status == "200"]
    print(f"{len(answers)} clients: {', '.join(f'{count} with status {one}' for one, count in counts.items())}")
    if good:
        print(f"first answer 200 after {min(good):.1f} s, median {np.median(good):.1f} s, last {max(good):.1f} s")


if __name__ == "__main__":
    main()
