"""Run the configurations whose records are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.engines.base import Engine, Event, OnEvent
from bankgcn.experiments.store import Store
from bankgcn.training.prepare import Loader
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec


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
    known: Mapping[str, RunRecord] | None = None,
) -> SweepResult:
    """Run every configuration without an intact record in the store; store each record when its run ends.

    The sweep may be interrupted or killed at any moment; the next sweep resumes. If the user's own file or folder has
    changed since a record was written, so that it gives other graphs, the run is repeated.

    Args:
        configs: The runs; repeated ones are run once.
        store: Where the records are stored.
        engine: What runs the configurations.
        on_event: Called for every event.
        known: Further records, by the keys of their runs. These runs are not repeated, and not copied to the store.

    Raises:
        OtherVersion: Only another version of bankgcn can read the record of one of the runs; nothing is run.
        OSError: A record cannot be written. All earlier ones are stored.
    """
    wanted = {config.key: config for config in configs}
    done: dict[str, RunRecord] = {}
    load = Loader()
    for key, config in wanted.items():
        record = _kept(store, known or {}, config, load, on_event)
        if record is not None:
            done[key] = record
    missing = [config for key, config in wanted.items() if key not in done]
    failed = []
    store.remove_unfinished()
    results = engine.run_all(missing, on_event)
    with closing(results):
        for record in results:
            if record.status == "failed":
                failed.append(record)
            else:
                store.put(record)
                done[record.config.key] = record
            on_event(Event(record.status, record.config, record, record.error))
    records = tuple(done[key] for key in wanted if key in done)
    return SweepResult(records, tuple(failed), len(missing) - len(failed))


def _kept(
    store: Store, known: Mapping[str, RunRecord], config: RunSpec, load: Loader, on_event: OnEvent
) -> RunRecord | None:
    before = len(store.skipped)
    record = store.get(config.key) or known.get(config.key)
    for message in store.skipped[before:]:
        on_event(Event("set aside", config, message=message))
    if record is None:
        return None
    if _fingerprint_now(load, config) not in (None, record.fingerprint):
        on_event(Event("outdated", config, message=f"{config.dataset} has changed since this run: the run is repeated"))
        return None
    on_event(Event("kept", config, record))
    return record


def _fingerprint_now(load: Loader, config: RunSpec) -> str | None:
    """That of the graphs in a file or folder of the user's own; ``None`` where there is nothing to compare with.

    A dataset of the catalogue is not compared: its name alone fixes its graphs.
    """
    if config.dataset in CATALOG or not Path(config.dataset).expanduser().exists():
        return None
    try:
        return load.with_test_graphs(config).fingerprint
    except (ValueError, OSError, ImportError):
        return "unreadable"  # the run reports the reason
