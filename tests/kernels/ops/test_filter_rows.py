"""The filter bank equals a dense polynomial of the operator, computed by its eigenvectors; so do its gradients."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.jit.vector import REGISTER_BYTES
from bankgcn.kernels.ops.propagate import filter_bank, filter_bank_adjoint, hop_rows
from block_of_graphs import Block, random_block
from run_operation import DTYPES, Matrix, assert_close, result, run


def chebyshev_matrices(matrix: np.ndarray, order: int) -> list[np.ndarray]:
    """T_k of a symmetric matrix: U cos(k arccos(Lambda)) U^T."""
    eigenvalues, u = np.linalg.eigh(matrix)
    angle = np.arccos(eigenvalues.clip(-1, 1))
    return [u @ np.diag(np.cos(k * angle)) @ u.T for k in range(order + 1)]


def normalized_block() -> Block:
    """A block whose operator has eigenvalues between -1 and 1, as L~ has; nodes have no loops."""
    block = random_block(3, symmetric=True)
    scale = np.abs(np.linalg.eigvalsh(block.matrix)).max()
    return Block(block.node_ptr, -block.matrix / scale, 0 * block.diagonal, block.multiplicity, block.first, block.last)


def hops_of(rows: int, order: int, dtype: np.dtype) -> Matrix:
    return result(rows * hop_rows(order), 8 * REGISTER_BYTES // dtype.itemsize, "none")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 16, 40, 64, 70])
@pytest.mark.parametrize("order", range(6))
def test_every_column_is_filtered_by_its_own_polynomial(order: int, columns: int, dtype: np.dtype) -> None:
    random, block = np.random.default_rng(order), normalized_block()
    x, c = random.normal(size=(block.rows, columns)), random.normal(size=(order + 1, columns))
    operands = {"x": x, "c": c, "order": order, "hops": hops_of(block.rows, order, dtype), "out": result(*x.shape)}
    found = run(filter_bank, dtype, operands, block.table(dtype)).buffers["out"]
    powers = chebyshev_matrices(block.operator, order)
    assert_close(found, sum(c[k] * (powers[k] @ x) for k in range(order + 1)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 16, 40, 64, 70])
@pytest.mark.parametrize("order", range(6))
def test_the_adjoint_is_the_same_filter_and_has_the_gradient_of_the_coefficients(
    order: int, columns: int, dtype: np.dtype
) -> None:
    random, block = np.random.default_rng(order), normalized_block()
    grad, signal = random.normal(size=(2, block.rows, columns))
    c = random.normal(size=(order + 1, columns))
    operands = {"grad": grad, "signal": signal, "c": c, "order": order, "hops": hops_of(block.rows, order, dtype)}
    found = run(filter_bank_adjoint, dtype, operands | {"out": result(*grad.shape)}, block.table(dtype))
    powers = chebyshev_matrices(block.operator, order)
    assert_close(found.buffers["out"], sum(c[k] * (powers[k].T @ grad) for k in range(order + 1)), dtype)
    assert_close(found.gradients["c"], [(signal * (power @ grad)).sum(0) for power in powers], dtype)
