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
from bankgcn.experiments.design import Column, Design, Grid
from bankgcn.experiments.paper import TABLE_1, TABLE_2, TABLE_4
from bankgcn.report import tables
from bankgcn.report.results import Cell, Results, collect, without_empty
from bankgcn.report.sheet import WRITERS, write_sheet
from bankgcn.report.tables import by_dataset, matrix, render_table
from fake_records import fake_record, fake_records
from refusals import refused

PART = TABLE_1.restricted(datasets=["ENZYMES", "MUTAG"], models=["mlp", "gcn", "bank"], runs=4)
RECORDS = fake_records(PART.configs())


def lines(table: Design, records: dict[str, RunRecord], **options: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_table(table, records, form="csv", **options))))


def with_notes(table: Design, records: dict[str, RunRecord]) -> str:
    """The table with its notes, on one line."""
    return " ".join(render_table(table, records, notes=True).split())


@pytest.mark.parametrize("form", list(WRITERS))
@pytest.mark.parametrize("notes", [False, True])
def test_a_table_is_the_same_to_the_last_byte_whatever_the_order_and_times_of_its_records(
    form: str, notes: bool
) -> None:
    shuffled = {key: replace(RECORDS[key], seconds=9.9) for key in sorted(RECORDS, reverse=True)}
    assert render_table(PART, shuffled, form=form, notes=notes) == render_table(PART, RECORDS, form=form, notes=notes)


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
    assert "INCOMPLETE: entries with * have 72 of 96 runs" in text
    assert "INCOMPLETE" not in render_table(PART, RECORDS)


def test_a_cell_without_records_is_empty_and_breaks_nothing() -> None:
    for form in WRITERS:
        assert "nan" not in render_table(PART, {}, form=form)
    text = render_table(PART, {}, notes=True)
    scores, _, details, _ = (line.split()[3:] for line in text.splitlines() if line.startswith("BankGCN (K=2, s=8)"))
    assert scores == ["-", "68.00", "±", "5.23", "0/4", "reference"]
    assert details == ["-", "-"]


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
    assert "left out of mean and std" in with_notes(part, records)
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
    text = with_notes(part, fake_records(part.configs()))
    assert "paired t-test" in text
    assert "Nadeau" not in text
    assert "n_test/n_train = 1/8" in with_notes(PART, RECORDS)


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
    records = fake_records(part.configs(), notes=("made for the occasion",))
    assert "FRANKENSTEIN-rebuilt (stand-in): made for the occasion." in with_notes(part, records)


def test_what_is_not_the_papers_protocol_is_said() -> None:
    assert "4 seeds (paper: 20)." in render_table(PART, RECORDS)
    short = PART.restricted(max_epochs=7, grid=Grid(weight_decays=(0.0,)))
    text = render_table(short, fake_records(short.configs()))
    assert "SHORTENED to 7 epochs" in text
    assert "not the paper's grid" in text
    assert "The paper's grid: weight decay in {0, 1e-05, 0.0001}, gamma in {0, 0.1, 10}." in with_notes(short, {})
    whole = TABLE_1.restricted(datasets=["NCI1"], models=["gcn"])
    assert "Complete: all runs of the protocol." in render_table(whole, fake_records(whole.configs()))
    text = with_notes(whole, fake_records(whole.configs()))
    assert not any(words in text for words in ("SHORTENED", "not the paper's", "(paper:", "The paper's grid"))


def test_footnotes_are_of_the_rows_that_are_shown() -> None:
    text = with_notes(TABLE_2.restricted(datasets=["MUTAG"], models=["bank-K2-s8"], runs=1), {})
    assert "MLP" not in text
    assert "One filter" not in text
    assert "for every s" in text


def test_notes_name_data_and_versions_and_the_footer_flags_mixed_data() -> None:
    text = with_notes(PART, RECORDS)
    assert "MUTAG: data graphs of MUTAG." in text
    assert "Made with bankgcn 0, torch 2; 1 thread per run." in text
    mixed = {
        key: replace(record, fingerprint="others") if record.config.model.conv == "gcn" else record
        for key, record in RECORDS.items()
    }
    assert "DIFFERENT DATA UNDER ONE NAME" in render_table(PART, mixed)


def test_only_rows_and_columns_with_records_are_occupied() -> None:
    kept = [config for config in PART.configs() if config.model.conv == "gcn" and config.dataset == "MUTAG"]
    occupied = without_empty(TABLE_1.restricted(datasets=["NCI1", "MUTAG"]), {kept[0].key})
    assert [row.name for row in occupied.rows] == ["gcn"]
    assert [column.name for column in occupied.columns] == ["MUTAG"]


@pytest.mark.parametrize("table", [PART, TABLE_4])
def test_text_fits_a_terminal_of_80_columns(table: Design) -> None:
    for records in ({}, fake_records(table.configs())):
        assert max(map(len, render_table(table, records).splitlines())) <= 80
        assert max(map(len, render_table(table, records, notes=True).splitlines())) <= 80


def test_the_footer_has_three_lines() -> None:
    for records in ({}, RECORDS):
        footer = render_table(PART, records).split("\n\n")[-1].splitlines()
        assert len(footer) == 3
        assert footer[0] == "Hyper-parameters chosen by mean validation score over the seeds."
        assert "--notes" in footer[2]


class ErrorColumn(Column):
    metric = "mae"


