"""Classes of the nodes of one graph: BankConv beside GCN on Cora or CiteSeer, with the public split.

    python examples/node_classification.py [cora|citeseer] [--seeds 10] [--epochs 150]

Why BankConv is there twice: its default filters start at random. The 20 training nodes of each class can be told apart
by their words alone, so nothing in the loss makes such filters smooth the words over the citations. GCN always smooths.
Filters that start as low-pass filters smooth, too, and stay free to change. All models have two layers and choose dropout
and weight decay from the same grid; a run tests the epoch with the best validation accuracy once.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from fair_comparison import Options, Score, compare_models, options_of
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.io import read_planetoid_data

from bankgcn import BankConv
from bankgcn.nn.gcn_conv import GCNConv

HIDDEN = 16
MODELS = ("BankConv, low-pass start", "GCN", "BankConv, random start")
GRID = [{"dropout": dropout, "weight decay": decay} for dropout in (0.5, 0.8) for decay in (5e-4, 1e-3)]


def load_citations(name: str) -> Data:
    """The graph, with its rows of words as a sparse matrix whose rows sum to 1."""
    folder = Path(os.environ.get("BANKGCN_DATA", "data")) / "planetoid"
    if not (folder / f"ind.{name}.x").exists():
        raise SystemExit(f"{folder} has no file ind.{name}.x: set BANKGCN_DATA to the folder that holds planetoid/")
    data = read_planetoid_data(str(folder), name)
    warnings.filterwarnings("ignore", message="Sparse")  # PyTorch, about its sparse matrices
    data.words = (data.x / data.x.sum(1, keepdim=True).clamp(min=1)).to_sparse_csr()
    return data


def make_layer(model: str, in_channels: int, out_channels: int, subspaces: int) -> nn.Module:
    """A layer. The low-pass filter is (1 - lam/2)^2 = 3/8 - 1/2 T_1 + 1/8 T_2; the shortcut adds the missing 1."""
    if model == "GCN":
        return GCNConv(in_channels, out_channels)
    conv = BankConv(in_channels, out_channels, num_subspaces=subspaces)
    if model == "BankConv, low-pass start":
        conv.alpha.data[:] = torch.tensor([3 / 8 - 1, -1 / 2, 1 / 8])
    return conv


def train(data: Data, model: str, options: Options, seed: int, epochs: int) -> Score:
    """Train two layers; the score of the epoch with the best validation accuracy, then the smallest loss."""
    torch.manual_seed(seed)
    x, y, classes = data.words, data.y, int(data.y.max()) + 1
    layers = (data.num_features, HIDDEN, 8), (HIDDEN, classes, classes)  # the last one has a filter for each class
    convs = nn.ModuleList([make_layer(model, *widths) for widths in layers])
    edges = convs[0].prepare_edges(x, data.edge_index)  # once for all layers and epochs
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.02, weight_decay=options["weight decay"])

    def forward(dropout: float) -> Tensor:
        kept = torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), F.dropout(x.values(), dropout), x.shape)
        return convs[1](F.dropout(convs[0](kept, edges).relu(), dropout), edges)

    best, best_key = Score(0, 0), (-1.0, 0.0)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(forward(options["dropout"])[data.train_mask], y[data.train_mask]).backward()
        optimizer.step()
        with torch.no_grad():
            out = forward(0.0)
        right = (out.argmax(1) == y).double()
        key = (right[data.val_mask].mean().item(), -F.cross_entropy(out[data.val_mask], y[data.val_mask]).item())
        if key > best_key:
            best, best_key = Score(key[0], right[data.test_mask].mean().item()), key
    return best


if __name__ == "__main__":
    parser = options_of(__doc__.splitlines()[0], epochs=150)
    parser.add_argument("name", nargs="?", choices=["cora", "citeseer"], default="cora")
    arguments = parser.parse_args()
    graph = load_citations(arguments.name)
    compare_models(lambda *run: train(graph, *run, arguments.epochs), MODELS, GRID, arguments.seeds, "accuracy")
