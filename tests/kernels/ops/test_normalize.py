"""Normalisations and their gradients equal autograd's; a row with multiplicity m acts as m equal nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bankgcn.kernels.ops.blocks import padded_width
from bankgcn.kernels.ops.normalize import (
    EPSILON,
    graph_norm,
    graph_norm_adjoint,
    l2_normalize,
    l2_normalize_adjoint,
    layer_norm,
    layer_norm_adjoint,
)
from bankgcn.nn.activation import GraphNorm
from block_of_graphs import Block, random_block
from run_operation import DTYPES, Matrix, assert_close, result, run

BLOCK = random_block()


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def by_autograd(
    function: Callable[..., Tensor], x: np.ndarray, grad: np.ndarray, *parameters: np.ndarray, block: Block = BLOCK
) -> tuple[np.ndarray, ...]:
    """Result for each row, gradient of each node of a row, gradients of the parameters, with all nodes apart."""
    nodes = np.arange(len(x)).repeat(block.counts.astype(int))  # row of each node
    first = np.unique(nodes, return_index=True)[1]
    inputs = [torch.tensor(value, requires_grad=True) for value in (x[nodes], *parameters)]
    out = function(*inputs)
    gradients = torch.autograd.grad(out, inputs, torch.tensor(grad[nodes]))
    return out.detach().numpy()[first], gradients[0].numpy()[first], *(g.numpy() for g in gradients[1:])


@pytest.mark.parametrize("relu", [False, True])
def test_a_row_whose_norm_overflows_is_not_a_number(relu: bool) -> None:
    dtype, x = np.dtype(np.float32), normal(BLOCK.rows, 19)
    x[2] = 1e20
    operands = {"x": x, "scale": result(BLOCK.rows, 1, "none"), "out": result(*x.shape), "relu": relu}
    found = run(l2_normalize, dtype, operands, BLOCK.table(dtype)).buffers["out"]
    assert np.isnan(found[2]).all()
    assert np.isfinite(np.delete(found, 2, axis=0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("columns", [1, 19, 64])
@pytest.mark.parametrize("shared", [None, "grad", "x", "result"])
def test_l2(shared: str | None, columns: int, relu: bool, dtype: np.dtype) -> None:
    x, grad, table = normal(BLOCK.rows, columns), normal(BLOCK.rows, columns, seed=1), BLOCK.table(dtype)
    x[2] = 0
    x[3] = x[3] * 0.1 * EPSILON  # too short to normalise

    def function(x: Tensor) -> Tensor:
        return F.normalize(x).relu() if relu else F.normalize(x)

    out, grad_x = by_autograd(function, x, grad)
    operands = {"x": x, "scale": result(BLOCK.rows, 1, "none"), "out": result(*x.shape), "relu": relu}
    found = run(l2_normalize, dtype, operands, table).buffers
    assert_close(found["out"], out, dtype)
    in_place = run(l2_normalize, dtype, operands | {"out": "x"}, table).buffers
    np.testing.assert_array_equal(in_place["out"], found["out"])
    if shared == "result" and not relu:
        return
    operands = {"grad": grad, "x": x, "result": found["out"] if relu else None, "out": shared or result(*x.shape)}
    operands |= {"scale": Matrix(found["scale"], "none")}
    found_x = run(l2_normalize_adjoint, dtype, operands, table).buffers["out"]
    long = np.arange(BLOCK.rows) != 3
    assert_close(found_x[long & (x != 0).any(1)], grad_x[long & (x != 0).any(1)], dtype)
    expected = grad_x[[2, 3]]  # divided by the smallest norm
    assert_close(found_x[[2, 3]] * EPSILON, expected * EPSILON, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 19, 64])
@pytest.mark.parametrize("shared", [None, "grad", "x"])
def test_layer_norm(shared: str | None, columns: int, dtype: np.dtype) -> None:
    x, grad, table = 3 + normal(BLOCK.rows, columns), normal(BLOCK.rows, columns, seed=1), BLOCK.table(dtype)
    weight, bias = normal(2, columns, seed=2)
    out, grad_x, grad_weight, grad_bias = by_autograd(
        lambda x, weight, bias: F.layer_norm(x, (columns,), weight, bias), x, grad, weight, bias
    )
    operands = {"x": x, "columns": columns, "weight": weight, "bias": bias}
    written = {"moments": result(BLOCK.rows, 2, "none"), "out": result(*x.shape)}
    found = run(layer_norm, dtype, operands | written, table).buffers
    assert_close(found["out"], out, dtype)
    in_place = run(layer_norm, dtype, operands | written | {"out": "x"}, table).buffers
    np.testing.assert_array_equal(in_place["out"], found["out"])
    operands |= {"grad": grad, "moments": Matrix(found["moments"], "none"), "out": shared or result(*x.shape)}
    found_back = run(layer_norm_adjoint, dtype, operands, table)
    assert_close(found_back.buffers["out"], grad_x, dtype)
    assert_close(found_back.gradients["weight"][0], grad_weight, dtype)
    assert_close(found_back.gradients["bias"][0], grad_bias, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 19, 64])
@pytest.mark.parametrize("shared", [None, "grad", "x"])
def test_graph_norm(shared: str | None, columns: int, dtype: np.dtype) -> None:
    x, grad, table = 1 + normal(BLOCK.rows, columns), normal(BLOCK.rows, columns, seed=1), BLOCK.table(dtype)
    weight, bias, mean_scale = normal(3, columns, seed=2)
    batch = torch.from_numpy(BLOCK.graph_of_node.repeat(BLOCK.counts.astype(int)))

    def function(x: Tensor, *parameters: Tensor) -> Tensor:
        named = dict(zip(("weight", "bias", "mean_scale"), parameters, strict=True))
        return torch.func.functional_call(GraphNorm(columns), named, (x, batch, BLOCK.graphs))

    out, grad_x, *expected = by_autograd(function, x, grad, weight, bias, mean_scale)
    operands = {"x": x, "weight": weight, "bias": bias, "mean_scale": mean_scale}
    # The padding of the moments is not 0: it goes from one operation to the other, too.
    written = {"moments": result(2 * BLOCK.graphs, padded_width(columns, dtype)), "out": result(*x.shape)}
    found = run(graph_norm, dtype, operands | written, table).buffers
    assert_close(found["out"], out, dtype)
    in_place = run(graph_norm, dtype, operands | written | {"out": "x"}, table).buffers
    np.testing.assert_array_equal(in_place["out"], found["out"])
    operands |= {"grad": grad, "moments": found["moments"], "out": shared or result(*x.shape)}
    found_back = run(graph_norm_adjoint, dtype, operands, table)
    # The deviation of a graph of one node is small, sqrt(epsilon): it multiplies rounding errors.
    scale = {4: 30, 8: 1}[dtype.itemsize]
    assert_close(found_back.buffers["out"] / scale, grad_x / scale, dtype)
    for name, gradient in zip(("weight", "bias", "mean_scale"), expected, strict=True):
        assert_close(found_back.gradients[name][0] / scale, gradient / scale, dtype)


def test_graph_norm_leaves_exactly_nothing_of_a_column_that_is_constant_in_each_graph() -> None:
    dtype, columns = np.dtype(np.float32), 19
    x = (1e4 * (1 + np.random.default_rng(0).random((BLOCK.graphs, columns))))[BLOCK.graph_of_node]
    weight, bias, mean_scale = normal(columns), normal(columns, seed=1), np.ones(columns)
    operands = {"x": x, "weight": weight, "bias": bias, "mean_scale": mean_scale, "out": result(*x.shape)}
    operands |= {"moments": result(2 * BLOCK.graphs, padded_width(columns, dtype))}
    found = run(graph_norm, dtype, operands, BLOCK.table(dtype)).buffers["out"]
    np.testing.assert_array_equal(found, np.tile(bias.astype(dtype), (BLOCK.rows, 1)))


@pytest.mark.parametrize("columns", [1, 10, 64, 100])
def test_nothing_remains_of_equal_columns(columns: int) -> None:
    dtype = np.dtype(np.float32)
    x = np.repeat(1e4 * normal(BLOCK.rows, 1), columns, axis=1)
    operands = {"x": x, "columns": columns, "weight": np.ones(columns), "bias": np.zeros(columns)}
    operands |= {"moments": result(BLOCK.rows, 2, "none"), "out": result(*x.shape)}
    assert not run(layer_norm, dtype, operands, BLOCK.table(dtype)).buffers["out"].any()
