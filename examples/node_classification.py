"""Classes of the nodes of one graph: BankConv beside GCN on Cora or CiteSeer, with the public split.

    python examples/node_classification.py [cora|citeseer] [--seeds 10] [--epochs 150]

BankConv is there twice. Both ways fit the 20 training nodes of each class perfectly. But the default filters, which
start at random, smooth the words over the citations less than GCN; filters that start as low-pass filters smooth more,
and stay free to change. All models have two layers and choose dropout and weight decay from the same grid; a run tests
the epoch with the best validation accuracy once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from citations import MODELS, drop_entries, load_citations, make_layer
from fair_comparison import Options, Score, compare_models, options_of
from torch import Tensor, nn
from torch_geometric.data import Data

HIDDEN = 16
GRID = [{"dropout": dropout, "weight decay": decay} for dropout in (0.5, 0.8) for decay in (5e-4, 1e-3)]


def train(data: Data, model: str, options: Options, seed: int, epochs: int) -> Score:
    """Train two layers; the score of the epoch with the best validation accuracy, then the smallest loss."""
    torch.manual_seed(seed)
    words = (data.x / data.x.sum(1, keepdim=True).clamp(min=1)).to_sparse_csr()
    y, classes = data.y, int(data.y.max()) + 1
    layers = (data.num_features, HIDDEN, 8), (HIDDEN, classes, classes)  # the last one has a filter for each class
    convs = nn.ModuleList([make_layer(model, *widths) for widths in layers])
    edges = convs[0].prepare_edges(words, data.edge_index)  # once for all layers and epochs
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.02, weight_decay=options["weight decay"])

    def forward(dropout: float) -> Tensor:
        h = convs[0](drop_entries(words, dropout), edges)
        return convs[1](F.dropout(h.relu(), dropout), edges)

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
