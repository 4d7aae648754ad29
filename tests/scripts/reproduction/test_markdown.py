"""Small parts of sentences."""

from __future__ import annotations

from bankgcn.experiments.paper import TABLE_1
from bankgcn.report.sheet import counted
from reproduction.markdown import listed, on_datasets, table_lines


def test_words_are_listed_with_commas_and_one_and() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_a_noun_follows_its_number() -> None:
    assert [counted(number, "run") for number in (0, 1, 2000)] == ["0 runs", "1 run", "2,000 runs"]


def test_datasets_are_named_unless_they_are_none_or_all() -> None:
    columns = TABLE_1.columns[:2]
    assert on_datasets(columns[:1], 2) == "on 1 of 2 complete datasets (ENZYMES)"
    assert on_datasets(columns, 2) == "on 2 of 2 complete datasets"
    assert on_datasets([], 1) == "on 0 of 1 complete dataset"


def test_the_first_column_of_a_table_stands_to_the_left() -> None:
    assert table_lines(["", "a"], [["b", "1"]]) == "|  | a |\n| :-- | --: |\n| b | 1 |"
