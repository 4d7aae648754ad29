"""Module == interpreter == compiled: readouts, loss and every gradient, for every model and option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from bankgcn.data import GraphBatch, GraphSet
from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.combine import without_weights
from bankgcn.kernels import use_kernels
from bankgcn.kernels.network.collate import CollatedGraphs, collate, divide, look_up_attributes
from bankgcn.kernels.network.executor import Targets, readouts, train
from bankgcn.kernels.network.kinds import number_kinds
from bankgcn.kernels.network.program import Program
from bankgcn.kernels.ops.parameters import Adam
from bankgcn.nn import CONVS, PLAIN_CONVS, AtomEncoder, BankGCN, GraphNetwork
from bankgcn.nn.lowering import lower
from bankgcn.spectral.featured_edges import FeaturedEdges
from bankgcn.spectral.shift import GraphShift
from bankgcn.tasks import LOSSES
from program_interpreter import interpret
from random_sets import RandomSet, graph_sets
from refusals import refused
from rounding import UNIT, Rounding, distance, measure
from strategies import RandomGraph

KEY = 123456789
ONE_HOP = [name for name, row in CONVS.items() if row.lowering and row.lowering.one_hop]
# What rounding does to an example is measured in double precision. Single precision may err by a few times as much.
# Examples that rounding moves far, and those in which it can cross a kink, say nothing: they are left out.
SPREADS, MOST_MOVED, LEAST_MARGIN = 4, 5e-3, 8
DTYPES = {torch.float64: np.float64, torch.float32: np.float32}


@dataclass(frozen=True)
class Outcome:
    """Results of a network for some graphs: all that training needs."""

    embedding: torch.Tensor
    loss: torch.Tensor
    gradient: torch.Tensor


@dataclass(frozen=True)
class Case:
    """A network, the graphs it is applied to, and what it learns of them."""

    net: GraphNetwork
    batch: GraphBatch
    loss: str = "cross_entropy"
    seed: int = 0
    by_kinds: bool = False

    @property
    def graph_attr(self) -> torch.Tensor | None:
        """Features of the graphs, many of them 0, in double precision."""
        if not self.net.graph_dim:
            return None
        random = np.random.default_rng(self.seed + 1)
        features = random.normal(size=(self.batch.num_graphs, self.net.graph_dim)).astype(np.float32)
        features[random.random(features.shape) < 0.4] = 0
        return torch.from_numpy(features).double()

    @property
    def targets(self) -> torch.Tensor:
        if self.loss == "cross_entropy":
            return self.batch.y
        random = np.random.default_rng(self.seed)
        y = random.normal(size=(self.batch.num_graphs, self.net.predict.out_features))
        if self.loss == "binary_cross_entropy":
            y = (y > 0).astype(np.float64)
        y[random.random(y.shape) < 0.3] = np.nan
        return torch.from_numpy(y)

    def by_modules(self, dtype: torch.dtype, edges: tuple[torch.Tensor | GraphShift, ...] | None = None) -> Outcome:
        net = self.net.to(dtype).train()
        net.zero_grad()
        edge_index, *weight = self.edges if edges is None else edges
        arguments = (edge_index, self.batch.batch, *(each.to(dtype) for each in weight))
        features = self.batch.edge_attr if net.edge_dim and not isinstance(edge_index, FeaturedEdges) else None
        with use_kernels(False):
            options = {"batch_size": self.batch.num_graphs, "dropout_key": KEY}
            options["edge_attr"] = None if features is None else features.to(dtype)
            attr = self.graph_attr
            outputs = net(
                self.batch.x.to(dtype), *arguments, **options, graph_attr=attr if attr is None else attr.to(dtype)
            )
            targets = self.targets if self.loss == "cross_entropy" else self.targets.to(dtype)
            loss = LOSSES[self.loss](outputs, targets)
            loss.backward()
            with torch.no_grad():
                embedding = net.eval().graph_embedding(
                    self.batch.x.to(dtype), *arguments, edge_attr=options["edge_attr"], batch_size=options["batch_size"]
                )
        return Outcome(embedding, loss.detach(), gradients(net))

    @property
    def edges(self) -> tuple[torch.Tensor, ...]:
        weight = self.batch.edge_weight
        return (self.batch.edge_index,) if weight is None else (self.batch.edge_index, weight)

    @cached_property
    def rounding(self) -> Rounding:
        self.net.float()  # both precisions compute with the same parameters
        edges: tuple[torch.Tensor | GraphShift, ...] = self.edges
        if self.net.edge_dim is not None:
            edges = (
                FeaturedEdges.of(
                    self.batch.edge_index,
                    self.batch.edge_weight,
                    self.batch.edge_attr,
                    num_nodes=self.batch.num_nodes,
                    edge_dim=self.net.edge_dim,
                    dtype=torch.float64,
                ),
            )
        if self.net.takes_shift:  # whose checks refuse the errors that are added: the two directions would differ
            edges = (GraphShift.from_edges(*self.edges, num_nodes=self.batch.num_nodes, dtype=torch.float64),)
        return measure(lambda: vars(self.by_modules(torch.float64, edges)))

    @property
    def well_conditioned(self) -> bool:
        return max(self.rounding.moved.values()) <= MOST_MOVED and self.rounding.margin >= LEAST_MARGIN

    def program_targets(self) -> Targets:
        return targets_of(self.targets.numpy())

    def collated(self, program: Program, dtype: torch.dtype, merged: bool) -> CollatedGraphs:
        source = self.batch.source.arrays(program.operator, merged)
        graphs = collate(source, self.batch.indices, program.operator, np.dtype(DTYPES[dtype]))
        if program.kinds_forward:
            kinds = number_kinds(graphs)
            assert kinds is not None
            graphs = graphs._replace(kinds=kinds)
        if self.graph_attr is not None and program.backward:
            graphs = graphs._replace(graph_features=self.graph_attr.numpy().astype(DTYPES[dtype]))
        return look_up_attributes(graphs, program.embedding) if program.embedding else graphs

    def lowered(self, net: GraphNetwork) -> Program:
        program = lower(net, self.loss, by_kinds=self.by_kinds)
        assert program is not None
        assert self.by_kinds or not program.kinds_forward
        return program

    def by_program(self, dtype: torch.dtype, merged: bool = True, threads: int = 1) -> Outcome:
        net = self.net.to(dtype)
        program, forward = self.lowered(net), lower(net)
        assert forward is not None
        theta = parameters(net)
        gradient = np.zeros_like(theta)
        graphs = self.collated(program, dtype, merged and not program.drops_nodes)
        options = {"dropout_keys": np.array([KEY]), "threads": threads}
        batch_ptr = np.array([0, self.batch.num_graphs])
        (loss,) = train(graphs, batch_ptr, program, theta, self.program_targets(), gradient, **options)
        embedding = readouts(self.collated(forward, dtype, merged), forward, theta, threads=threads)
        return Outcome(torch.from_numpy(embedding), torch.tensor(loss, dtype=dtype), torch.from_numpy(gradient))

    def by_interpreter(self, merged: bool = True) -> Outcome:
        net, dtype = self.net.double(), torch.float64
        program, forward = self.lowered(net), lower(net)
        theta, targets = torch.from_numpy(parameters(net)), self.program_targets()
        graphs = self.collated(program, dtype, merged and not program.drops_nodes)
        found = interpret(program, graphs, theta, targets, key=KEY)
        embedding = interpret(forward, self.collated(forward, dtype, merged), theta, targets).embedding
        return Outcome(embedding, torch.tensor(found.loss), found.gradient)

    def check(self, merged: bool = True) -> None:
        allowed = {name: SPREADS * max(moved, 4 * UNIT) for name, moved in self.rounding.moved.items()}
        expected = self.by_modules(torch.float64)
        agree(self.by_interpreter(merged), expected, dict.fromkeys(allowed, 1e-10))
        agree(self.by_program(torch.float64, merged), expected, dict.fromkeys(allowed, 1e-10))
        agree(self.by_program(torch.float32, merged), expected, allowed)


def agree(found: Outcome, expected: Outcome, tolerance: Mapping[str, float]) -> None:
    for name, value in vars(found).items():
        apart = distance(value, getattr(expected, name))
        assert apart <= tolerance[name], f"{name}: {apart:.2g} apart, {tolerance[name]:.2g} allowed"


def gradients(net: GraphNetwork) -> torch.Tensor:
    """The gradients of all parameters; filters of order 0 have none of the weights of edges, which they do not use."""
    given = ((torch.zeros_like(p) if p.grad is None else p.grad) for p in net.parameters())
    return torch.cat([gradient.reshape(-1) for gradient in given])


def targets_of(y: np.ndarray) -> Targets:
    """Targets whose loss is the mean over all known entries."""
    if y.dtype.kind == "i":
        return Targets(y, np.empty((0, 0)), np.full(len(y), 1 / len(y)))
    values = y.astype(np.float64)
    return Targets(np.empty(0, np.int64), values, np.full(len(y), 1 / max(1, (~np.isnan(values)).sum())))


def perturbed(net: GraphNetwork) -> GraphNetwork:
    """The network with other parameters: with biases of 0, nodes can be equal but for rounding, and share a maximum."""
    for parameter in net.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return net


def parameters(net: GraphNetwork) -> np.ndarray:
    return torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()]).numpy().copy()


CONV_OPTIONS = {
    "bank": st.fixed_dictionaries(
        {
            "order": st.integers(0, 4),
            "num_subspaces": st.sampled_from([1, 8]),
            "basis": st.sampled_from(["chebyshev", "legendre", "bernstein", "pulses"]),
            "projection": st.sampled_from(["linear", "mlp"]),
            "shortcut": st.booleans(),
            "bias": st.booleans(),
        }
    ),
    "gat": st.fixed_dictionaries({"heads": st.sampled_from([1, 2, 4, 8])}),
    "cheb": st.fixed_dictionaries({"order": st.integers(0, 4)}),
}
NETWORK_OPTIONS = st.fixed_dictionaries(
    {
        "hidden_channels": st.sampled_from([8, 24, 64]),
        "num_layers": st.integers(1, 4),
        "normalize": st.sampled_from(["before", "after", "none"]),
        "norm": st.sampled_from(["l2", "l2", "layer", "graph"]),
        "readout": st.sampled_from(["mean_max", "mean", "max", "sum", "mean_sum", "max_sum", "mean_max_sum"]),
        "scale_sum": st.booleans(),
        "residual": st.booleans(),
        "feed_forward": st.sampled_from([0, 0, 1, 2]),
        "dropout": st.sampled_from([0.0, 0.0, 0.3]),
        "head": st.sampled_from(["linear", "mlp"]),
    }
)


# Graph normalisation of two nodes multiplies rounding errors: they move the gradient by up to 0.4 %.
TWO_NODES = RandomGraph(
    num_nodes=2,
    edges=[(1, 1), (0, 1), (1, 0), (1, 0), (0, 0), (1, 0), (1, 1), (0, 1), (0, 1)],
    weights=[
        *(8.0, 3.7620081901550293, 0.7374712824821472, 5.598419189453125, 7.004994869232178),
        *(3.7620081901550293, 1.686409592628479, 5.598419189453125, 0.7374712824821472),
    ],
)
SENSITIVE = {
    "graphs": RandomSet([RandomGraph(num_nodes=4, edges=[], weights=[]), TWO_NODES], weighted=True, seed=28),
    "options": {
        "hidden_channels": 24,
        "num_layers": 4,
        "normalize": "before",
        "norm": "graph",
        "readout": "mean_max_sum",
        "scale_sum": False,
        "residual": False,
        "feed_forward": 0,
        "dropout": 0.3,
        "head": "mlp",
    },
    "seed": 1,
}


def options_for(graphs: RandomSet, options: dict) -> dict:
    """The options, with one layer where equal nodes are normalised: with more, most examples would be left out.

    Equal nodes minus their mean are rounding errors, which each layer multiplies by up to 316.
    """
    return options | {"num_layers": 1} if options["norm"] == "graph" and not graphs.signals else options


def random_case(
    conv: str, graphs: RandomSet, options: dict, loss: str, seed: int, conv_options: dict | None = None
) -> Case:
    torch.manual_seed(seed)
    net = perturbed(GraphNetwork(9, 2, conv=conv, conv_options=conv_options, **options_for(graphs, options)))
    if net.typical_size is not None:
        net.typical_size.fill_(7)
    built = graphs.build()
    return Case(net, (built if CONVS[conv].takes_weights else without_weights(built)).batch(), loss, seed)


@pytest.mark.parametrize("conv", PLAIN_CONVS)
@settings(max_examples=settings().max_examples // 3)
@given(
    graphs=graph_sets(min_graphs=1, max_graphs=5),
    options=NETWORK_OPTIONS,
    loss=st.sampled_from(list(LOSSES)),
    merged=st.booleans(),
    conv_options=st.fixed_dictionaries(CONV_OPTIONS),
    seed=st.integers(0, 9),
)
@example(**SENSITIVE, loss="cross_entropy", merged=True, conv_options={})
def test_modules_interpreter_and_compiled_code_agree(
    conv: str, graphs: RandomSet, options: dict, loss: str, merged: bool, conv_options: dict, seed: int
) -> None:
    case = random_case(conv, graphs, options, loss, seed, conv_options.get(conv))
    assume(case.well_conditioned)
    case.check(merged)


def star_path_and_pair() -> GraphSet:
    """Three graphs, of which two have nodes that colour refinement merges, and none has equal nodes alone."""
    pairs = np.array([[0, 0, 0, 0, 5, 6, 7, 9], [1, 2, 3, 4, 6, 7, 8, 10]])
    edges = np.concatenate([pairs, pairs[::-1]], axis=1)
    labels = [0, 1, 1, 1, 2, 0, 1, 1, 0, 0, 2]
    return GraphSet.from_edges([5, 4, 2], edges, labels=labels, label_widths=3, y=[0, 1, 1], classes=("a", "b"))


NORMALISATIONS = [*product(("l2", "layer", "graph"), ("before", "after")), ("none", "none")]
COMBINATIONS = [
    (PLAIN_CONVS[number % len(PLAIN_CONVS)], *normalisation, *others)  # each convolution meets each normalisation
    for number, (normalisation, *others) in enumerate(product(NORMALISATIONS, (False, True), (0.0, 0.3), (0, 2)))
]


@pytest.mark.parametrize(("conv", "norm", "normalize", "residual", "dropout", "feed_forward"), COMBINATIONS)
def test_every_combination_of_norm_residual_dropout_and_feed_forward_agrees(
    conv: str, norm: str, normalize: str, residual: bool, dropout: float, feed_forward: int
) -> None:
    options = {"norm": norm, "normalize": normalize, "residual": residual, "readout": "mean_max_sum"}

    def case(seed: int) -> Case:
        torch.manual_seed(seed)
        net = GraphNetwork(3, 2, 8, 2, conv=conv, dropout=dropout, feed_forward=feed_forward, **options)
        return Case(perturbed(net), star_path_and_pair().batch(), seed=seed)

    next(found for found in map(case, range(20)) if found.well_conditioned).check()


@pytest.mark.parametrize(("conv", "edges"), [("bank", "weights"), ("bank", "both"), ("gcn", "input"), ("gin", "input")])
@settings(max_examples=settings().max_examples // 6)
@given(
    graphs=graph_sets(min_graphs=1, max_graphs=5),
    options=NETWORK_OPTIONS,
    loss=st.sampled_from(list(LOSSES)),
    merged=st.booleans(),
    order=st.integers(0, 4),
    seed=st.integers(0, 9),
)
def test_features_of_edges_agree_in_modules_interpreter_and_compiled_code(
    conv: str, edges: str, graphs: RandomSet, options: dict, loss: str, merged: bool, order: int, seed: int
) -> None:
    torch.manual_seed(seed)
    built = graphs.build(edge_features=True)
    built = built if CONVS[conv].takes_weights else without_weights(built)
    conv_options = {"order": order} if conv == "bank" else {}
    options = options_for(graphs, options) | {"edge_dim": built.num_edge_features, "edges": edges}
    case = Case(
        perturbed(GraphNetwork(9, 2, conv=conv, conv_options=conv_options, **options)), built.batch(), loss, seed
    )
    assume(case.well_conditioned)
    case.check(merged)


@pytest.mark.parametrize("conv", ["bank", "gcn"])
@settings(max_examples=settings().max_examples // 3)
@given(
    graphs=graph_sets(min_graphs=1, max_graphs=5),
    options=NETWORK_OPTIONS,
    loss=st.sampled_from(list(LOSSES)),
    merged=st.booleans(),
    graph_dim=st.sampled_from([1, 3, 16, 37]),
    seed=st.integers(0, 9),
)
def test_features_of_graphs_agree_in_modules_interpreter_and_compiled_code(
    conv: str, graphs: RandomSet, options: dict, loss: str, merged: bool, graph_dim: int, seed: int
) -> None:
    case = random_case(conv, graphs, options | {"graph_dim": graph_dim}, loss, seed)
    assume(case.well_conditioned)
    case.check(merged)


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_features_of_graphs_give_the_same_bits_on_any_number_of_threads(head: str) -> None:
    torch.manual_seed(0)
    net = perturbed(BankGCN(1, 2, hidden_channels=16, num_layers=2, head=head, graph_dim=5))
    case = Case(net, smooth_or_alternating(300).batch())
    one, three = case.by_program(torch.float32), case.by_program(torch.float32, threads=3)
    for name, value in vars(one).items():
        assert torch.equal(value, getattr(three, name)), name


@pytest.mark.parametrize("shape", [(4, 5), (3, 4), (0, 0)])
def test_features_of_graphs_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    net = BankGCN(1, 2, hidden_channels=16, num_layers=2, graph_dim=5).float()
    program, batch = lower(net, "cross_entropy"), smooth_or_alternating(3).batch()
    graphs = batch.collate(program.operator, merged=False)
    graphs = graphs._replace(graph_features=np.zeros(shape, np.float32))
    theta = parameters(net)
    before = theta.copy()
    targets = targets_of(batch.y.numpy())
    with pytest.raises(IndexError, match=rf"\({shape[0]}, {shape[1]}\).*\(3, 5\)"):
        train(graphs, np.array([0, batch.num_graphs]), program, theta, targets, np.zeros_like(theta))
    np.testing.assert_array_equal(theta, before)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_gradient_that_rounding_moves_far_is_compared_by_how_far(loss: str) -> None:
    case = random_case("mlp", **SENSITIVE, loss=loss)
    assert case.rounding.moved["embedding"] < 2e-5
    assert 1e-4 < case.rounding.moved["gradient"] < MOST_MOVED
    assert case.well_conditioned
    case.check()


@pytest.fixture
def kinds_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use kinds however few nodes they have."""
    monkeypatch.setattr("bankgcn.kernels.network.kinds.MIN_NODES_OF_KIND", 1)


