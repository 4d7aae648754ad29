"""Tables from records alone."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.layout import Grid, Table
from bankgcn.experiments.paper.tables import TABLE_1, TABLE_2, TABLE_4
from bankgcn.report.results import collect, occupied
from bankgcn.report.sheet import WRITERS
from bankgcn.report.tables import render_table
from fake_records import fake_record, fake_records

PART = TABLE_1.restricted(datasets=["ENZYMES", "MUTAG"], models=["mlp", "gcn", "bank"], runs=4)
RECORDS = fake_records(PART.configs())


def lines(table: Table, records: dict[str, RunRecord], **options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_table(table, records, form="csv", **options))))


@pytest.mark.parametrize("form", list(WRITERS))
def test_a_table_is_the_same_to_the_last_byte_whatever_the_order_and_times_of_its_records(form: str) -> None:
    shuffled = {key: replace(RECORDS[key], seconds=9.9) for key in sorted(RECORDS, reverse=True)}
    assert render_table(PART, shuffled, form=form) == render_table(PART, RECORDS, form=form)


def test_means_and_deviations_are_those_of_the_chosen_candidate() -> None:
    (line,) = lines(PART.restricted(datasets=["ENZYMES"], models=["gcn"]), RECORDS)
    runs = [record for record in RECORDS.values() if record.config.model.conv == "gcn"]
    runs = [record for record in runs if record.config.dataset == "ENZYMES"]
    by_decay = {
        decay: [record for record in runs if record.config.train.weight_decay == decay] for decay in (0.0, 1e-5, 1e-4)
    }
    best = max(by_decay, key=lambda decay: np.mean([record.valid_score for record in by_decay[decay]]))
    scores = [100 * record.test_score for record in by_decay[best]]
    assert float(line["weight_decay"]) == best
    assert float(line["mean"]) == pytest.approx(np.mean(scores))
    assert float(line["std"]) == pytest.approx(np.std(scores, ddof=1))
    assert (line["runs"], line["runs_wanted"], line["paper_mean"], line["paper_std"]) == ("4", "4", "62.75", "5.83")


def test_test_scores_have_no_say_in_the_choice() -> None:
    blind = {key: replace(record, test_score=math.nan) for key, record in RECORDS.items()}
    choices = [[(line["weight_decay"], line["gamma"]) for line in lines(PART, records)] for records in (RECORDS, blind)]
    assert choices[0] == choices[1]


def test_the_papers_way_of_choosing_is_never_worse_on_the_test_graphs_and_says_so() -> None:
    honest, papers = lines(PART, RECORDS), lines(PART, RECORDS, rule="paper")
    assert all(float(b["mean"]) >= float(a["mean"]) - 1e-9 for a, b in zip(honest, papers, strict=True))
    text = render_table(PART, RECORDS, "paper")
    assert "TEST" in text
    assert "prove nothing" in text
    assert "TEST" not in render_table(PART, RECORDS)


def test_missing_runs_are_shown_as_missing() -> None:
    missing = [config for config in PART.configs() if config.seed == 3 and config.dataset == "MUTAG"]
    records = {key: record for key, record in RECORDS.items() if key not in {config.key for config in missing}}
    text = render_table(PART, records)
    enzymes, mutag = text.split("\n\n")[1:3]
    assert "3/4" not in enzymes
    assert "*" not in enzymes
    assert mutag.count("3/4") == len(PART.rows)
    assert mutag.count(" * ") == len(PART.rows)
    assert "INCOMPLETE: entries with * rest on 72 of their 96 runs" in text
    assert "INCOMPLETE" not in render_table(PART, RECORDS)


def test_a_cell_without_records_is_empty_and_breaks_nothing() -> None:
    for form in WRITERS:
        assert "nan" not in render_table(PART, {}, form=form)
    row = next(line for line in render_table(PART, {}).splitlines() if line.startswith("BankGCN (K=2, s=8)"))
    assert row.removeprefix("BankGCN (K=2, s=8)").split() == ["-", "68.00", "±", "5.23", "0/4", "-", "-"]


@pytest.mark.parametrize("restored", [{}, {"valid_score": 0.9, "valid_loss": 0.1, "test_score": 0.9}])
def test_diverged_runs_are_counted_and_have_no_score(restored: dict[str, float]) -> None:
    part = PART.restricted(datasets=["MUTAG"], models=["gcn"])
    records = fake_records(part.configs())
    lost = next(config for config in part.configs() if config.seed == 1)
    for decay in (0.0, 1e-5, 1e-4):
        config = lost.with_(weight_decay=decay)
        records[config.key] = RunRecord(
            config=config, status="diverged", metric="accuracy", fingerprint="graphs of MUTAG", **restored
        )
    text = render_table(part, records)
    assert "4 (1 diverged)" in text
    assert "left out of mean and std" in text
    (line,) = lines(part, records)
    kept = [records[lost.with_(seed=s, weight_decay=float(line["weight_decay"])).key].test_score for s in (0, 2, 3)]
    assert float(line["mean"]) == pytest.approx(100 * np.mean(kept))


def test_comparisons_pair_runs_of_the_same_split_only() -> None:
    results = collect(PART, RECORDS)
    gcn, bank = (next(row for row in PART.rows if row.name == name) for name in ("gcn", "bank-K2-s8"))
    column = PART.columns[0]
    whole = results.comparison(gcn, column)
    assert whole is not None
    assert whole.wins + whole.ties + whole.losses == 4
    assert whole.difference == pytest.approx(results.at(gcn, column).spread.mean - results.at(bank, column).spread.mean)
    assert results.comparison(bank, column) is None
    moved = {
        key: replace(record, split_hash="another")
        if record.config.model.conv == "gcn" and not record.config.seed
        else record
        for key, record in RECORDS.items()
    }
    rest = collect(PART, moved).comparison(gcn, column)
    assert rest is not None
    assert (rest.wins + rest.ties + rest.losses, rest.dropped) == (3, 1)


def test_the_correction_is_for_drawn_splits_alone() -> None:
    part = TABLE_4.restricted(models=["gcn", "bank-K2-s16"])
    text = render_table(part, fake_records(part.configs()))
    assert "paired t-test" in text
    assert "Nadeau" not in text
    assert "n_test/n_train = 1/8" in render_table(PART, RECORDS)


def test_the_decrease_is_relative_to_the_whole_dataset() -> None:
    part = TABLE_4.restricted(models=["gcn"], datasets=["CIFAR-10", "CIFAR-10-1000"])
    records = {
        config.key: fake_record(config, test_score=0.5 if config.train_per_class is None else 0.4)
        for config in part.configs()
    }
    _, reduced = lines(part, records)
    assert float(reduced["decrease"]) == pytest.approx(-20)
    assert float(reduced["paper_decrease"]) == pytest.approx(-34.5, abs=0.05)
    assert "-20.0%  -34.5%" in render_table(part, records)
    alone = part.restricted(datasets=["CIFAR-10-1000"])
    assert lines(alone, records)[0]["decrease"] == ""


def test_the_best_of_ours_is_bold_in_markdown_and_latex() -> None:
    part = TABLE_1.restricted(datasets=["ENZYMES"], models=["mlp", "gcn"], runs=2)
    records = {
        config.key: fake_record(config, test_score=0.75 if config.model.conv == "gcn" else 0.5)
        for config in part.configs()
    }
    assert re.findall(r"\*\*(7\S+ ± \S+)\*\*", render_table(part, records, form="markdown")) == ["75.00 ± 0.00"]
    assert re.findall(r"\\textbf\{(.*?)\}", render_table(part, records, form="latex")) == [r"75.00 $\pm$ 0.00"]


def test_the_papers_figure_stands_beside_ours_but_never_beside_a_stand_in() -> None:
    part = TABLE_1.restricted(datasets=["NCI109", "FRANKENSTEIN-rebuilt"], models=["gcn"], runs=2)
    for form in WRITERS:
        text = render_table(part, fake_records(part.configs(), notes=("made for the occasion",)), form=form)
        assert "78.9" in text
        assert "62.21" not in text
        assert "FRANKENSTEIN-rebuilt (stand-in)" in text
    assert "FRANKENSTEIN-rebuilt (stand-in): made for the occasion." in render_table(
        part, fake_records(part.configs(), notes=("made for the occasion",))
    )


def test_what_is_not_the_papers_protocol_is_said() -> None:
    assert "4 runs of each candidate; the paper has 20" in render_table(PART, RECORDS)
    short = PART.restricted(max_epochs=7, grid=Grid(weight_decays=(0.0,)))
    text = render_table(short, fake_records(short.configs()))
    assert "SHORTENED to 7 epochs" in text
    assert "Not the paper's grid" in text
    whole = TABLE_1.restricted(datasets=["NCI1"], models=["gcn"])
    text = render_table(whole, fake_records(whole.configs()))
    assert not any(words in text for words in ("SHORTENED", "Not the paper's", "the paper has 20"))


def test_footnotes_are_of_the_rows_that_are_shown() -> None:
    text = render_table(TABLE_2.restricted(datasets=["MUTAG"], models=["bank-K2-s8"], runs=1), {})
    assert "MLP" not in text
    assert "One filter" not in text
    assert "whatever s is" in text


def test_data_and_versions_are_told_and_mixed_data_is_flagged() -> None:
    text = render_table(PART, RECORDS)
    assert "MUTAG: data graphs of MUTAG." in text
    assert "Made with bankgcn 0, torch 2; 1 thread a run." in text
    mixed = {
        key: replace(record, fingerprint="others") if record.config.model.conv == "gcn" else record
        for key, record in RECORDS.items()
    }
    assert "DIFFERENT DATA UNDER ONE NAME" in render_table(PART, mixed)


def test_only_rows_and_columns_with_records_are_occupied() -> None:
    kept = [config for config in PART.configs() if config.model.conv == "gcn" and config.dataset == "MUTAG"]
    there = occupied(TABLE_1.restricted(datasets=["NCI1", "MUTAG"]), {kept[0].key})
    assert [row.name for row in there.rows] == ["gcn"]
    assert [column.name for column in there.columns] == ["MUTAG"]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'latx'.*did you mean 'latex'"):
        render_table(PART, RECORDS, form="latx")
