"""The search for hyper-parameters in the cells of a design, and the runs that follow from it.

They are chosen by validation score or, clearly labelled, by test score as the paper appears to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Literal

from bankgcn.experiments.design import Column, Design, Figure, Row, unique
from bankgcn.experiments.engines.base import Engine, OnEvent
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult, sweep
from bankgcn.metrics import METRICS, Metric
from bankgcn.settings import pick
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

SelectionRule = Literal["validation", "paper"]

RULES: dict[str, str] = {"validation": "mean validation score over the seeds", "paper": "mean TEST score"}
"""The score that chooses hyper-parameters, in the words of a design."""


@dataclass(frozen=True)
class Selection:
    """The winner of a group of runs.

    Args:
        group: What the runs of the group have in common.
        rule: The rule of the choice, a key of ``RULES``.
        records: The winner's runs, by seed.
        score: The winner's mean score over the seeds, by which it is chosen.
        candidates: Number of hyper-parameters that are compared.
        incomplete: Number of hyper-parameters that are left out because some of their seeds are missing.
    """

    group: Hashable
    rule: SelectionRule
    records: tuple[RunRecord, ...]
    score: float
    candidates: int
    incomplete: int

    @property
    def config(self) -> RunSpec:
        """The winner's configuration, with its first seed."""
        return self.records[0].config


def by_model(config: RunSpec) -> Hashable:
    """Group runs by dataset and network; the hyper-parameters of the training are chosen."""
    return config.dataset, config.train_per_class, config.model


