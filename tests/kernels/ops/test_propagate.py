"""One hop equals the product with the dense operator."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bankgcn.kernels.ops.propagate import propagate
from block_of_graphs import random_block
from run_operation import DTYPES, assert_close, result, run

CHOICES = [
    (plus, minus, shared)
    for plus, minus, shared in product((False, True), (False, True), (None, "plus", "minus"))
    if shared is None or {"plus": plus, "minus": minus}[shared]
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("adjoint", [0, 1])
@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize(("plus", "minus", "shared"), CHOICES)
def test_all_terms_are_added(
    plus: bool, minus: bool, shared: str | None, factor: int, adjoint: int, dtype: np.dtype
) -> None:
    random, block = np.random.default_rng(0), random_block()
    x, added, subtracted = random.normal(size=(3, block.rows, 21))
    bias = random.normal(size=(1, 21)) if factor == 1 else None
    operands = {"x": x, "factor": factor, "adjoint": adjoint, "bias": bias, "out": shared or result(*x.shape)}
    operands |= {"plus": added if plus else None, "minus": subtracted if minus else None}
    found = run(propagate, dtype, operands, block.table(dtype)).buffers["out"]
    operator = block.operator.T if adjoint else block.operator
    expected = factor * operator @ x + plus * added - minus * subtracted + (0 if bias is None else bias)
    assert_close(found, expected, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 32, 64, 100])
def test_any_number_of_columns(columns: int, dtype: np.dtype) -> None:
    block = random_block(1)
    x = np.random.default_rng(0).normal(size=(block.rows, columns))
    operands = {"x": x, "factor": 1, "adjoint": 0, "bias": None, "plus": None, "minus": None, "out": result(*x.shape)}
    assert_close(run(propagate, dtype, operands, block.table(dtype)).buffers["out"], block.operator @ x, dtype)
