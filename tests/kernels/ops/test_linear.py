"""Products of padded matrices and their gradients equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.ops.blocks import GRAPHS, ROWS
from bankgcn.kernels.ops.linear import bias_gradient, linear, weight_gradient
from run_operation import DTYPES, Matrix, assert_close, result, run

SIZES = [(6, 5, 19), (8, 16, 40), (1, 1, 1), (0, 3, 5), (7, 33, 64)]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
@pytest.mark.parametrize("added", ["nothing", "bias", "plus", "bias and plus in place"])
def test_a_product_with_a_matrix_plus_what_is_given(
    added: str, rows: int, inner: int, columns: int, dtype: np.dtype
) -> None:
    x, weight = normal(rows, inner + 3), normal(inner, columns)
    bias = normal(1, columns, seed=1) if "bias" in added else None
    plus = normal(rows, columns, seed=2) if "plus" in added else None
    out = "plus" if "in place" in added else result(rows, columns)
    operands = {"x": x, "inner": inner, "weight": weight, "bias": bias, "plus": plus, "out": out, "rows": ROWS}
    found = run(linear, dtype, operands, {ROWS: rows}).buffers["out"]
    expected = x[:, :inner] @ weight + (0 if bias is None else bias) + (0 if plus is None else plus)
    assert_close(found, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_narrow_result_has_narrow_weights(dtype: np.dtype) -> None:
    x, weight, bias = normal(5, 7), normal(7, 3), normal(1, 3)
    operands = {"x": x, "inner": 7, "weight": Matrix(weight, "narrow"), "bias": bias, "plus": None}
    operands |= {"out": result(5, 3, "narrow"), "rows": GRAPHS}
    assert_close(run(linear, dtype, operands, {GRAPHS: 5}).buffers["out"], x @ weight + bias, dtype)
    grad = normal(5, 3, seed=1)
    operands = {"x": x, "inner": 7, "grad": Matrix(grad, "narrow"), "weight": Matrix(weight, "narrow"), "rows": GRAPHS}
    assert_close(run(weight_gradient, dtype, operands, {GRAPHS: 5}).gradients["weight"], x.T @ grad, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_gradients_of_matrix_and_bias_are_added(rows: int, inner: int, columns: int, dtype: np.dtype) -> None:
    x, grad = normal(rows, inner), normal(rows, columns, seed=1)
    operands = {"x": x, "inner": inner, "grad": grad, "weight": normal(inner, columns), "rows": ROWS}
    found = run(weight_gradient, dtype, operands, {ROWS: rows}).gradients["weight"]
    assert_close(found, x.T @ grad, dtype)
    found = run(bias_gradient, dtype, {"grad": grad, "bias": normal(1, columns), "rows": ROWS}, {ROWS: rows})
    assert_close(found.gradients["bias"][0], grad.sum(0), dtype)
