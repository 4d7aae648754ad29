"""Which hyper-parameters win: chosen by validation, or, so labelled, as the paper probably did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bankgcn.choices import pick
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

WORST = 0.0  # of accuracy and ROC-AUC alike

How = Literal["validation", "paper"]

LABELS: dict[str, str] = {
    "validation": "hyper-parameters chosen by the mean validation score over the seeds",
    "paper": "hyper-parameters chosen by the mean TEST score over the seeds, as the paper seems to do: optimistic",
}
"""What a table must say of the way in which its entries were chosen."""


@dataclass(frozen=True)
class Selection:
    """The winner of a group of runs.

    Args:
        group: What the group has in common.
        how: By which rule it was chosen; ``LABELS`` says it in words.
        records: The winner's runs, by seed.
        score: What it was chosen for: its mean score over the seeds.
        candidates: Number of hyper-parameters that it was chosen from.
        incomplete: Number of those that were left out because some of their seeds are missing.
    """

    group: Hashable
    how: How
    records: tuple[RunRecord, ...]
    score: float
    candidates: int
    incomplete: int

    @property
    def config(self) -> RunSpec:
        """The winner's configuration, with its first seed."""
        return self.records[0].config


def by_model(config: RunSpec) -> Hashable:
    """Group runs by what they learn and with which network; the training is chosen."""
    return config.dataset, config.train_per_class, config.model


def select(
    records: Iterable[RunRecord], how: How = "validation", group_by: Callable[[RunSpec], Hashable] = by_model
) -> dict[Hashable, Selection]:
    """The winning hyper-parameters of each group, by their mean score over the seeds.

    A diverged run counts with the worst score, 0, whatever its best epoch scored: hyper-parameters must not win by the
    runs that they spoil. Hyper-parameters are compared only where they were run with every seed of their group, or, if
    none was, with most of them. Of equals, the one with the smaller validation loss wins, then the one with the smaller
    key.

    Args:
        records: Runs that came to an end; failed ones count as missing.
        how: ``"validation"``: by the validation score; test scores are not looked at. ``"paper"``: by the test score.
        group_by: What runs of one group have in common; everything else, the seed apart, is chosen.

    Returns:
        The winner of each group, in the order in which the groups come.

    Raises:
        ValueError: Runs of one dataset saw different graphs, so that they cannot be compared.
    """
    pick(LABELS, how, "selection")
    groups: dict[Hashable, dict[str, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    kept = [record for record in records if record.status != "failed"]
    _check_same_graphs(kept)
    for record in kept:
        groups[group_by(record.config)][record.config.with_(seed=0).key].append(record)
    return {group: _winner(group, candidates, how) for group, candidates in groups.items()}


def _winner(group: Hashable, candidates: dict[str, list[RunRecord]], how: How) -> Selection:
    most = max(map(len, candidates.values()))
    complete = {key: records for key, records in candidates.items() if len(records) == most}
    key = min(complete, key=lambda key: (-_mean_score(complete[key], how), _mean_loss(complete[key]), key))
    winners = tuple(sorted(complete[key], key=lambda record: record.config.seed))
    return Selection(group, how, winners, _mean_score(winners, how), len(complete), len(candidates) - len(complete))


def _mean_score(records: Iterable[RunRecord], how: How) -> float:
    return fmean(_score(record, how) for record in records)


def _mean_loss(records: Iterable[RunRecord]) -> float:
    return fmean(
        float("inf") if record.status == "diverged" or record.valid_loss is None else record.valid_loss
        for record in records
    )


def _score(record: RunRecord, how: How) -> float:
    score = record.valid_score if how == "validation" else record.test_score
    return WORST if record.status == "diverged" or score is None else score


def _check_same_graphs(records: Iterable[RunRecord]) -> None:
    seen: dict[str, RunRecord] = {}
    for record in records:
        first = seen.setdefault(record.config.dataset, record)
        if first.fingerprint != record.fingerprint:
            raise ValueError(
                f"the runs {first.config.key} and {record.config.key} of {record.config.dataset} saw different graphs "
                f"({first.fingerprint} and {record.fingerprint}): they cannot be compared"
            )
