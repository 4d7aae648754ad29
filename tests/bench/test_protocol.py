"""What is measured, and how long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankgcn.bench import CASES, FULL, QUICK, Protocol, measure_case
from bankgcn.bench.cases import random_graphs
from bankgcn.nn import PLAIN_CONVS


def test_a_quick_look_is_small() -> None:
    turns = len(QUICK.cases) * QUICK.num_turns
    steps = turns * QUICK.max_steps
    assert steps <= 1200  # of about 30 ms on a slow machine
    assert turns * QUICK.turn_seconds <= 30
    assert QUICK.models == PLAIN_CONVS


def test_a_full_run_measures_every_case_and_model() -> None:
    assert FULL.cases == tuple(CASES)
    assert FULL.models == PLAIN_CONVS
    assert FULL.turn_seconds == 1.0
    assert FULL.max_steps is None


def test_fewer_steps_train_on_fewer_graphs_from_everywhere() -> None:
    graphs = random_graphs(100, 6, 7, 4, 2)
    fewer = replace(FULL, max_steps=2).graphs_of_epoch(graphs, 10)
    assert len(fewer) == 20
    np.testing.assert_array_equal(fewer.num_nodes[[0, -1]], graphs.num_nodes[[0, -1]])
    assert FULL.graphs_of_epoch(graphs, 10) is graphs
    assert replace(FULL, max_steps=10).graphs_of_epoch(graphs, 10) is graphs


@pytest.mark.parametrize(
    "protocol",
    [
        replace(FULL, models=("bank", "mlp"), repetitions=1, turn_seconds=0.0),
        replace(QUICK, models=("bank", "mlp"), repetitions=2, turn_seconds=0.0),
    ],
)
def test_the_number_of_turns_is_known_before(protocol: Protocol) -> None:
    turns: list[str] = []
    graphs = random_graphs(8, 6, 7, 4, 2)
    measure_case("small", graphs, 4, protocol, turns.append)
    assert len(turns) == protocol.num_turns


def test_larger_cases_are_expected_to_take_longer() -> None:
    assert FULL.estimate_turn(CASES["ENZYMES"]) == FULL.turn_seconds
    assert FULL.estimate_turn(CASES["DD"]) > 2 * FULL.estimate_turn(CASES["NCI1"])
    assert QUICK.estimate_turn(CASES["DD"]) < FULL.estimate_turn(CASES["DD"])
    one = replace(FULL, cases=("DD",))
    assert one.estimate() == one.num_turns * one.estimate_turn(CASES["DD"])
