"""Many runs: those whose records are missing, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from bankgcn.experiments.config import RunConfig
from bankgcn.experiments.engine import Engine, Event, OnEvent
from bankgcn.experiments.record import RunRecord
from bankgcn.experiments.store import Store


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
    configs: Iterable[RunConfig], store: Store, engine: Engine, on_event: OnEvent = lambda event: None
) -> SweepResult:
    """Run what the store has no sound record of; each record is kept as soon as its run ends.

    It may be interrupted, or killed, at any moment: the next sweep goes on where this one stopped.

    Args:
        configs: The runs; one that is asked for twice is run once.
        store: Where the records are kept.
        engine: What runs them.
        on_event: Told of everything that happens.

    Raises:
        OSError: A record could not be written. All earlier ones are kept.
    """
    wanted = {config.key: config for config in configs}
    known: dict[str, RunRecord] = {}
    for key, config in wanted.items():
        record = _kept(store, config, on_event)
        if record is not None:
            known[key] = record
    missing = [config for key, config in wanted.items() if key not in known]
    failed = []
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


def _kept(store: Store, config: RunConfig, on_event: OnEvent) -> RunRecord | None:
    before = len(store.quarantined)
    record = store.get(config.key)
    for message in store.quarantined[before:]:
        on_event(Event("set aside", config, message=message))
    if record is not None:
        on_event(Event("kept", config, record))
    return record
