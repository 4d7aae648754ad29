"""Normalisations, residuals, feed-forward blocks, dropout and head: equal to plain steps, alone and together."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bankgcn import BankGCN
from bankgcn.kernels import use_kernels
from bankgcn.nn import NORMS, PLAIN_CONVS, POOLINGS, GraphNetwork
from bankgcn.nn.layers import drop
from bankgcn.nn.readout import READOUT_PARTS
from refusals import refused
from strategies import disjoint_union, ring, signals

NO_EDGES = torch.empty(2, 0, dtype=torch.long)
SIZES = [5, 4, 1, 6]
KEY = 12345

OPTIONS = [
    {"norm": "layer"},
    {"norm": "graph", "residual": True},
    {"residual": True, "dropout": 0.3},
    {"norm": "batch", "dropout": 0.2, "head": "mlp"},
    {"norm": "layer", "normalize": "after", "residual": True, "dropout": 0.4, "head": "mlp"},
    {"norm": "none", "residual": True, "head": "mlp"},
    {"dropout": 0.5},
    {"feed_forward": 2},
    {"feed_forward": 1, "norm": "layer", "dropout": 0.3, "residual": True},
    {"feed_forward": 3, "norm": "graph", "normalize": "after", "residual": True},
    {"feed_forward": 2, "norm": "batch", "dropout": 0.2},
    {"feed_forward": 2, "normalize": "none", "dropout": 0.2, "head": "mlp"},
]


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Signals, edges and batch of four graphs, of which one has no edge and one a single node."""
    edges, batch = disjoint_union([ring(5), NO_EDGES, NO_EDGES, ring(6)], SIZES)
    return signals(sum(SIZES), 3), edges, batch


def network(**options) -> BankGCN:
    """A network whose normalisations have learned something."""
    torch.manual_seed(1)
    net = BankGCN(3, 2, hidden_channels=8, num_layers=3, num_subspaces=4, **options)
    for parameter in (*net.norms.parameters(), *net.feed_forward_norms.parameters()):
        nn.init.uniform_(parameter, 0.5, 1.5)
    return net


def by_hand(net: BankGCN, x: Tensor, edges: Tensor, batch: Tensor, options: dict) -> Tensor:
    """The logits, step by step, as the options say."""
    kind, place, p = options.get("norm", "l2"), options.get("normalize", "before"), options.get("dropout", 0.0)

    def norm(layer: int, h: Tensor, modules: nn.ModuleList) -> Tensor:
        if "none" in (kind, place):
            return h
        if kind == "l2":
            return h / h.norm(dim=1, keepdim=True)
        return modules[layer](h, batch, 4) if kind == "graph" else modules[layer](h)

    parts = []
    for layer, conv in enumerate(net.convs):
        h = conv(x, edges)
        h = norm(layer, F.relu(h), net.norms) if place == "after" else F.relu(norm(layer, h, net.norms))
        h = drop(h, p, KEY, layer)
        if options.get("residual"):
            h = h + (x @ net.residual.weight.T if layer == 0 else x)
        if options.get("feed_forward"):
            first, second = net.feed_forwards[layer].hidden, net.feed_forwards[layer].output
            given = h if kind == "l2" else norm(layer, h, net.feed_forward_norms)
            hidden = drop((given @ first.weight.T + first.bias).clamp(min=0), p, KEY, 5 + layer)
            h = h + hidden @ second.weight.T + second.bias
            h = norm(layer, h, net.feed_forward_norms) if kind == "l2" else h
        x = h
        parts += [READOUT_PARTS["mean"](x, batch, 4), READOUT_PARTS["max"](x, batch, 4)]
    h = drop(torch.cat(parts, dim=1), p, KEY, 3)
    if options.get("head") == "mlp":
        h = drop(F.relu(net.head(h)), p, KEY, 4)
    return net.predict(h)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_network_equals_its_steps_one_by_one(options: dict) -> None:
    net, data = network(**options), small_batch()
    expected = by_hand(net, *data, options)
    for on in (True, False):
        with use_kernels(on):
            torch.testing.assert_close(net(*data, dropout_key=KEY), expected)
    embedding = net.graph_embedding(*data, dropout_key=KEY)
    assert embedding.shape == (4, net.embedding_channels) == (4, 3 * 2 * 8)
    torch.testing.assert_close(net.predict_from(embedding, KEY), expected)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_all_parameters_learn(options: dict) -> None:
    net = network(**options)
    F.cross_entropy(net(*small_batch(), dropout_key=KEY), torch.tensor([0, 1, 0, 1])).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("conv", ["bank", "gcn"])
def test_a_batch_equals_its_graphs_one_by_one(options: dict, conv: str) -> None:
    net = GraphNetwork(3, 2, hidden_channels=16, conv=conv, **options)
    net.eval()  # batch normalisation mixes the graphs in training mode
    x, edges, batch = small_batch()
    of_graphs = [ring(5), NO_EDGES, NO_EDGES, ring(6)]
    singles = [net(x, e) for x, e in zip(x.split(SIZES), of_graphs, strict=True)]
    torch.testing.assert_close(net(x, edges, batch), torch.cat(singles))


@pytest.mark.parametrize("place", ["before", "after", "none"])
@pytest.mark.parametrize("kind", NORMS)
def test_without_normalisation_there_is_relu_alone(place: str, kind: str) -> None:
    net = network(norm=kind, normalize=place)
    if "none" in (place, kind):
        assert (net.norm, net.normalize, len(net.norms)) == ("none", "none", 0)
        torch.testing.assert_close(net(*small_batch()), network(normalize="none")(*small_batch()))
    else:
        assert (net.norm, net.normalize) == (kind, place)
        assert len(net.norms) == (0 if kind == "l2" else 3)


