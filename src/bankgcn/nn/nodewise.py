"""The baseline without graph structure."""

from __future__ import annotations

from torch import Tensor, nn


class NodewiseLinear(nn.Linear):
    """A linear layer with the signature of a convolution. It ignores the edges: a baseline without graph structure."""

    def forward(self, x: Tensor, edge_index: object = None, edge_weight: object = None) -> Tensor:
        """Map the signal of each node by itself."""
        return super().forward(x)
