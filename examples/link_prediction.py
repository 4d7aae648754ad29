"""Missing citations of Cora: an encoder of BankConv beside one of GCN, scored by the area under the ROC curve (AUC).

    python examples/link_prediction.py [--seeds 10] [--epochs 100]

Every seed hides 5 % of the citations for validation and 10 % for the test; the encoder sees only the others. Two layers
turn the words of a paper into a vector, and the inner product of two vectors scores their citation. As many pairs of
papers without a citation are drawn for training, validation and test. All models choose dropout and learning rate from
the same grid; a run tests the epoch with the best validation AUC once. The models are those of node_classification.py.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from fair_comparison import Options, Score, compare_models, options_of
from node_classification import MODELS, load_citations, make_layer
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import negative_sampling, to_undirected

from bankgcn.metrics import roc_auc

GRID = [{"dropout": dropout, "rate": rate} for dropout in (0.0, 0.5) for rate in (0.02, 0.05)]
EVERY = 5  # epochs between two evaluations


def split_links(data: Data, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Citations for training, validation and test, each once: 85, 5 and 10 %."""
    once = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    shuffled = once[:, torch.randperm(once.size(1), generator=torch.Generator().manual_seed(seed))]
    valid, test = shuffled.size(1) // 20, shuffled.size(1) // 10
    return shuffled[:, valid + test :], shuffled[:, :valid], shuffled[:, valid : valid + test]


def with_others(links: Tensor, data: Data) -> tuple[Tensor, Tensor]:
    """The links and as many pairs that are no citations, and which of them are links."""
    others = negative_sampling(data.edge_index, data.num_nodes, links.size(1))
    return torch.cat([links, others], 1), torch.cat([torch.ones(links.size(1)), torch.zeros(others.size(1))])


def train(data: Data, model: str, options: Options, seed: int, epochs: int) -> Score:
    """Train an encoder; the score of the epoch with the best validation AUC."""
    known, *hidden = split_links(data, seed)
    torch.manual_seed(seed)
    held_out = [with_others(links, data) for links in hidden]  # the same pairs for every model
    convs = nn.ModuleList([make_layer(model, data.num_features, 32, 8), make_layer(model, 32, 16, 8)])
    edges = convs[0].prepare_edges(data.words, to_undirected(known))
    optimizer = torch.optim.Adam(convs.parameters(), lr=options["rate"])

    def encode(dropout: float) -> Tensor:
        return convs[1](F.dropout(convs[0](data.words, edges).relu(), dropout), edges)

    best = Score(0, 0)
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        pairs, is_link = with_others(known, data)
        F.binary_cross_entropy_with_logits(score(encode(options["dropout"]), pairs), is_link).backward()
        optimizer.step()
        if epoch % EVERY == 0:
            with torch.no_grad():
                h = encode(dropout=0.0)
            logits = [F.pad(score(h, pairs)[:, None], (1, 0)) for pairs, _ in held_out]  # "no link" has the logit 0
            auc = [roc_auc(two, is_link) for two, (_, is_link) in zip(logits, held_out, strict=True)]
            best = max(best, Score(*auc), key=lambda score: score.valid)
    return best


def score(h: Tensor, pairs: Tensor) -> Tensor:
    """Inner product of the vectors of each pair."""
    source, target = h[pairs]
    return (source * target).sum(-1)


if __name__ == "__main__":
    arguments = options_of(__doc__.splitlines()[0], epochs=100).parse_args()
    cora = load_citations("cora")
    split = 10 / 85  # test links per training link
    compare_models(lambda *run: train(cora, *run, arguments.epochs), MODELS, GRID, arguments.seeds, "AUC", split)
