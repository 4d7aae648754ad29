"""The commands on the page run what the page shows."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from bankgcn.cli.designs import TableSelection
from bankgcn.experiments.design import Design
from bankgcn.experiments.paper import TABLES
from reproduction.evidence import Evidence, planned_rows, settings_of
from reproduction.runs import commands, reproduce_options

SEARCH_RUNS = 2


def tables_of_the_commands() -> dict[str, list[Design]]:
    found = defaultdict(list)
    for name, words in reproduce_options(SEARCH_RUNS):
        options = {key.replace("-", "_"): value for key, value in re.findall(r"--(\S+) (\S+)", words)}
        numbers = {key: int(options.pop(key)) for key in ("runs", "search_runs", "epochs") if key in options}
        table = TableSelection(**options, **numbers).build(name)
        assert isinstance(table, Design)
        found[name].append(table)
    return found


@pytest.mark.parametrize("name", TABLES)
def test_the_options_select_the_rows_runs_and_values_of_the_page(name: str) -> None:
    found = {config.key for table in tables_of_the_commands()[name] for config in table.configs()}
    shown = Evidence({}, SEARCH_RUNS).table(name, settings_of(name)[-1])
    expected = {
        config.with_(seed=seed).key
        for column in shown.columns
        for row in planned_rows(shown, column)
        for config in shown.candidates(row, column)
        for seed in shown.seeds(column)
    }
    assert found == expected


def test_every_table_and_the_figure_have_a_command() -> None:
    text = commands(SEARCH_RUNS)
    assert all(f"bankgcn paper reproduce {name} " in text for name in (*TABLES, "figure3"))
    assert "bankgcn paper reproduce table3 --search-runs 2 --known results\n" in text
    assert "--datasets CIFAR-10 --models gcn,cheb-K2,bank-K2-s16 --runs 1 --epochs 100 --weight-decays 0" in text
