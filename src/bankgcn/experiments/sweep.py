"""Many runs: those whose records are missing, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.engines.base import Engine, Event, OnEvent
from bankgcn.experiments.store import Store
from bankgcn.training.execute import Loader
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec


@dataclass(frozen=True)
class SweepResult:
    """What there is after a sweep.

    Args:
        records: Of all runs that came to an end, now or before, in the order in which they were asked for.
        failed: Of those that did not. They are not kept: the next sweep tries them again.
        ran: Number of runs that came to an end now.
    """

    records: tuple[RunRecord, ...]
    failed: tuple[RunRecord, ...]
    ran: int


def sweep(
    configs: Iterable[RunSpec], store: Store, engine: Engine, on_event: OnEvent = lambda event: None
) -> SweepResult:
    """Run what the store has no sound record of; each record is kept as soon as its run ends.

    It may be interrupted, or killed, at any moment: the next sweep goes on where this one stopped. A dataset
    that is a file or folder of the user's own is compared with its records: if the graphs have changed since, by
    another content or another way of reading it, the run is done again.

    Args:
        configs: The runs; one that is asked for twice is run once.
        store: Where the records are kept.
        engine: What runs them.
        on_event: Told of everything that happens.

    Raises:
        OtherVersion: Only another version of bankgcn can read the record of one of the runs; nothing is run.
        OSError: A record could not be written. All earlier ones are kept.
    """
    wanted = {config.key: config for config in configs}
    known: dict[str, RunRecord] = {}
    load = Loader()
    for key, config in wanted.items():
        record = _kept(store, config, load, on_event)
        if record is not None:
            known[key] = record
    missing = [config for key, config in wanted.items() if key not in known]
    failed = []
    store.remove_unfinished()
    results = engine.run_all(missing, on_event)
    with closing(results):
        for record in results:
            if record.status == "failed":
                failed.append(record)
            else:
                store.put(record)
                known[record.config.key] = record
            on_event(Event(record.status, record.config, record, record.error))
    records = tuple(known[key] for key in wanted if key in known)
    return SweepResult(records, tuple(failed), len(missing) - len(failed))


def _kept(store: Store, config: RunSpec, load: Loader, on_event: OnEvent) -> RunRecord | None:
    before = len(store.skipped)
    record = store.get(config.key)
    for message in store.skipped[before:]:
        on_event(Event("set aside", config, message=message))
    if record is None:
        return None
    if _fingerprint_now(load, config) not in (None, record.fingerprint):
        on_event(Event("outdated", config, message=f"{config.dataset} has changed since this run: it is done again"))
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
        return load(config)[1].fingerprint
    except (ValueError, OSError, ImportError):
        return "unreadable"  # the run will say why