@pytest.mark.usefixtures("kinds_of_one_node")
@pytest.mark.parametrize("conv", ONE_HOP)
@settings(
    max_examples=settings().max_examples // 3,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(
    graph_sets(min_graphs=1, max_graphs=5),
    NETWORK_OPTIONS,
    st.sampled_from(list(LOSSES)),
    st.booleans(),
    st.integers(0, 9),
)
def test_kinds_of_nodes_change_nothing(
    conv: str, graphs: RandomSet, options: dict, loss: str, merged: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    net = perturbed(GraphNetwork(7, 2, conv=conv, **options_for(graphs, options)))
    built = replace(graphs.build(), attributes=None)
    built = built if CONVS[conv].takes_weights else without_weights(built)
    case = Case(net, built.batch(), loss, seed, by_kinds=True)
    assume(case.well_conditioned)
    case.check(merged)


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_kinds_take_the_first_layer_up_to_the_second_hop(conv: str) -> None:
    program = lower(GraphNetwork(5, 2, conv=conv), "cross_entropy", by_kinds=True)
    products = [instruction for instruction in program.kinds_forward if instruction.operation.name == "linear"]
    assert len(products) == {"gcn": 1, "sage": 2, "gin": 2, "mlp": 3}.get(conv, 0)
    assert bool(program.kinds_forward) == bool(program.kinds_backward) == (conv in ONE_HOP)
    assert not lower(GraphNetwork(5, 2, conv=conv), by_kinds=True).kinds_forward  # readouts have no blocks of kinds
    dropped = lower(GraphNetwork(5, 2, conv=conv, dropout=0.5), "cross_entropy", by_kinds=True)
    assert not [instruction for instruction in dropped.kinds_forward if instruction.operation.name == "linear"][1:]


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_integers_are_looked_up(conv: str) -> None:
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    ring = np.array([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    edges = np.concatenate([ring, ring + 4, ring + 8], axis=1)
    attributes = np.stack([random.integers(0, 5, 12), random.integers(0, 2, 12), np.zeros(12)], axis=1)
    graphs = GraphSet.from_edges([4, 4, 4], edges, attributes=attributes, y=[0, 1, 1], classes=("a", "b"))
    net = GraphNetwork(16, 2, 16, 2, conv=conv, encoder=AtomEncoder([5, 3, 2], 16), residual=True)
    Case(net, graphs.batch()).check()


def test_one_input_channel_makes_every_output_channel_a_subspace() -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=24, num_layers=3, num_subspaces=4)
    assert [conv.num_subspaces for conv in net.convs] == [24, 4, 4]
    Case(net, smooth_or_alternating(40).batch()).check()


def mixed_sizes() -> GraphSet:
    """Graphs larger than a block, and many smaller ones."""
    random = np.random.default_rng(0)
    num_nodes = np.array([1, 130, 2, 1, 97, 96, 3, *[1] * 150, 40, 60, *[30] * 120])
    starts = np.cumsum(num_nodes) - num_nodes
    graph = random.integers(0, len(num_nodes), 4000)
    ends = starts[graph] + random.integers(0, num_nodes[graph], (2, 4000))
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    labels = random.integers(0, 3, num_nodes.sum())
    y = random.integers(0, 5, len(num_nodes))
    edges = np.concatenate([ends, ends[::-1]], axis=1)
    graphs = GraphSet.from_edges(num_nodes, edges, labels=labels, y=y, classes=tuple("abcde"))
    return graphs[random.permutation(len(num_nodes))]


@pytest.mark.usefixtures("kinds_of_one_node")
@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_graphs_larger_than_a_block_and_many_smaller_ones(conv: str) -> None:
    torch.manual_seed(0)
    net = perturbed(GraphNetwork(3, 5, hidden_channels=40, num_layers=2, conv=conv))
    for by_kinds in (False, True)[: 1 + (conv in ONE_HOP)]:
        case = Case(net, mixed_sizes().batch(), by_kinds=by_kinds)
        expected = case.by_modules(torch.float64)
        agree(case.by_program(torch.float64), expected, dict.fromkeys(vars(expected), 1e-10))


@pytest.mark.usefixtures("kinds_of_one_node")
@pytest.mark.parametrize("conv", PLAIN_CONVS)
@pytest.mark.parametrize("options", [{"dropout": 0.2, "norm": "graph"}, {}])
def test_any_number_of_threads_gives_the_same_bits(conv: str, options: dict) -> None:
    torch.manual_seed(0)
    net = GraphNetwork(3, 5, hidden_channels=16, num_layers=2, conv=conv, **options).float()
    case, outcomes = Case(net, mixed_sizes().batch(), by_kinds=not options), []
    for threads in (1, 2, 3, 7):
        outcomes.append(case.by_program(torch.float32, threads=threads))
    for outcome in outcomes[1:]:
        for name, value in vars(outcome).items():
            assert torch.equal(value, getattr(outcomes[0], name)), name


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("kind", "weight_decay"), [("Adam", 0.0), ("Adam", 0.01), ("AdamW", 0.1)])
def test_steps_are_those_of_torchs_optimisers(kind: str, weight_decay: float, threads: int) -> None:
    torch.manual_seed(0)
    net, batch, gamma = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(20).batch(), 0.3
    program, theta = lower(net, "cross_entropy"), parameters(net)
    optimizer = getattr(torch.optim, kind)(net.parameters(), weight_decay=weight_decay)
    batch_ptr, losses = np.array([0, 8, 16, 20]), []
    rates = np.array([0.01, 0.01, 0.01] if kind == "Adam" else [0.01, 0.03, 0.02])
    clip_norm, decays = (None, None) if kind == "Adam" else (0.2, np.ones_like(theta))
    for rate, (start, end) in zip(rates, pairwise(batch_ptr), strict=True):
        optimizer.zero_grad()
        part = batch.source.batch(slice(start, end))
        loss = F.cross_entropy(net(part.x.double(), part.edge_index, part.batch, batch_size=end - start), part.y)
        (loss + gamma * net.coherence()).backward()
        if clip_norm is not None:
            assert torch.nn.utils.clip_grad_norm_(net.parameters(), clip_norm) > clip_norm
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        losses.append(loss.item())
    mean, square, gradient = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    for chosen, number in ((batch_ptr[:3], 1), (batch_ptr[2:], 3)):  # two steps at once, then one more
        indices = np.arange(chosen[0], chosen[-1])
        some = collate(batch.source.quotient, indices, program.operator, np.dtype(np.float64))
        rate = rates[number - 1 :][: len(chosen) - 1]
        adam = Adam(mean, square, number, rate, 0.9, 0.999, 1e-8, weight_decay, clip_norm, decays)
        sizes = np.diff(chosen)
        targets = Targets(batch.y.numpy()[indices], np.empty((0, 0)), (1 / sizes).repeat(sizes))
        options = {"gamma": gamma, "threads": threads}
        found = train(some, chosen - chosen[0], program, theta, targets, gradient, adam, **options)
        np.testing.assert_allclose(found, losses[number - 1 : number - 1 + len(found)], rtol=1e-10)
    np.testing.assert_allclose(theta, parameters(net), rtol=1e-9, atol=1e-12)
    expected = torch.cat([parameter.grad.reshape(-1) for parameter in net.parameters()])
    if kind == "AdamW" or not weight_decay:
        np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-12)


