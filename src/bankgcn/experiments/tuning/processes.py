"""Trials of one study in several processes, which share its journal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import optuna
import torch

from bankgcn.experiments.tuning.study import OnChange, load_study, run_trials
from bankgcn.experiments.tuning.trial import Search, Trials

POLL_SECONDS = 0.5


def run_trials_in_processes(
    study: optuna.Study, folder: Path, search: Search, total: int, seed: int, workers: int, on_change: OnChange
) -> None:
    """The same in several processes; the order in which they end decides what later trials choose.

    Raises:
        ValueError: A process ended with an error.
    """
    context = multiprocessing.get_context("spawn")
    errors: SimpleQueue[str] = context.SimpleQueue()
    processes = [
        context.Process(target=_work, args=(str(folder), search, total, seed, number, errors), daemon=True)
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        while any(process.is_alive() for process in processes):
            time.sleep(POLL_SECONDS)
            on_change(study)
            _check_processes(processes, errors)
        _check_processes(processes, errors)
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(folder: str, search: Search, total: int, seed: int, worker: int, errors: SimpleQueue[str]) -> None:
    """What a process does."""
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command, which then ends its processes
    torch.set_num_threads(1)
    try:
        run_trials(load_study(Path(folder)), Trials(search), total, seed, worker)
    except (ValueError, OSError, ImportError) as error:  # the message is enough
        errors.put(str(error))
        sys.exit(1)


def _exit_with_parent() -> None:
    """End this process when the command is killed: it must not write to the journal of the next command."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _check_processes(processes: list[SpawnProcess], errors: SimpleQueue[str]) -> None:
    if not errors.empty():
        raise ValueError(errors.get())
    codes = [process.exitcode for process in processes if process.exitcode]
    if codes:
        raise ValueError(f"a process that ran trials ended with exit code {codes[0]}; the same command resumes")
