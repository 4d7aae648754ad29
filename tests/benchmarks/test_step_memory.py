"""The memory of a training step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from bankgcn.bench.cases import random_graphs
from bankgcn.bench.peers import OurTraining, PlainTraining
from step_memory import peak_bytes


class Allocating:
    """A training that asks for some memory and gives it back."""

    def __init__(self, mebibytes: int, make: Callable[[int], object]):
        self.bytes, self.make = mebibytes << 20, make

    def steps(self) -> Iterator[None]:
        self.make(self.bytes)
        yield


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("make", [lambda size: torch.ones(size // 4), lambda size: np.ones(size // 8)])
def test_the_memory_of_a_step_counts_whoever_asks_for_it(make: Callable[[int], object]) -> None:
    assert peak_bytes(Allocating(48, make)) == pytest.approx(48 << 20, rel=0.1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_our_step_needs_less_memory_than_the_plain_one() -> None:
    graphs = random_graphs(64, 200, 250, 4, 2)
    assert peak_bytes(OurTraining(graphs, 64)) < peak_bytes(PlainTraining("cheb", graphs, 64)) / 3


def test_elsewhere_the_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peak_bytes(Allocating(1, np.ones)) is None
