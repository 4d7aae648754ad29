"""Hyper-parameters are chosen by validation alone, and only the winner runs all seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bankgcn.experiments import Event, RunRecord, RunSpec, Store, select
from bankgcn.experiments.engines.base import OnEvent
from bankgcn.experiments.paper import TABLE_1, TABLE_2, figure3
from bankgcn.experiments.search import (
    RULES,
    by_model,
    choose,
    expected_configs,
    needed_configs,
    num_needed,
    run_experiment,
)
from fake_records import fake_record, fake_records
from refusals import refused

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
    with refused(ValueError, "selection", "'papers'", "'paper'"):
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
    with refused(ValueError, "mae", "rmse"):
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
    with refused(ValueError, "MUTAG", "188-0", "188-1"):
        select(records)
    other = record(BASE.with_(dataset="NCI1"), 0.5, fingerprint="4110")
    assert len(select([records[0], other])) == 2


def test_without_records_there_is_no_winner() -> None:
    assert select([]) == {}


TABLE = TABLE_1.restricted(datasets=["MUTAG", "NCI1"], models=["gcn", "bank-K2-s8"], runs=5, search_runs=2)
GCN, BANK = TABLE.rows
MUTAG, NCI1 = TABLE.columns


class FakeEngine:
    """Makes records without training, and remembers what it ran."""

    def __init__(self, fails: Callable[[RunSpec], bool] = lambda config: False, **changes: Any):
        self.ran: list[RunSpec] = []
        self.fails, self.changes = fails, changes

    def run_all(self, configs: Sequence[RunSpec], on_event: OnEvent) -> Generator[RunRecord]:
        for config in configs:
            on_event(Event("started", config))
            self.ran.append(config)
            failed = self.fails(config)
            yield RunRecord.failed(config, "no memory") if failed else fake_record(config, **self.changes)


def winners(records: Sequence[RunRecord]) -> dict[tuple[str, str], tuple[float, float]]:
    """Weight decay and gamma of the runs with the last seed, by dataset and convolution."""
    last = [record.config for record in records if record.config.seed == 4]
    return {(run.dataset, run.model.conv): (run.train.weight_decay, run.train.gamma) for run in last}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_only_the_winner_of_the_first_seeds_runs_the_others(store: Store) -> None:
    engine = FakeEngine()
    result = run_experiment(TABLE, store, engine)
    search, others = engine.ran[:48], engine.ran[48:]
    assert len(search) == 2 * 2 * (3 + 9)  # datasets, seeds, candidates of both rows
    assert {config.seed for config in search} == {0, 1}
    assert [(config.dataset, config.seed) for config in others] == [
        (dataset, seed) for dataset in ("MUTAG", "NCI1") for seed in (2, 3, 4) for _ in TABLE.rows
    ]
    assert (len(result.records), result.ran, result.failed) == (60, 60, ())
    assert len({config.key for config in engine.ran}) == 60
    found = {record.config.key: record for record in result.records}
    for row in TABLE.rows:
        for column in TABLE.columns:
            means = {
                candidate.key: sum(found[candidate.with_(seed=seed).key].valid_score or 0 for seed in (0, 1))
                for candidate in TABLE.candidates(row, column)
            }
            winner = choose(TABLE, row, column, found)
            assert winner is not None
            assert means[winner.key] == max(means.values())
            assert all(winner.with_(seed=seed) in others for seed in (2, 3, 4))


def test_the_winners_are_the_same_when_every_test_score_is_nan(store: Store, tmp_path: Path) -> None:
    blind = run_experiment(TABLE, Store(tmp_path / "blind"), FakeEngine(test_score=math.nan, test_loss=math.nan))
    assert all(record.test_score is None for record in blind.records)
    seeing = run_experiment(TABLE, store, FakeEngine())
    assert winners(blind.records) == winners(seeing.records)
    assert len(winners(blind.records)) == 4


def test_later_seeds_have_no_say(store: Store) -> None:
    records = fake_records(TABLE.configs())
    winner = choose(TABLE, BANK, MUTAG, records)
    assert winner is not None
    spoiled = {
        key: fake_record(record.config, valid_score=0.0 if record.config.train == winner.train else 1.0)
        if record.config.seed > 1
        else record
        for key, record in records.items()
    }
    assert choose(TABLE, BANK, MUTAG, spoiled) == winner


@pytest.mark.parametrize("moment", [7, 48, 51])
def test_an_interrupted_search_resumes_and_runs_nothing_twice(store: Store, moment: int) -> None:
    first, second = FakeEngine(), FakeEngine()

    def interrupt(event: Event) -> None:
        if event.kind == "started" and len(first.ran) == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(TABLE, store, first, interrupt)
    events: list[Event] = []
    result = run_experiment(TABLE, store, second, events.append)
    keys = [config.key for config in (*first.ran, *second.ran)]
    assert len(keys) == len(set(keys)) == len(result.records) == 60
    assert sum(event.kind == "kept" for event in events) == moment
    assert run_experiment(TABLE, store, FakeEngine()).ran == 0


def test_a_cell_with_a_failed_search_run_has_no_winner_yet(store: Store) -> None:
    def fails(config: RunSpec) -> bool:
        return (config.dataset, config.model.conv, config.seed) == ("NCI1", "gcn", 1)

    result = run_experiment(TABLE, store, FakeEngine(fails))
    assert len(result.failed) == 3
    assert set(winners(result.records)) == {("MUTAG", "gcn"), ("MUTAG", "bank"), ("NCI1", "bank")}
    assert len(winners(run_experiment(TABLE, store, FakeEngine()).records)) == 4


def test_known_records_are_not_run_again(store: Store) -> None:
    known = fake_records(config for config in TABLE.configs() if config.dataset == "MUTAG")
    engine = FakeEngine()
    result = run_experiment(TABLE, store, engine, known_records=known)
    assert {config.dataset for config in engine.ran} == {"NCI1"}
    assert (len(result.records), result.ran) == (60, 30)
    assert {record.config.dataset for record in store.records()} == {"NCI1"}


def test_without_a_number_of_search_runs_all_candidates_run_all_seeds(store: Store) -> None:
    whole = TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=3)
    engine = FakeEngine()
    run_experiment(whole, store, engine)
    assert engine.ran == whole.configs() == expected_configs(whole)
    assert len(engine.ran) == 9


def test_more_search_runs_than_seeds_are_the_whole_grid(store: Store) -> None:
    table = TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=3, search_runs=7)
    engine = FakeEngine()
    run_experiment(table, store, engine)
    assert engine.ran == table.configs()


def test_the_number_of_expected_runs_is_that_of_the_runs(store: Store) -> None:
    assert len(expected_configs(TABLE)) == len(run_experiment(TABLE, store, FakeEngine()).records)
    assert len(needed_configs(TABLE, GCN, MUTAG)) == 3 * 2 + 3


def test_a_figure_is_run_in_one_go(store: Store) -> None:
    engine = FakeEngine()
    run_experiment(figure3(["MUTAG"]), store, engine)
    assert engine.ran == figure3(["MUTAG"]).configs() == expected_configs(figure3(["MUTAG"]))


def test_a_number_below_one_is_refused() -> None:
    with refused(ValueError, search_runs=0):
        TABLE_1.restricted(search_runs=0)


def test_the_number_of_runs_is_that_of_the_runs() -> None:
    for search_runs in (None, 1, 3):
        table = TABLE_2.restricted(datasets=["ENZYMES"], runs=4, search_runs=search_runs)
        for row in table.rows:
            assert num_needed(table, row, table.columns[0]) == len(needed_configs(table, row, table.columns[0]))
            assert table.num_candidates(row) == len(table.candidates(row, table.columns[0]))
