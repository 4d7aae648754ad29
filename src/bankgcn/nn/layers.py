"""Small layers: the encoder of atoms, a layer without edges, a feed-forward block, and dropout.

The masks of dropout are functions of a key and of the place of each element: nothing is drawn or stored. A generator
with a state gives other masks on another device, or when graphs are computed in another order. Here the mask of an
element depends on its key, stream, row and column alone. So every implementation of these few lines gives the same
bits, a backward pass can compute the mask again, and a resumed training only needs the number of its step. The hashes
are the finaliser of SplitMix64 for the rows, and a mixer with 32 bits for the columns of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class FeedForward(nn.Module):
    r"""What a feed-forward block adds to the signal of a node: :math:`f(h) = W_2\, \text{relu}(W_1 h + b_1) + b_2`.

    Args:
        channels: Width of the signals.
        hidden_channels: Width of the hidden layer.
    """

    def __init__(self, channels: int, hidden_channels: int):
        super().__init__()
        self.hidden = nn.Linear(channels, hidden_channels)
        self.output = nn.Linear(hidden_channels, channels)

    def forward(self, h: Tensor, dropout: Callable[[Tensor], Tensor] = lambda hidden: hidden) -> Tensor:
        """Map signals of shape ``(num_nodes, channels)``; ``dropout`` is applied to the hidden layer after its ReLU."""
        return self.output(dropout(F.relu(self.hidden(h))))


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


ODD = 0x9E3779B97F4A7C15 - 2**64  # 2**64 divided by the golden ratio; int64 holds it as a negative number
STREAM = 2**40  # more rows than a batch has


def drop(x: Tensor, p: float, key: int | Tensor, stream: int) -> Tensor:
    """Set elements to 0 with probability ``p``, and divide the others by ``1 - p``: the mean stays the same.

    Args:
        x: Signals, shape ``(rows, columns)``.
        p: Probability to drop an element, at least 0 and less than 1.
        key: An integer of at most 63 bits, or a tensor that holds one; see :func:`dropout_key`.
        stream: Number of the place in the network; places with one key have different masks.
    """
    rows = torch.arange(x.size(0), device=x.device).unsqueeze(1)
    columns = torch.arange(x.size(1), device=x.device)
    row_key = _mix64(ODD * (rows + (stream * STREAM + 1)) + key)
    h = _mix32(_low32(_low32(row_key) + columns * 0x9E3779B9) ^ _shift_right(row_key, 32))
    kept = (h >> 8) >= round(p * 2**24)
    return torch.where(kept, x * (1 / (1 - p)), 0.0)  # a product with the mask would keep NaN


def dropout_key(seed: int, step: int) -> int:
    """The key of a step of a training: less than 2**63. Keys of neighbouring seeds and steps are unrelated."""
    return int(_shift_right(_mix64(ODD * torch.tensor(step + 1) + seed), 1))


def _mix64(z: Tensor) -> Tensor:
    """SplitMix64's finaliser. Products of int64 keep the low 64 bits, as products of unsigned numbers do."""
    z = (z ^ _shift_right(z, 30)) * (0xBF58476D1CE4E5B9 - 2**64)
    z = (z ^ _shift_right(z, 27)) * (0x94D049BB133111EB - 2**64)
    return z ^ _shift_right(z, 31)


def _mix32(h: Tensor) -> Tensor:
    """A mixer of 32 bits, in int64."""
    h = _low32((h ^ (h >> 16)) * 0x7FEB352D)
    h = _low32((h ^ (h >> 15)) * 0x846CA68B)
    return h ^ (h >> 16)


def _low32(z: Tensor) -> Tensor:
    return z & 0xFFFFFFFF


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Shift as an unsigned number: int64 itself would fill in the sign."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