def select(
    records: Iterable[RunRecord], rule: SelectionRule = "validation", group_by: Callable[[RunSpec], Hashable] = by_model
) -> dict[Hashable, Selection]:
    """Choose the hyper-parameters with the best mean score over the seeds, in each group.

    The metric of the records says which direction is better. A diverged run counts as the metric's worst value,
    whatever its best epoch scored: hyper-parameters must not win by the runs that they spoil. Only hyper-parameters
    with a run for every seed of their group compete; if there are none, those with the most seeds do. A tie goes to
    the smaller validation loss, then to the smaller key.

    Args:
        records: Finished and diverged runs; failed ones count as missing.
        rule: ``"validation"``: by validation score, without a look at the test scores. ``"paper"``: by test score.
        group_by: What the runs of a group have in common; everything else, apart from the seed, is chosen.

    Returns:
        The winner of each group, in the order of the first records of the groups.

    Raises:
        ValueError: Runs of one dataset used different graphs, or runs of one group different metrics.
    """
    pick(RULES, rule, "selection")
    groups: dict[Hashable, dict[str, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    ended = [record for record in records if record.status != "failed"]
    _check_same_graphs(ended)
    for record in ended:
        groups[group_by(record.config)][record.config.with_(seed=0).key].append(record)
    return {group: _winner(group, candidates, rule) for group, candidates in groups.items()}


def _winner(group: Hashable, candidates: dict[str, list[RunRecord]], rule: SelectionRule) -> Selection:
    metric = _common_metric([record for records in candidates.values() for record in records])
    most = max(map(len, candidates.values()))
    complete = {key: records for key, records in candidates.items() if len(records) == most}
    scores = {key: fmean(_score(record, rule, metric) for record in records) for key, records in complete.items()}
    key = min(complete, key=lambda key: (metric.cost(scores[key]), _mean_loss(complete[key]), key))
    winners = tuple(sorted(complete[key], key=lambda record: record.config.seed))
    return Selection(group, rule, winners, scores[key], len(complete), len(candidates) - len(complete))


def _score(record: RunRecord, rule: SelectionRule, metric: Metric) -> float:
    score = record.valid_score if rule == "validation" else record.test_score
    return metric.worst if record.status == "diverged" or score is None else score


def _mean_loss(records: Iterable[RunRecord]) -> float:
    return fmean(
        float("inf") if record.status == "diverged" or record.valid_loss is None else record.valid_loss
        for record in records
    )


def _common_metric(records: list[RunRecord]) -> Metric:
    first = records[0]
    for record in records:
        if record.metric != first.metric:
            raise ValueError(
                f"the scores of the runs {first.config.key} and {record.config.key} are {first.metric} and "
                f"{record.metric}: they cannot be compared"
            )
    return pick(METRICS, first.metric, "metric")


def _check_same_graphs(records: Iterable[RunRecord]) -> None:
    seen: dict[str, RunRecord] = {}
    for record in records:
        first = seen.setdefault(record.config.dataset, record)
        if first.fingerprint != record.fingerprint:
            raise ValueError(
                f"the runs {first.config.key} and {record.config.key} of {record.config.dataset} used different graphs "
                f"({first.fingerprint} and {record.fingerprint}): they cannot be compared"
            )


@lru_cache(maxsize=100_000)
def with_seed(config: RunSpec, seed: int) -> RunSpec:
    """The run with another seed. Its key takes time to compute, and several tables ask for the same runs."""
    return config.with_(seed=seed)


def check_rule(experiment: Design | Figure, rule: SelectionRule) -> None:
    """Raise an error if hyper-parameters cannot be chosen by this rule.

    Raises:
        ValueError: The rule looks at test scores, but the design has ``search_runs``: only the winner by validation
            score runs all seeds.
    """
    if isinstance(experiment, Design) and experiment.search_runs is not None and rule == "paper":
        raise ValueError(
            f"search_runs={experiment.search_runs} with the selection 'paper': a search over the first seeds chooses "
            "by validation score alone; leave out one of the two"
        )


def choose(
    design: Design, row: Row, column: Column, records: Mapping[str, RunRecord], rule: SelectionRule = "validation"
) -> RunSpec | None:
    """The candidate that wins the search of a cell, with seed 0; ``None`` without records of the search.

    Args:
        design: The design.
        row: The row of the cell.
        column: The column of the cell.
        records: Records by the keys of their runs. Only those of the seeds that choose count.
        rule: Choose by mean validation score or, as the paper appears to do, by mean test score.
    """
    searched = _search_configs(design, row, column)
    recorded = [records[config.key] for config in searched if config.key in records]
    winners = select(recorded, rule, group_by=lambda config: None)
    return with_seed(winners[None].config, 0) if winners else None


def is_searched(design: Design, row: Row, column: Column, records: Mapping[str, RunRecord]) -> bool:
    """Whether the search of a cell is complete: its winner stays, whatever runs come."""
    return all(config.key in records for config in _search_configs(design, row, column))


def needed_configs(design: Design, row: Row, column: Column, winner: RunSpec | None = None) -> list[RunSpec]:
    """The runs that a cell needs: those of its search, and the winner's other seeds.

    Args:
        design: The design.
        row: The row of the cell.
        column: The column of the cell.
        winner: The winner of the search; until it is known, the first candidate takes its place.
    """
    candidate = winner or design.candidates(row, column)[0]
    others = design.seeds(column)[len(design.search_seeds(column)) :]
    return [*_search_configs(design, row, column), *(with_seed(candidate, seed) for seed in others)]


def num_needed(design: Design, row: Row, column: Column) -> int:
    """Number of runs that a cell needs."""
    searched = len(design.search_seeds(column))
    return design.num_candidates(row) * searched + len(design.seeds(column)) - searched


def expected_configs(experiment: Design | Figure) -> list[RunSpec]:
    """As many runs as the experiment needs, before the winners are known; for the estimate of the time left."""
    if isinstance(experiment, Figure):
        return experiment.configs()
    cells = ((row, column) for column in experiment.columns for row in experiment.rows)
    return unique(config for row, column in cells for config in needed_configs(experiment, row, column))


def run_experiment(
    experiment: Design | Figure,
    store: Store,
    engine: Engine,
    on_event: OnEvent = lambda event: None,
    known_records: Mapping[str, RunRecord] | None = None,
) -> SweepResult:
    """Run what is missing: in a design, first the search of all cells, then the other seeds of their winners.

    A cell whose search is incomplete, because a run failed, has no winner yet.

    Args:
        experiment: The design or figure.
        store: Where the records are stored.
        engine: What runs the configurations.
        on_event: Called for every event.
        known_records: Further records, as for :func:`~bankgcn.experiments.sweep.sweep`.
    """
    limit = experiment.search_runs if isinstance(experiment, Design) else None
    first = [config for config in experiment.configs() if limit is None or config.seed < limit]
    searched = sweep(first, store, engine, on_event, known_records)
    if isinstance(experiment, Figure) or limit is None:
        return searched
    others = _other_configs(experiment, {record.config.key: record for record in searched.records})
    rest = sweep(others, store, engine, on_event, known_records)
    return SweepResult(searched.records + rest.records, searched.failed + rest.failed, searched.ran + rest.ran)


def _search_configs(design: Design, row: Row, column: Column) -> list[RunSpec]:
    candidates = design.candidates(row, column)
    return [with_seed(config, seed) for seed in design.search_seeds(column) for config in candidates]


def _other_configs(design: Design, records: Mapping[str, RunRecord]) -> list[RunSpec]:
    """The winners' runs with the seeds that do not choose, ordered by dataset and seed."""
    configs = []
    for column in design.columns:
        in_column = []
        for row in design.rows:
            if is_searched(design, row, column, records):
                winner, searched = choose(design, row, column, records), _search_configs(design, row, column)
                in_column += needed_configs(design, row, column, winner)[len(searched) :]
        configs += sorted(in_column, key=lambda config: config.seed)
    return unique(configs)
