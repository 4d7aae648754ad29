"""The table that reads like the paper's."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Column, Design, Grid
from bankgcn.experiments.paper import TABLE_1, TABLE_4
from bankgcn.report.results import collect
from bankgcn.report.sheet import WRITERS
from bankgcn.report.tables import AHEAD, BEHIND, compact, render_table
from fake_records import fake_record, fake_records
from refusals import refused

SCORES = {"mlp": 0.80, "gcn": 0.50, "gin": 0.70, "bank": 0.70}
PART = TABLE_1.restricted(datasets=["ENZYMES", "PROTEINS"], models=["mlp", "gcn", "gin", "bank-K2-s8"], runs=6)


def with_scores(table: Design) -> dict[str, RunRecord]:
    """Records in which GCN is worse than BankGCN on all splits, the MLP better, and GIN now better, now worse."""
    offsets = {"gin": (0.03, -0.03), "gcn": (0.0, 0.01), "mlp": (0.0, 0.01), "bank": (0.0, 0.0)}
    return {
        config.key: fake_record(
            config, test_score=SCORES[config.model.conv] + offsets[config.model.conv][config.seed % 2]
        )
        for config in table.configs()
    }


def test_rows_that_differ_from_the_reference_by_the_paired_test_have_an_arrow() -> None:
    text = render_table(PART, with_scores(PART), layout="paper")
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert rows["GCN"].count(BEHIND) == rows["MLP (no edges)"].count(AHEAD) == 2
    assert not {AHEAD, BEHIND} & set(rows["GIN"] + rows["BankGCN (K=2, s=8)"])
    assert "worse or better than BankGCN (K=2, s=8), corrected paired t-test, p < 0.05" in " ".join(text.split())


class ErrorColumn(Column):
    metric = "mae"


def test_of_two_errors_the_smaller_is_better() -> None:
    mlp, gcn = PART.rows[:2]
    results = collect(PART, with_scores(PART))
    assert [results.verdict(row, PART.columns[0]) for row in (mlp, gcn)] == [1, -1]
    errors = replace(PART, columns=(ErrorColumn(name="e", label="e", dataset="ENZYMES", runs=6),))
    results = collect(errors, with_scores(errors))
    assert [results.verdict(row, errors.columns[0]) for row in (mlp, gcn)] == [-1, 1]


def test_the_papers_figures_stand_below_ours_and_the_best_of_ours_is_bold() -> None:
    lines = render_table(PART, with_scores(PART), form="markdown", layout="paper").splitlines()
    gcn = next(n for n, line in enumerate(lines) if line.startswith("| GCN |"))
    assert lines[gcn + 1] == "| paper | 62.75±5.83 | 74.87±4.08 | 4,160 |"
    assert "| MLP (no edges) | **80.50±0.55↑** | **80.50±0.55↑** | 4,184 |" in lines
    assert sum("**8" in line for line in lines) == 1


def test_all_datasets_fit_a_terminal_in_blocks() -> None:
    for table in (TABLE_1, TABLE_4):
        sheet = compact(collect(table, {}))
        assert [label for block in sheet.blocks for label in map(str.strip, block.header[1:])]
        assert max(map(len, render_table(table, fake_records(table.configs()), layout="paper").splitlines())) <= 80
    labels = [label.strip() for block in compact(collect(TABLE_1, {})).blocks for label in block.header[1:]]
    assert labels == [*(column.label for column in TABLE_1.columns), "para/layer"]


def test_a_score_without_others_is_not_called_the_best() -> None:
    alone = {key: record for key, record in with_scores(PART).items() if record.config.model.conv == "gcn"}
    assert "**" not in render_table(PART, alone, form="markdown", layout="paper").split("mean ± std")[1]


@pytest.mark.parametrize("number", range(1, 8))
def test_the_parameters_follow_the_last_dataset_and_fit_a_terminal(number: int) -> None:
    table = TABLE_1.restricted(datasets=[column.name for column in TABLE_1.columns[:number]], runs=2)
    text = render_table(table, fake_records(table.configs()), layout="paper")
    (header,) = [line for line in text.splitlines() if line.endswith("para/layer")]
    assert header.split()[-2] == table.columns[-1].label
    assert max(map(len, text.splitlines())) <= 80
    stand_in = TABLE_1.restricted(datasets=["NCI1", "FRANKENSTEIN-rebuilt"])
    assert "para/layer" in render_table(stand_in, {}, layout="paper")


def test_what_is_not_run_yet_and_what_has_no_data_is_said() -> None:
    text = render_table(TABLE_1.restricted(datasets=["NCI1", "FRANKENSTEIN"]), {}, form="csv", layout="paper")
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(text))}
    assert rows["GCN"] == ["not run", "no data", "-"]
    assert rows["GCN, paper"] == ["79.00±1.93", "62.21±2.41", "4,160"]
    assert "no data: the dataset cannot be downloaded" in render_table(TABLE_1, {}, layout="paper").replace("\n  ", " ")
    assert "no data" not in render_table(PART, {}, layout="paper")


def test_the_legend_names_the_papers_figures_only_where_they_stand() -> None:
    assert "Below ours: the paper's figures" in render_table(PART, {}, layout="paper")
    stand_in = TABLE_1.restricted(datasets=["FRANKENSTEIN-rebuilt"])
    text = render_table(stand_in, {}, layout="paper")
    assert "All figures are ours" in text
    assert "paper's figures" not in text


def test_runs_that_are_missing_are_marked() -> None:
    records = with_scores(PART)
    lost = next(key for key, r in records.items() if r.config.model.conv == "gcn" and r.config.dataset == "ENZYMES")
    del records[lost]
    text = render_table(PART, records, layout="paper")
    gcn = next(line for line in text.splitlines() if line.startswith("GCN"))
    assert (gcn.count("*"), text.count("*")) == (1, 2)
    assert "INCOMPLETE: entries with * have 17 of 18 runs" in text


def test_metrics_stand_in_the_header_if_columns_have_several() -> None:
    text = render_table(TABLE_4, {}, form="markdown", layout="paper")
    assert "| CIFAR-10 (accuracy in %) | CIFAR-10 (1000) (accuracy in %) | ogbg-molhiv (ROC-AUC in %) |" in text
    assert "| ogbg-molhiv (embedded) (ROC-AUC in %) |" in text
    assert "(accuracy" not in render_table(PART, {}, form="markdown", layout="paper")


def test_the_footer_says_where_nothing_is_chosen() -> None:
    grid = Grid(weight_decays=(1e-5,), gammas=(0.1,))
    fixed = render_table(PART.restricted(grid=grid), {}, form="markdown", layout="paper")
    assert "No hyper-parameters are chosen: weight decay 1e-05, gamma 0.1 for filter banks." in fixed
    assert "chosen by" not in fixed
    assert "Hyper-parameters chosen by mean validation score" in render_table(PART, {}, form="markdown", layout="paper")


@pytest.mark.parametrize("form", list(WRITERS))
def test_the_same_records_give_the_same_bytes_in_any_order(form: str) -> None:
    records = with_scores(PART)
    turned = {key: records[key] for key in sorted(records, reverse=True)}
    assert render_table(PART, records, form=form, layout="paper") == render_table(
        PART, turned, form=form, layout="paper"
    )


@pytest.mark.parametrize("layout", ["paper", "full"])
def test_latex_compiles(layout: str, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    written = render_table(TABLE_1, fake_records(TABLE_1.configs()), form="latex", layout=layout)
    page = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}" + written + r"\end{document}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000


def test_an_unknown_layout_is_refused() -> None:
    with refused(ValueError, "layout", "'papr'", "'paper'"):
        render_table(PART, {}, layout="papr")
