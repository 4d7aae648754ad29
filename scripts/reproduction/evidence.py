"""What the document is written from: records, and the tables that they fill in each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bankgcn.experiments.design import Column, Design, Grid, Row
from bankgcn.experiments.paper import AS_PAPER, BEST, L2_PLACES, TABLES, TableSetting
from bankgcn.experiments.verify import Verification
from bankgcn.report.results import Records, Results, collect

SEARCH_RUNS = 5
"""Number of seeds that choose hyper-parameters in the records of the repository."""

MAIN = (AS_PAPER, BEST)
"""The two settings of Table 1 in the document."""

PLACE_SETTINGS: dict[str, TableSetting] = {
    place: TableSetting(name=place, label=words, sentence=words, grid=Grid(normalize=(place,)))
    for place, words in L2_PLACES.items()
}
"""Every place of the l2 normalisation by itself."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of some columns that is run.

    Args:
        columns: Names of the columns.
        runs: Number of runs.
        rows: Names of the rows; all rows, if there are none.
        max_epochs: Maximum number of epochs; the paper's if not given.
    """

    columns: tuple[str, ...]
    runs: int
    rows: tuple[str, ...] = ()
    max_epochs: int | None = None

    def of(self, column: Column) -> Column:
        """The column with the runs of this part. Its label names the epochs if they are fewer than the paper's."""
        if self.max_epochs is None:
            return replace(column, runs=self.runs)
        return replace(
            column,
            runs=self.runs,
            label=f"{column.label} ({self.max_epochs} epochs)",
            settings=column.base.with_(max_epochs=self.max_epochs),
        )


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How the runs of a table differ from the whole grid and the paper's number of runs.

    Args:
        searches: Whether the first seeds choose hyper-parameters.
        values: Hyper-parameters that are not the setting's, by their names in the grid.
        parts: The columns that have other runs or fewer rows than the paper's.
    """

    searches: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    def part(self, column: Column) -> Part:
        """The part of a column that is run."""
        whole = Part(columns=(column.name,), runs=column.runs)
        return next((part for part in self.parts if column.name in part.columns), whole)


PROTOCOLS: dict[str, Protocol] = {
    **{name: Protocol() for name in TABLES},
    "table4": Protocol(
        searches=False,
        values={"weight_decays": (0.0,), "gammas": (0.1,)},
        parts=(
            Part(columns=("CIFAR-10",), runs=1, rows=("gcn", "cheb-K2", "bank-K2-s16"), max_epochs=100),
            Part(columns=("CIFAR-10-1000",), runs=3),
            Part(
                columns=("ogbg-molhiv", "ogbg-molhiv-embedded"),
                runs=3,
                rows=("gcn", "gin", "cheb-K2", "bank-K2-s16"),
            ),
        ),
    ),
}
"""The protocol of each table. Table 4 is too large for the whole grid."""


@dataclass(frozen=True)
class Evidence:
    """Records, and the tables that they fill.

    Args:
        records: Records by the keys of their runs.
        search_runs: Number of seeds that choose hyper-parameters.
        verified: What ``bankgcn paper verify --json`` wrote about the records.
    """

    records: Records
    search_runs: int = SEARCH_RUNS
    verified: Verification | None = None
    _results: dict[tuple[str, str], Results] = field(default_factory=dict, repr=False)

    def table(self, name: str, setting: TableSetting) -> Design:
        """A table in a setting."""
        table, protocol = TABLES[name], PROTOCOLS[name]
        return replace(
            table,
            columns=tuple(protocol.part(column).of(column) for column in table.columns),
            grid=replace(setting.grid, **protocol.values),
            search_runs=self.search_runs if protocol.searches else None,
        )

    def all_results(self, name: str, setting: TableSetting) -> Results:
        """The cells of a table, also those with missing runs."""
        key = (name, setting.name)
        if key not in self._results:
            self._results[key] = collect(self.table(name, setting), self.records)
        return self._results[key]

    def results(self, name: str, setting: TableSetting) -> Results:
        """The cells of a table, as far as all their runs are there: a choice among fewer runs may change."""
        return self.all_results(name, setting).complete_only()


def planned_rows(table: Design, column: Column) -> list[Row]:
    """The rows that are run in a column."""
    names = PROTOCOLS[table.name].part(column).rows
    return [row for row in table.rows if not names or row.name in names]


def settings_of(table: str) -> tuple[TableSetting, ...]:
    """The settings in which the document has a table: Table 1 in both, the others as the paper."""
    return MAIN if table == "table1" else (AS_PAPER,)
