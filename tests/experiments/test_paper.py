"""The paper's tables, their settings and its figure as data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bankgcn.experiments import RunSpec
from bankgcn.experiments.design import Column, Design, Grid, Row
from bankgcn.experiments.paper import (
    AS_PAPER,
    BEST,
    BUDGETS,
    L2_PLACES,
    LARGE_COLUMNS,
    PUBLISHED,
    PUBLISHED_LAYER_PARAMETERS,
    SETTINGS,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLES,
    TU_DATASETS,
    figure3,
    places_in_words,
    stand_ins,
)
from bankgcn.nn.activation import ACTIVATIONS
from bankgcn.nn.budget import layer_parameters, width_for_budget
from refusals import refused

DECREASES = {  # as printed
    **{"gcn": -34.5, "sage": -37.0, "gin": -36.1, "gat": -40.2, "cheb-K2": -38.7, "cheb-K3": -40.4},
    **{"bank-K2-s16": -35.3, "bank-K3-s16": -34.9},
}


def row(table: Design, name: str) -> Row:
    return next(row for row in table.rows if row.name == name)


def column(table: Design, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


@pytest.mark.parametrize("dataset", TU_DATASETS)
def test_table_1_equals_the_best_gamma_of_table_3_on_the_test_sets(dataset: str) -> None:
    best = max(PUBLISHED["table3"][f"gamma-{gamma}"][dataset].mean for gamma in ("0", "0.1", "10"))
    assert PUBLISHED["table1"]["bank-K2-s8"][dataset].mean == best


def test_the_papers_decreases_follow_from_its_means() -> None:
    for name, printed in DECREASES.items():
        whole, reduced = (PUBLISHED["table4"][name][dataset].mean for dataset in ("CIFAR-10", "CIFAR-10-1000"))
        assert 100 * (reduced - whole) / whole == pytest.approx(printed, abs=0.05)


def test_every_published_figure_stands_in_a_cell() -> None:
    for name, table in TABLES.items():
        rows, columns = {row.name for row in table.rows}, {column.name for column in table.columns}
        figures = PUBLISHED[name]
        assert all(set(by_column) == columns for by_column in figures.values())
        assert rows - {"mlp"} <= set(figures)
        assert table.reference in rows
    assert set(PUBLISHED["table1"]) == {row.name for table in (TABLE_1, TABLE_2) for row in table.rows} - {"mlp"}


def test_the_papers_means_and_deviations_are_in_a_sane_range() -> None:
    for rows in PUBLISHED.values():
        for by_column in rows.values():
            assert all(30 < mean < 90 and 0 < std < 8 for mean, std in by_column.values())


def test_tables_have_as_many_runs_as_the_paper_says() -> None:
    baselines, banks = 6 * 3, 2 * 9  # weight decays; weight decays times gammas
    assert len(TABLE_1.configs()) == 7 * 20 * (baselines + banks)
    assert len(TABLE_2.configs()) == 7 * 20 * (3 + 6 * 9 + 3)  # of one filter there is no gamma to search
    assert len(TABLE_3.configs()) == 7 * 20 * 6 * 3
    assert len(TABLE_4.configs()) == (2 * 3 + 2 * 10) * (7 * 3 + 2 * 9)  # ogbg-molhiv in two forms


def test_tables_share_their_runs() -> None:
    first, second, third = ({config.key for config in table.configs()} for table in (TABLE_1, TABLE_2, TABLE_3))
    assert len(first & second) == 7 * 20 * (3 + 2 * 9)
    assert len(first & third) == 7 * 20 * 9


def test_runs_are_the_papers() -> None:
    config = TABLE_1.candidates(row(TABLE_1, "bank-K2-s16"), column(TABLE_1, "NCI1"))[-1]
    assert config == RunSpec(dataset="NCI1").with_(num_subspaces=16, weight_decay=1e-4, gamma=10.0)
    assert (config.train.batch_size, config.train.max_epochs, config.train.patience) == (64, 500, 30)
    molhiv = TABLE_4.candidates(row(TABLE_4, "bank-K3-s16"), column(TABLE_4, "ogbg-molhiv"))[0]
    assert (molhiv.train.metric, molhiv.model.readout) == ("roc_auc", "mean")
    assert (molhiv.train.batch_size, molhiv.train.patience, molhiv.train.decay_patience) == (256, 50, 20)
    embedded = TABLE_4.candidates(row(TABLE_4, "bank-K3-s16"), column(TABLE_4, "ogbg-molhiv-embedded"))[0]
    assert embedded == molhiv.with_(features="embedded") != molhiv
    small = TABLE_4.candidates(row(TABLE_4, "gcn"), column(TABLE_4, "CIFAR-10-1000"))[0]
    assert (small.dataset, small.train_per_class) == ("CIFAR-10", 100)


def test_runs_of_one_dataset_stand_together_and_seeds_come_one_after_the_other() -> None:
    configs = TABLE_1.restricted(datasets=["MUTAG", "NCI1"], runs=2).configs()
    assert [(c.dataset, c.seed) for c in configs] == sorted((c.dataset, c.seed) for c in configs)


@pytest.mark.parametrize("name", list(LARGE_COLUMNS))
def test_widths_are_those_of_equal_budgets(name: str) -> None:
    place = column(TABLE_4, name)
    for line in TABLE_4.rows:
        expected = width_for_budget(line.conv, BUDGETS[place.dataset], **line.options)
        assert place.widths[line.name] == expected.channels
        assert expected.parameters == pytest.approx(BUDGETS[place.dataset], rel=0.02)


def test_our_counts_of_parameters_differ_from_the_papers_where_the_footnote_says() -> None:
    rows = {row.name: row for table in (TABLE_1, TABLE_2) for row in table.rows}
    ours = {name: layer_parameters(rows[name].conv, 64, **rows[name].options) for name in PUBLISHED_LAYER_PARAMETERS}
    differing = {name for name, count in PUBLISHED_LAYER_PARAMETERS.items() if ours[name] != count}
    assert differing == {name for name in ours if name.startswith(("bank", "cheb"))} - {"bank-K2-s1"}
    assert (ours["cheb-K2"], ours["bank-K2-s8"]) == (12352, 4184)


def test_a_part_of_a_table_has_the_same_runs() -> None:
    part = TABLE_1.restricted(datasets=["nci1"], models=["bank-K2-s8", "gcn"], runs=3)
    keys = {config.key for config in TABLE_1.configs()}
    assert len(part.configs()) == 3 * (9 + 3)
    assert all(config.key in keys for config in part.configs())
    assert [row.name for row in part.rows] == ["gcn", "bank-K2-s8"]


def test_a_convolution_names_all_its_rows() -> None:
    assert len(TABLE_1.restricted(models=["bank"]).rows) == 2
    assert len(TABLE_2.restricted(models=["bank"]).rows) == 7


def test_shorter_runs_are_other_runs() -> None:
    whole, short = (
        table.restricted(datasets=["MUTAG"], runs=1) for table in (TABLE_1, TABLE_1.restricted(max_epochs=9))
    )
    assert not {config.key for config in whole.configs()} & {config.key for config in short.configs()}


def test_other_datasets_have_no_published_figure() -> None:
    part = TABLE_1.restricted(datasets=["MUTAG", "FRANKENSTEIN-rebuilt"])
    assert all(part.published(row, column) is None for row in part.rows for column in part.columns)
    assert part.columns[1].label == "FRANKENSTEIN-rebuilt (stand-in)"


@pytest.mark.parametrize(
    ("table", "part", "named"),
    [
        (TABLE_1, {"datasets": ["NCI11"]}, ("dataset", "table1", "'NCI11'", "'NCI1'")),
        (TABLE_4, {"datasets": ["NCI1"]}, ("dataset", "table4", "'NCI1'")),
        (TABLE_1, {"models": ["bnak"]}, ("model", "table1", "'bnak'", "'bank'")),
        (TABLE_1, {"runs": 0}, ("runs=0",)),
        (TABLE_1, {"max_epochs": 0}, ("epochs=0",)),
    ],
)
def test_wrong_parts_are_refused(table: Design, part: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        table.restricted(**part)


def test_a_grid_has_values_and_each_once() -> None:
    with pytest.raises(ValueError, match="weight_decays"):
        Grid(weight_decays=())
    with pytest.raises(ValueError, match="gammas"):
        Grid(gammas=(0.1, 0.1))


def test_a_stand_in_takes_the_place_of_what_is_not_there() -> None:
    wanted = ["NCI1", "FRANKENSTEIN"]
    assert stand_ins(wanted, {"FRANKENSTEIN-rebuilt"}.__contains__) == ["NCI1", "FRANKENSTEIN-rebuilt"]
    assert stand_ins(wanted, {"FRANKENSTEIN", "FRANKENSTEIN-rebuilt"}.__contains__) == wanted
    assert stand_ins(wanted, set().__contains__) == wanted


def test_figure_3_has_the_papers_panels() -> None:
    panels = figure3().panels
    assert [panel.name for panel in panels] == list("abcde")
    settings = [(p.config.dataset, p.config.model.conv_options["order"], p.config.train.gamma) for p in panels]
    nci = [("NCI109", 2, 0.0), ("NCI109", 2, 0.1), ("NCI109", 2, 10.0), ("NCI109", 3, 10.0)]
    assert settings == [*nci, ("FRANKENSTEIN", 2, 0.0)]
    assert [panel.published for panel in panels] == [0.997, 0.744, 0.649, None, None]
    assert all(panel.config.model.conv_options["num_subspaces"] == 8 for panel in panels)


def test_a_stand_in_is_labelled_in_the_figure_and_has_no_published_figure() -> None:
    (panel,) = figure3(["FRANKENSTEIN-rebuilt"]).panels
    assert "stand-in" in panel.label
    assert panel.published is None
    assert all(panel.published is None for panel in figure3(["MUTAG"]).panels)


def test_keys_survive_json() -> None:
    for config in TABLE_1.restricted(datasets=["MUTAG"], runs=1).configs():
        assert RunSpec.from_dict(json.loads(json.dumps(config.to_dict()))).key == config.key


def test_settings_differ_in_the_place_of_the_normalisation_alone() -> None:
    assert list(L2_PLACES) == list(ACTIVATIONS)
    for setting in SETTINGS.values():
        assert replace(setting.grid, normalize=Grid.normalize) == Grid()
        assert set(setting.grid.normalize) <= set(L2_PLACES)


def test_the_runs_of_the_best_setting_contain_those_of_the_paper() -> None:
    papers, best = (
        {config.key for config in TABLE_1.restricted(datasets=["ENZYMES"], runs=1, grid=setting.grid).configs()}
        for setting in (AS_PAPER, BEST)
    )
    assert papers < best
    assert len(best) == 2 * len(papers)


def test_one_place_is_named_and_several_are_listed() -> None:
    assert places_in_words(("none",)) == "no l2"
    words = places_in_words(("before", "after", "none"))
    assert words == "place of l2 chosen, too: l2 before the ReLU, l2 after the ReLU or no l2"
