"""Choose hyper-parameters by validation score or, clearly labelled, by test score as the paper appears to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bankgcn.choices import pick
from bankgcn.metrics import METRICS, Metric
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

SelectionRule = Literal["validation", "paper"]

RULES: dict[str, str] = {
    "validation": "mean validation score over the seeds",
    "paper": "mean TEST score",
}
"""The score that chooses hyper-parameters, in the words of a table."""


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
    records: Iterable[RunRecord],
    rule: SelectionRule = "validation",
    group_by: Callable[[RunSpec], Hashable] = by_model,
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
