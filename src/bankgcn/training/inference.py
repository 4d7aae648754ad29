"""A network that is applied many times: it is lowered once, and the result for a graph does not depend on others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn

from bankgcn.data.graphs import GraphSet
from bankgcn.nn.lowering import lower, run_embedding
from bankgcn.nn.network import GraphNetwork
from bankgcn.training.evaluation import BATCH_SIZE, embed
from bankgcn.training.objective import collate_for, runs_on

CHUNK = 1 << 20  # numbers that a linear layer multiplies at once


class Inference:
    """Applies a network in evaluation mode.

    Where the executor supports the network, the result for a graph is the same, bit for bit, whatever other graphs
    share the call. Otherwise it depends on them by rounding alone.

    Args:
        net: The network. Its layers must not be changed afterwards; its parameters may.
    """

    def __init__(self, net: GraphNetwork):
        self.net = net
        self._program = lower(net)

    def embeddings(self, graphs: GraphSet) -> NDArray:
        """Representation of each graph, shape ``(num_graphs, width)``."""
        program = self._program
        if program is None or not runs_on(program, self.net, graphs):
            return embed(self.net, graphs).cpu().numpy()
        # Only large sets are merged, which changes the order of sums: the result would depend on the size of the set.
        parts = [
            run_embedding(program, self.net, collate_for(program, batch, merged=False)).numpy()
            for batch in graphs.batches(BATCH_SIZE)
        ]
        joined = np.concatenate(parts) if parts else np.empty((0, self.net.embedding_channels), np.float32)
        return np.ascontiguousarray(joined)

    def outputs(self, embeddings: NDArray) -> NDArray:
        """Outputs for graphs with these representations, shape ``(num_graphs, out_channels)``."""
        hidden = embeddings if self.net.head is None else np.maximum(linear_by_row(embeddings, self.net.head), 0)
        return linear_by_row(hidden, self.net.predict)


def linear_by_row(x: NDArray, layer: nn.Linear) -> NDArray:
    """A linear layer whose result for a row does not depend on the other rows.

    A matrix product adds in an order that depends on the number of rows.

    Args:
        x: Shape ``(rows, in_features)``.
        layer: The layer.
    """
    weight = layer.weight.detach().cpu().numpy()
    out = np.empty((len(x), len(weight)), np.result_type(x, weight))
    step = max(1, CHUNK // max(weight.size, 1))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        # In C order each sum is over neighbouring numbers. Another order of x would give another order of addition.
        np.sum(np.multiply(x[rows, None, :], weight, order="C"), axis=-1, out=out[rows])
    return out if layer.bias is None else out + layer.bias.detach().cpu().numpy()
