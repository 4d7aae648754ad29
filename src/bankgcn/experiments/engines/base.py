"""The seam between a sweep and what runs it."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import torch

from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

RUNNER = "bankgcn.training.execute:Runner"
"""What makes, from a data root, the function that runs a configuration. A name, because other processes make it."""

RETRIES = 2
"""How often a run is tried again whose worker died."""


@dataclass(frozen=True)
class Event:
    """Something that happened to a run of a sweep.

    Args:
        kind: ``"kept"``: its record was there already. ``"set aside"``: there was one that cannot be trusted.
            ``"outdated"``: there was one of other graphs than its file holds now. ``"started"``; ``"retried"``: its
            worker died, and it is started again. ``"finished"``, ``"diverged"``, ``"failed"``: as in its record.
        config: The run.
        record: Its record, if it has one now.
        message: What there is to say of it.
    """

    kind: Literal["kept", "set aside", "outdated", "started", "retried", "finished", "diverged", "failed"]
    config: RunSpec
    record: RunRecord | None = None
    message: str = ""


OnEvent = Callable[[Event], None]


class Engine(Protocol):
    """Runs configurations somewhere. What comes of them is none of its business."""

    def run_all(self, configs: Sequence[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """One record for each configuration, in the order in which they end.

        A run that cannot be brought to an end gives a failed record, not an error. Whoever stops listening stops the
        runs: closing the iterator ends all processes.

        Args:
            configs: What to run.
            on_event: Told of every run that starts, or starts again.
        """
        ...


class SerialEngine:
    """One run after another in this process, on one thread; for tests, notebooks and debuggers.

    Args:
        data_root: Where to look for datasets first.
        runner: What runs them.
    """

    def __init__(self, data_root: str | Path | None = None, runner: str = RUNNER):
        self.data_root, self.runner = data_root, runner

    def run_all(self, configs: Sequence[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """See :class:`Engine`."""
        run = make_runner(self.runner, self.data_root)
        threads = torch.get_num_threads()
        for config in configs:
            on_event(Event("started", config))
            torch.set_num_threads(1)
            try:
                record = run(config)
            finally:
                torch.set_num_threads(threads)
            yield record


def make_runner(runner: str, data_root: str | Path | None) -> Callable[[RunSpec], RunRecord]:
    """The function that runs a configuration, and makes a failed record of whatever goes wrong.

    Args:
        runner: Its maker, as ``"module:name"``.
        data_root: What that is given.
    """
    module, _, name = runner.partition(":")
    run = getattr(importlib.import_module(module), name)(data_root)

    def run_or_fail(config: RunSpec) -> RunRecord:
        try:
            return run(config)
        except (ValueError, OSError, ImportError) as error:  # of the data or the environment: the message says it
            return RunRecord.failed(config, str(error))
        except Exception:  # of the code: where it happened is what matters
            return RunRecord.failed(config, traceback.format_exc().strip())

    return run_or_fail
