"""Losses and their gradients equal PyTorch's; unknown targets have none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bankgcn.kernels.ops.blocks import CLASSES, FIRST_GRAPH, GRAPHS, LOSS, SHARE, TARGETS
from bankgcn.kernels.ops.losses import LOSSES
from run_operation import DTYPES, Matrix, assert_close, result, run

FIRST, COUNT = 2, 6
BY_TORCH = {
    "squared_error": F.mse_loss,
    "absolute_error": F.l1_loss,
    "binary_cross_entropy": F.binary_cross_entropy_with_logits,
}


def run_loss(name: str, outputs: np.ndarray, dtype: np.dtype, table: dict) -> tuple[float, np.ndarray]:
    """The loss, and the gradient of the outputs."""
    total = np.array([10.0])  # losses are added
    columns = outputs.shape[1]
    operands = {"outputs": Matrix(outputs, "narrow"), "columns": columns, "out": result(COUNT, columns, "narrow")}
    found = run(LOSSES[name], dtype, operands, {FIRST_GRAPH: FIRST, GRAPHS: COUNT, LOSS: total} | table)
    return total[0] - 10, found.buffers["out"]


def random_outputs(columns: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of the block's graphs, rounded, and the weights of all graphs."""
    random = np.random.default_rng(columns)
    return (3 * random.normal(size=(COUNT, columns))).astype(dtype).astype(np.float64), random.random(FIRST + COUNT + 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [2, 5, 21])
def test_cross_entropy(columns: int, dtype: np.dtype) -> None:
    outputs, share = random_outputs(columns, dtype)
    outputs[0, 0], outputs[1, 0] = 1000, -1000  # exponentials must not overflow
    classes = np.random.default_rng(1).integers(0, columns, FIRST + COUNT + 1)
    inputs = torch.tensor(outputs, requires_grad=True)
    each = F.cross_entropy(inputs, torch.from_numpy(classes[FIRST : FIRST + COUNT]), reduction="none")
    expected = each @ torch.from_numpy(share[FIRST : FIRST + COUNT])
    expected.backward()
    loss, gradient = run_loss("cross_entropy", outputs, dtype, {CLASSES: classes, SHARE: share})
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    assert_close(gradient, inputs.grad, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 3, 21])
@pytest.mark.parametrize("name", BY_TORCH)
def test_losses_of_known_targets(name: str, columns: int, dtype: np.dtype) -> None:
    outputs, _ = random_outputs(columns, dtype)
    random = np.random.default_rng(1)
    share = random.random((FIRST + COUNT + 1, columns))  # each target has its own weight
    targets = random.normal(size=(FIRST + COUNT + 1, columns))
    if name == "binary_cross_entropy":
        targets = (targets > 0).astype(np.float64)
        outputs[0, 0], outputs[1, 0] = 1000, -1000
    else:
        outputs[0, 0] = targets[FIRST, 0] = 0.5  # no error
    unknown = random.random(targets.shape) < 0.3
    unknown[FIRST + 2] = True
    inputs = torch.tensor(outputs, requires_grad=True)
    own = slice(FIRST, FIRST + COUNT)
    each: Tensor = BY_TORCH[name](inputs, torch.from_numpy(targets[own]), reduction="none")
    expected = (each * torch.from_numpy(share[own] * ~unknown[own])).sum()
    expected.backward()
    table = {TARGETS: np.where(unknown, np.nan, targets), SHARE: share}
    loss, gradient = run_loss(name, outputs, dtype, table)
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    assert_close(gradient, inputs.grad, dtype)


@pytest.mark.parametrize("name", LOSSES)
def test_an_output_that_is_nan_makes_loss_and_gradient_nan(name: str) -> None:
    outputs, share = random_outputs(3, np.dtype(np.float64))
    outputs[4, 1] = np.nan
    count = FIRST + COUNT + 1
    shares = share if name == "cross_entropy" else share.repeat(3).reshape(count, 3)
    table = {TARGETS: np.zeros((count, 3)), CLASSES: np.zeros(count, np.int64), SHARE: shares}
    loss, gradient = run_loss(name, outputs, np.dtype(np.float64), table)
    assert np.isnan(loss)
    assert np.isnan(gradient[4, 1])
    assert np.isfinite(np.delete(gradient, 4, axis=0)).all()
