"""What becomes a class, what a number, and what neither."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bankgcn.data.targets import TargetError, encode_targets, scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), (" -1 ", -1), ("0.5", 0.5), ("1e-3", 0.001), ("CI", "CI"), ("1_0", "1_0"), ("10 mg", "10 mg")],
)
def test_a_cell_is_a_number_or_a_word(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


@pytest.mark.parametrize("text", ["", "  ", "nan", "NaN", "NA", "n/a", "null"])
def test_an_empty_cell_and_its_usual_stand_ins_are_missing(text: str) -> None:
    assert scalar(text) is None


def test_numbers_of_classes_keep_the_order_of_numbers_not_of_letters() -> None:
    y, classes = encode_targets([10, 9, -1, 10])
    assert classes == ("-1", "9", "10")
    assert y.tolist() == [2, 1, 0, 2]


def test_whole_numbers_written_with_a_point_are_the_same_classes() -> None:
    """A column with a gap comes out of pandas as 0.0 and 1.0."""
    assert encode_targets([1.0, 0, 1])[1] == ("0", "1")


def test_words_make_numbers_beside_them_words_too() -> None:
    y, classes = encode_targets(["inactive", 2, "active", 10**400, "inf"])
    assert classes == ("2", str(10**400), "active", "inactive", "inf")
    assert y.tolist() == [3, 0, 2, 1, 4]


def test_real_numbers_are_a_regression_unless_called_classes() -> None:
    y, classes = encode_targets([0.5, 2, 0.5])
    assert classes is None
    assert y.dtype == np.float32
    assert y.tolist() == [0.5, 2.0, 0.5]
    assert encode_targets([0.5, 2, 0.5], "class")[1] == ("0.5", "2")


def test_whole_numbers_are_a_regression_on_request() -> None:
    y, classes = encode_targets([3, 1], "number")
    assert (y.tolist(), classes) == ([3.0, 1.0], None)


def test_truth_values_are_classes_called_false_and_true() -> None:
    y, classes = encode_targets([True, False])
    assert (y.tolist(), classes) == ([1, 0], ("false", "true"))


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([1, "a"], "number", "'a' is not a number"),
        ([0.5, math.inf], "auto", "inf is not a finite"),
        ([0.5, 10**400], "auto", "not a finite"),
        ([1, math.nan], "class", "no target"),
        (["a", None], "auto", "no target"),
    ],
)
def test_a_target_that_is_none_is_refused_with_its_graph(values: list, kind: str, message: str) -> None:
    with pytest.raises(TargetError, match=message) as caught:
        encode_targets(values, kind)
    assert caught.value.graph == 1


def test_fixed_classes_keep_their_numbers_and_admit_no_others() -> None:
    assert encode_targets([3, 1], classes=("1", "2", "3"))[0].tolist() == [2, 0]
    with pytest.raises(TargetError, match="class '4' is none of 1, 2, 3"):
        encode_targets([3, 4], classes=("1", "2", "3"))


def test_an_unknown_kind_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="did you mean 'number'"):
        encode_targets([1], "numbers")
