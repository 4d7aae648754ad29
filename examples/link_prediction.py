"""Missing citations of Cora: an encoder of BankConv beside one of GCN, scored by the area under the ROC curve (AUC).

    python examples/link_prediction.py [--seeds 10] [--epochs 60]

Every seed hides 5 % of the citations for validation and 10 % for the test; the encoder sees only the others. Two layers
turn the words of a paper into a vector, and two vectors score a citation: by their inner product, which grows with the
number of citations of both papers, or by their cosine. As many pairs without a citation are drawn. All models choose
this score and the scale of the words from the same grid; a run tests the epoch with the best validation AUC once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from citations import MODELS, drop_entries, load_citations, make_layer
from fair_comparison import Options, Score, compare_models, options_of
from torch import Tensor, nn
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.utils import negative_sampling, to_undirected

from bankgcn.metrics import roc_auc

GRID = [{"words": words, "score": score} for words in ("counts", "unit length") for score in ("product", "cosine")]
EVERY, SHARPNESS = 5, 9  # epochs between two evaluations; factor of the cosine, which is at most 1


def split_links(data: Data, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Citations for training, validation and test, each once: 85, 5 and 10 %."""
    once = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    shuffled = once[:, torch.randperm(once.size(1), generator=torch.Generator().manual_seed(seed))]
    valid, test, known = shuffled.tensor_split([once.size(1) // 20, once.size(1) // 20 + once.size(1) // 10], dim=1)
    return known, valid, test


def with_others(links: Tensor, data: Data) -> tuple[Tensor, Tensor]:
    """The links and as many pairs that are no citations, and which of them are links."""
    others = negative_sampling(data.edge_index, data.num_nodes, links.size(1))
    return torch.cat([links, others], 1), (torch.arange(links.size(1) + others.size(1)) < links.size(1)).float()


def train(data: Data, model: str, options: Options, seed: int, epochs: int) -> Score:
    """Train an encoder; the score of the epoch with the best validation AUC."""
    known, *hidden = split_links(data, seed)
    seed_everything(seed)  # PyG draws pairs with Python's and NumPy's generators
    held_out = [with_others(links, data) for links in hidden]  # the same pairs for every model
    convs = nn.ModuleList([make_layer(model, data.num_features, 32, 8), make_layer(model, 32, 16, 8)])
    words = (data.x if options["words"] == "counts" else F.normalize(data.x)).to_sparse_csr()
    edges = convs[0].prepare_edges(words, to_undirected(known))
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.02)

    def encode(dropout: float) -> Tensor:
        h = convs[0](drop_entries(words, dropout), edges)
        h = convs[1](F.dropout(h.relu(), dropout), edges)
        return F.normalize(h) * SHARPNESS**0.5 if options["score"] == "cosine" else h

    best = Score(0, 0)
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        pairs, is_link = with_others(known, data)
        F.binary_cross_entropy_with_logits(inner_product(encode(0.5), pairs), is_link).backward()
        optimizer.step()
        if epoch % EVERY == 0:
            h = encode(0.0).detach()
            # The logit of "no link" is 0.
            auc = [roc_auc(F.pad(inner_product(h, pairs)[:, None], (1, 0)), is_link) for pairs, is_link in held_out]
            best = max(best, Score(*auc), key=lambda score: score.valid)
    return best


def inner_product(h: Tensor, pairs: Tensor) -> Tensor:
    """Inner product of the vectors of each pair."""
    return (h[pairs[0]] * h[pairs[1]]).sum(-1)


if __name__ == "__main__":
    arguments = options_of(__doc__.splitlines()[0], epochs=60).parse_args()
    cora, ratio = load_citations("cora"), 10 / 85  # test links per training link
    compare_models(lambda *run: train(cora, *run, arguments.epochs), MODELS, GRID, arguments.seeds, "AUC", ratio)
