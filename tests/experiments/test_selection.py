"""Which hyper-parameters win, and what they can never win by."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bankgcn.experiments import RunRecord, RunSpec, select
from bankgcn.experiments.selection import RULES, by_model

BASE = RunSpec(dataset="MUTAG")
GAMMAS = (0.0, 0.1, 10.0)


def record(config: RunSpec, valid: float | None, test: float | None = 0.5, **changes) -> RunRecord:
    status = "diverged" if valid is None else "finished"
    values = {"status": status, "metric": "accuracy", "valid_loss": valid, **changes}
    return RunRecord(config=config, valid_score=valid, test_score=test, **values)


def grid(scores: dict[float, list[tuple[float | None, float | None]]], base: RunSpec = BASE) -> list[RunRecord]:
    """Records of each gamma with its (validation, test) scores by seed."""
    return [
        record(base.with_(gamma=gamma, seed=seed), valid, test)
        for gamma, pairs in scores.items()
        for seed, (valid, test) in enumerate(pairs)
    ]


SCORES = {
    0.0: [(0.6, 0.9), (0.7, 0.9)],
    0.1: [(0.9, 0.5), (0.6, 0.5)],
    10.0: [(0.7, 0.7), (0.7, 0.7)],
}


EQUAL = ((0.0, 0.1, "diverged"), (10.0, 0.2, "finished"))  # gamma, validation loss and status, with equal scores


def winner(records: list[RunRecord], **options) -> float:
    (selection,) = select(records, **options).values()
    return selection.config.train.gamma


def test_the_best_mean_validation_score_wins() -> None:
    records = grid(SCORES)
    (selection,) = select(records).values()
    assert selection.config.train.gamma == 0.1
    assert selection.score == pytest.approx(0.75)
    assert [record.config.seed for record in selection.records] == [0, 1]
    assert (selection.rule, selection.candidates, selection.incomplete) == ("validation", 3, 0)
    assert winner(records[::-1]) == 0.1


def test_test_scores_do_not_matter() -> None:
    for test in (math.nan, None, 1.0):
        assert winner([replace(r, test_score=test, test_loss=test) for r in grid(SCORES)]) == 0.1


def test_the_papers_way_is_by_the_test_score_and_says_so() -> None:
    (selection,) = select(grid(SCORES), rule="paper").values()
    assert (selection.config.train.gamma, selection.rule) == (0.0, "paper")
    assert "TEST" in RULES[selection.rule]
    with pytest.raises(ValueError, match="unknown selection 'papers'.*did you mean 'paper'"):
        select([], rule="papers")


def test_each_dataset_and_network_has_its_winner() -> None:
    better_10 = {**SCORES, 10.0: [(0.95, 0.5), (0.9, 0.5)]}
    bases = [BASE, BASE.with_(dataset="NCI1"), BASE.with_(num_subspaces=16), BASE.with_(train_per_class=5)]
    records = [r for base, scores in zip(bases, [SCORES, *[better_10] * 3], strict=True) for r in grid(scores, base)]
    selections = select(records)
    assert list(selections) == [by_model(base) for base in bases]
    assert [s.config.train.gamma for s in selections.values()] == [0.1, 10.0, 10.0, 10.0]
    together = select(records, group_by=lambda config: config.dataset)
    assert list(together) == ["MUTAG", "NCI1"]
    assert together["MUTAG"].candidates == 9


def test_a_diverged_run_counts_as_the_worst() -> None:
    spoiled = {**SCORES, 0.1: [(0.99, 0.9), (None, None)]}
    assert winner(grid(spoiled)) == 10.0
    assert winner(grid({0.0: [(None, None)], 10.0: [(0.1, 0.1)]})) == 10.0


def test_a_diverged_run_counts_as_the_worst_whatever_its_best_epoch_scored() -> None:
    records = grid(SCORES)
    spoiled = [replace(r, status="diverged") if r.config.train.gamma == winner(records) else r for r in records]
    assert winner(spoiled) == 10.0
    best = winner(records, rule="paper")
    spoiled = [replace(r, status="diverged") if r.config.train.gamma == best else r for r in records]
    assert winner(spoiled, rule="paper") == 10.0
    losses = [record(BASE.with_(gamma=g), 0.0, valid_loss=loss, status=s) for g, loss, s in EQUAL]
    assert winner(losses) == 10.0


def test_the_smallest_mean_error_wins() -> None:
    errors = [replace(r, metric="mae") for r in grid(SCORES)]
    (selection,) = select(errors).values()
    assert selection.config.train.gamma == 0.0
    assert selection.score == pytest.approx(0.65)
    assert winner(errors, rule="paper") == 0.1


@pytest.mark.parametrize(("metric", "score"), [("mae", 0.01), ("r2", 0.99)])
def test_a_diverged_run_spoils_the_mean_of_a_metric_without_bounds(metric: str, score: float) -> None:
    spoiled = grid({0.0: [(score, score), (None, None)], 10.0: [(0.5, 0.5), (0.5, 0.5)]})
    assert winner([replace(r, metric=metric) for r in spoiled]) == 10.0


def test_runs_with_different_metrics_are_not_compared() -> None:
    records = [record(BASE.with_(gamma=gamma), 0.5, metric=m) for gamma, m in ((0.0, "mae"), (10.0, "rmse"))]
    with pytest.raises(ValueError, match="are mae and rmse: they cannot be compared"):
        select(records)


def test_hyper_parameters_with_missing_seeds_do_not_compete() -> None:
    lucky = {**SCORES, 0.0: [(1.0, 1.0)]}
    (selection,) = select(grid(lucky)).values()
    assert selection.config.train.gamma == 0.1
    assert (selection.candidates, selection.incomplete) == (2, 1)
    failed = [r if r.config.train.gamma != 0.1 else RunRecord.failed(r.config, "no memory") for r in grid(lucky)]
    assert winner(failed) == 10.0


def test_of_equals_the_smaller_validation_loss_wins() -> None:
    equal = [
        record(BASE.with_(gamma=gamma), 0.8, valid_loss=loss) for gamma, loss in zip(GAMMAS, (3, 1, 2), strict=True)
    ]
    assert winner(equal) == winner(equal[::-1]) == 0.1
    same = [replace(r, valid_loss=1.0) for r in equal]
    assert winner(same) == winner(same[::-1])


def test_runs_that_used_different_graphs_are_not_compared() -> None:
    records = [record(BASE.with_(seed=seed), 0.5, fingerprint=f"188-{seed}") for seed in range(2)]
    with pytest.raises(ValueError, match="MUTAG used different graphs \\(188-0 and 188-1\\)"):
        select(records)
    other = record(BASE.with_(dataset="NCI1"), 0.5, fingerprint="4110")
    assert len(select([records[0], other])) == 2


def test_without_records_there_is_no_winner() -> None:
    assert select([]) == {}
