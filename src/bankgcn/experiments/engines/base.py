"""The interface between a sweep and its engines."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

RUNNER = "bankgcn.training.execute:Runner"
"""Name of what makes, from a data root and a folder for checkpoints, the function that runs a configuration. Other
processes import it."""

RETRIES = 2
"""How often a run is repeated if its worker dies."""


@dataclass(frozen=True)
class Event:
    """An event of a sweep.

    Args:
        kind: ``"kept"``: there is a record of the run. ``"set aside"``: its record is damaged. ``"outdated"``: the
            dataset has changed since its record was written. ``"elsewhere"``: another sweep on the same store runs it.
            ``"started"``. ``"retried"``: its worker died, and the run starts again. ``"finished"``, ``"diverged"``,
            ``"failed"``: the status of its new record.
        config: The run.
        record: Its record, if there is one.
        message: A message for the user.
    """

    kind: Literal["kept", "elsewhere", "set aside", "outdated", "started", "retried", "finished", "diverged", "failed"]
    config: RunSpec
    record: RunRecord | None = None
    message: str = ""


OnEvent = Callable[[Event], None]


class Engine(Protocol):
    """Runs configurations. Storing the records is the caller's job."""

    def run_all(self, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """Yield one record for each configuration, in the order in which the runs end.

        A configuration is taken from ``configs`` when a worker is free for it, one at a time.

        A run that fails gives a failed record, not an error. Closing the iterator ends all processes.

        Args:
            configs: The runs.
            on_event: Called for every run that starts, or starts again.
        """
        ...


class SerialEngine:
    """One run after another in this process, on one thread; for tests, notebooks and debuggers.

    Args:
        data_root: Folder to search first for datasets.
        runner: As ``RUNNER``.
        checkpoints: Folder for the states of unfinished runs, from which they resume.
    """

    def __init__(
        self, data_root: str | Path | None = None, runner: str = RUNNER, checkpoints: str | Path | None = None
    ):
        self.data_root, self.runner, self.checkpoints = data_root, runner, checkpoints

    def run_all(self, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """See :class:`Engine`."""
        import torch

        run = make_runner(self.runner, self.data_root, self.checkpoints)
        threads = torch.get_num_threads()
        for config in configs:
            on_event(Event("started", config))
            torch.set_num_threads(1)
            try:
                record = run(config)
            finally:
                torch.set_num_threads(threads)
            yield record


def make_runner(
    runner: str, data_root: str | Path | None, checkpoints: str | Path | None = None
) -> Callable[[RunSpec], RunRecord]:
    """The function that runs a configuration and turns every error into a failed record.

    Args:
        runner: As ``RUNNER``: ``"module:name"``.
        data_root: Folder to search first for datasets.
        checkpoints: Folder for the states of unfinished runs.
    """
    module, _, name = runner.partition(":")
    run = getattr(importlib.import_module(module), name)(data_root, checkpoints)

    def run_or_fail(config: RunSpec) -> RunRecord:
        try:
            return run(config)
        except (
            ValueError,
            OSError,
            ImportError,
        ) as error:  # an error in the data or the environment: the message is enough
            return RunRecord.failed(config, str(error))
        except Exception:  # an error in the code: the traceback is needed
            return RunRecord.failed(config, traceback.format_exc().strip())

    return run_or_fail
