"""Names, keys, hashes and tables that users and stored records rely on are those in ``tests/contract``.

``python tests/contract_facts.py`` writes them again after a change that is wanted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import contract_facts as facts

SLOW_SETS = {"FRANKENSTEIN-rebuilt", "ogbg-molhiv", "CIFAR-10"}


@pytest.mark.parametrize("name", ["flags", "run_files", "exit_codes", "keys", "sample"])
def test_a_fact_is_as_it_was_written(name: str) -> None:
    assert facts.FACTS[name]() == facts.read(name)


def test_help_loads_no_more_modules_and_libraries_than_before() -> None:
    loaded = facts.loaded()
    for line, before in facts.read("loaded").items():
        now = loaded[line]
        assert now["modules"] <= before["modules"]
        assert set(now["libraries"]) <= set(before["libraries"])


@pytest.mark.parametrize("name", facts.BUILT_IN)
def test_a_set_of_the_package_has_the_same_fingerprint_and_splits(name: str) -> None:
    assert facts.dataset(name) == facts.read("datasets")[name]


@pytest.mark.parametrize(
    ("name", "file"),
    [pytest.param(*row, marks=[pytest.mark.slow] if row[0] in SLOW_SETS else []) for row in facts.DATASETS.items()],
)
@pytest.mark.datasets("{file}")
def test_a_set_of_the_catalogue_has_the_same_fingerprint_and_splits(name: str, file: str, data_root: Path) -> None:
    assert facts.dataset(name) == facts.read("datasets")[name]


def test_the_records_have_the_fingerprints_and_splits_of_the_sets() -> None:
    sets = facts.read("datasets")
    for row in facts.read("sample"):
        assert row["fingerprint"] == sets[row["dataset"]]["fingerprint"], row["file"]
        assert row["split_hash"] == sets[row["dataset"]]["splits"][str(row["seed"])], row["file"]


@pytest.mark.slow
@pytest.mark.parametrize("name", facts.TABLES)
def test_a_table_of_the_records_is_the_same_byte_for_byte(name: str) -> None:
    assert facts.table(name).encode() == (facts.CONTRACT / f"{name}.csv").read_bytes()
