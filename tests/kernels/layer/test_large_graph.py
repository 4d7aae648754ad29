"""Hop by hop over one large graph: equal to the plain recurrence, and the same to the bit on any number of threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.bench.cases import random_shift
from bankgcn.kernels import use_kernels
from bankgcn.kernels.jit import threads
from bankgcn.kernels.layer import large_graph
from bankgcn.kernels.layer.large_graph import CHUNK, is_large
from bankgcn.spectral import GraphShift, chebyshev
from strategies import RandomGraph, graphs, ring, signals

several_chunks = 2 * CHUNK + 100


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def every_graph_is_large(num_threads: int = 1) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, on_threads(num_threads):
        patch.setattr(large_graph, "LARGE_SIGNAL", 0)
        patch.setattr(large_graph, "MIN_THREADED_WORK", 0)
        yield


def filtered(shift: GraphShift, order: int, channels: int, filters: int) -> list[torch.Tensor]:
    """Values and gradients of a filter."""
    x = signals(shift.num_nodes, channels).to(shift.dtype).requires_grad_()
    c = signals(order + 1, filters, seed=1).to(shift.dtype).requires_grad_()
    out = chebyshev.apply(shift, x, c)
    g = signals(shift.num_nodes, channels, seed=2).to(shift.dtype)
    return [out.detach(), *torch.autograd.grad(out, (x, c), g)]


def compare(shift: GraphShift, order: int, channels: int, filters: int, num_threads: int) -> None:
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        typed = shift.to(dtype)
        with every_graph_is_large(num_threads):
            large = filtered(typed, order, channels, filters)
        with use_kernels(False):
            plain = filtered(typed, order, channels, filters)
        for one, other in zip(large, plain, strict=True):
            scale = max(1.0, other.abs().max().item())
            torch.testing.assert_close(one, other, rtol=0, atol=tolerance * scale)


@settings(max_examples=30)
@given(graphs(), st.integers(0, 6), st.integers(1, 3), st.integers(1, 7), st.sampled_from([1, 2]))
def test_large_equals_plain(graph: RandomGraph, order: int, filters: int, width: int, num_threads: int) -> None:
    shift = GraphShift.from_edges(graph.edge_index, graph.edge_weight, num_nodes=graph.num_nodes)
    compare(shift, order, filters * width, filters, num_threads)


@pytest.mark.parametrize("order", range(1, 6))
def test_large_equals_plain_on_several_chunks(order: int) -> None:
    compare(random_shift(8 * several_chunks).to(torch.float64), order, 8, 4, num_threads=2)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_result_does_not_depend_on_the_number_of_threads(order: int) -> None:
    shift = random_shift(8 * several_chunks)
    results = []
    for num_threads in (1, 2, 2):
        with every_graph_is_large(num_threads):
            results.append(filtered(shift, order, 8, 8))
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


def test_nan_stays_nan() -> None:
    shift, x = GraphShift.from_edges(ring(6), num_nodes=6), signals(6, 4)
    x[2, 1] = float("nan")
    with every_graph_is_large():
        out = chebyshev.apply(shift, x, torch.ones(2, 4))
    assert out.isnan().nonzero().tolist() == [[1, 1], [2, 1], [3, 1]]


def test_only_much_work_is_threaded_and_only_large_blocks_go_hop_by_hop() -> None:
    few, many = (GraphShift.from_edges(ring(n), num_nodes=n).csr for n in (100, 40_000))
    pieces = many._replace(block_ptr=np.arange(0, 40_001, 20))  # as if it were a batch of small graphs
    coefficients = np.ones((3, 256))
    for num_threads, expected in ((1, [False, True, False]), (2, [False, True, True])):
        with on_threads(num_threads):
            if threads.available_threads() == num_threads:
                found = [is_large(a, np.zeros((len(a.rowptr) - 1, 256)), coefficients) for a in (few, many, pieces)]
                assert found == expected
    assert not is_large(many, np.zeros((40_000, 256)), coefficients[:1])  # order 0 moves nothing


def test_several_threads_are_used_if_available(monkeypatch: pytest.MonkeyPatch) -> None:
    hops = []
    threaded = large_graph._forward_hop_threaded
    monkeypatch.setattr(large_graph, "_forward_hop_threaded", lambda *a: (hops.append(a), threaded(*a)))
    for num_threads in (1, 2):
        with every_graph_is_large(num_threads):
            expected = 3 if threads.available_threads() > 1 else 0
            filtered(random_shift(8 * several_chunks), 3, 8, 8)
        assert len(hops) == expected


def test_the_numbers_of_threads_are_restored() -> None:
    import numba

    before = numba.get_num_threads()
    with every_graph_is_large(2):
        filtered(random_shift(8 * several_chunks), 2, 8, 8)
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 1
    assert numba.get_num_threads() == before


def test_a_second_caller_gets_one_thread() -> None:
    with on_threads(2), threads.several_threads(threads.available_threads()) as first:
        assert first == (threads.available_threads() > 1)
        with threads.several_threads(2) as second:
            assert not second
    with threads.several_threads(1) as one_thread:
        assert not one_thread


@pytest.mark.slow
def test_a_forked_process_continues_on_one_thread() -> None:
    code = """
import os, numpy, torch
torch.set_num_threads(2)
from bankgcn.bench.cases import random_shift
from bankgcn.kernels.jit.threads import available_threads
from bankgcn.spectral import chebyshev
shift = random_shift(2_000_000)
x, c = torch.ones(shift.num_nodes, 16), torch.ones(3, 16)
expected = chebyshev.apply(shift, x, c).numpy()
child = os.fork()
if child == 0:  # where PyTorch's own threads are dead, too, so NumPy compares
    result = chebyshev.apply(shift, x, c).numpy()
    os._exit(0 if available_threads() == 1 and numpy.array_equal(result, expected) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "0", done.stderr