def double(net: GraphNetwork, batch: GraphBatch, program: Program) -> CollatedGraphs:
    return Case(net, batch).collated(program, torch.float64, merged=True)


def test_the_gradient_is_added_to_what_is_there() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(5).batch()
    program, theta, targets = lower(net, "cross_entropy"), parameters(net), targets_of(batch.y.numpy())
    graphs, batch_ptr = double(net, batch, program), np.array([0, 5])
    once, more = np.zeros_like(theta), np.ones_like(theta)
    (loss,) = train(graphs, batch_ptr, program, theta, targets, once, gamma=0.3)
    quarter = targets._replace(share=targets.share / 4)
    (share,) = train(graphs, batch_ptr, program, theta, quarter, more, gamma=0.3 / 4)
    assert share == pytest.approx(loss / 4, rel=1e-12)
    np.testing.assert_allclose(more, 1 + once / 4, rtol=1e-12)


def test_a_mean_over_many_nodes_is_right_in_single_precision() -> None:
    n = 30_000
    attributes = np.stack([np.full(n, 0.1), np.arange(n)], axis=1)  # no two nodes are equal, so none are merged
    graphs = GraphSet.from_edges([n], np.empty((2, 0), np.int64), attributes=attributes)
    net = BankGCN(2, 2, hidden_channels=8, num_layers=1, initial_alpha="zeros", normalize="none").float()
    with torch.no_grad():
        net.convs[0].project.weight.copy_(torch.tensor([1.0, 0.0]))
        net.convs[0].project.bias.zero_()
    program = lower(net)
    mean = readouts(graphs.batch().collate(program.operator), program, parameters(net))[0, :8]
    np.testing.assert_allclose(mean, np.full_like(mean, 0.1), rtol=1e-5)


