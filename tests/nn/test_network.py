"""The network equals its layers applied in turn; its invariances, options and errors."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from bankgcn import BankConv, BankGCN, GraphShift, mutual_coherence
from bankgcn.kernels import use_kernels
from bankgcn.nn import PLAIN_CONVS, POOLINGS, READOUTS, GraphNetwork, check_available
from refusals import refused
from strategies import RandomGraph, disjoint_union, graphs, ring, signals

NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def small_batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Signals, edges and batch of four graphs, of which one has no edge and one a single node."""
    sizes = [5, 4, 1, 6]
    edges, batch = disjoint_union([ring(5), NO_EDGES, NO_EDGES, ring(6)], sizes)
    return signals(sum(sizes), 3), edges, batch


def test_defaults_are_the_papers() -> None:
    net = BankGCN(37, 2)
    assert [(c.in_channels, c.out_channels, c.order, c.num_subspaces) for c in net.convs] == [
        (37, 64, 2, 8),
        *[(64, 64, 2, 8)] * 3,
    ]
    assert (net.predict.in_features, net.predict.out_features) == (2 * 4 * 64, 2)


@pytest.mark.parametrize("normalize", ["before", "after", "none"])
@pytest.mark.parametrize("readout", READOUTS)
def test_network_equals_its_layers_one_by_one(normalize: str, readout: str) -> None:
    net = BankGCN(3, 2, hidden_channels=8, num_layers=2, num_subspaces=4, normalize=normalize, readout=readout)
    x = signals(5, 3)
    parts = []
    for conv in net.convs:
        h = conv(x, ring(5))
        unit = h / h.norm(dim=1, keepdim=True)
        rectified = F.relu(h)
        x = {"before": F.relu(unit), "none": rectified}.get(normalize, rectified / rectified.norm(dim=1, keepdim=True))
        by_name = {"mean": x.mean(0), "max": x.max(0).values, "sum": x.sum(0)}
        parts += [by_name[part] for part in readout.split("_")]
    expected = net.predict(torch.cat(parts))
    torch.testing.assert_close(net(signals(5, 3), ring(5)), expected.unsqueeze(0))


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_every_convolution_learns_in_every_layer(conv: str) -> None:
    net = GraphNetwork(3, 2, hidden_channels=16, conv=conv)
    x, edges, batch = small_batch()
    out = net(x, edges, batch)
    assert out.shape == (4, 2)
    F.cross_entropy(out, torch.tensor([0, 1, 0, 1])).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@settings(max_examples=20)
@given(graph=graphs(weighted=False), seed=st.integers(0, 2**31))
def test_a_permutation_of_the_nodes_changes_nothing(graph: RandomGraph, seed: int) -> None:
    net, x = BankGCN(3, 2, hidden_channels=8), signals(graph.num_nodes, 3)
    permutation = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    permuted = torch.argsort(permutation)[graph.edge_index]
    torch.testing.assert_close(net(x[permutation], permuted), net(x, graph.edge_index))


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_a_batch_equals_its_graphs_one_by_one(conv: str) -> None:
    net = GraphNetwork(3, 2, hidden_channels=16, conv=conv)
    x, edges, batch = small_batch()
    parts = x.split([5, 4, 1, 6])
    singles = [net(x, e) for x, e in zip(parts, [ring(5), NO_EDGES, NO_EDGES, ring(6)], strict=True)]
    torch.testing.assert_close(net(x, edges, batch), torch.cat(singles))


def test_the_shift_can_be_built_beforehand() -> None:
    net = BankGCN(3, 2)
    x, edges, batch = small_batch()
    shift = GraphShift.from_edges(edges, num_nodes=len(x))
    torch.testing.assert_close(net(x, shift, batch, batch_size=4), net(x, edges, batch))


def test_the_shift_is_built_once_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    original = GraphShift.from_edges.__func__
    monkeypatch.setattr(
        GraphShift, "from_edges", classmethod(lambda cls, *a, **k: built.append(1) or original(cls, *a, **k))
    )
    BankGCN(3, 2)(signals(5, 3), ring(5))
    assert len(built) == 1


def test_batch_size_keeps_trailing_graphs_without_nodes() -> None:
    net = BankGCN(3, 2)
    assert net(signals(5, 3), ring(5), torch.zeros(5, dtype=torch.long), batch_size=3).shape == (3, 2)


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_every_convolution_takes_a_batch_without_nodes(conv: str) -> None:
    net, no_graphs = GraphNetwork(3, 2, conv=conv), torch.empty(0, dtype=torch.long)
    assert net(torch.empty(0, 3), NO_EDGES, no_graphs).shape == (0, 2)
    logits = net(torch.empty(0, 3), NO_EDGES, no_graphs, batch_size=2)  # of two graphs without nodes
    torch.testing.assert_close(logits, net.predict.bias.expand(2, 2))


