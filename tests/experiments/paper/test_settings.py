"""The settings of the paper's tables."""

from __future__ import annotations

from dataclasses import replace

from bankgcn.experiments.paper.layout import Grid
from bankgcn.experiments.paper.settings import AS_PAPER, BEST, PLACES, SETTINGS, places_in_words
from bankgcn.experiments.paper.tables import TABLE_1
from bankgcn.nn.activation import ACTIVATIONS


def test_settings_differ_in_the_place_of_the_normalisation_alone() -> None:
    assert list(PLACES) == list(ACTIVATIONS)
    for setting in SETTINGS.values():
        assert replace(setting.grid, normalize=Grid.normalize) == Grid()
        assert set(setting.grid.normalize) <= set(PLACES)


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