def test_no_option_adds_nothing_to_the_network_of_earlier_versions() -> None:
    net = network()
    assert net.residual is net.head is None
    assert (len(net.norms), net.embedding_channels) == (0, 48)
    assert {name.partition(".")[0] for name in net.state_dict()} == {"convs", "predict"}


def test_parameters_stand_in_the_order_of_the_steps() -> None:
    options = {
        "norm": "layer",
        "residual": True,
        "feed_forward": 2,
        "head": "mlp",
        "pooling": "topk",
        "encoder": nn.Linear(5, 3),
    }
    net = GraphNetwork(3, 2, hidden_channels=8, num_layers=2, **options)
    names = [name for name, _ in itertools.groupby(name.partition(".")[0] for name, _ in net.named_parameters())]
    assert names == [
        *("encoder", "convs", "pools", "norms", "residual", "feed_forwards", "feed_forward_norms", "head", "predict")
    ]
    assert net.residual.weight.shape == (8, 3)  # after the encoder
    assert net.feed_forwards[1].hidden.weight.shape == (16, 8)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_residual_is_added_before_the_pooling(pooling: str) -> None:
    net = GraphNetwork(3, 2, hidden_channels=8, num_layers=2, pooling=pooling, residual=True, norm="graph")
    pooled = []
    net.pools[0].register_forward_pre_hook(lambda module, inputs: pooled.append(inputs[0]))
    x, edges, batch = small_batch()
    assert net(x, edges, batch).isfinite().all()
    plain = NORMS["graph"].apply(net.norms[0], net.convs[0](x, edges), batch, 4)
    torch.testing.assert_close(pooled, [F.relu(plain) + net.residual(x)])


def test_nothing_is_dropped_in_evaluation_mode() -> None:
    net, data = network(dropout=0.5, head="mlp"), small_batch()
    without = network(head="mlp")
    without.load_state_dict(net.state_dict())
    assert not torch.allclose(net(*data, dropout_key=KEY), without(*data))
    torch.testing.assert_close(net.eval()(*data, dropout_key=KEY), without(*data))


def test_without_a_key_dropout_follows_from_torchs_generator() -> None:
    net, data = network(dropout=0.5), small_batch()
    torch.manual_seed(5)
    first, second = net(*data), net(*data)
    torch.manual_seed(5)
    key = torch.randint(2**63 - 1, ()).item()  # drawn once for all places
    torch.testing.assert_close(net(*data, dropout_key=key), first)
    assert not torch.allclose(first, second)
    state = torch.get_rng_state()
    net.eval()(*data)  # nothing is dropped, so nothing is drawn
    assert torch.equal(torch.get_rng_state(), state)


def test_the_representation_is_without_the_dropout_of_the_head() -> None:
    net, data = network(dropout=0.5, norm="none"), small_batch()
    hidden = net.graph_embedding(*data, dropout_key=KEY)
    torch.testing.assert_close(net.predict(drop(hidden, 0.5, KEY, 3)), net(*data, dropout_key=KEY))
    assert not torch.allclose(net.predict(hidden), net(*data, dropout_key=KEY))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_every_option_takes_a_batch_without_nodes(conv: str, norm: str) -> None:
    options = {"norm": norm, "residual": True, "feed_forward": 2, "dropout": 0.5, "head": "mlp"}
    net = GraphNetwork(3, 2, hidden_channels=8, conv=conv, **options)
    no_nodes = (torch.empty(0, 3), NO_EDGES, torch.empty(0, dtype=torch.long))
    assert net(*no_nodes).shape == (0, 2)
    assert net(*no_nodes, batch_size=2).isfinite().all()


def test_a_lazy_network_can_have_every_option() -> None:
    net = BankGCN(-1, 2, hidden_channels=8, norm="layer", residual=True, feed_forward=1, dropout=0.1, head="mlp")
    assert net(*small_batch()).shape == (4, 2)
    assert net.residual.weight.shape == (8, 3)


def test_reset_reinitialises_the_modules_of_the_options() -> None:
    net = network(norm="graph", residual=True, feed_forward=2, head="mlp")
    before = {name: value.clone() for name, value in net.state_dict().items()}
    net.reset_parameters()
    assert not any(torch.equal(value, before[name]) for name, value in net.state_dict().items())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_network_with_dropout_compiles_as_one_graph() -> None:
    torch._dynamo.reset()
    net, data = network(norm="layer", residual=True, feed_forward=2, dropout=0.5, head="mlp"), small_batch()
    fast = torch.compile(net, backend="aot_eager", fullgraph=True, dynamic=True)
    for key in (KEY, 2**62 + 1, torch.tensor(KEY)):
        torch.testing.assert_close(
            fast(*data, batch_size=4, dropout_key=key), net(*data, batch_size=4, dropout_key=key)
        )
    assert fast(*data, batch_size=4).isfinite().all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"norm": "leyer"}, ("norm", "'leyer'", "'layer'")),
        ({"head": "mpl"}, ("head", "'mpl'", "'mlp'")),
        ({"feed_forward": -1}, ("feed_forward=-1",)),
        ({"dropout": 1.0}, ("dropout=1.0",)),
        ({"dropout": -0.1}, ("dropout=-0.1",)),
        ({"dropout": float("nan")}, ("dropout=nan",)),
    ],
)
def test_bad_options_are_named(arguments: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        GraphNetwork(3, 2, **arguments)