def test_equal_nodes_share_the_gradient_of_their_maximum() -> None:
    torch.manual_seed(0)
    ring = np.array([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    graphs = GraphSet.from_edges([4], ring, labels=[0, 0, 0, 0], label_widths=2, y=[1], classes=("a", "b"))
    Case(BankGCN(2, 2, hidden_channels=8, num_layers=2), graphs.batch()).check()


def test_an_unknown_class_is_named_and_changes_nothing() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=1), smooth_or_alternating(4).batch()
    program, theta = lower(net, "cross_entropy"), parameters(net)
    gradient, graphs = np.zeros_like(theta), double(net, batch, program)
    targets, batch_ptr = targets_of(np.array([0, 7, 1, 1])), np.array([0, 4])
    adam = Adam(gradient.copy(), gradient.copy(), 1, 0.1, 0.9, 0.999, 1e-8, 0.0)
    for optimizer in (None, adam):
        with refused(IndexError, "0 to 7", "0 to 1"):
            train(graphs, batch_ptr, program, theta, targets, gradient, optimizer)
    few = targets._replace(classes=np.zeros(3, np.int64))
    with refused(IndexError, 4, "2 outputs"):
        train(graphs, batch_ptr, program, theta, few, gradient)
    assert not gradient.any()
    np.testing.assert_array_equal(theta, parameters(net))


def test_integers_out_of_range_are_named() -> None:
    attributes = np.array([[0.0, 1.0], [7.0, 0.0]])
    graphs = GraphSet.from_edges([2], [[0, 1], [1, 0]], attributes=attributes)
    net = GraphNetwork(8, 2, 8, 1, encoder=AtomEncoder([5, 3], 8))
    with refused(ValueError, "column 0", 7.0, "0 to 4"):
        Case(net, graphs.batch()).collated(lower(net), torch.float64, merged=True)


def test_nan_reaches_only_the_loss_of_its_graph() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(3).batch()
    program, theta = lower(net), parameters(net)
    graphs = double(net, batch, program)
    graphs.attributes[0] = np.nan
    read = readouts(graphs, program, theta)
    assert np.isnan(read[0]).any()
    assert np.isfinite(read[1:]).all()
    targets, gradient = targets_of(batch.y.numpy()), np.zeros_like(theta)
    assert np.isnan(train(graphs, np.array([0, 3]), lower(net, "cross_entropy"), theta, targets, gradient))


@pytest.mark.parametrize("normalize", ["before", "after"])
def test_rows_too_short_to_normalise_have_the_plain_gradient(normalize: str) -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=16, num_layers=1, normalize=normalize)
    for parameter in net.convs[0].project.parameters():
        parameter.data *= 1e-13
    Case(net, smooth_or_alternating(20).batch()).check()


