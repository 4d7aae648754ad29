"""Selecting a part of a table or figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.cli.designs import TableSelection, stored_comparison
from bankgcn.experiments.design import Design, Grid
from refusals import refused


def test_datasets_that_are_not_available_are_left_out() -> None:
    part, left_out = TableSelection().available("table1", {"NCI1", "DD"}.__contains__)
    assert part.datasets == "DD,NCI1"
    assert left_out == ["ENZYMES", "PROTEINS", "NCI109", "Mutagenicity", "FRANKENSTEIN"]


def test_a_stand_in_is_not_left_out() -> None:
    part, left_out = TableSelection().available("figure3", {"NCI109", "FRANKENSTEIN-rebuilt"}.__contains__)
    assert (part.datasets, left_out) == ("NCI109,FRANKENSTEIN-rebuilt", [])


def test_named_datasets_are_kept_even_if_they_are_not_available() -> None:
    assert TableSelection(datasets="NCI1").available("table1", set().__contains__) == (
        TableSelection(datasets="NCI1"),
        [],
    )


def test_columns_of_one_dataset_are_selected_together() -> None:
    part, left_out = TableSelection().available("table4", {"CIFAR-10"}.__contains__)
    assert (part.datasets, left_out) == ("CIFAR-10,CIFAR-10-1000", ["ogbg-molhiv", "ogbg-molhiv-embedded"])


def test_other_datasets_are_added_only_to_tables_that_accept_them() -> None:
    names = {"NCI1", "MUTAG"}
    assert TableSelection().available("table1", names.__contains__, others=names)[0].datasets == "NCI1,MUTAG"
    assert TableSelection().available("table4", names.__contains__, others=names)[0].datasets is None


def test_a_setting_gives_the_places_of_the_normalisation() -> None:
    table = TableSelection(setting="best", weight_decays="0").build("table1")
    assert isinstance(table, Design)
    assert table.grid == Grid(weight_decays=(0.0,), normalize=("before", "after"))
    assert TableSelection(setting="as-paper").build("table1") == TableSelection(normalize="before").build("table1")


def test_a_setting_and_a_place_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="--setting and --normalize"):
        TableSelection(setting="best", normalize="none").build("table1")
    with refused(ValueError, "setting", "'bst'", "'best'"):
        TableSelection(setting="bst").build("table1")
    with refused(ValueError, "--setting", "figure3"):
        TableSelection(setting="best").build("figure3")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("patience = 0", "comparison.toml:2: patience = 0: expected at least 1"),
        ("patience = true", "comparison.toml:2: patience is True, expected a whole number"),
        ("runs = 2.5", "comparison.toml:2: runs is 2.5, expected a whole number"),
        ('seed = 1', "comparison.toml:2: seed is no setting of a comparison"),
        ('what = 1', "comparison.toml:2: unknown setting 'what'"),
    ],
)  # fmt: skip
def test_the_settings_of_a_comparison_are_checked_as_those_of_a_run(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "comparison.toml").write_text(f'models = "bank,gcn"\n{line}\n')
    with pytest.raises(ValueError, match=message):
        stored_comparison(tmp_path)
