"""Steps equal those of ``torch.optim.Adam`` and ``AdamW``, with gradients clipped as ``torch.nn.utils`` does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.kernels.network.executor import _run
from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.parameters import Adam, clip_gradient
from run_operation import DTYPES, assert_close


def take_step(theta: np.ndarray, gradient: np.ndarray, adam: Adam, step: int) -> None:
    rates = np.atleast_1d(np.asarray(adam.learning_rate, np.float64))
    arrays = {entry.THETA: theta, entry.GRAD_THETA: gradient, entry.ADAM_SETTINGS: adam.settings}
    arrays |= {entry.ADAM_MEAN: adam.mean, entry.ADAM_SQUARE: adam.square, entry.ADAM_RATES: rates}
    arrays |= {} if adam.decays is None else {entry.ADAM_DECAYS: adam.decays}
    table, nothing = np.zeros(entry.SIZE, np.int64), np.zeros(0, theta.dtype)
    for place, array in arrays.items():
        table[place] = array.ctypes.data
    table[entry.NUM_PARAMETERS], table[entry.ADAM_STEP] = len(theta), step
    table[entry.ADAM_FIRST] = step if len(rates) == 1 else 1
    code = np.array([[operation.address(theta.dtype)] for operation in adam.operations])
    _run(code, table, nothing, nothing, nothing)


def moments(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(37, dtype), np.zeros(37, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_and_moments_equal_those_of_torch(weight_decay: float, dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    theta = random.normal(size=37).astype(dtype)
    parameter = torch.nn.Parameter(torch.tensor(theta, dtype=torch.float64))
    optimizer = torch.optim.Adam([parameter], lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=weight_decay)
    adam = Adam(*moments(dtype), 1, 0.02, 0.8, 0.99, 1e-6, weight_decay)
    for step in range(1, 6):
        gradient = (random.normal(size=37) * random.integers(0, 2, 37)).astype(dtype)
        take_step(theta, gradient, adam, step)
        parameter.grad = torch.from_numpy(gradient.astype(np.float64))
        optimizer.step()
    state = optimizer.state[parameter]
    assert_close(theta, parameter.detach(), dtype)
    assert_close(adam.mean, state["exp_avg"], dtype)
    assert_close(adam.square, state["exp_avg_sq"], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip_norm", [None, 2.0])
def test_decoupled_decay_and_a_rate_for_each_step_equal_those_of_torch(
    clip_norm: float | None, dtype: np.dtype
) -> None:
    random = np.random.default_rng(0)
    theta, decays, rates = random.normal(size=37).astype(dtype), np.repeat([1, 0], [20, 17]), random.uniform(0, 0.1, 5)
    parts = [torch.nn.Parameter(torch.tensor(part, dtype=torch.float64)) for part in np.split(theta, [20])]
    groups = [{"params": [parts[0]], "weight_decay": 0.3}, {"params": [parts[1]], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.8, 0.99), eps=1e-6)
    adam = Adam(*moments(dtype), 1, rates, 0.8, 0.99, 1e-6, 0.3, clip_norm, decays.astype(dtype))
    for step, scale in enumerate((0.1, 1.0, 10.0, 0.01, 3.0), start=1):  # some are below the norm, some above
        gradient = (scale * random.normal(size=37)).astype(dtype)
        for part, values in zip(parts, np.split(gradient.astype(np.float64), [20]), strict=True):
            part.grad = torch.from_numpy(values)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(parts, clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = rates[step - 1]
        take_step(theta, gradient, adam, step)
        optimizer.step()
        assert_close(gradient, torch.cat([part.grad for part in parts]), dtype)
    assert_close(theta, torch.cat(parts).detach(), dtype)


def test_a_norm_that_overflows_in_single_precision_is_clipped_and_one_that_is_not_finite_stays_so() -> None:
    for values, expected in (([3e30, 4e30], [0.6, 0.8]), ([np.inf, 1.0], [np.nan, 0.0]), ([np.nan, 1.0], [np.nan] * 2)):
        gradient, theta = np.array(values, np.float32), np.zeros(2, np.float32)
        adam = Adam(theta.copy(), theta.copy(), 1, 0.1, 0.9, 0.999, 1e-8, 0.0, clip_norm=1.0)
        assert adam.operations[0] is clip_gradient
        take_step(theta, gradient, adam, 1)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)
