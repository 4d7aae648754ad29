"""Pictures of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import unescape
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn import BankConv
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Design
from bankgcn.experiments.paper import TABLE_1, TABLE_2, TABLE_3, figure3
from bankgcn.report.curves import CURVES, draw_curve
from bankgcn.report.plots import IMAGES, draw_dots, draw_filters, draw_ranks, omegas, responses
from bankgcn.report.results import Results, collect
from bankgcn.report.sheet import write_sheet
from fake_records import fake_record, fake_records
from refusals import refused


def with_filters(figure: Any) -> dict[str, RunRecord]:
    rng = np.random.default_rng(0)
    return {
        config.key: fake_record(config, alpha=rng.normal(size=(8, config.model.conv_options["order"] + 1)).tolist())
        for config in figure.configs()
    }


def test_responses_are_those_of_the_layer() -> None:
    conv = BankConv(3, 8, order=3, num_subspaces=4)
    record = fake_record(figure3().panels[0].config, alpha=conv.alpha.tolist())
    lam = np.linspace(0, 2, 17)
    expected = conv.response(torch.as_tensor(lam)).detach().numpy()
    np.testing.assert_allclose(responses(record, lam), expected, atol=1e-12)


def test_filters_in_another_basis_are_not_drawn_as_if_they_were_chebyshevs() -> None:
    record = fake_record(figure3().panels[0].config.with_(basis="monomial"), alpha=[[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="monomial"):
        responses(record, np.zeros(1))


@pytest.mark.parametrize("form", list(IMAGES))
def test_an_image_is_the_same_to_the_last_byte(form: str) -> None:
    figure = figure3()
    assert draw_filters(figure, with_filters(figure), form) == draw_filters(figure, with_filters(figure), form)


def test_the_picture_names_panels_omega_and_the_paper() -> None:
    figure = figure3(["NCI109", "FRANKENSTEIN-rebuilt"])
    image = draw_filters(figure, with_filters(figure), "svg").decode()
    comments = "".join(part for part in image.split("<!-- ")[1:])
    assert "(a) NCI109" in comments
    assert "Ω = 0.900 (paper 0.997)" in comments
    assert "(e) FRANKENSTEIN-rebuilt (stand-in)" in comments


def test_missing_and_diverged_panels_say_so() -> None:
    figure = figure3(runs=1)
    records = with_filters(figure)
    gone, diverged, restored = (panel.config for panel in figure.panels[:3])
    del records[gone.key]
    records[diverged.key] = RunRecord(config=diverged, status="diverged", metric="accuracy")
    records[restored.key] = replace(records[restored.key], status="diverged")
    image = draw_filters(figure, records, "svg").decode()
    assert "<!-- not run -->" in image
    assert image.count("<!-- diverged -->") == 2
    table = write_sheet(omegas(figure, records))
    assert "INCOMPLETE: 1 of 5 runs missing" in table
    row = next(line for line in table.splitlines() if line.startswith("(a)"))
    assert row.split() == ["(a)", "NCI109,", "K=2,", "gamma=0", "-", "0.997", "-"]
    row = next(line for line in table.splitlines() if line.startswith("(c)"))
    assert (row.split()[-3], row.split()[-1]) == ("-", "-")


def test_the_image_and_its_table_say_that_runs_are_shortened() -> None:
    for figure, is_short in ((figure3(max_epochs=9), True), (figure3(), False)):
        assert ("SHORTENED to 9 epochs" in draw_filters(figure, {}, "svg").decode()) == is_short
        assert ("SHORTENED to 9 epochs" in write_sheet(omegas(figure, {}))) == is_short


def test_omegas_stand_beside_the_papers() -> None:
    figure = figure3(runs=1)
    table = write_sheet(omegas(figure, with_filters(figure)))
    row = next(line for line in table.splitlines() if line.startswith("(c)"))
    assert row.split()[:6] == ["(c)", "NCI109,", "K=2,", "gamma=10", "0.900", "0.649"]
    assert "one run per panel, with seed 0" in table


def test_omegas_of_several_seeds_have_mean_and_deviation() -> None:
    figure = figure3(["NCI109"], runs=2)
    records = with_filters(figure)
    other = figure.panels[0].config.with_(seed=1).key
    records[other] = replace(records[other], coherence=(0.7, 0.1, 0.1, 0.1))
    table = write_sheet(omegas(figure, records))
    row = next(line for line in table.splitlines() if line.startswith("(a)"))
    assert row.split()[4:8] == ["0.800", "±", "0.141", "0.997"]
    assert "2 seeds per panel; seed 0 is drawn" in table
    del records[other]
    assert "INCOMPLETE: 1 of 8 runs missing" in write_sheet(omegas(figure, records))


def test_an_unknown_kind_of_image_is_refused() -> None:
    with refused(ValueError, "'gif'"):
        draw_filters(figure3(), {}, "gif")


PART = TABLE_1.restricted(datasets=["ENZYMES", "PROTEINS"], models=["mlp", "gcn", "bank-K2-s8"], runs=3)
CURVE_TABLES = {"table2": TABLE_2, "table3": TABLE_3}


def filled(table: Design) -> Results:
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
    assert [column.name for column in results.occupied_columns()] == ["PROTEINS"]
    assert "ENZYMES" not in texts(draw_dots(results))


def test_ranks_are_those_of_the_means() -> None:
    scores = {"mlp": 0.5, "gcn": 0.9, "bank": 0.7}
    records = {config.key: fake_record(config, test_score=scores[config.model.conv]) for config in PART.configs()}
    results = collect(PART, records)
    assert {name: ranks.tolist() for name, ranks in results.ranks().items()} == {
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
    with refused(ValueError, "table2", "K"):
        draw_curve(CURVES["K"], collect(table, records))


def test_without_a_score_there_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="table1: there is no score to draw"):
        draw_dots(collect(PART, {}))
    with pytest.raises(ValueError, match="table1: on no dataset every row has a score"):
        draw_ranks(collect(PART, {}))
