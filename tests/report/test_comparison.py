"""The table of a comparison, from records alone."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any

import numpy as np
import pytest

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.design import Design, Grid, comparison_design
from bankgcn.experiments.statistics import compare, corrected_interval, holm
from bankgcn.report.comparison import render_comparison
from bankgcn.report.sheet import WRITERS
from fake_records import fake_record

BASE = RunSpec(dataset="own.csv")
GRID = Grid(weight_decays=(0.0, 1e-4), gammas=(0.0,))
SPECS = {model: BASE.with_(conv=model) for model in ("bank", "gcn", "mlp")}
TABLE = comparison_design(SPECS, runs=6, grid=GRID)


def records_of(table: Design, **changes: Any) -> dict[str, RunRecord]:
    values: dict[str, Any] = {
        "split_sizes": (60, 20, 20),
        "task": {"kind": "classes"},
        "assessment": {"baseline_score": 0.4},
        **changes,
    }
    return {config.key: fake_record(config, **values) for config in table.configs()}


def lines(table: Design, records: dict[str, RunRecord]) -> dict[str, dict[str, str]]:
    rows = csv.DictReader(io.StringIO(render_comparison(table, records, "csv")))
    return {row["model"]: row for row in rows}


def scores_of(records: dict[str, RunRecord], conv: str) -> list[float]:
    """The test scores of the candidate with the best mean validation score, in percent."""
    found: dict[float, list[RunRecord]] = {}
    for record in sorted(records.values(), key=lambda record: record.config.seed):
        if record.config.model.conv == conv:
            found.setdefault(record.config.train.weight_decay, []).append(record)
    best = max(found.values(), key=lambda runs: np.mean([run.valid_score for run in runs]))
    return [100 * run.test_score for run in best if run.test_score is not None]


def test_figures_are_those_of_the_choice_by_validation_with_the_real_share_of_test_graphs() -> None:
    records = records_of(TABLE)
    rows, ratio = lines(TABLE, records), 20 / 60
    reference = scores_of(records, "bank")
    raw = [compare(scores_of(records, conv), reference, ratio).t_test for conv in ("gcn", "mlp")]
    raw.append(compare([40.0] * 6, reference, ratio).t_test)
    for (label, scores), p, adjusted in zip(
        (("GCN", scores_of(records, "gcn")), ("MLP", scores_of(records, "mlp")), ("largest class", [40.0] * 6)),
        raw,
        holm(raw),
        strict=True,
    ):
        row = rows[label]
        assert float(row["mean"]) == pytest.approx(np.mean(scores))
        assert float(row["p_t_test"]) == pytest.approx(p)
        assert float(row["p_holm"]) == pytest.approx(adjusted)
        low, high = corrected_interval(scores, ratio)
        assert (float(row["interval_low"]), float(row["interval_high"])) == pytest.approx((max(0, low), min(100, high)))
    assert rows["BankGCN"]["p_holm"] == ""


def test_two_runs_are_too_few_for_an_interval() -> None:
    table = comparison_design(SPECS, runs=2, grid=GRID)
    text = render_comparison(table, records_of(table, test_score=0.75), "text")
    row = next(line for line in text.splitlines() if line.startswith("MLP"))
    assert re.fullmatch(r"MLP +75\.00 ± 0\.00 +too few runs +2 .*", row)
    assert lines(table, records_of(table))["MLP"]["interval_low"] == ""


@pytest.mark.parametrize("form", list(WRITERS))
def test_the_order_of_the_records_does_not_matter(form: str) -> None:
    records = records_of(TABLE)
    backwards = dict(reversed(records.items()))
    assert render_comparison(TABLE, records, form, notes=True) == render_comparison(TABLE, backwards, form, notes=True)


def test_the_text_fits_a_terminal_and_names_what_differs() -> None:
    records = records_of(TABLE)
    text = render_comparison(TABLE, records, notes=True)
    assert max(map(len, text.splitlines())) <= 80 or "data graphs of" in text
    flat = " ".join(text.split())
    assert "Different from BankGCN (p < 0.05, adjusted for 3 tests):" in flat
    assert "largest class (worse)" in flat
    assert "n_test/n_train = 0.333" in flat
    assert "always predicts the largest class" in flat


def test_one_candidate_for_each_model_is_no_choice() -> None:
    fixed = comparison_design(SPECS, runs=2, grid=Grid(weight_decays=(0.0,), gammas=(0.1,)))
    text = render_comparison(fixed, records_of(fixed), "markdown")
    assert "No hyper-parameters are chosen: weight decay 0, gamma 0.1 for filter banks; each run scores" in text


def test_the_notes_say_how_the_networks_were_optimised() -> None:
    assert "Training: Adam, learning rate 0.001, batches of 64" in notes_of(BASE)
    changes = {"optimizer": "adamw", "warmup": 5, "schedule": "cosine", "decay_patience": 9, "clip_norm": 1.0}
    words = (
        "AdamW, learning rate 0.001, after 5 epochs of warm-up, falling to 1e-05 along a cosine, reduced after 9 epochs"
    )
    assert f"{words}, gradients clipped to norm 1, batches of 64" in notes_of(BASE.with_(**changes))


def notes_of(spec: RunSpec) -> str:
    alone = comparison_design({"bank": spec}, runs=2, grid=GRID)
    return render_comparison(alone, records_of(alone), "markdown", notes=True)


def test_a_smaller_error_is_better() -> None:
    specs = {model: BASE.with_(conv=model, task="values") for model in ("bank", "gcn")}
    table = comparison_design(specs, runs=4, grid=GRID)
    records = records_of(table, task={"kind": "values"}, assessment={"baseline_score": 9.0})
    flat = " ".join(render_comparison(table, records).split())
    assert "Test MAE, mean ± std" in flat
    assert "mean value (worse)" in flat


def test_missing_runs_are_marked_and_a_lone_model_has_no_tests() -> None:
    records = records_of(TABLE)
    records.pop(TABLE.configs()[-1].key)
    assert "INCOMPLETE" in render_comparison(TABLE, records)
    alone = comparison_design({"bank": BASE}, runs=2, grid=GRID)
    text = render_comparison(alone, records_of(alone, assessment={}, task={}))
    assert "Different" not in text
    assert "reference" in text


def test_a_single_run_has_no_p_values() -> None:
    table = comparison_design(SPECS, runs=1, grid=GRID)
    assert "There are no p-values" in render_comparison(table, records_of(table))


def test_records_without_a_baseline_have_no_such_line() -> None:
    records = records_of(TABLE, assessment={})
    assert list(lines(TABLE, records)) == ["BankGCN", "GCN", "MLP"]
    assert not math.isnan(float(lines(TABLE, records)["GCN"]["p_holm"]))


def with_targets(table: Design) -> dict[str, RunRecord]:
    def row(name: str, score: float, constant: float) -> dict[str, Any]:
        return {"name": name, "graphs": 20, "scores": {"roc_auc": score}, "baseline_scores": {"roc_auc": constant}}

    targets = [row("NR-AR", 0.75, 0.5), row("a label with a rather long name", 0.5, 0.5)]
    assessment = {"baseline_score": 0.5, "targets": targets}
    return records_of(table, task={"kind": "labels"}, assessment=assessment, metric="mean_roc_auc")


def test_each_of_several_targets_has_a_row_with_the_score_of_each_model() -> None:
    specs = {model: BASE.with_(conv=model, task="labels") for model in ("bank", "gcn", "mlp", "gin", "sage")}
    table = comparison_design(specs, runs=3, grid=GRID)
    text = render_comparison(table, with_targets(table))
    assert "Test ROC-AUC in % of each target, mean" in text
    assert re.search(r"NR-AR +75\.00 +75\.00 +75\.00 +75\.00\n", text)  # four models abreast, the others below
    assert re.search(r"a label with a rather\.\.\. +50\.00", text)
    assert max(map(len, text.splitlines())) <= 80
    rows = list(csv.DictReader(io.StringIO(render_comparison(table, with_targets(table), "csv"))))
    own = [row for row in rows if row["target"] == "NR-AR"]
    assert [(row["model"], row["metric"], float(row["mean"])) for row in own][-2:] == [
        ("GraphSAGE", "roc_auc", 75.0),
        ("label shares", "roc_auc", 50.0),
    ]
    assert [row["metric"] for row in rows if not row["target"]] == ["mean_roc_auc"] * 6


def test_a_comparison_of_classes_has_no_rows_of_targets() -> None:
    assert "of each target" not in render_comparison(TABLE, records_of(TABLE))