def errors_in_table() -> Results:
    """Two networks by their mean absolute errors on four seeds."""
    column = ErrorColumn(name="esol", label="esol", dataset="esol", runs=4)
    table = replace(PART, rows=PART.rows[1:3], columns=(column,), figures={})
    config = PART.configs()[0]
    errors = {"gcn": (0.61, 0.62, 0.63, 0.64), "bank-K2-s8": (0.51, 0.5, 0.53, 0.65)}
    cells = {
        (row.name, "esol"): Cell(
            row=row,
            column=column,
            chosen=None,
            records=tuple(
                fake_record(config.with_(seed=seed), metric="mae", test_score=score)
                for seed, score in enumerate(errors[row.name])
            ),
            done=4,
            candidates=1,
            total=4,
            published=None,
        )
        for row in table.rows
    }
    return Results(design=table, rule="validation", cells=cells)


def test_errors_have_their_own_unit_and_the_smallest_is_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "notes_of", lambda results: ())  # they describe runs, and here are none
    results = errors_in_table()
    gcn, bank = results.design.rows
    versus = results.comparison(gcn, results.design.columns[0])
    assert versus is not None
    assert (versus.wins, versus.losses) == (1, 3)  # GCN has the smaller error once
    text = write_sheet(by_dataset(results))
    assert "esol: test MAE, mean ± std" in text
    assert "%" not in text
    assert re.search(r"GCN +0\.625 ± 0\.01291 +4 +\+0\.0775 +0\.\d{3}\n", text)
    assert results.is_best(bank, results.design.columns[0])
    assert not results.is_best(gcn, results.design.columns[0])
    published = write_sheet(matrix(results), "markdown")
    assert "Test MAE, mean ± std; the best of ours in bold" in published
    assert "**0.5475 ± 0.06946**" in published


def test_an_unknown_format_is_refused() -> None:
    with refused(ValueError, "format", "'latx'", "'latex'"):
        render_table(PART, RECORDS, form="latx")


def test_a_search_over_the_first_seeds_chooses_by_them_and_reports_all_seeds_of_the_winner() -> None:
    part = PART.restricted(datasets=["ENZYMES"], models=["gcn"], search_runs=2)
    records = fake_records(part.configs())
    (line,) = lines(part, records)
    by_decay = {
        decay: [r for r in records.values() if r.config.train.weight_decay == decay] for decay in (0, 1e-5, 1e-4)
    }
    best = max(by_decay, key=lambda decay: sum(r.valid_score for r in by_decay[decay] if r.config.seed < 2))
    assert float(line["weight_decay"]) == best
    assert float(line["mean"]) == pytest.approx(np.mean([100 * r.test_score for r in by_decay[best]]))
    assert (line["runs"], line["grid_runs"], line["grid_runs_wanted"], line["search_runs"]) == ("4", "8", "8", "2")


def test_a_search_is_complete_without_the_other_seeds_of_the_losers() -> None:
    part = PART.restricted(search_runs=2)
    chosen = {cell.chosen.train for cell in collect(part, RECORDS).cells.values() if cell.chosen}
    needed = {key: r for key, r in RECORDS.items() if r.config.seed < 2 or r.config.train in chosen}
    text = " ".join(render_table(part, needed).split())
    assert len(needed) < len(RECORDS)
    assert "chosen by mean validation score over the first 2 seeds; only the winner runs all seeds." in text
    assert "INCOMPLETE" not in text
    lost = next(key for key, r in needed.items() if r.config.seed == 1)
    assert "INCOMPLETE" in render_table(part, {key: r for key, r in needed.items() if key != lost})
    assert "first seed; only" in " ".join(render_table(PART.restricted(search_runs=1), RECORDS).split())
    assert "first" not in render_table(PART, RECORDS)


def test_a_search_over_the_first_seeds_never_chooses_by_test_score() -> None:
    part = PART.restricted(search_runs=2)
    with refused(ValueError, "'paper'", search_runs=2):
        render_table(part, RECORDS, "paper")
    blind = {key: replace(record, test_score=math.nan) for key, record in RECORDS.items()}
    choices = [[(line["weight_decay"], line["gamma"]) for line in lines(part, records)] for records in (RECORDS, blind)]
    assert choices[0] == choices[1]


def test_the_place_of_the_normalisation_is_shown_where_it_is_not_the_default_or_is_chosen() -> None:
    for places, words in (
        (("before",), None),
        (("after",), "seeds; l2 after the ReLU."),
        (("none",), "seeds; no l2."),
        (("before", "after"), "seeds; place of l2 chosen, too: l2 before the ReLU or l2 after the ReLU."),
    ):
        part = PART.restricted(datasets=["ENZYMES"], models=["gcn"], grid=Grid(normalize=places))
        records = fake_records(part.configs())
        footer = " ".join(render_table(part, records).split("\n\n")[-1].split())
        assert ("l2" in footer, words is None or words in footer) == (words is not None, True)
        chosen = collect(part, records).at(part.rows[0], part.columns[0]).chosen
        assert chosen is not None
        assert (f"wd {chosen.train.weight_decay:g}, l2 {chosen.model.normalize}" in with_notes(part, records)) == (
            places != ("before",)
        )
        assert lines(part, records)[0]["normalize"] == chosen.model.normalize
        assert "The paper's grid" not in with_notes(part, records)


def test_the_validation_score_chooses_the_place_of_the_normalisation() -> None:
    part = PART.restricted(datasets=["ENZYMES"], models=["gcn"], grid=Grid(normalize=("before", "after")))
    for best in ("before", "after"):
        records = {
            config.key: fake_record(config, valid_score=0.9 if config.model.normalize == best else 0.5)
            for config in part.configs()
        }
        assert lines(part, records)[0]["normalize"] == best
