"""Steps equal those of ``torch.optim.Adam``."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch

from bankgcn.kernels.ops.adam import Adam, adam_step
from run_operation import DTYPES, assert_close


@numba.njit
def take_step(theta, gradient, adam, step):
    adam_step(theta, gradient, adam, step)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_and_moments_equal_those_of_torch(weight_decay: float, dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    theta = random.normal(size=37).astype(dtype)
    parameter = torch.nn.Parameter(torch.tensor(theta, dtype=torch.float64))
    optimizer = torch.optim.Adam([parameter], lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=weight_decay)
    adam = Adam(np.zeros(37, dtype), np.zeros(37, dtype), 1, 0.02, 0.8, 0.99, 1e-6, weight_decay)
    for step in range(1, 6):
        gradient = (random.normal(size=37) * random.integers(0, 2, 37)).astype(dtype)
        take_step(theta, gradient, adam, step)
        parameter.grad = torch.from_numpy(gradient.astype(np.float64))
        optimizer.step()
    state = optimizer.state[parameter]
    assert_close(theta, parameter.detach(), dtype)
    assert_close(adam.mean, state["exp_avg"], dtype)
    assert_close(adam.square, state["exp_avg_sq"], dtype)
