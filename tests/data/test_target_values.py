"""What becomes a class, what a number, and what neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.cli.errors import with_flags
from bankgcn.data.target_values import (
    TASK_NAMES,
    TargetError,
    TargetWords,
    class_name_notes,
    encode_targets,
    is_unknown,
    scalar,
    with_decimal_points,
)
from bankgcn.tasks import TASKS, kind_of
from refusals import refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        (" -1 ", -1),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("CI", "CI"),
        ("1_0", "1_0"),
        ("10 mg", "10 mg"),
        ("0", 0),
        ("0.50", 0.5),
        ("007", "007"),
        ("-01", "-01"),
    ],
)
def test_a_cell_is_a_number_or_a_word(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_codes_with_leading_zeros_are_classes_of_their_own_and_values_are_numbers() -> None:
    cells = [scalar(text) for text in ("7", "007", "010", "7")]
    assert encode_targets(cells).classes == ("7", "007", "010")
    np.testing.assert_array_equal(encode_targets(cells, "values").y, [7, 7, 10, 7])
    mixed = encode_targets([scalar(text) for text in ("007", "1.5")])
    np.testing.assert_array_equal(mixed.y, np.array([7, 1.5], np.float32))
    with pytest.raises(TargetError, match="may be classes or values"):
        encode_targets([scalar(f"{number:04}") for number in range(100)])


@pytest.mark.parametrize("text", ["", "  ", "nan", "NaN", "-nan", "NA", "n/a", "null", "<NA>", "#N/A", "None"])
def test_an_empty_cell_and_its_usual_stand_ins_are_missing(text: str) -> None:
    assert scalar(text) is None


def test_numbers_of_classes_keep_the_order_of_numbers_not_of_letters() -> None:
    y, classes, _ = encode_targets([10, 9, -1, 10])
    assert classes == ("-1", "9", "10")
    assert y.tolist() == [2, 1, 0, 2]


def test_whole_numbers_written_with_a_point_are_the_same_classes() -> None:
    """A column with a gap comes out of pandas as 0.0 and 1.0."""
    assert encode_targets([1.0, 0, 1]).classes == ("0", "1")


def test_words_make_numbers_beside_them_words_too() -> None:
    y, classes, _ = encode_targets(["inactive", 2, "active", 10**400, "inf"])
    assert classes == ("2", str(10**400), "active", "inactive", "inf")
    assert y.tolist() == [3, 0, 2, 1, 4]


def test_real_numbers_are_a_regression_unless_called_classes() -> None:
    y, classes, _ = encode_targets([0.5, 2, 0.5])
    assert classes is None
    assert y.dtype == np.float32
    assert y.tolist() == [0.5, 2.0, 0.5]
    assert encode_targets([0.5, 2, 0.5], "classes").classes == ("0.5", "2")


def test_whole_numbers_are_a_regression_on_request() -> None:
    y, classes, _ = encode_targets([3, 1], "values")
    assert (y.tolist(), classes) == ([3.0, 1.0], None)


def test_none_in_lower_case_is_a_word() -> None:
    assert scalar("none") == "none"


def test_truth_values_are_classes_called_false_and_true() -> None:
    y, classes, _ = encode_targets([True, False])
    assert (y.tolist(), classes) == ([1, 0], ("false", "true"))


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([1, "a"], "values", "'a' is not a number"),
        ([0.5, math.inf], None, "inf is not a finite"),
        ([0.5, 10**400], None, "not a finite"),
        ([1, math.nan], "classes", "no target"),
        (["a", None], None, "no target"),
        ([1.5, None], "values", "no target"),
        ([0.5, "-", 2.5], None, "target '-' is not a number, but others are, such as 0.5: leave it empty"),
        (["low", "0,5", "high"], None, "target '0,5' has a decimal comma: write 0.5"),
        ([1, 2], "labels", "label 2 is neither 0 nor 1"),
        ([[1, 2], [1, "a"]], None, "column 1: target 'a' is not a number"),
        ([{"a": 1, "b": 0}, {"a": 0, "b": 0.5}], "labels", "column 'b': label 0.5 is neither 0 nor 1"),
        ([{"a": 0.5}, {"a": None}], None, "column 'a': there is no target"),
        ([[1, 2], 3], None, "target 3: expected a list of 2 numbers, as in other graphs"),
    ],
)
def test_a_target_that_does_not_fit_is_refused_with_its_graph(values: list, task: str | None, message: str) -> None:
    with pytest.raises(TargetError, match=message) as caught:
        encode_targets(values, task)
    assert caught.value.graph == 1


def test_words_among_real_numbers_are_classes_if_the_task_says_so() -> None:
    assert encode_targets([0.5, "-", "0,5"], "classes").classes == ("0.5", "-", "0,5")
    assert encode_targets([0.5, "-"], classes=("-", "0.5")).y.tolist() == [1, 0]


def test_fixed_classes_keep_their_numbers_and_admit_no_others() -> None:
    assert encode_targets([3, 1], classes=("1", "2", "3")).y.tolist() == [2, 0]
    with refused(TargetError, "'4'", "1, 2, 3"):
        encode_targets([3, 4], classes=("1", "2", "3"))


def test_an_unknown_task_is_told_the_known_ones() -> None:
    with refused(ValueError, "task", "'value'", "'values'"):
        encode_targets([1], "value")


def test_the_names_of_tasks_are_those_of_the_tasks() -> None:
    assert tuple(TASKS) == TASK_NAMES


@pytest.mark.parametrize("graphs", [21, 209])
def test_many_different_whole_numbers_are_not_silently_classes(graphs: int) -> None:
    values = [graph % 21 for graph in range(graphs)]
    with refused(TargetError, "21 different", task="values"):
        encode_targets(values)
    assert len(encode_targets(values, "classes").classes) == 21
    assert encode_targets(values, "values").y.dtype == np.float32
    assert len(encode_targets(values, classes=[str(number) for number in range(30)]).classes) == 30


@pytest.mark.parametrize(("distinct", "graphs"), [(20, 20), (21, 210), (100, 3900)])
def test_few_different_whole_numbers_are_classes(distinct: int, graphs: int) -> None:
    assert len(encode_targets([graph % distinct for graph in range(graphs)]).classes) == distinct


def test_many_words_are_classes() -> None:
    assert len(encode_targets([f"word {number}" for number in range(30)]).classes) == 30


CELLS = st.one_of(st.none(), st.just(math.nan), st.booleans(), st.integers(-9, 9), st.floats(-9, 9, width=32))


@given(st.integers(2, 4), st.data())
def test_several_targets_are_numbers_in_which_the_unknown_are_nan(columns: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1))
    y, classes, names = encode_targets(rows)
    expected = np.array([[math.nan if cell is None else cell for cell in row] for row in rows], np.float32)
    np.testing.assert_array_equal(y, expected)
    assert (classes, names, y.dtype) == (None, (), np.float32)
    named = encode_targets([dict(zip("abcd", row, strict=False)) for row in rows], "values")
    np.testing.assert_array_equal(named.y, expected)
    assert named.targets == tuple("abcd"[:columns])


@given(st.lists(st.lists(st.sampled_from([0, 1, None]), min_size=3, max_size=3), min_size=1))
def test_columns_of_zeros_and_ones_are_labels(rows: list) -> None:
    y = encode_targets(rows).y
    assert kind_of(y) == "labels"
    np.testing.assert_array_equal(encode_targets(rows, "labels").y, y)


def test_one_column_can_be_labels() -> None:
    y, classes, names = encode_targets([{"toxic": 1}, {"toxic": 0}], "labels")
    assert (y.tolist(), y.dtype, classes, names) == ([1, 0], np.float32, None, ("toxic",))


def test_several_targets_are_no_classes() -> None:
    with refused(TargetError, "2 targets", task="classes"):
        encode_targets([[0, 1]], "classes")


@pytest.mark.parametrize("target", [None, math.nan, [None, math.nan], {"a": None}])
def test_unknown_targets_are_recognised(target: object) -> None:
    assert is_unknown(target)


@pytest.mark.parametrize("target", [0, "", False, [None, 0], {"a": None, "b": 0}])
def test_known_targets_are_recognised(target: object) -> None:
    assert not is_unknown(target)


@pytest.mark.parametrize(
    "values",
    [
        torch.tensor([0.5, 2.0]),
        np.array([0.5, 2.0], np.float32),
        [np.float32(0.5), np.int64(2)],
        [torch.tensor(0.5), 2],
    ],
)
def test_numbers_may_be_those_of_numpy_or_pytorch(values: Sequence[Any]) -> None:
    y, classes, _ = encode_targets(values)
    assert (y.tolist(), classes) == ([0.5, 2.0], None)


def test_several_numbers_may_be_those_of_numpy_or_pytorch() -> None:
    assert encode_targets(torch.tensor([[0.5, 2.0]])).y.tolist() == [[0.5, 2.0]]
    assert encode_targets([[np.float32(0.5), torch.tensor(2)]]).y.tolist() == [[0.5, 2.0]]
    assert encode_targets([{"a": np.float32(0.5), "b": np.int64(2)}]).y.tolist() == [[0.5, 2.0]]


def test_words_for_missing_targets_are_read_in_any_case_and_also_in_lists() -> None:
    words = TargetWords.of("n.d., not  tested,-999")
    assert words(["N.D.", "Not Tested", -999, -999.0, "yes"]) == [None, None, None, None, "yes"]
    assert words({"a": "n.d.", "b": 1}) == {"a": None, "b": 1}


def test_classes_are_left_apart_unless_case_is_to_be_ignored() -> None:
    assert TargetWords()("Yes") == "Yes"
    assert TargetWords.of(None, ignore_case=True)("  Very  High") == "very high"


def test_usual_classes_need_no_note() -> None:
    assert class_name_notes(["no", "yes", "none", "0", "-1"]) == ()


def test_each_group_of_spellings_has_a_note() -> None:
    notes = class_name_notes(["High", "high", "low", "LOW", "?"])
    assert [note.split(":")[0] for note in notes] == [
        "the classes 'High' and 'high' differ only in case or blanks, but are learned as different ones",
        "the classes 'low' and 'LOW' differ only in case or blanks, but are learned as different ones",
        "the class '?' looks like a missing value, but is learned as a class",
    ]
    assert "--missing-words '?' and --skip-missing leave its graphs out" in with_flags(notes[2])


@pytest.mark.parametrize("cells", [["1.234", "1,5"], ["1,5", "abc"], ["1", "2"], ["1,2,3"], []])
def test_only_unmistakable_decimal_commas_become_points(cells: list[str]) -> None:
    assert with_decimal_points(cells) is None
