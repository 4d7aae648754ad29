"""A batch without graphs has no loss and no gradient, whatever the batch before it had."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.kernels.network.blocks import divide
from bankgcn.kernels.network.executor import Targets, train
from bankgcn.kernels.ops.adam import Adam
from bankgcn.nn import GraphNetwork
from bankgcn.nn.lowering import lower


@pytest.mark.parametrize("threads", [1, 2])
def test_the_gradient_of_an_empty_batch_is_zero(threads: int) -> None:
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2).float()
    program, batch = lower(net, "cross_entropy"), smooth_or_alternating(200).batch()
    graphs, batch_ptr = batch.collate(program.operator, merged=False), np.array([0, 200, 200])
    chunks = divide(graphs.node_ptr, graphs.rowptr, batch_ptr)
    assert chunks.batch_ptr[1] == chunks.batch_ptr[2] > 1  # there is work for two threads
    theta = torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()]).numpy()
    gradient, mean, square = np.zeros((3, len(theta)), theta.dtype)
    targets = Targets(batch.y.numpy(), np.empty((0, 0)), np.full(200, 1 / 200))
    adam = Adam(mean, square, 1, 0.01, 0.9, 0.999, 1e-8, 0.0)
    losses = train(graphs, batch_ptr, program, theta, targets, gradient, adam, threads=threads)
    assert losses[0] > 0
    assert losses[1] == 0
    assert mean.any()
    assert not gradient.any()
