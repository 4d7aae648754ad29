"""Rows of kinds: products with one-hot labels and the operator, read by nodes, with gradients that nodes give back."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.input_rows import (
    kinds_of_labels,
    kinds_of_labels_gradient,
    load_kind_rows,
    share_rows,
    sum_node_gradients,
)
from run_operation import DTYPES, assert_close, result, run

NODES, LABELS, COLUMNS, FACTOR = 7, 4, 19, 3
EXAMPLE = np.array([6, 5, 0, 3, 2])  # of kinds; the block has those from the second to the fourth
FIRST, COUNT = 1, 3


def operator(random: np.random.Generator, dtype: np.dtype) -> tuple[np.ndarray, dict]:
    """A matrix, and the entries of the table that describe it."""
    dense = np.where(random.random((NODES, NODES)) < 0.4, random.normal(size=(NODES, NODES)), 0).astype(dtype)
    diagonal = np.ascontiguousarray(np.diag(dense))
    edges = dense - np.diag(diagonal)
    row, col = map(np.ascontiguousarray, np.nonzero(edges))
    rowptr = np.searchsorted(row, np.arange(NODES + 1))
    table = {entry.ROWPTR: rowptr, entry.COL: col, entry.WEIGHT: edges[row, col], entry.DIAGONAL: diagonal}
    return dense, table


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("plus", ["absent", "apart", "in place"])
@pytest.mark.parametrize("num_labels", [1, 2])
@pytest.mark.parametrize("hop", [0, 1])
def test_rows_of_kinds_are_products(hop: int, num_labels: int, plus: str, dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    dense, table = operator(random, dtype)
    labels = random.integers(0, LABELS, (NODES, num_labels))
    table |= {entry.LABELS: labels, entry.NUM_LABELS: num_labels, entry.KIND_EXAMPLE: EXAMPLE}
    table |= {entry.FIRST_NODE: FIRST, entry.ROWS: COUNT}
    one_hot = np.eye(LABELS)[labels].sum(1)
    matrix = FACTOR * (dense @ one_hot if hop else one_hot)[EXAMPLE[FIRST : FIRST + COUNT]]
    weight, given = random.normal(size=(LABELS, COLUMNS)), random.normal(size=(COUNT, COLUMNS))
    bias = random.normal(size=(1, COLUMNS))
    operands = {"weight": weight, "hop": hop, "factor": FACTOR, "bias": bias}
    operands |= {"plus": None if plus == "absent" else given}
    operands |= {"out": "plus" if plus == "in place" else result(COUNT, COLUMNS)}
    found = run(kinds_of_labels, dtype, operands, table).buffers["out"]
    assert_close(found, matrix @ weight + bias + (0 if plus == "absent" else given), dtype)
    operands = {"grad": given, "weight": weight, "hop": hop, "factor": FACTOR}
    found = run(kinds_of_labels_gradient, dtype, operands, table).gradients["weight"]
    assert_close(found, matrix.T @ given, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nodes_read_the_rows_of_their_kinds(dtype: np.dtype) -> None:
    random, start, width, number = np.random.default_rng(0), 32, 96, 2
    rows, x = np.zeros((6, width), dtype), random.normal(size=(COUNT, COLUMNS)).astype(dtype)
    table = {entry.KIND_ROWS: rows, entry.KIND_COLUMNS: width, entry.ROWS: COUNT, entry.BATCH_ROW: number}
    run(share_rows, dtype, {"x": x, "place": entry.KIND_ROWS, "column": start}, table)
    np.testing.assert_array_equal(rows[number : number + COUNT, start : start + COLUMNS], x)
    assert not rows[:number].any()
    assert not rows[:, :start].any()

    kind = random.integers(0, 6, NODES)
    rows[:, start : start + COLUMNS] = random.normal(size=(6, COLUMNS))
    table = {entry.KIND_ROWS: rows, entry.KIND_COLUMNS: width, entry.KIND: kind, entry.FIRST_NODE: 2, entry.ROWS: 4}
    found = run(load_kind_rows, dtype, {"column": start, "out": result(4, COLUMNS)}, table).buffers["out"]
    np.testing.assert_array_equal(found, rows[kind[2:6], start : start + COLUMNS])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_of_a_kind_is_the_sum_over_its_nodes(dtype: np.dtype) -> None:
    random, start, width, number = np.random.default_rng(0), 32, 96, 2
    rows, grad = np.zeros((NODES, width), dtype), random.normal(size=(4, COLUMNS)).astype(dtype)
    table = {entry.NODE_GRADIENTS: rows, entry.KIND_COLUMNS: width, entry.ROWS: 4, entry.BATCH_ROW: number}
    run(share_rows, dtype, {"x": grad, "place": entry.NODE_GRADIENTS, "column": start}, table)
    np.testing.assert_array_equal(rows[number : number + 4, start : start + COLUMNS], grad)

    members_ptr, members = np.array([0, 1, 1, 4, 7]), np.array([6, 2, 3, 5, 0, 1, 4])
    table |= {entry.MEMBERS_PTR: members_ptr, entry.MEMBERS: members, entry.FIRST_NODE: FIRST, entry.ROWS: COUNT}
    found = run(sum_node_gradients, dtype, {"column": start, "out": result(COUNT, COLUMNS)}, table).buffers["out"]
    values = rows[:, start : start + COLUMNS].astype(np.float64)
    assert_close(found, [np.zeros(COLUMNS), values[[2, 3, 5]].sum(0), values[[0, 1, 4]].sum(0)], dtype)
