"""The interface between a sweep and its engines."""

from __future__ import annotations

import importlib
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from bankgcn.training.callbacks import Callback
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

if TYPE_CHECKING:  # it needs PyTorch, which a table of records does not
    from bankgcn.training.fitting import Epoch

RUNNER = "bankgcn.training.execute:Runner"
"""Name of what makes, from a data root and a folder for checkpoints, the function that runs a configuration with
callbacks. Other processes import it."""

EPOCH_SECONDS = 1.0
"""How often a run reports its epoch, at most."""

RETRIES = 2
"""How often a run is repeated if its worker dies."""


Kind = Literal[
    "kept", "elsewhere", "set aside", "outdated", "started", "epoch", "retried", "finished", "diverged", "failed"
]


@dataclass(frozen=True)
class Event:
    """An event of a sweep.

    Args:
        kind: ``"kept"``: there is a record of the run. ``"set aside"``: its record is damaged. ``"outdated"``: the
            dataset has changed since its record was written. ``"elsewhere"``: another sweep on the same store runs it.
            ``"started"``. ``"epoch"``: it has reached another epoch; not all are reported. ``"retried"``: its worker
            died, and the run starts again. ``"finished"``, ``"diverged"``, ``"failed"``: the status of its new record.
        config: The run.
        record: Its record, if there is one.
        message: A message for the user.
        epoch: The last epoch of the run, if it is known.
    """

    kind: Kind
    config: RunSpec
    record: RunRecord | None = None
    message: str = ""
    epoch: int | None = None


OnEvent = Callable[[Event], None]
OnEpoch = Callable[[int], None]


class Engine(Protocol):
    """Runs configurations. Storing the records is the caller's job."""

    def run_all(self, configs: Iterable[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        """Yield one record for each configuration, in the order in which the runs end.

        A configuration is taken from ``configs`` when a worker is free for it, one at a time.

        A run that fails gives a failed record, not an error. Closing the iterator ends all processes.

        Args:
            configs: The runs.
            on_event: Called for every run that starts, or starts again, and now and then for its epochs.
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
                record = run(config, partial(pass_on, on_event, config))
            finally:
                torch.set_num_threads(threads)
            yield record


class Run(Protocol):
    """Runs a configuration."""

    def __call__(self, config: RunSpec, on_epoch: OnEpoch | None = None) -> RunRecord:
        """The record of the run, also if it fails.

        Args:
            config: The run.
            on_epoch: Called with the number of an epoch, at most every ``EPOCH_SECONDS``.
        """
        ...


def make_runner(runner: str, data_root: str | Path | None, checkpoints: str | Path | None = None) -> Run:
    """The function that runs a configuration and turns every error into a failed record.

    Args:
        runner: As ``RUNNER``: ``"module:name"``.
        data_root: Folder to search first for datasets.
        checkpoints: Folder for the states of unfinished runs.
    """
    module, _, name = runner.partition(":")
    run = getattr(importlib.import_module(module), name)(data_root, checkpoints)

    def run_or_fail(config: RunSpec, on_epoch: OnEpoch | None = None) -> RunRecord:
        try:
            return run(config, [_EpochReporter(on_epoch)] if on_epoch else [])
        except (ValueError, OSError, ImportError) as error:  # in the data or the environment: the message is enough
            return RunRecord.failed(config, str(error))
        except Exception:  # an error in the code: the traceback is needed
            return RunRecord.failed(config, traceback.format_exc().strip())

    return run_or_fail


def pass_on(on_event: OnEvent, config: RunSpec, epoch: int) -> None:
    """Report to a sweep which epoch a run has reached."""
    on_event(Event("epoch", config, epoch=epoch))


class _EpochReporter(Callback):
    """Reports the number of an epoch every ``EPOCH_SECONDS``; a shorter run reports none."""

    def __init__(self, on_epoch: OnEpoch):
        self._on_epoch, self._reported = on_epoch, time.monotonic()

    def on_epoch_end(self, epoch: Epoch) -> None:
        if time.monotonic() - self._reported > EPOCH_SECONDS:
            self._reported = time.monotonic()
            self._on_epoch(epoch.number)
