"""Filter banks as PyG's layers: masks of edges have gradients, and relations of one type of nodes have a bank each."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import to_hetero

from bankgcn import BankConv, BankGCN, GraphShift
from bankgcn.nn import GraphNetwork, MessageBankConv, explainable
from strategies import ring, signals

USES = [None, "weights", "input", "both"]
LOOP = torch.tensor([[2], [2]])


def edge_attr(edges: Tensor) -> Tensor:
    """The same features in both directions of an edge of a ring."""
    return torch.stack([edges.sum(0), edges.prod(0)], dim=1) / 10


def case(use: str | None) -> tuple[BankGCN, Tensor, Tensor, dict[str, Tensor]]:
    torch.manual_seed(0)
    net = BankGCN(3, 2, hidden_channels=16, num_layers=2, edge_dim=None if use is None else 2, edges=use or "none")
    for conv in net.convs:
        if conv.weigh_edges is not None:
            nn.init.normal_(conv.weigh_edges.weight)
    edges = torch.cat([ring(6), LOOP, torch.tensor([[0, 1], [1, 0]])], dim=1)  # with a loop, and an edge twice
    return net, signals(6, 3), edges, {} if use is None else {"edge_attr": edge_attr(edges)}


@pytest.mark.parametrize("use", USES)
def test_a_mask_of_ones_changes_nothing_and_zeros_remove_the_edges(use: str | None) -> None:
    net, x, edges, features = case(use)
    masked = explainable(net)
    torch.testing.assert_close(masked(x, edges, **features), net(x, edges, **features))
    set_masks(masked, torch.ones(edges.size(1)), edges, apply_sigmoid=False)
    torch.testing.assert_close(masked(x, edges, **features), net(x, edges, **features))
    set_masks(masked, torch.zeros(edges.size(1)), edges, apply_sigmoid=False)
    none = {name: value[:0] for name, value in features.items()}
    torch.testing.assert_close(masked(x, edges, **features), net(x, edges[:, :0], **none))
    clear_masks(masked)
    torch.testing.assert_close(masked(x, edges, **features), net(x, edges, **features))


@pytest.mark.parametrize("use", USES)
def test_every_edge_has_a_gradient_that_equals_finite_differences(use: str | None) -> None:
    net, x, edges, features = case(use)
    masked = explainable(net)

    def outputs(mask: Tensor) -> Tensor:
        set_masks(masked, mask, edges, apply_sigmoid=True)
        return masked(x, edges, **features)

    mask = torch.randn(edges.size(1), requires_grad=True)
    gradient = torch.autograd.grad(outputs(mask)[0, 0], mask)[0]
    loops = edges[0] == edges[1]
    assert not gradient[loops].any()
    assert gradient[~loops].all()
    assert torch.autograd.gradcheck(outputs, mask)


def test_a_mask_acts_on_the_receiver_and_leaves_degrees_alone() -> None:
    conv = MessageBankConv(2, 4, order=1, num_subspaces=1, shortcut=False, bias=False)
    edges, x = ring(5), torch.zeros(5, 2)
    x[0] = 1
    mask = torch.ones(edges.size(1))
    away = (edges[0] == 0) & (edges[1] == 1)
    mask[away] = 0
    full = conv(x, edges)
    set_masks(conv, mask, edges, apply_sigmoid=False)
    changed = (conv(x, edges) - full).abs().sum(1) > 1e-12
    assert changed.tolist() == [False, True, False, False, False]
    torch.testing.assert_close(conv(x, edges)[4], full[4])


@pytest.mark.parametrize("use", USES)
def test_pygs_explainer_learns_a_mask_of_the_edges(use: str | None) -> None:
    net, x, edges, features = case(use)
    explainer = Explainer(
        explainable(net).eval(),
        GNNExplainer(epochs=3),
        explanation_type="model",
        edge_mask_type="object",
        node_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )
    mask = explainer(x, edges, **features).edge_mask
    assert mask.shape == edges.shape[1:]
    assert mask[edges[0] != edges[1]].all()


def test_the_explainer_of_a_node_sees_as_far_as_the_filters() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = BankConv(3, 8, order=3), BankConv(8, 8, order=2)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.second(self.first(x, edge_index).relu(), edge_index)

    net = explainable(Two())
    assert ExplainerAlgorithm._num_hops(net) == 5
    explainer = Explainer(
        net.eval(),
        GNNExplainer(epochs=2),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    edges = ring(20)
    mask = explainer(signals(20, 3), edges, index=0).edge_mask
    reached = torch.unique(edges[:, mask > 0]).tolist()
    assert reached == [0, 1, 2, 3, 4, 5, 15, 16, 17, 18, 19]


def test_the_copy_shares_its_weights_and_the_network_stays_as_it_is() -> None:
    net = GraphNetwork(3, 2, hidden_channels=8, num_layers=2, conv="bank")
    masked = explainable(net)
    assert [type(conv) for conv in net.convs] == [BankConv, BankConv]
    assert all(one is other for one, other in zip(net.parameters(), masked.parameters(), strict=True))
    assert net.state_dict().keys() == masked.state_dict().keys()
    assert type(explainable(BankConv(3, 8))) is MessageBankConv
    with pytest.raises(ValueError, match="apply it to some graph first"):
        explainable(BankConv(-1, 8))


@pytest.mark.parametrize("form", ["shift", "sparse", "short"])
def test_a_mask_needs_the_edges_that_it_belongs_to(form: str) -> None:
    conv, edges = MessageBankConv(3, 8), ring(5)
    set_masks(conv, torch.ones(10 if form != "short" else 4), edges)
    forms = {
        "shift": GraphShift.from_edges(edges, num_nodes=5),
        "sparse": torch.sparse_coo_tensor(edges, torch.ones(10), (5, 5), check_invariants=True),
        "short": edges,
    }
    message = "expected \\(10,\\): one per edge" if form == "short" else "a mask of edges needs an edge_index"
    with pytest.raises(ValueError, match=message):
        conv(signals(5, 3), forms[form])


class Encoder(nn.Module):
    """Two layers, as a user of PyG writes them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = MessageBankConv(3, 8), MessageBankConv(8, 8)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


def test_relations_of_one_type_of_nodes_have_a_bank_each() -> None:
    kinds: Any = (["paper"], [("paper", "cites", "paper"), ("paper", "shares_author", "paper")])
    net = to_hetero(Encoder(), kinds)
    x, one, other = signals(6, 3), ring(6), torch.tensor([[0, 3], [3, 0]])
    out = net({"paper": x}, {kinds[1][0]: one, kinds[1][1]: other})["paper"]
    first = [net.first[name] for name in ("paper__cites__paper", "paper__shares_author__paper")]
    second = [net.second[name] for name in ("paper__cites__paper", "paper__shares_author__paper")]
    h = (first[0](x, one) + first[1](x, other)).relu()
    torch.testing.assert_close(out, second[0](h, one) + second[1](h, other))


def test_a_relation_between_two_types_of_nodes_is_refused_with_the_reason() -> None:
    kinds: Any = (["author", "paper"], [("author", "writes", "paper"), ("paper", "written_by", "author")])
    net = to_hetero(Encoder(), kinds)
    edges = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"x is a pair \(x_src, x_dst\).*BankConv filters the signal of one set"):
        net(
            {"author": signals(3, 3), "paper": signals(4, 3)},
            {kinds[1][0]: edges, kinds[1][1]: edges.flip(0)},
        )
