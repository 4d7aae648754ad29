"""The search for hyper-parameters in the cells of a table, and the runs that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from bankgcn.experiments.engines.base import Engine, OnEvent
from bankgcn.experiments.paper.layout import Column, Figure, Row, Table, unique
from bankgcn.experiments.selection import SelectionRule, select
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult, sweep
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec


@lru_cache(maxsize=100_000)
def with_seed(config: RunSpec, seed: int) -> RunSpec:
    """The run with another seed. Its key takes time to compute, and several tables ask for the same runs."""
    return config.with_(seed=seed)


def check_rule(experiment: Table | Figure, rule: SelectionRule) -> None:
    """Raise an error if hyper-parameters cannot be chosen by this rule.

    Raises:
        ValueError: The rule looks at test scores, but the table has ``search_runs``: only the winner by validation
            score runs all seeds.
    """
    if isinstance(experiment, Table) and experiment.search_runs is not None and rule == "paper":
        raise ValueError(
            f"search_runs={experiment.search_runs} with the selection 'paper': a search over the first seeds chooses "
            "by validation score alone; leave out one of the two"
        )


def choose(
    table: Table, row: Row, column: Column, records: Mapping[str, RunRecord], rule: SelectionRule = "validation"
) -> RunSpec | None:
    """The candidate that wins the search of a cell, with seed 0; ``None`` without records of the search.

    Args:
        table: The table.
        row: The row of the cell.
        column: The column of the cell.
        records: Records by the keys of their runs. Only those of the seeds that choose count.
        rule: Choose by mean validation score or, as the paper appears to do, by mean test score.
    """
    searched = _search_configs(table, row, column)
    found = [records[config.key] for config in searched if config.key in records]
    winners = select(found, rule, group_by=lambda config: None)
    return with_seed(winners[None].config, 0) if winners else None


def is_searched(table: Table, row: Row, column: Column, records: Mapping[str, RunRecord]) -> bool:
    """Whether the search of a cell is complete: its winner stays, whatever runs come."""
    return all(config.key in records for config in _search_configs(table, row, column))


def needed_configs(table: Table, row: Row, column: Column, winner: RunSpec | None = None) -> list[RunSpec]:
    """The runs that a cell needs: those of its search, and the winner's other seeds.

    Args:
        table: The table.
        row: The row of the cell.
        column: The column of the cell.
        winner: The winner of the search; until it is known, the first candidate takes its place.
    """
    candidate = winner or table.candidates(row, column)[0]
    others = table.seeds(column)[len(table.search_seeds(column)) :]
    return [*_search_configs(table, row, column), *(with_seed(candidate, seed) for seed in others)]


def num_needed(table: Table, row: Row, column: Column) -> int:
    """Number of runs that a cell needs."""
    searched = len(table.search_seeds(column))
    return table.num_candidates(row) * searched + len(table.seeds(column)) - searched


def expected_configs(experiment: Table | Figure) -> list[RunSpec]:
    """As many runs as the experiment needs, before the winners are known; for the estimate of the time left."""
    if isinstance(experiment, Figure):
        return experiment.configs()
    cells = ((row, column) for column in experiment.columns for row in experiment.rows)
    return unique(config for row, column in cells for config in needed_configs(experiment, row, column))


def run_experiment(
    experiment: Table | Figure,
    store: Store,
    engine: Engine,
    on_event: OnEvent = lambda event: None,
    known: Mapping[str, RunRecord] | None = None,
) -> SweepResult:
    """Run what is missing: in a table, first the search of all cells, then the other seeds of their winners.

    A cell whose search is incomplete, because a run failed, has no winner yet.

    Args:
        experiment: The table or figure.
        store: Where the records are stored.
        engine: What runs the configurations.
        on_event: Called for every event.
        known: Further records, as for :func:`~bankgcn.experiments.sweep.sweep`.
    """
    limit = experiment.search_runs if isinstance(experiment, Table) else None
    first = [config for config in experiment.configs() if limit is None or config.seed < limit]
    searched = sweep(first, store, engine, on_event, known)
    if isinstance(experiment, Figure) or limit is None:
        return searched
    others = _other_configs(experiment, {record.config.key: record for record in searched.records})
    rest = sweep(others, store, engine, on_event, known)
    return SweepResult(searched.records + rest.records, searched.failed + rest.failed, searched.ran + rest.ran)


def _search_configs(table: Table, row: Row, column: Column) -> list[RunSpec]:
    candidates = table.candidates(row, column)
    return [with_seed(config, seed) for seed in table.search_seeds(column) for config in candidates]


def _other_configs(table: Table, records: Mapping[str, RunRecord]) -> list[RunSpec]:
    """The winners' runs with the seeds that do not choose, ordered by dataset and seed."""
    configs = []
    for column in table.columns:
        in_column = []
        for row in table.rows:
            if is_searched(table, row, column, records):
                winner, searched = choose(table, row, column, records), _search_configs(table, row, column)
                in_column += needed_configs(table, row, column, winner)[len(searched) :]
        configs += sorted(in_column, key=lambda config: config.seed)
    return unique(configs)
