"""Train on a graph in batches of sampled neighbourhoods: BankConv with PyG's NeighborLoader, or without it.

    python examples/neighbor_sampling.py [cora|citeseer] [--epochs 20] [--batch-size 32]

A filter bank needs each edge in both directions, so neighbourhoods are sampled with ``subgraph_type="bidirectional"``.
PyG's loader needs pyg-lib or torch-sparse; where neither is installed, ``sample`` below draws the same kind of batches.
Predictions for validation and test use the whole graph. The epoch with the best validation accuracy is tested once.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import torch
import torch.nn.functional as F
import torch_geometric.typing
from citations import load_citations
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.utils import to_undirected

from bankgcn import BankConv

HIDDEN, FAN_OUT = 16, (10, 10, 5, 5)  # two layers of order 2 reach four hops
HAS_LIBRARY = torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE


def sample(data: Data, seeds: Tensor) -> Data:
    """The seeds first, then their sampled neighbours hop by hop, and both directions of each edge that was drawn."""
    source, target = data.edge_index
    drawn, reached, border = [], seeds, seeds
    for width in FAN_OUT:
        near = torch.isin(target, border).nonzero().flatten()
        near = near[torch.randperm(len(near))]
        near = near[target[near].argsort(stable=True)]  # by node, in a random order
        _, counts = target[near].unique_consecutive(return_counts=True)
        rank = torch.arange(len(near)) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        drawn.append(near[rank < width])
        border = source[drawn[-1]].unique()
        border = border[~torch.isin(border, reached)]
        reached = torch.cat([reached, border])
    number = torch.empty(data.num_nodes, dtype=torch.long).scatter_(0, reached, torch.arange(len(reached)))
    edges = to_undirected(number[data.edge_index[:, torch.cat(drawn).unique()]], num_nodes=len(reached))
    return Data(x=data.x[reached], y=data.y[reached], edge_index=edges, batch_size=len(seeds))


def batches(data: Data, size: int) -> Iterator[Data]:
    """Batches of training nodes with their neighbourhoods."""
    if HAS_LIBRARY:
        options = {"num_neighbors": list(FAN_OUT), "subgraph_type": "bidirectional", "input_nodes": data.train_mask}
        yield from NeighborLoader(data, batch_size=size, shuffle=True, **options)
        return
    seeds = data.train_mask.nonzero().flatten()
    for some in seeds[torch.randperm(len(seeds))].split(size):
        yield sample(data, some)


class Network(nn.Module):
    """Two filter banks; the last one has a filter for each class."""

    def __init__(self, in_channels: int, classes: int):
        super().__init__()
        self.first = BankConv(in_channels, HIDDEN, initial_alpha="lowpass")
        self.last = BankConv(HIDDEN, classes, num_subspaces=classes, initial_alpha="lowpass")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Outputs for each node."""
        h = self.first(F.dropout(x, 0.5, self.training), edge_index).relu()
        return self.last(F.dropout(h, 0.5, self.training), edge_index)


def train(data: Data, epochs: int, batch_size: int, seed: int = 0) -> tuple[float, float]:
    """Accuracy on validation and test nodes, at the epoch that is best on the validation nodes."""
    torch.manual_seed(seed)
    data.x = data.x / data.x.sum(1, keepdim=True).clamp(min=1)
    net = Network(data.num_features, int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
    best = 0.0, 0.0
    for _ in range(epochs):
        net.train()
        for batch in batches(data, batch_size):
            optimizer.zero_grad()
            out = net(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            right = (net(data.x, data.edge_index).argmax(1) == data.y).double()
        best = max(best, (right[data.val_mask].mean().item(), right[data.test_mask].mean().item()), key=lambda b: b[0])
    return best


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=["cora", "citeseer"], default="cora")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32)
    arguments = parser.parse_args()
    loader = "NeighborLoader" if HAS_LIBRARY else "the sampler of this file (neither pyg-lib nor torch-sparse is there)"
    print(f"batches by {loader}")
    valid, test = train(load_citations(arguments.name), arguments.epochs, arguments.batch_size)
    print(f"accuracy: validation {100 * valid:.1f} %, test {100 * test:.1f} %")


if __name__ == "__main__":
    main()
