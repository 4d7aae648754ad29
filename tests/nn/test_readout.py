"""Mean and maximum graph by graph, for graphs without nodes too."""

from __future__ import annotations

import numpy as np
import torch

import oracles
from bankgcn.nn.readout import graph_max, graph_mean, graph_mean_max
from strategies import signals


def test_readout_equals_mean_and_maximum_of_each_graph() -> None:
    x, batch = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2])
    expected = np.stack([oracles.readout(part.numpy()) for part in x.split([2, 4, 1])])
    np.testing.assert_allclose(graph_mean_max(x, batch, 3), expected, atol=1e-15)
    np.testing.assert_allclose(graph_mean(x, batch, 3), expected[:, :3], atol=1e-15)


def test_nodes_may_stand_in_any_order() -> None:
    x, batch, order = signals(7, 3), torch.tensor([0, 0, 1, 1, 1, 1, 2]), torch.randperm(7)
    torch.testing.assert_close(graph_mean_max(x[order], batch[order], 3), graph_mean_max(x, batch, 3))


def test_maximum_of_negative_signals_is_negative() -> None:
    assert graph_max(torch.tensor([[-3.0], [-2.0]]), torch.tensor([0, 0]), 1).item() == -2


def test_a_graph_without_nodes_reads_as_zero() -> None:
    out = graph_mean_max(-torch.ones(2, 1), torch.tensor([0, 2]), 3)
    assert out.tolist() == [[-1, -1], [0, 0], [-1, -1]]
