"""What is done to each value by itself equals NumPy's functions, and dropout equals that of the torch modules."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.kernels.ops.blocks import BATCH_GRAPH, BATCH_ROW, COLUMNS, DROPOUT_KEY, GRAPHS, ROWS, padded_width
from bankgcn.kernels.ops.linear import add_multiple, dropout, relu, relu_adjoint, scale_by_multiplicity
from bankgcn.nn.layers import drop, dropout_key
from block_of_graphs import random_block
from run_operation import DTYPES, assert_close, result, run

SHAPE = (6, 19)


def normal(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=SHAPE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [ROWS, GRAPHS])
@pytest.mark.parametrize("out", [result(*SHAPE), "x"], ids=["apart", "in place"])
def test_relu(out: object, rows: int, dtype: np.dtype) -> None:
    x = normal()
    x[0, :4] = [0, -np.inf, np.inf, np.nan]
    found = run(relu, dtype, {"x": x, "out": out, "rows": rows}, {rows: SHAPE[0]}).buffers["out"]
    assert_close(found, np.maximum(x, 0), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [ROWS, GRAPHS])
@pytest.mark.parametrize("out", [result(*SHAPE), "grad", "x"], ids=["apart", "in place of grad", "in place of x"])
def test_the_gradient_of_relu_counts_where_its_result_is_positive_or_nan(
    out: object, rows: int, dtype: np.dtype
) -> None:
    grad, x = normal(1), np.maximum(normal(), 0)
    x[0, :2] = [np.inf, np.nan]
    operands = {"grad": grad, "x": x, "out": out, "rows": rows}
    found = run(relu_adjoint, dtype, operands, {rows: SHAPE[0]}).buffers["out"]
    assert_close(found, np.where((x > 0) | np.isnan(x), grad, 0), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1, -1, 3])
@pytest.mark.parametrize(
    ("plus", "out"),
    [(None, result(*SHAPE)), (None, "x"), (normal(1), result(*SHAPE)), (normal(1), "x"), (normal(1), "plus")],
    ids=["alone", "alone in place", "sum", "sum in place of x", "sum in place of plus"],
)
def test_a_multiple_is_added(plus: np.ndarray | None, out: object, factor: int, dtype: np.dtype) -> None:
    operands = {"x": normal(), "factor": factor, "plus": plus, "out": out}
    found = run(add_multiple, dtype, operands, {ROWS: SHAPE[0]}).buffers["out"]
    assert_close(found, (0 if plus is None else plus) + factor * normal(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("in_place", [False, True])
def test_rows_are_scaled_by_their_multiplicity(in_place: bool, dtype: np.dtype) -> None:
    block = random_block()
    assert set(block.counts) == {1, 2, 3}
    x = np.random.default_rng(0).normal(size=(block.rows, 19))
    operands = {"x": x, "out": "x" if in_place else result(*x.shape)}
    found = run(scale_by_multiplicity, dtype, operands, block.table(dtype)).buffers["out"]
    assert_close(found, block.counts[:, None] * x, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "first"), [(ROWS, BATCH_ROW), (GRAPHS, BATCH_GRAPH)], ids=["nodes", "graphs"])
@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("p", "stream"), [(0.5, 0), (0.1, 3)])
def test_dropout_drops_what_the_modules_drop(
    p: float, stream: int, in_place: bool, permuted: bool, rows: int, first: int, dtype: np.dtype
) -> None:
    random, before, count, columns = np.random.default_rng(0), 5, 40, 19
    signal = random.normal(size=(before + count, columns)).astype(dtype)
    signal[before, 0] = np.nan
    # Column k of the signal is column places[k] of the buffer; the others are padding.
    places = random.permutation(columns + 6)[:columns] if permuted else np.arange(columns)
    x = np.zeros((count, int(places.max()) + 1))
    x[:, places] = signal[before:]
    numbers = np.full(7 + padded_width(x.shape[1], dtype), -1)
    numbers[7 + places] = np.arange(columns)
    key = dropout_key(11, 4)
    table = {rows: count, first: before, DROPOUT_KEY: key, COLUMNS: numbers}
    operands = {"x": x, "columns": 7, "threshold": round(p * 2**24), "stream": stream, "rows": rows, "first": first}
    operands |= {"scale": np.float64(1 / (1 - p)).view(np.int64), "out": "x" if in_place else result(*x.shape)}
    found = run(dropout, dtype, operands, table).buffers["out"]
    expected = drop(torch.from_numpy(signal), p, key, stream).numpy()[before:]
    assert 0 < (expected == 0).mean() < 1
    np.testing.assert_array_equal(found[:, places], expected)
    assert not np.delete(found, places, axis=1).any()
