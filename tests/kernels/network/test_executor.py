"""The executor equals the torch modules layer by layer: readouts, loss and every gradient."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.data import GraphBatch, GraphSet
from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.kernels import use_kernels
from bankgcn.kernels.network.block import block_end
from bankgcn.kernels.network.collate import CollatedGraphs
from bankgcn.kernels.network.executor import add_gradient, readouts, train
from bankgcn.kernels.ops.adam import Adam
from bankgcn.nn import BankGCN
from bankgcn.nn.lowering import lower, run_embedding
from bankgcn.spectral import GraphShift
from random_sets import RandomSet, graph_sets


@dataclass(frozen=True)
class Outcome:
    """Results of a network for some graphs: all that training needs."""

    embedding: torch.Tensor
    loss: torch.Tensor
    gradient: torch.Tensor


def layer_by_layer(net: BankGCN, batch: GraphBatch, dtype: torch.dtype) -> Outcome:
    net.zero_grad()
    shift = GraphShift(batch.shift.rowptr, batch.shift.col, batch.shift.weight.to(dtype))
    with use_kernels(False):
        embedding = net.graph_embedding(batch.x.to(dtype), shift, batch.batch, batch_size=batch.num_graphs)
        loss = F.cross_entropy(net.predict(embedding), batch.y)
        loss.backward()
    gradient = torch.cat([parameter.grad.reshape(-1) for parameter in net.parameters()])
    return Outcome(embedding.detach(), loss.detach(), gradient)


def by_program(net: BankGCN, batch: GraphBatch, dtype: torch.dtype) -> Outcome:
    program = lower(net)
    assert program is not None
    graphs = in_precision(batch.collated, dtype)
    theta = torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])
    gradient = torch.zeros_like(theta)
    loss = add_gradient(graphs, program, theta.numpy(), batch.y.numpy(), gradient.numpy())
    return Outcome(run_embedding(program, net, graphs), torch.tensor(loss, dtype=dtype), gradient)


def in_precision(graphs: CollatedGraphs, dtype: torch.dtype) -> CollatedGraphs:
    number = {torch.float64: np.float64, torch.float32: np.float32}[dtype]
    return graphs._replace(
        weight=graphs.weight.astype(number),
        attributes=graphs.attributes.astype(number),
        multiplicity=graphs.multiplicity.astype(number),
    )


def check(net: BankGCN, batch: GraphBatch) -> None:
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        net = net.to(dtype)
        plain, fused = layer_by_layer(net, batch, dtype), by_program(net, batch, dtype)
        torch.testing.assert_close(fused.embedding, plain.embedding, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(fused.loss, plain.loss, rtol=tolerance, atol=tolerance)
        scale = max(1, plain.gradient.abs().max().item())
        torch.testing.assert_close(fused.gradient, plain.gradient, rtol=tolerance, atol=tolerance * scale)


networks = st.fixed_dictionaries(
    {
        "hidden_channels": st.sampled_from([1, 5, 16, 32, 48]),
        "num_layers": st.integers(1, 4),
        "order": st.integers(0, 4),
        "basis": st.sampled_from(["chebyshev", "legendre", "bernstein", "pulses"]),
        "shortcut": st.booleans(),
        "bias": st.booleans(),
        "normalize": st.sampled_from(["before", "after", "none"]),
        "readout": st.sampled_from(["mean_max", "mean"]),
    }
)


@settings(max_examples=60)
@given(graph_sets(min_graphs=1, max_graphs=6), networks, st.booleans(), st.integers(0, 9))
def test_the_program_equals_the_modules_layer_by_layer(
    graphs: RandomSet, options: dict, one_filter: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    filters = 1 if one_filter else options["hidden_channels"]
    check(BankGCN(9, 2, num_subspaces=filters, **options), graphs.build().batch())


def test_one_input_channel_makes_every_output_channel_a_subspace() -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=24, num_layers=3, num_subspaces=4)
    assert [conv.num_subspaces for conv in net.convs] == [24, 4, 4]
    check(net, smooth_or_alternating(40).batch())


def test_graphs_larger_than_a_block_and_many_smaller_ones() -> None:
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    num_nodes = np.array([1, 130, 2, 1, 97, 96, 3, *[1] * 150, 40, 60])
    starts = np.cumsum(num_nodes) - num_nodes
    graph = random.integers(0, len(num_nodes), 900)
    ends = starts[graph] + random.integers(0, num_nodes[graph], (2, 900))
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    labels = random.integers(0, 3, num_nodes.sum())
    y = random.integers(0, 5, len(num_nodes))
    edges = np.concatenate([ends, ends[::-1]], axis=1)
    graphs = GraphSet.from_edges(num_nodes, edges, labels=labels, y=y, classes=tuple("abcde"))
    check(BankGCN(3, 5, hidden_channels=40, num_layers=2), graphs.batch(random.permutation(len(num_nodes))))


def test_a_mean_over_many_nodes_is_right_in_single_precision() -> None:
    n = 30_000
    attributes = np.stack([np.full(n, 0.1), np.arange(n)], axis=1)  # no two nodes are equal, so none are merged
    graphs = GraphSet.from_edges([n], np.empty((2, 0), np.int64), attributes=attributes)
    net = BankGCN(2, 2, hidden_channels=8, num_layers=1, initial_alpha="zeros", normalize="none").float()
    with torch.no_grad():
        net.convs[0].project.weight.copy_(torch.tensor([1.0, 0.0]))
        net.convs[0].project.bias.zero_()
    mean = run_embedding(lower(net), net, graphs.batch().collated)[0, :8]
    torch.testing.assert_close(mean, torch.full_like(mean, 0.1), rtol=1e-5, atol=0)


def test_equal_nodes_share_the_gradient_of_their_maximum() -> None:
    torch.manual_seed(0)
    ring = np.array([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    graphs = GraphSet.from_edges([4], ring, labels=[0, 0, 0, 0], label_widths=2, y=[1], classes=("a", "b"))
    check(BankGCN(2, 2, hidden_channels=8, num_layers=2), graphs.batch())


def parameters(net: BankGCN) -> np.ndarray:
    return torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()]).numpy()


def test_the_gradient_is_scaled_and_added_to_what_is_there() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(5).batch()
    program, graphs, theta = lower(net), in_precision(batch.collated, torch.float64), parameters(net)
    once, more = np.zeros_like(theta), np.ones_like(theta)
    loss = add_gradient(graphs, program, theta, batch.y.numpy(), once, gamma=0.3)
    assert add_gradient(graphs, program, theta, batch.y.numpy(), more, scale=0.25, gamma=0.3) == loss
    np.testing.assert_allclose(more, 1 + once / 4, rtol=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_steps_are_those_of_adam(weight_decay: float) -> None:
    torch.manual_seed(0)
    net, batch, gamma = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(20).batch(), 0.3
    program, theta = lower(net), parameters(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=weight_decay)
    batch_ptr, losses = np.array([0, 8, 16, 20]), []
    for start, end in pairwise(batch_ptr):
        optimizer.zero_grad()
        part = batch.source.batch(slice(start, end))
        shift = part.shift.to(torch.float64)
        loss = F.cross_entropy(net(part.x.double(), shift, part.batch, batch_size=end - start), part.y)
        (loss + gamma * net.coherence()).backward()
        optimizer.step()
        losses.append(loss.item())
    mean, square, gradient = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    for chosen, number in ((batch_ptr[:3], 1), (batch_ptr[2:], 3)):  # two steps at once, then one more
        some = in_precision(batch.source.batch(slice(chosen[0], chosen[-1])).collated, torch.float64)
        adam = Adam(mean, square, number, 0.01, 0.9, 0.999, 1e-8, weight_decay)
        y = batch.y.numpy()[chosen[0] : chosen[-1]]
        found = train(some, chosen - chosen[0], program, theta, y, gradient, adam, gamma=gamma)
        np.testing.assert_allclose(found, losses[number - 1 : number - 1 + len(found)], rtol=1e-10)
    np.testing.assert_allclose(theta, parameters(net), rtol=1e-9, atol=1e-12)
    expected = torch.cat([parameter.grad.reshape(-1) for parameter in net.parameters()])
    if not weight_decay:
        np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-12)


def test_an_unknown_class_is_named_and_changes_nothing() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=1), smooth_or_alternating(4).batch()
    theta, graphs = parameters(net), in_precision(batch.collated, torch.float64)
    gradient, y = np.zeros_like(theta), np.array([0, 7, 1, 1])
    with pytest.raises(IndexError, match="range from 0 to 7, expected 0 to 1"):
        add_gradient(graphs, lower(net), theta, y, gradient)
    adam = Adam(gradient, gradient, 1, 0.1, 0.9, 0.999, 1e-8, 0.0)
    with pytest.raises(IndexError, match="range from 0 to 7, expected 0 to 1"):
        train(graphs, np.array([0, 4]), lower(net), theta, y, gradient, adam)
    assert not gradient.any()
    np.testing.assert_array_equal(theta, parameters(net))


def test_nan_reaches_only_the_loss_of_its_graph() -> None:
    net, batch = BankGCN(1, 2, hidden_channels=8, num_layers=2), smooth_or_alternating(3).batch()
    graphs = in_precision(batch.collated, torch.float64)
    graphs.attributes[0] = np.nan
    theta = parameters(net)
    read = readouts(graphs, lower(net), theta)
    assert np.isnan(read[0]).any()
    assert np.isfinite(read[1:]).all()
    assert np.isnan(add_gradient(graphs, lower(net), theta, batch.y.numpy(), np.zeros_like(theta)))


@pytest.mark.parametrize("normalize", ["before", "after"])
def test_rows_too_short_to_normalise_have_the_plain_gradient(normalize: str) -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=16, num_layers=1, normalize=normalize)
    for parameter in net.convs[0].project.parameters():
        parameter.data *= 1e-13
    check(net, smooth_or_alternating(20).batch())


@pytest.mark.parametrize("normalize", ["before", "after", "none"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_nan_spreads_as_in_the_plain_operations(sign: float, normalize: str) -> None:
    torch.manual_seed(0)
    net = BankGCN(1, 2, hidden_channels=16, num_layers=2, normalize=normalize)
    with torch.no_grad():
        net.convs[1].project.bias[3] = torch.tensor(float("nan")).copysign(torch.tensor(sign))
    batch = smooth_or_alternating(3).batch()
    plain, fused = layer_by_layer(net, batch, torch.float64), by_program(net, batch, torch.float64)
    assert plain.embedding.isnan().any()
    torch.testing.assert_close(fused.embedding, plain.embedding, equal_nan=True)
    assert fused.loss.isnan()
    assert fused.gradient[plain.gradient.isnan()].isnan().all()


def test_a_graph_without_nodes_reads_zero() -> None:
    net = BankGCN(2, 2, hidden_channels=8, num_layers=2)
    graphs = GraphSet.from_edges([2, 0], [[0, 1], [1, 0]], labels=[0, 1], y=[0, 1], classes=("a", "b"))
    check(net, graphs.batch())
    double = net.double()
    assert not run_embedding(lower(double), double, in_precision(graphs.batch().collated, torch.float64))[1].any()


def test_blocks_hold_whole_graphs_and_no_more_nodes_than_one_graph_needs() -> None:
    ptr = np.cumsum([0, 10, 200, 50, 40, 7, 90, 0, 0])
    begin, blocks = 0, []
    while begin < len(ptr) - 1:
        end = block_end(ptr, begin, len(ptr) - 1)
        blocks.append((begin, end))
        begin = end
    assert blocks == [(0, 1), (1, 2), (2, 4), (4, 5), (5, 8)]
