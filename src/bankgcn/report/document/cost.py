"""What the records cost: runs, core hours, machine and versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.layout import Column
from bankgcn.experiments.paper.search import needed_configs
from bankgcn.experiments.paper.tables import TABLES
from bankgcn.report.document.evidence import Evidence, planned_rows, settings_of
from bankgcn.report.document.wording import NOT_YET, bullets, counted, table_lines
from bankgcn.report.results import Results


def cost(evidence: Evidence) -> str:
    """Runs and core hours of each table and dataset; machine and versions of all records."""
    counted_runs: set[str] = set()
    lines = list(_lines(evidence, counted_runs))
    others = len(evidence.records.keys() - counted_runs)
    header = ["", "setting", "dataset", "runs needed", "recorded", "missing", "diverged", "core hours"]
    records = list(evidence.records.values())
    return "\n\n".join(
        [
            table_lines(header, lines) if lines else NOT_YET,
            "Each run is counted once, in the first line that needs it. A failed run leaves no record, and the next "
            "sweep repeats it: a lost run counts as missing. Core hours are the time of the runs, with one thread "
            "each; with N processes, the wall time is about an N-th of it.",
            f"All records together: {counted(len(records), 'run')}, {_hours(records):.1f} core hours"
            f"{_left_out(others)}.",
            bullets([f"{number:,} records: {words}." for words, number in sorted(_machines(records).items())]),
        ]
    )


def _lines(evidence: Evidence, counted_runs: set[str]) -> Iterator[list[str]]:
    """The lines of the table; adds their runs to the counted ones."""
    for table in TABLES:
        for setting in settings_of(table):
            results = evidence.all_results(table, setting)
            for column in results.table.columns:
                needed = _needed(results, column) - counted_runs
                found = [evidence.records[key] for key in sorted(needed) if key in evidence.records]
                if found:
                    counted_runs |= needed
                    yield [table, setting.label, column.label, *_counts(len(needed), found)]


def _needed(results: Results, column: Column) -> set[str]:
    cells = [results.at(row, column) for row in planned_rows(results.table, column)]
    if not any(cell.done for cell in cells):
        return set()
    table = results.table
    return {config.key for cell in cells for config in needed_configs(table, cell.row, column, cell.chosen)}


def _counts(needed: int, found: list[RunRecord]) -> list[str]:
    diverged = sum(record.status == "diverged" for record in found)
    return [f"{needed:,}", f"{len(found):,}", f"{needed - len(found):,}", str(diverged), f"{_hours(found):.2f}"]


def _left_out(others: int) -> str:
    return f"; {others:,} of the runs are in no line, because no cell in these settings needs them" if others else ""


def _hours(records: Iterable[RunRecord]) -> float:
    return sum(record.seconds * record.threads for record in records) / 3600


def _machines(records: Iterable[RunRecord]) -> Counter[str]:
    """How many records were made with which versions, apart from the path that the training took."""
    return Counter(
        ", ".join(f"{name} {value}" for name, value in sorted(record.versions.items()) if name != "kernels")
        for record in records
    )
