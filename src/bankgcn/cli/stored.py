"""The records in a folder, and the part of a table or figure that they belong to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bankgcn.cli.output import say
from bankgcn.cli.paper_options import TableSelection
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Design, Figure
from bankgcn.experiments.store import Store, is_packed, read_packed
from bankgcn.report.results import without_empty


def read_records(folder: Path) -> dict[str, RunRecord]:
    """All records of a store or a packed folder, by the keys of their runs; messages name what cannot be used.

    Raises:
        ValueError: There is no such folder, or a packed record is damaged.
    """
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: there are no records; expected a store of 'bankgcn paper reproduce' or a packed folder"
        )
    if is_packed(folder):
        return read_packed(folder)
    store = Store(folder)
    records = {record.config.key: record for record in store.records()}
    for message in store.skipped:
        say(message, stderr=True)
    return records


def check_store(folder: Path) -> None:
    """Raise an error if a sweep cannot write to the folder, because it holds packed records."""
    if is_packed(folder):
        raise ValueError(
            f"{folder} holds packed records, which are only read: name another folder by --store, and this one by "
            f"--known {folder}"
        )


def stored_part(what: str, selection: TableSelection, folder: Path) -> tuple[Design | Figure, dict[str, RunRecord]]:
    """The selected part of a table or figure, as far as there are records of it; and all records."""
    selection.build(what)  # raises if an option is wrong, before any record is read
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: there are no records; 'bankgcn paper reproduce {what} --store {folder}' makes them"
        )
    records = read_records(folder)
    datasets = {record.config.dataset for record in records.values()}
    experiment = selection.available(what, datasets.__contains__, others=datasets)[0].build(what)
    if not any(config.key in records for config in experiment.configs()):
        raise ValueError(
            f"{folder}: none of its {len(records):,} records belongs to {what} with these options; --epochs, "
            "--weight-decays, --gammas and --normalize or --setting must be those of 'bankgcn paper reproduce'"
        )
    if isinstance(experiment, Design):
        occupied = without_empty(experiment, records)
        experiment = replace(
            experiment,
            rows=occupied.rows if selection.models is None else experiment.rows,
            columns=occupied.columns if selection.datasets is None else experiment.columns,
        )
    return experiment, records
