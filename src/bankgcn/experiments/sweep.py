"""Run the configurations whose records are missing."""

from __future__ import annotations

import time
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.engines.base import Engine, Event, OnEvent
from bankgcn.experiments.store import Store
from bankgcn.files.locks import Claims
from bankgcn.training.record import RunRecord, remove_checkpoints
from bankgcn.training.spec import RunSpec

POLL_SECONDS = 1.0
"""How long a sweep waits before it looks again for the records of another one."""


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep.

    Args:
        records: Records of all finished and diverged runs, of this sweep or an earlier one, in the order of the runs.
        failed: Records of the failed runs. They are not stored: the next sweep repeats them.
        ran: Number of runs that this sweep finished.
    """

    records: tuple[RunRecord, ...]
    failed: tuple[RunRecord, ...]
    ran: int


def sweep(
    configs: Iterable[RunSpec],
    store: Store,
    engine: Engine,
    on_event: OnEvent = lambda event: None,
    known_records: Mapping[str, RunRecord] | None = None,
) -> SweepResult:
    """Run every configuration without an intact record in the store; store each record when its run ends.

    The sweep may be interrupted or killed at any moment; the next sweep resumes. Several sweeps may share a store: they
    share the runs, and each is run once. If the user's own file or folder has
    changed since a record was written, so that it gives other graphs, the run is repeated.

    Args:
        configs: The runs; repeated ones are run once.
        store: Where the records are stored.
        engine: What runs the configurations.
        on_event: Called for every event.
        known_records: Further records, by the keys of their runs. These runs are not repeated, and not copied to the
            store.

    Raises:
        OtherVersion: Only another version of bankgcn can read the record of one of the runs; nothing is run.
        OSError: A record cannot be written. All earlier ones are stored.
    """
    wanted = {config.key: config for config in configs}
    data = _CurrentData()
    before: dict[str, RunRecord | None] = {}
    done: dict[str, RunRecord] = {}
    for key, config in wanted.items():
        before[key] = _stored(store, config, on_event)
        record = before[key] or (known_records or {}).get(key)
        if record is not None and _is_current(record, data, on_event):
            done[key] = record
    missing = {key: config for key, config in wanted.items() if key not in done}
    failed: list[RunRecord] = []
    ran = 0
    store.remove_unfinished()
    remove_checkpoints(store.folder, {key for key in done if before[key] is not None})  # of a killed sweep
    with closing(_run_missing(missing, before, store, engine, on_event)) as events:
        for event in events:
            assert event.record is not None
            if event.kind == "failed":
                failed.append(event.record)
            else:
                done[event.config.key] = event.record
                ran += event.kind != "kept"
            on_event(event)
    return SweepResult(tuple(done[key] for key in wanted if key in done), tuple(failed), ran)


Before = Mapping[str, RunRecord | None]


def _run_missing(
    missing: Mapping[str, RunSpec], before: Before, store: Store, engine: Engine, on_event: OnEvent
) -> Generator[Event, None, None]:
    """Run and store what is missing. One event for each run, with its record, of this sweep or of another one.

    Args:
        missing: The runs by their keys.
        before: The records that this sweep found in the store: of other graphs, or none. Another record than this one
            is that of another sweep.
        store: The store.
        engine: The engine.
        on_event: Called for all other events.
    """
    if not missing:
        return  # the store may be on a disk that cannot be written
    with store.claims() as claims:
        while missing:
            ended = set()
            for record in _run(_claimed(missing, before, store, claims), engine, on_event):
                if record.status != "failed":
                    store.put(record)
                    remove_checkpoints(store.folder, {record.config.key})
                claims.release(record.config.key)
                ended.add(record.config.key)
                yield Event(record.status, record.config, record, record.error)
            for key in missing.keys() - ended:
                stored = store.peek(key)
                if stored is not None and stored != before[key]:
                    ended.add(key)
                    yield Event("kept", missing[key], stored)
            missing = {key: config for key, config in missing.items() if key not in ended}
            if missing:
                _wait(missing, on_event)


def _claimed(missing: Mapping[str, RunSpec], before: Before, store: Store, claims: Claims) -> Iterator[RunSpec]:
    """The runs that no other sweep runs or has run meanwhile, each claimed when it is taken."""
    for key, config in missing.items():
        if claims.take(key):
            if store.peek(key) == before[key]:
                yield config
            else:
                claims.release(key)


def _run(configs: Iterator[RunSpec], engine: Engine, on_event: OnEvent) -> Iterator[RunRecord]:
    """Run the configurations, if there is any: an engine may have to start a cluster."""
    first = next(configs, None)
    if first is None:
        return
    with closing(engine.run_all(chain([first], configs), on_event)) as results:
        yield from results


def _wait(missing: Mapping[str, RunSpec], on_event: OnEvent) -> None:
    """Wait a moment for other sweeps. If one is killed, its claims are free, and this sweep takes its runs."""
    for config in missing.values():
        on_event(Event("elsewhere", config, message="another sweep on this store runs it: waiting for its record"))
    time.sleep(POLL_SECONDS)


def _stored(store: Store, config: RunSpec, on_event: OnEvent) -> RunRecord | None:
    """The record in the store, if it is intact."""
    messages = len(store.skipped)
    record = store.get(config.key)
    for message in store.skipped[messages:]:
        on_event(Event("set aside", config, message=message))
    return record


def _is_current(record: RunRecord, data: _CurrentData, on_event: OnEvent) -> bool:
    """Whether a record is of the graphs as they are now."""
    config = record.config
    if data.differs_from(record):
        on_event(Event("outdated", config, message=f"{config.dataset} has changed since this run: the run is repeated"))
        return False
    on_event(Event("kept", config, record))
    return True


class _CurrentData:
    """The graphs in files and folders of the user's own, as they are now. Each is read once for all runs."""

    def __init__(self) -> None:
        from bankgcn.training.prepare import Loader  # with PyTorch, which a table of records does not need

        self._load = Loader()
        self._known: dict[Hashable, tuple[str, str | None]] = {}

    def differs_from(self, record: RunRecord) -> bool:
        """Whether a run would use other graphs than its record did, or split them otherwise.

        A dataset of the catalogue is not compared: its name alone fixes its graphs.
        """
        config = record.config
        if config.dataset in CATALOG or not Path(config.dataset).expanduser().exists():
            return False
        key = (config.dataset, config.reader, config.task, config.split)
        if key not in self._known:
            self._known[key] = self._read(config)
        fingerprint, split_hash = self._known[key]
        return fingerprint != record.fingerprint or split_hash not in (None, record.split_hash)

    def _read(self, config: RunSpec) -> tuple[str, str | None]:
        """The fingerprint of the graphs; and the hash of the split, if a column of the file holds the whole split."""
        from bankgcn.training.prepare import draw_split

        try:
            fingerprint = self._load.with_test_graphs(config).fingerprint
            if config.split.split_column is None or config.split.test is not None or config.train_per_class is not None:
                return fingerprint, None
            source, graphs = self._load(config)
            return fingerprint, draw_split(config, source, graphs)[0].hash
        except (ValueError, OSError, ImportError):
            return "unreadable", None  # the run reports the reason