@pytest.mark.parametrize("normalize", ["before", "after", "none"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_nan_spreads_as_in_the_plain_operations(sign: float, normalize: str) -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=16, num_layers=2, normalize=normalize)
    with torch.no_grad():
        net.convs[1].project.bias[3] = torch.tensor(float("nan")).copysign(torch.tensor(sign))
    case = Case(net, smooth_or_alternating(3).batch())
    plain, compiled = case.by_modules(torch.float64), case.by_program(torch.float64)
    assert plain.embedding.isnan().any()
    torch.testing.assert_close(compiled.embedding, plain.embedding, equal_nan=True)
    assert compiled.loss.isnan()
    assert compiled.gradient[plain.gradient.isnan()].isnan().all()


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_a_graph_without_nodes_reads_zero(conv: str) -> None:
    graphs = GraphSet.from_edges([2, 0], [[0, 1], [1, 0]], labels=[0, 1], y=[0, 1], classes=("a", "b"))
    case = Case(GraphNetwork(2, 2, 8, 2, conv=conv), graphs.batch())
    case.check()
    assert not case.by_program(torch.float64).embedding[1].any()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_gradient_of_an_empty_batch_is_zero(threads: int) -> None:
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2).float()
    program, batch = lower(net, "cross_entropy"), smooth_or_alternating(200).batch()
    graphs, batch_ptr = batch.collate(program.operator, merged=False), np.array([0, 200, 200])
    chunks = divide(graphs.node_ptr, graphs.rowptr, batch_ptr)
    assert chunks.batch_ptr[1] == chunks.batch_ptr[2] > 1  # there is work for two threads
    theta = parameters(net)
    gradient, mean, square = np.zeros((3, len(theta)), theta.dtype)
    targets = Targets(batch.y.numpy(), np.empty((0, 0)), np.full(200, 1 / 200))
    adam = Adam(mean, square, 1, 0.01, 0.9, 0.999, 1e-8, 0.0)
    losses = train(graphs, batch_ptr, program, theta, targets, gradient, adam, threads=threads)
    assert losses[0] > 0
    assert losses[1] == 0
    assert mean.any()
    assert not gradient.any()
