"""Steps equal those of ``torch.optim.Adam``."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.kernels.network.executor import _run
from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.parameters import Adam, adam_step
from run_operation import DTYPES, assert_close


def take_step(theta: np.ndarray, gradient: np.ndarray, adam: Adam, step: int) -> None:
    arrays = {entry.THETA: theta, entry.GRAD_THETA: gradient, entry.ADAM_SETTINGS: adam.settings}
    arrays |= {entry.ADAM_MEAN: adam.mean, entry.ADAM_SQUARE: adam.square}
    table, nothing = np.zeros(entry.SIZE, np.int64), np.zeros(0, theta.dtype)
    for place, array in arrays.items():
        table[place] = array.ctypes.data
    table[entry.NUM_PARAMETERS], table[entry.ADAM_STEP] = len(theta), step
    _run(np.array([[adam_step.address(theta.dtype)]]), table, nothing, nothing, nothing)


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
