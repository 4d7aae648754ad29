"""Numbers of a table as text."""

from __future__ import annotations

import math

from bankgcn.metrics import METRICS
from bankgcn.report.fields import count, difference, exact, mean_std, number, p_value, percentage, unit

ACCURACY, MAE = METRICS["accuracy"], METRICS["mae"]


def test_scores_in_percent_have_two_decimals_and_others_four_digits() -> None:
    assert (number(66.6666, ACCURACY), unit(ACCURACY)) == ("66.67", " in %")
    assert (number(0.0123456, MAE), number(1234.56, MAE), unit(MAE)) == ("0.01235", "1235", "")


def test_a_single_run_has_no_deviation() -> None:
    assert mean_std(66.6666, 5.0, ACCURACY) == "66.67 ± 5.00"
    assert mean_std(0.5, math.nan, MAE) == "0.5"


def test_differences_have_a_sign_and_there_is_no_negative_zero() -> None:
    assert [difference(value, ACCURACY) for value in (1.5, -0.001, math.nan)] == ["+1.50", "+0.00", "-"]
    assert [difference(value, MAE) for value in (-0.012345, -0.0)] == ["-0.01235", "+0"]
    assert [percentage(value) for value in (-34.51, math.nan)] == ["-34.5%", "-"]


def test_unknown_values_are_marked() -> None:
    assert [p_value(value) for value in (0.0001, 0.0499, math.nan)] == ["<0.001", "0.050", "-"]
    assert [count(value) for value in (12352, None)] == ["12,352", "-"]
    assert [exact(value) for value in (0.1, None, math.nan)] == ["0.1", "", ""]
