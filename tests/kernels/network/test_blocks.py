"""Blocks and chunks hold whole graphs, keep to their limits, and depend on the graphs of a batch alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.kernels.network.collate import MAX_CHUNKS, MIN_CHUNK_NODES, Chunks, block_end, divide
from bankgcn.kernels.network.program import MAX_BLOCK_NODES

sizes_of_graphs = st.lists(st.one_of(st.just(0), st.integers(0, 40), st.integers(80, 300)), max_size=60)


def pointers(counts: list[int]) -> np.ndarray:
    return np.append(0, np.cumsum(np.array(counts, np.int64)))


def blocks_of(node_ptr: np.ndarray, begin: int, last: int) -> list[tuple[int, int]]:
    """First graph and end of each block."""
    blocks = []
    while begin < last:
        blocks.append((begin, int(block_end(node_ptr, begin, last))))
        begin = blocks[-1][1]
    return blocks


def divide_batches(batches: list[list[int]], degree: int = 3) -> tuple[np.ndarray, np.ndarray, Chunks]:
    """Divide batches of graphs with these numbers of nodes, all with the same number of neighbours."""
    node_ptr, batch_ptr = (
        pointers([size for batch in batches for size in batch]),
        pointers([len(batch) for batch in batches]),
    )
    rowptr = degree * np.arange(node_ptr[-1] + 1)
    return node_ptr, batch_ptr, divide(node_ptr, rowptr, batch_ptr)


@given(sizes_of_graphs)
def test_blocks_are_runs_of_graphs_that_are_as_long_as_the_limit_allows(sizes: list[int]) -> None:
    node_ptr = pointers(sizes)
    blocks = blocks_of(node_ptr, 0, len(sizes))
    assert [graph for block in blocks for graph in range(*block)] == list(range(len(sizes)))
    for begin, end in blocks:
        nodes = node_ptr[end] - node_ptr[begin]
        assert nodes <= MAX_BLOCK_NODES or end - begin == 1
        if end < len(sizes):
            assert nodes + sizes[end] > MAX_BLOCK_NODES or end - begin == MAX_BLOCK_NODES


def test_a_block_has_a_limited_number_of_graphs_without_nodes() -> None:
    node_ptr = pointers([0] * (2 * MAX_BLOCK_NODES + 5))
    lengths = [end - begin for begin, end in blocks_of(node_ptr, 0, len(node_ptr) - 1)]
    assert lengths == [MAX_BLOCK_NODES, MAX_BLOCK_NODES, 5]


@given(st.lists(sizes_of_graphs, max_size=4))
def test_chunks_hold_whole_blocks_of_one_batch_and_the_largest_block_is_found(batches: list[list[int]]) -> None:
    node_ptr, batch_ptr, chunks = divide_batches(batches)
    starts, largest = chunks.graph_ptr.tolist(), [0, 0, 0]
    assert starts[0] == 0
    assert starts[-1] == batch_ptr[-1]
    assert len(starts) == chunks.batch_ptr[-1] + 1
    for number, (begin, last) in enumerate(pairwise(batch_ptr.tolist())):
        own = starts[chunks.batch_ptr[number] : chunks.batch_ptr[number + 1] + 1]
        assert own[0] == begin
        assert own[-1] == last
        blocks = blocks_of(node_ptr, begin, last)
        # Blocks of the chunks, one chunk after another, are the blocks of the batch.
        assert [block for first, end in pairwise(own) for block in blocks_of(node_ptr, first, end)] == blocks
        for first, end in blocks:
            nodes = int(node_ptr[end] - node_ptr[first])
            largest = [max(pair) for pair in zip(largest, (nodes, end - first, 4 * nodes), strict=True)]
    assert [chunks.nodes, chunks.graphs, chunks.edges] == largest


@pytest.mark.parametrize("count", [10, 200, 4000])
def test_a_batch_has_few_chunks_and_none_but_the_last_is_small(count: int) -> None:
    sizes = np.random.default_rng(0).integers(1, 60, count).tolist()
    node_ptr, _, chunks = divide_batches([sizes])
    nodes = np.diff(node_ptr[chunks.graph_ptr])
    assert len(nodes) <= MAX_CHUNKS
    assert (nodes[:-1] >= MIN_CHUNK_NODES).all()
    if node_ptr[-1] > 2 * (MIN_CHUNK_NODES + MAX_BLOCK_NODES):
        assert len(nodes) > 1  # there is something to do for a second thread


@given(st.lists(sizes_of_graphs, min_size=2, max_size=4))
def test_the_chunks_of_a_batch_do_not_depend_on_the_other_batches(batches: list[list[int]]) -> None:
    _, batch_ptr, together = divide_batches(batches)
    for number, batch in enumerate(batches):
        _, _, alone = divide_batches([batch])
        own = together.graph_ptr[together.batch_ptr[number] : together.batch_ptr[number + 1] + 1]
        np.testing.assert_array_equal(own - batch_ptr[number], alone.graph_ptr)


def test_an_empty_batch_has_no_chunk() -> None:
    _, _, chunks = divide_batches([[], [5, 5], [], []])
    assert chunks.graph_ptr.tolist() == [0, 2]
    assert chunks.batch_ptr.tolist() == [0, 0, 1, 1, 1]
    _, _, chunks = divide_batches([[]])
    assert chunks.graph_ptr.tolist() == [0]
    assert (chunks.nodes, chunks.graphs, chunks.edges) == (0, 0, 0)
