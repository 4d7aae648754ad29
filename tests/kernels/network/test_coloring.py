"""Colour refinement works in bounded calls and checks its partition."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from bankgcn.kernels.network import quotient as module
from bankgcn.kernels.network.quotient import MAX_ROUNDS, WORK_PER_CALL, _is_equitable, quotient
from flat_graphs import chains, ring


def test_much_work_is_divided_into_several_calls_so_that_it_can_be_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def watched(arrays, attribute_bits, weight_bits, graph, colors):
        calls.append(graph)
        return color(arrays, attribute_bits, weight_bits, graph, colors)

    color = module._color
    monkeypatch.setattr(module, "_color", watched)
    arrays = chains(6, 20_000).flat
    assert quotient(arrays) is arrays
    rounds = MAX_ROUNDS + 1
    per_call = -(-WORK_PER_CALL // (rounds * (3 * 20_000 - 2)))  # graphs until the work of a call is done
    assert calls == list(range(0, 6, per_call))
    assert len(calls) > 1


def test_one_thread_at_a_time_writes_the_colors_that_subsets_share(monkeypatch: pytest.MonkeyPatch) -> None:
    active, most = [], []

    def watched(*arguments):
        active.append(1)
        time.sleep(0.05)
        most.append(len(active))
        active.pop()
        return color(*arguments)

    color = module._color
    monkeypatch.setattr(module, "_color", watched)
    graphs = chains(6, 10)
    subsets = graphs[:4], graphs[2:]
    threads = [threading.Thread(target=quotient, args=(part.flat, part.node_colors)) for part in subsets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1]
    assert (graphs.node_colors.num_colors >= 0).all()


@pytest.mark.parametrize(
    ("labels", "colors", "expected"),
    [
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], True),
        ([0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1], True),
        ([0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0], False),
        ([0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 1, 1], True),
        ([0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], False),
    ],
)
def test_a_partition_that_is_not_equitable_is_rejected(labels: list[int], colors: list[int], expected: bool) -> None:
    arrays, sums = ring(6, labels), np.zeros(6)
    rowptr = np.arange(0, 14, 2)
    assert _is_equitable(arrays, 0, rowptr, np.array(colors), np.empty(2, np.int64), sums) is expected
    assert not sums.any()