def test_edge_weights_matter_if_the_convolution_takes_them() -> None:
    x, weight = signals(5, 3), torch.tensor([1.0, 2, 3, 4, 5] * 2)
    for conv in ("bank", "gcn", "cheb"):
        net = GraphNetwork(3, 2, conv=conv)
        assert not torch.allclose(net(x, ring(5), edge_weight=weight), net(x, ring(5)))
    for conv in ("sage", "gin", "gat"):
        with pytest.raises(ValueError, match="takes no edge weights"):
            GraphNetwork(3, 2, conv=conv)(x, ring(5), edge_weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("conv", ["bank", "gcn"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_shrinks_graphs_and_is_learned_with_the_filters(conv: str, pooling: str, weighted: bool) -> None:
    net = GraphNetwork(3, 2, hidden_channels=16, num_layers=3, conv=conv, pooling=pooling)
    sizes = []
    for layer in net.convs:
        layer.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    x, edges, batch = small_batch()
    weight = 1.0 + edges.sum(0) if weighted else None
    F.cross_entropy(net(x, edges, batch, weight), torch.tensor([0, 1, 0, 1])).backward()
    assert sizes == [16, 3 + 2 + 1 + 3, 2 + 1 + 1 + 2]  # each graph is halved, rounding up
    assert len(net.pools) == 2
    for name, parameter in net.named_parameters():
        if pooling == "asap" and name.endswith("select.weight"):
            continue  # PyG makes this one and never uses it
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_pooling_takes_edges_and_no_shift() -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    with pytest.raises(ValueError, match="pass edge_index, not a GraphShift"):
        BankGCN(3, 2, pooling="topk")(signals(5, 3), shift)


def test_baselines_take_edges_and_no_shift() -> None:
    shift = GraphShift.from_edges(ring(5), num_nodes=5)
    with pytest.raises(ValueError, match="GCNConv takes edge_index, not a GraphShift"):
        GraphNetwork(3, 2, conv="gcn")(signals(5, 3), shift)


def test_coherence_is_over_the_layers() -> None:
    net = BankGCN(3, 2)
    omegas = torch.stack([mutual_coherence(conv.alpha) for conv in net.convs])
    torch.testing.assert_close(net.coherence(), omegas.sum())
    torch.testing.assert_close(net.coherence("mean"), omegas.mean())
    net.coherence().backward()
    assert all(conv.alpha.grad.abs().sum() > 0 for conv in net.convs)
    assert GraphNetwork(3, 2, conv="gcn").coherence().item() == 0
    narrow = BankGCN(1, 2)  # the first bank has another shape
    omegas = torch.stack([mutual_coherence(conv.alpha) for conv in narrow.convs])
    torch.testing.assert_close(narrow.coherence(), omegas.sum())


def test_coherence_of_a_lazy_network_says_what_to_do_first() -> None:
    net = BankGCN(-1, 2)
    with pytest.raises(
        ValueError, match="layer 0 has no filters before its first input.*apply the network to some graphs first"
    ):
        net.coherence()
    net(signals(5, 3), ring(5))
    assert net.coherence().item() > 0


def test_own_convolutions_and_poolings_can_be_given() -> None:
    net = GraphNetwork(3, 2, conv=lambda a, b: BankConv(a, b, order=5), pooling=POOLINGS["topk"])
    assert [conv.order for conv in net.convs] == [5] * 4
    assert net(signals(9, 3), ring(9)).shape == (1, 2)


def test_reset_reinitialises_everything() -> None:
    net = BankGCN(3, 2, pooling="sag")
    before = {name: p.clone() for name, p in net.state_dict().items()}
    net.reset_parameters()
    changed = [name for name, p in net.state_dict().items() if not torch.equal(p, before[name])]
    assert set(changed) == {name for name, _ in net.named_parameters()}


def test_reset_reinitialises_the_children_of_modules_without_a_reset() -> None:
    encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4)))
    net = GraphNetwork(4, 2, hidden_channels=8, conv=OwnConvolution, encoder=encoder)
    before = {name: p.clone() for name, p in net.named_parameters()}
    net.reset_parameters()
    assert not any(torch.equal(p, before[name]) for name, p in net.named_parameters())


class OwnConvolution(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"conv": "bnak"}, ("convolution", "'bnak'", "'bank'")),
        ({"normalize": "l2"}, ("normalize", "'l2'")),
        ({"readout": "total"}, ("readout", "'total'")),
        ({"pooling": "topK"}, ("pooling", "'topK'", "'topk'")),
        ({"num_layers": 0}, ("num_layers=0",)),
    ],
)
def test_bad_arguments_are_named(arguments: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        GraphNetwork(3, 2, **arguments)


def test_a_batch_vector_of_the_wrong_length_is_named() -> None:
    with refused(ValueError, "batch", (4,), (5,)):
        BankGCN(3, 2)(signals(5, 3), ring(5), torch.zeros(4, dtype=torch.long))


@pytest.mark.parametrize("conv", ["bank", "gcn"])
@pytest.mark.parametrize("pooling", [None, "topk"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_a_batch_vector_may_have_integers_of_any_size(conv: str, pooling: str | None, dtype: torch.dtype) -> None:
    net = GraphNetwork(3, 2, hidden_channels=16, conv=conv, pooling=pooling)
    x, edges, batch = small_batch()
    for on in (True, False):
        with use_kernels(on):
            torch.testing.assert_close(net(x, edges, batch.to(dtype)), net(x, edges, batch))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_a_batch_vector_of_the_wrong_type_is_named(dtype: torch.dtype) -> None:
    with refused(ValueError, "batch", dtype):
        BankGCN(3, 2)(signals(5, 3), ring(5), torch.zeros(5, dtype=dtype))


def test_one_channel_networks_have_a_subspace_per_feature_map_in_the_first_layer_only() -> None:
    net = BankGCN(1, 2)
    assert [conv.num_subspaces for conv in net.convs] == [64, 8, 8, 8]
    assert isinstance(net.convs[0].project, nn.Linear)


def test_what_a_network_needs_can_be_checked_by_name_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    check_available("gcn", "topk")
    with refused(ValueError, "model", "'gcm'", "'gcn'"):
        check_available("gcm")
    with refused(ValueError, "pooling", "'sage'"):
        check_available("bank", "sage")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    check_available("bank")
    with refused(ImportError, "GCN", "pip install 'bankgcn[pyg]'"):
        check_available("gcn")
    with refused(ImportError, "TopK", "pip install 'bankgcn[pyg]'"):
        check_available("bank", "topk")
