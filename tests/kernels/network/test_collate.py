"""Collated graphs equal a batch, which index arithmetic makes, and every operator equals its dense formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphBatch, GraphSet
from bankgcn.kernels.network.collate import OPERATORS, CollatedGraphs, collate, look_up_attributes
from bankgcn.kernels.network.program import Operator
from random_sets import RandomSet, graph_sets
from refusals import refused

SUM = Operator("sum", 1.0)
DOUBLE = np.dtype(np.float64)


def adjacency(batch: GraphBatch) -> np.ndarray:
    """The dense matrix of all graphs of a batch."""
    a = np.zeros((batch.num_nodes, batch.num_nodes))
    a[tuple(batch.edge_index.numpy())] = 1 if batch.edge_weight is None else batch.edge_weight
    return a


def formula(a: np.ndarray, kind: str, loop: float) -> np.ndarray:
    """The operator of a graph; an isolated node has D^-1 = 0."""
    degree, identity = a.sum(1), np.eye(len(a))
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    root, root_with_loops = np.diag(np.sqrt(inverse)), np.diag((degree + 1) ** -0.5)
    return {
        "laplacian": -root @ a @ root,
        "renormalized": root_with_loops @ (a + identity) @ root_with_loops,
        "mean": np.diag(inverse) @ a,
        "sum": a + loop * identity,
    }[kind]


def dense(graphs: CollatedGraphs, weight: np.ndarray) -> np.ndarray:
    """The operator with these weights of the edges."""
    matrix = np.diag(graphs.diagonal).astype(np.float64)
    row = np.arange(len(graphs.diagonal)).repeat(np.diff(graphs.rowptr))
    np.add.at(matrix, (row, graphs.col), weight)
    return matrix


@given(graph_sets(min_graphs=1), st.lists(st.integers(0, 99), max_size=7), st.booleans(), st.booleans())
def test_equals_the_batch(random: RandomSet, numbers: list[int], attributes: bool, labels: bool) -> None:
    graphs = random.build()
    if not attributes or not labels:
        kept = {"attributes": graphs.attributes} if attributes else {}
        kept |= {"labels": graphs.labels, "label_widths": (3, 4)} if labels else {}
        graphs = graphs.with_signals(**kept, feature_spec={})
    batch = graphs.batch([number % len(graphs) for number in numbers])
    collated = collate(graphs.flat, batch.indices, Operator("laplacian"))
    np.testing.assert_array_equal(collated.node_ptr, batch.ptr)
    np.testing.assert_array_equal(collated.rowptr, batch.shift.rowptr)
    np.testing.assert_array_equal(collated.col, batch.shift.col)
    np.testing.assert_allclose(collated.weight, batch.shift.weight, rtol=1e-6)
    np.testing.assert_array_equal(collated.multiplicity, np.ones(batch.num_nodes))
    one_hot = np.zeros(batch.x.shape, np.float32)
    one_hot[:, : collated.attributes.shape[1]] = collated.attributes
    one_hot[np.arange(len(one_hot))[:, None], collated.labels] = 1
    np.testing.assert_array_equal(one_hot, batch.x)


@pytest.mark.parametrize("kind", OPERATORS)
@given(random=graph_sets(min_graphs=1), loop=st.sampled_from([0.0, 1.0, 1.25]))
def test_operators_and_their_transposes_equal_the_dense_formulas(kind: str, random: RandomSet, loop: float) -> None:
    batch = random.build().batch()
    expected = formula(adjacency(batch), kind, loop)
    for dtype, tolerance in ((DOUBLE, 1e-13), (np.dtype(np.float32), 1e-6)):
        collated = collate(batch.source.flat, batch.indices, Operator(kind, loop), dtype)
        assert {array.dtype for array in (collated.weight, collated.adjoint_weight, collated.diagonal)} == {dtype}
        assert {array.dtype for array in (collated.attributes, collated.multiplicity)} == {dtype}
        np.testing.assert_allclose(dense(collated, collated.weight), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(dense(collated, collated.adjoint_weight), expected.T, rtol=tolerance, atol=tolerance)


def symmetric_set() -> GraphSet:
    """A star, a chain of equal nodes, two isolated nodes, and a ring with weights."""
    star, chain = [(0, 1), (0, 2), (0, 3)], [(4, 5), (5, 6), (6, 7), (7, 8)]
    ring = [(11 + k, 11 + (k + 1) % 6) for k in range(6)]
    edges = np.array(star + chain + ring).T
    weights = np.array([2.0] * 3 + [1.0, 3.0, 3.0, 1.0] + [1.0, 2.0] * 3)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return GraphSet.from_edges([4, 5, 2, 6], both, labels=np.zeros(17, np.int64), edge_weight=np.tile(weights, 2))


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [3, 1]])
def test_the_operator_of_quotient_graphs_acts_as_that_of_the_full_graphs(numbers: list[int], kind: str) -> None:
    graphs = symmetric_set()
    merged, batch, operator = graphs.quotient, graphs.batch(numbers), Operator(kind, 1.5)
    assert merged.multiplicity.tolist() == [1, 3, 2, 2, 1, 2, 6]
    few, full = (collate(arrays, batch.indices, operator, DOUBLE) for arrays in (merged, graphs.flat))
    colors = np.concatenate([graphs.node_colors.color[slice(*graphs.node_ptr[k : k + 2])] for k in numbers])
    row = colors + few.node_ptr[:-1].repeat(np.diff(full.node_ptr))
    member = np.eye(len(few.diagonal))[row]  # the row of the quotient for each node
    np.testing.assert_array_equal(few.multiplicity, member.sum(0))
    expected = formula(adjacency(batch), kind, 1.5)
    np.testing.assert_allclose(dense(full, full.weight), expected, rtol=1e-13)
    np.testing.assert_allclose(member @ dense(few, few.weight), expected @ member, atol=1e-13)
    # A gradient has one row for all nodes of a colour, as a signal has.
    np.testing.assert_allclose(member @ dense(few, few.adjoint_weight), expected.T @ member, atol=1e-13)


def test_graphs_may_be_stored_in_a_file_and_selected_with_a_step(tmp_path: Path) -> None:
    ring = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    GraphSet.from_edges([3, 1, 2], ring, labels=[0, 1, 2, 0, 1, 2]).save(tmp_path / "set.bin")
    graphs = GraphSet.load(tmp_path / "set.bin")
    assert not graphs.quotient.neighbor.flags.writeable
    collated = graphs[1:].batch().collate(SUM)
    np.testing.assert_array_equal(collated.labels, [[0], [1], [2]])
    batch = graphs.batch()
    batch.indices = batch.indices[::2]
    np.testing.assert_array_equal(batch.collate(SUM).node_ptr, [0, 3, 5])


def test_a_batch_collates_quotient_graphs_or_full_ones() -> None:
    batch = symmetric_set().batch()
    assert len(batch.collate(SUM).multiplicity) == 7
    full = batch.collate(SUM, merged=False)
    np.testing.assert_array_equal(full.multiplicity, np.ones(17))


def atoms(values: list[list[float]]) -> CollatedGraphs:
    attributes = np.array(values, np.float32)
    graphs = GraphSet.from_edges([len(values)], np.zeros((2, 0), np.int64), attributes=attributes)
    return graphs.batch().collate(SUM, merged=False)


def test_integer_attributes_become_rows_of_one_table() -> None:
    found = look_up_attributes(atoms([[0, 3], [1, 0], [1, 2]]), (2, 4))
    np.testing.assert_array_equal(found.labels, [[0, 5], [1, 2], [1, 4]])
    assert found.attributes.shape == (3, 0)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([[0, 3], [2, 0]], ("column 0", 2.0, "0 to 1")),
        ([[0, -1]], ("column 1", -1.0, "0 to 3")),
        ([[0.5, 0]], ("column 0", 0.5, "0 to 1")),
    ],
)
def test_an_attribute_without_a_row_is_an_error(values: list[list[float]], named: tuple) -> None:
    with refused(ValueError, *named):
        look_up_attributes(atoms(values), (2, 4))
