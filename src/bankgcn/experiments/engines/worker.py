"""A worker process: it reads configurations from standard input, and writes epochs and records, one JSON line each."""

from __future__ import annotations

import json
import os
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

import torch

from bankgcn.experiments.engines.base import make_runner
from bankgcn.training.spec import RunSpec


def main() -> None:
    """Run the configurations of standard input on one thread, until the input ends."""
    arguments = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # prints of libraries must not mix with the answers
    torch.set_num_threads(1)
    run = make_runner(*arguments)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()

    def answer(kind: str, value: Any) -> None:
        answers.write(json.dumps([kind, value]).encode() + b"\n")
        answers.flush()

    while True:
        record = run(RunSpec.from_dict(json.loads(tasks.get())), lambda epoch: answer("epoch", epoch))
        answer("record", record.to_dict())


def _listen(requests: BinaryIO, tasks: SimpleQueue[bytes]) -> None:
    """Pass requests on. When the input ends, the process exits at once, even during a run."""
    for line in requests:
        tasks.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
