"""Small layers and what all layers share: embeddings of integers, the baseline without edges, and reinitialisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AtomEncoder(nn.Module):
    """Embed columns of integers, such as the nine features of an atom in ogbg-molhiv, and add them up.

    It works as OGB's encoder of the same name. Each integer is the index of a category, such as a chemical element or a
    kind of hybridisation.

    Args:
        num_values: Number of values of each column; the values are 0, 1, 2 and so on.
        channels: Width of the result.

    Example:
        >>> encoder = AtomEncoder(num_values=[119, 5], channels=64)
        >>> encoder(torch.tensor([[5, 0], [7, 2]])).shape
        torch.Size([2, 64])
    """

    def __init__(self, num_values: Sequence[int], channels: int):
        super().__init__()
        if not num_values or min(num_values) < 1:
            raise ValueError(f"num_values={list(num_values)}: expected at least one column, of at least one value each")
        self.num_values = tuple(num_values)
        # All columns share one table, each at its own offset: one lookup and one sum replace a loop.
        self.table = nn.Embedding(sum(num_values), channels)
        self._offsets = [0, *accumulate(num_values[:-1])]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialise all vectors."""
        start = 0
        for count in self.num_values:
            nn.init.xavier_uniform_(self.table.weight.data[start : start + count])
            start += count

    def forward(self, x: Tensor) -> Tensor:
        """Sum the vectors of each row.

        Args:
            x: Integers, shape ``(num_nodes, len(num_values))``; whole numbers stored as floats are accepted.

        Raises:
            ValueError: A value is out of range; the message names the value and its column.
        """
        if x.dim() != 2 or x.size(1) != len(self.num_values):
            raise ValueError(f"x has shape {tuple(x.shape)}, expected (num_nodes, {len(self.num_values)})")
        index = x.long()
        if not torch.compiler.is_compiling():
            self._check(x, index)
        offset = torch.tensor(self._offsets, device=x.device)
        return F.embedding_bag(index + offset, self.table.weight, mode="sum")

    def _check(self, x: Tensor, index: Tensor) -> None:
        limit = torch.tensor(self.num_values, device=x.device)
        for node, column in torch.nonzero((index < 0) | (index >= limit) | (index != x))[:1].tolist():
            raise ValueError(
                f"column {column} of node {node} is {x[node, column].item()}: "
                f"expected a whole number from 0 to {self.num_values[column] - 1}"
            )

    def __repr__(self) -> str:
        return f"AtomEncoder(num_values={list(self.num_values)}, channels={self.table.embedding_dim})"


class NodewiseLinear(nn.Linear):
    """A linear layer with the signature of a convolution. It ignores the edges: a baseline without graph structure."""

    def forward(self, x: Tensor, edge_index: object = None, edge_weight: object = None) -> Tensor:
        """Map the signal of each node by itself."""
        return super().forward(x)


def reset_parameters(module: nn.Module) -> None:
    """Call ``reset_parameters`` of a module, or of its children if it has no such method, like ``nn.Sequential``.

    Parameters of a module without the method do not change.
    """
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        reset_parameters(child)
