"""The measure of rounding knows what is lost by a cancellation, and how far a kink is."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from bankgcn.nn.readout import graph_max
from rounding import UNIT, distance, measure
from strategies import signals


def test_a_product_errs_by_some_units() -> None:
    rounding = measure(lambda: {"product": torch.tensor([3.0]) * 7.0})
    assert UNIT < rounding.moved["product"] < 4 * UNIT
    assert rounding.margin == math.inf


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_a_cancellation_errs_by_what_is_lost(offset: float) -> None:
    moved = measure(lambda: {"rest": (signals(1, 8) + offset) - offset}).moved["rest"]
    assert 0.1 * offset * UNIT < moved < 4 * offset * UNIT


@pytest.mark.parametrize("terms", [1, 10, 1000])
def test_single_precision_errs_by_no_more_than_was_measured(terms: int) -> None:
    left, right = (signals(5, terms, seed).float() for seed in (0, 1))
    moved = measure(lambda: {"product": left.double() @ right.double().T}).moved["product"]
    assert distance(left @ right.T, left.double() @ right.double().T) <= moved < 1e-4


@pytest.mark.parametrize("away", [1e-9, 1e-3])
def test_the_margin_is_the_distance_to_the_kink_in_units_of_the_change(away: float) -> None:
    margin = measure(lambda: {"positive": F.relu((torch.tensor([1 + away]) * 1.0) - 1)}).margin
    assert away / (8 * UNIT) < margin < away / (0.2 * UNIT)


def test_nodes_that_are_alike_share_a_maximum_without_a_kink() -> None:
    batch = torch.tensor([0, 0, 1, 1])

    def largest(values: list[float]) -> float:
        x = torch.tensor(values).unsqueeze(-1)
        return measure(lambda: {"largest": graph_max(x * 1.0, batch, 2)}).margin

    assert largest([2.0, 2.0, 1.0, 1.0]) == math.inf
    assert largest([2.0, 2.0, 1.0, 1.5]) > 1e5
    assert largest([2.0, 2.0, 1.0, 1 + 1e-7]) < 8


def test_the_measure_is_the_same_each_time() -> None:
    x = signals(4, 3)
    first, second = (measure(lambda: {"scaled": x / x.norm()}) for _ in range(2))
    assert first == second
