"""Mean and maximum graph by graph, for graphs without nodes too."""

from __future__ import annotations

import numpy as np
import torch

import oracles
from bankgcn.nn.readout import graph_max, graph_mean
from strategies import signals


def test_readout_equals_mean_and_maximum_of_each_graph() -> None:
    x, batch = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2])
    expected = np.stack([oracles.readout(part.numpy()) for part in x.split([2, 4, 1])])
    np.testing.assert_allclose(torch.cat([graph_mean(x, batch, 3), graph_max(x, batch, 3)], 1), expected, atol=1e-15)
    np.testing.assert_allclose(graph_mean(x, batch, 3), expected[:, :3], atol=1e-15)


def test_nodes_may_stand_in_any_order() -> None:
    x, batch, order = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2]), torch.randperm(7)
    for read in (graph_mean, graph_max):
        torch.testing.assert_close(read(x[order], batch[order], 3), read(x, batch, 3))


def test_maximum_of_negative_signals_is_negative() -> None:
    assert graph_max(torch.tensor([[-3.0], [-2.0]]), torch.tensor([0, 0]), 1).item() == -2


def test_a_graph_without_nodes_reads_as_zero() -> None:
    for read in (graph_mean, graph_max):
        assert read(-torch.ones(2, 1), torch.tensor([0, 2]), 3).tolist() == [[-1], [0], [-1]]
