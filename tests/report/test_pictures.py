"""Pictures of tables from records alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import unescape

import pytest

from bankgcn.experiments.paper.layout import Table
from bankgcn.experiments.paper.tables import TABLE_1, TABLE_2, TABLE_3
from bankgcn.report.canvas import IMAGES
from bankgcn.report.curves import CURVES, draw_curve
from bankgcn.report.dot_plot import draw_dots, occupied_columns
from bankgcn.report.rank_plot import draw_ranks, ranks_by_dataset
from bankgcn.report.results import Results, collect
from fake_records import fake_record, fake_records

PART = TABLE_1.restricted(datasets=["ENZYMES", "PROTEINS"], models=["mlp", "gcn", "bank-K2-s8"], runs=3)
CURVE_TABLES = {"table2": TABLE_2, "table3": TABLE_3}


def filled(table: Table) -> Results:
    return collect(table, fake_records(table.configs()))


def texts(image: bytes) -> list[str]:
    """The texts in an SVG file, which has a comment for each."""
    return [unescape(part.split(" -->")[0]) for part in image.decode().split("<!-- ")[1:]]


def curve_results(name: str) -> Results:
    table = CURVE_TABLES[CURVES[name].table]
    return filled(table.restricted(datasets=["ENZYMES"], models=["bank"], runs=2))


PAINTERS: dict[str, Callable[[str], bytes]] = {
    "dots": lambda form: draw_dots(filled(PART), form),
    "ranks": lambda form: draw_ranks(filled(PART), form),
    **{name: partial(lambda name, form: draw_curve(CURVES[name], curve_results(name), form), name) for name in CURVES},
}


@pytest.mark.parametrize("name", list(PAINTERS))
def test_a_picture_is_the_same_to_the_last_byte(name: str) -> None:
    assert PAINTERS[name]("svg") == PAINTERS[name]("svg")


@pytest.mark.parametrize("form", list(IMAGES))
def test_pictures_come_in_all_formats(form: str) -> None:
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form]
    assert draw_dots(filled(PART), form).startswith(start)


def test_dots_name_datasets_models_the_paper_and_what_differs_from_the_reference() -> None:
    records = {
        config.key: fake_record(config, test_score={"mlp": 0.5, "gcn": 0.9, "bank": 0.7}[config.model.conv])
        for config in PART.configs()
    }
    words = texts(draw_dots(collect(PART, records)))
    assert {"ENZYMES", "PROTEINS", "MLP (no edges)", "GCN", "BankGCN (K=2, s=8)", "paper"} <= set(words)
    assert "worse than BankGCN (K=2, s=8), p < 0.05" in words
    assert "better than BankGCN (K=2, s=8), p < 0.05" in words
    alike = {config.key: fake_record(config, test_score=0.5) for config in PART.configs()}
    assert not any("than BankGCN" in word for word in texts(draw_dots(collect(PART, alike))))


def test_datasets_without_a_score_have_no_panel() -> None:
    records = {key: r for key, r in fake_records(PART.configs()).items() if r.config.dataset == "PROTEINS"}
    results = collect(PART, records)
    assert [column.name for column in occupied_columns(results)] == ["PROTEINS"]
    assert "ENZYMES" not in texts(draw_dots(results))


def test_ranks_are_those_of_the_means() -> None:
    scores = {"mlp": 0.5, "gcn": 0.9, "bank": 0.7}
    records = {config.key: fake_record(config, test_score=scores[config.model.conv]) for config in PART.configs()}
    results = collect(PART, records)
    assert {name: ranks.tolist() for name, ranks in ranks_by_dataset(results).items()} == {
        "ENZYMES": [3, 1, 2],
        "PROTEINS": [3, 1, 2],
    }
    words = texts(draw_ranks(results))
    names = [row.label for row in PART.rows]
    assert [word for word in words if word in names] == ["GCN", "BankGCN (K=2, s=8)", "MLP (no edges)"]
    assert "critical difference 2.3 (Nemenyi, 0.05)" in words  # 2.343 * sqrt(3 * 4 / (6 * 2))


def test_the_curves_are_over_the_rows_of_the_paper() -> None:
    values = {name: [curve.value(row) for row in curve.rows(curve_results(name))] for name, curve in CURVES.items()}
    assert values == {"K": [1, 2, 3, 4], "s": [1, 4, 8, 16], "gamma": [0, 0.01, 0.1, 1, 10, 100]}


def test_a_curve_with_a_missing_value_is_not_drawn() -> None:
    table = TABLE_2.restricted(datasets=["ENZYMES"], models=["bank-K2-s8", "bank-K1-s8", "bank-K3-s8"], runs=2)
    records = {key: r for key, r in fake_records(table.configs()).items() if r.config.model.conv_options["order"] < 3}
    with pytest.raises(ValueError, match="table2: on no dataset every value of K has a score"):
        draw_curve(CURVES["K"], collect(table, records))


def test_without_a_score_there_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="table1: there is no score to draw"):
        draw_dots(collect(PART, {}))
    with pytest.raises(ValueError, match="table1: on no dataset every row has a score"):
        draw_ranks(collect(PART, {}))
