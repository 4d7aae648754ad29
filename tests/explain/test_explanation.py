"""Explanations: exact ones add up, occlusion is what it says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.explain import (
    METHODS,
    Head,
    edge_classes,
    evidence,
    explain,
    explanation_columns,
    explanation_json,
    explanation_rows,
    node_classes,
    occlude_bands,
    share_equally,
    spectrum_of,
    sum_over_parts,
    undirected_edges,
)
from bankgcn.kernels import use_kernels
from bankgcn.nn.network import LayerTrace, trace
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.model import TrainedModel
from bankgcn.training.stepper import embedding_of, network_inputs
from refusals import refused

GRAPHS = mutag()[:6]


def model(task: Task | None = None, **options: object) -> TrainedModel:
    config = ModelConfig(hidden_channels=16, num_layers=3, **options)  # type: ignore[arg-type]
    task = task or Task(names=("-1", "1"))
    return TrainedModel(config.build(7, task.out_channels).eval(), config, task, 7)


def logits(trained: TrainedModel, graph: GraphSet) -> torch.Tensor:
    batch = graph.batch()
    x, edges, weight = network_inputs(trained.net, batch)
    with torch.no_grad(), use_kernels(False):
        return trained.net(x, edges, batch.batch, weight)[0]


@pytest.mark.parametrize("readout", ["mean", "max", "sum", "mean_max", "mean_max_sum"])
@pytest.mark.parametrize("conv", ["bank", "gcn"])
def test_exact_contributions_of_nodes_and_of_bands_add_up_to_the_logits(readout: str, conv: str) -> None:
    trained = model(readout=readout, conv=conv, residual=True, feed_forward=1, scale_sum=readout == "mean_max_sum")
    if trained.net.typical_size is not None:
        trained.net.typical_size.fill_(7)
    for number in range(3):
        graph = GRAPHS[[number]]
        found = explain(trained, graph)
        bias = trained.net.predict.bias.detach()
        assert found.method == "exact"
        torch.testing.assert_close(found.nodes.sum(0) + bias, logits(trained, graph), rtol=1e-6, atol=1e-9)
        assert found.bands is not None
        torch.testing.assert_close(found.bands.sum(0) + bias, logits(trained, graph), rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(found.constant, bias, rtol=1e-6, atol=1e-9)


def test_the_winning_nodes_alone_contribute_to_a_maximum() -> None:
    trained = model(readout="max")
    found = explain(trained, GRAPHS[[0]])
    assert found.layers is not None
    winners = torch.zeros(len(found.nodes), dtype=torch.bool)
    for layer in found.layers:
        positive = layer.output.amax(0) > 0
        winners |= ((layer.output == layer.output.amax(0)) & positive).any(1)
    assert (found.nodes.abs().sum(1) > 0).tolist() == winners.tolist()
    assert not winners.all()


@pytest.mark.parametrize("readout", ["mean", "mean_max_sum"])
def test_contributions_through_a_hidden_layer_add_up_and_are_the_mean_gradient_of_a_straight_way(readout: str) -> None:
    trained = model(readout=readout, head="mlp")
    net = trained.network
    assert net.head is not None
    with torch.no_grad():
        net.head.bias.uniform_(-0.1, 0.1)
    for number in range(3):
        graph = GRAPHS[[number]]
        found = explain(trained, graph)
        assert found.method == "path"
        torch.testing.assert_close(found.nodes.sum(0) + found.constant, logits(trained, graph), rtol=1e-6, atol=1e-9)
        assert found.bands is not None
        torch.testing.assert_close(found.bands.sum(0), found.nodes.sum(0), rtol=1e-6, atol=1e-9)
        embedding = embedding_of(net, graph.batch()).detach()
        torch.testing.assert_close(found.constant, net.predict_from(torch.zeros_like(embedding))[0].detach())
        steps = 4000
        way = (embedding * (torch.arange(steps)[:, None] + 0.5) / steps).requires_grad_()
        gradient = torch.stack([torch.autograd.grad(net.predict_from(way)[:, k].sum(), way)[0] for k in range(2)])
        assert found.layers is not None
        head = Head.of(net, found.layers, None)
        torch.testing.assert_close(head.weight, gradient.mean(1), rtol=1e-2, atol=2e-3 * float(gradient.abs().max()))


def test_occlusion_says_how_much_a_logit_falls_without_a_node() -> None:
    trained = model(pooling="topk")
    graph = GRAPHS[[1]]
    found = explain(trained, graph)
    batch = graph.batch()
    x, edges, weight = network_inputs(trained.net, batch)
    x = x.clone()
    x[2] = 0
    with torch.no_grad(), use_kernels(False):
        without = trained.net(x, edges, batch.batch, weight)[0]
    assert found.method == "occlusion"
    torch.testing.assert_close(found.nodes[2], logits(trained, graph) - without, rtol=1e-5, atol=1e-6)
    assert found.bands is not None
    assert found.bands.shape == (8, 2)


def test_occluding_all_bands_at_once_leaves_the_logits_of_a_signal_of_zeros() -> None:
    trained, spectrum = model(head="mlp"), spectrum_of(GRAPHS[[1]])
    assert spectrum is not None
    (band,) = occlude_bands(trained.network, GRAPHS[[1]], spectrum, 1)
    batch = GRAPHS[[1]].batch()
    x, edges, weight = network_inputs(trained.net, batch)
    with torch.no_grad(), use_kernels(False):
        silent = trained.net(torch.zeros_like(x), edges, batch.batch, weight)[0]
    torch.testing.assert_close(band, logits(trained, GRAPHS[[1]]) - silent, rtol=1e-5, atol=1e-6)


def test_values_are_explained_in_the_units_of_the_user() -> None:
    task = Task(kind="values", names=("mass",), center=(100.0,), scale=(7.0,))
    trained = model(task)
    found = explain(trained, GRAPHS[[0]])
    value = logits(trained, GRAPHS[[0]]) * 7 + 100
    torch.testing.assert_close(found.nodes.sum(0) + found.constant, value, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(evidence(task, found.nodes, 0), found.nodes[:, 0])


def test_evidence_for_a_class_ignores_what_a_node_adds_to_every_class() -> None:
    added = torch.tensor([[1.0, 1.0], [2.0, 0.0]])
    assert evidence(Task(names=("a", "b")), added, 0).tolist() == [0.0, 1.0]


def test_the_trace_chains_the_layers_and_refuses_pooling() -> None:
    trained = model()
    batch = GRAPHS.batch()
    x, edges, _ = network_inputs(trained.net, batch)
    layers = trace(trained.net, x, edges, batch.batch, batch_size=len(GRAPHS))
    assert len(layers) == 3
    for before, after in pairwise(layers):
        torch.testing.assert_close(before.output, after.input)
    assert not any(conv._forward_hooks for conv in trained.net.convs)
    with pytest.raises(ValueError, match="pools nodes"):
        trace(model(pooling="topk").net, x, batch.edge_index, batch.batch, batch_size=len(GRAPHS))


def test_graphs_without_edges_and_with_one_node_are_explained() -> None:
    graphs = GraphSet.from_edges([1, 3], np.empty((2, 0), np.int64), labels=[0, 1, 2, 3], label_widths=7)
    for number in range(2):
        found = explain(model(), graphs[[number]])
        assert torch.isfinite(found.nodes).all()
    with refused(ValueError, "2 graphs"):
        explain(model(), graphs)


def test_the_table_of_a_graph_has_a_row_for_each_node_band_constant_and_output() -> None:
    trained = model()
    found = explain(trained, GRAPHS[[0]])
    rows = list(explanation_rows(found, None))
    columns = dict(explanation_columns(trained.task, [(0, "first", rows)]))
    kinds = list(columns["kind"])
    assert kinds == ["node"] * len(found.nodes) + ["band"] * 8 + ["constant", "output"]
    adds = [float(value) for value in columns["adds_to_1"]]  # type: ignore[arg-type]
    parts = sum(value for kind, value in zip(kinds, adds, strict=True) if kind in ("node", "constant"))
    assert parts == pytest.approx(adds[-1])
    entry = explanation_json(trained.task, 0, "first", found.method, rows)
    assert entry["output"]["1"] == pytest.approx(adds[-1])
    assert len(entry["nodes"]) == len(found.nodes)


@pytest.mark.parametrize("readout", ["max", "mean_max"])
def test_nodes_that_tie_but_for_rounding_share_a_maximum_and_it_stays_exact(readout: str) -> None:
    net = model(readout=readout).net
    x = torch.rand(5, 16, dtype=torch.float64)
    x[1], x[3] = x[1] + 1, x[1] + 1 - 1e-7  # as far apart as rounding in single precision
    layer = LayerTrace(x, x, x)
    head = Head.of(net, [layer] * 3, None)
    added = sum_over_parts(net, 0, layer, head, lambda signal: signal)
    torch.testing.assert_close(added[1], added[3], rtol=1e-6, atol=0)
    weight = net.predict.weight.detach().view(2, 3, len(net.readout), -1)[:, 0]
    parts = torch.stack([x.mean(0), x.amax(0)][-len(net.readout) :])
    torch.testing.assert_close(added.sum(0), (weight * parts).sum((1, 2)), rtol=1e-12, atol=1e-12)


SYMMETRIC = {
    "decachlorobiphenyl": "Clc1c(Cl)c(Cl)c(c(Cl)c1Cl)c2c(Cl)c(Cl)c(Cl)c(Cl)c2Cl",
    "benzene": "c1ccccc1",
    "naphthalene": "c1ccc2ccccc2c1",
    "neopentane": "CC(C)(C)C",
    "hexane": "CCCCCC",
    "cubane": "C12C3C4C1C5C2C3C45",
    "nitrobenzene": "O=[N+]([O-])c1ccccc1",
}


@pytest.mark.parametrize("smiles", SYMMETRIC.values(), ids=SYMMETRIC)
@pytest.mark.parametrize(
    "options",
    [
        {"readout": "mean_max"},
        {"readout": "max", "conv": "gcn"},
        {"head": "mlp"},
        {"conv": "gcn", "pooling": "topk"},
    ],
    ids=["mean_max", "max", "mlp", "topk"],
)
def test_atoms_that_rdkit_ranks_alike_get_equal_contributions(smiles: str, options: dict[str, str]) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    torch.set_default_dtype(torch.float32)  # where rounding breaks ties
    graph = GraphSet.from_smiles([smiles])
    config = ModelConfig(hidden_channels=32, num_layers=3, **options)  # type: ignore[arg-type]
    ranks = np.array(chem.CanonicalRankAtoms(chem.MolFromSmiles(smiles), breakTies=False))
    for seed in range(3):
        torch.manual_seed(seed)
        net = config.build(graph.num_features, 2).eval()
        trained = TrainedModel(net, config, Task(names=("0", "1")), graph.num_features)
        found = explain(trained, graph)
        spread = max(np.ptp(found.nodes.numpy()[ranks == rank], axis=0).max() for rank in set(ranks.tolist()))
        assert spread <= 1e-12
        if found.method != "occlusion":
            head = Head.of(net, found.layers or [], None)
            torch.testing.assert_close(
                found.nodes.sum(0) + head.constant, logits(trained, graph).double(), rtol=1e-5, atol=1e-5
            )


def test_classes_of_nodes_are_those_that_features_weights_and_neighbours_tell_apart() -> None:
    path = [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    plain = GraphSet.from_edges([4], path, labels=[0, 0, 0, 0], label_widths=2)
    assert node_classes(plain).tolist() == [0, 1, 1, 0]
    marked = GraphSet.from_edges([4], path, labels=[1, 0, 0, 0], label_widths=2)
    assert node_classes(marked).tolist() == [0, 1, 2, 3]
    weighted = GraphSet.from_edges([4], path, labels=[0, 0, 0, 0], label_widths=2, edge_weight=[1, 1, 2, 2, 3, 3])
    assert node_classes(weighted).tolist() == [0, 1, 2, 3]
    chain = np.array([[node, node + 1] for node in range(999)]).T
    long = GraphSet.from_edges([1000], np.hstack([chain, chain[::-1]]), attributes=np.ones(1000))
    assert len(set(node_classes(long).tolist())) == 1000  # too long for the rounds


def test_what_methods_say_names_what_is_exact_and_what_is_shared() -> None:
    assert all("add up to the output" in METHODS[name] and "0.001 %" in METHODS[name] for name in ("exact", "path"))
    assert all("Shared" in words for words in METHODS.values())


def featured_model(task: Task | None = None, **options: object) -> TrainedModel:
    """A model whose weights of edges are not those of its start, where no feature has an effect."""
    torch.manual_seed(3)
    config = ModelConfig(**{"hidden_channels": 16, "num_layers": 2, "edges": "both", **options})  # type: ignore[arg-type]
    task = task or Task(names=("-1", "1"))
    net = config.build(7, task.out_channels, edge_dim=4).eval()
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "weigh_edges" in name:
                weight.normal_()
    return TrainedModel(net, config, task, 7, edge_dim=4)


EDGE_MODELS = [
    {"edges": "weights"},
    {"edges": "input"},
    {"edges": "both"},
    {"edges": "both", "head": "mlp"},
    {"edges": "input", "conv": "gcn"},
    {"edges": "input", "pooling": "topk"},
    {"edges": "weights", "conv": "gine"},
    {"edges": "both", "conv": "gat"},
]


@pytest.mark.parametrize("options", EDGE_MODELS, ids=str)
def test_an_edge_contributes_what_the_output_falls_without_it(options: dict[str, str]) -> None:
    trained = featured_model(**options)
    graph = GRAPHS[[1]]
    found = explain(trained, graph)
    ends, place, number = undirected_edges(graph)
    sources, targets = graph.batch().edge_index.numpy()
    assert found.edges is not None
    assert found.edges.shape == (graph.num_edges[0], 2)
    loss = []
    for edge, (a, b) in enumerate(ends.tolist()):
        assert {a, b} == {sources[place[edge]], targets[place[edge]]}
        kept = ~(((sources == a) & (targets == b)) | ((sources == b) & (targets == a)))
        np.testing.assert_array_equal(kept, number != edge)
        assert graph.edge_labels is not None
        without = GraphSet.from_edges(
            graph.num_nodes,
            np.stack([sources, targets])[:, kept],
            labels=graph.labels,
            label_widths=7,
            edge_labels=graph.edge_labels[kept],
            edge_label_widths=4,
        )
        loss.append(logits(trained, graph) - logits(trained, without))
    classes = edge_classes(graph, node_classes(graph, featured=True))
    expected = share_equally(torch.stack(loss).double(), classes)
    torch.testing.assert_close(found.edges, expected, rtol=1e-4, atol=1e-5)
    assert found.edges.abs().max() > 1e-3
    added = found.nodes.sum(0) + found.constant
    torch.testing.assert_close(added, logits(trained, graph).double(), rtol=1e-5, atol=1e-6)
    if found.method != "occlusion":
        assert found.bands is not None
        torch.testing.assert_close(found.bands.sum(0), found.nodes.sum(0), rtol=1e-6, atol=1e-7)


def test_models_without_features_of_edges_explain_no_edges() -> None:
    found = explain(model(), GRAPHS[[0]])
    assert found.edges is None
    assert all(row.kind != "edge" for row in explanation_rows(found, None))


def test_contributions_of_edges_to_values_are_in_the_units_of_the_user() -> None:
    units = Task(kind="values", names=("mass",), center=(100.0,), scale=(7.0,))
    standard = Task(kind="values", names=("mass",), center=(0.0,), scale=(1.0,))
    found, plain = (explain(featured_model(task), GRAPHS[[0]]).edges for task in (units, standard))
    assert found is not None
    assert plain is not None
    torch.testing.assert_close(found, 7 * plain)


def ring(kinds: list[int]) -> GraphSet:
    """A ring of equal nodes, whose edges are of these kinds."""
    n = len(kinds)
    forward = np.array([[node, (node + 1) % n] for node in range(n)]).T
    edges = np.concatenate([forward, forward[::-1]], axis=1)
    return GraphSet.from_edges(
        [n], edges, labels=np.zeros(n, int), label_widths=7, edge_labels=np.tile(kinds, 2), edge_label_widths=4
    )


def test_features_of_edges_tell_nodes_and_edges_apart() -> None:
    equal, alternating, one = ring([1] * 6), ring([1, 2] * 3), ring([2, 1, 1, 1, 1, 1])
    for graph in (equal, alternating, one):
        assert set(node_classes(graph).tolist()) == {0}
    assert set(node_classes(alternating, featured=True).tolist()) == {0}  # each has one edge of each kind
    assert node_classes(one, featured=True).tolist() == [0, 0, 1, 2, 2, 1]
    assert len(set(edge_classes(equal, node_classes(equal, featured=True)).tolist())) == 1
    assert len(set(edge_classes(alternating, node_classes(alternating, featured=True)).tolist())) == 2
    ends, _, _ = undirected_edges(one)
    classes = edge_classes(one, node_classes(one, featured=True))
    by_ends = {tuple(pair): number for pair, number in zip(ends.tolist(), classes.tolist(), strict=True)}
    assert by_ends[1, 2] == by_ends[0, 5]
    assert by_ends[2, 3] == by_ends[4, 5]
    assert len(set(by_ends.values())) == 4


@pytest.mark.parametrize("options", EDGE_MODELS, ids=str)
def test_equivalent_edges_share_and_others_do_not(options: dict[str, str]) -> None:
    trained = featured_model(**options)
    found = explain(trained, ring([2, 1, 1, 1, 1, 1]))
    exact = explain(trained, ring([1] * 6))
    assert found.edges is not None
    assert exact.edges is not None
    ends = [tuple(pair) for pair in undirected_edges(ring([1] * 6))[0].tolist()]
    rows = dict(zip(ends, found.edges, strict=True))
    assert torch.equal(rows[1, 2], rows[0, 5])
    assert not torch.equal(rows[0, 1], rows[1, 2])
    assert not torch.equal(found.nodes[0], found.nodes[3])  # the model tells them apart
    assert (exact.edges == exact.edges[0]).all()


def test_graphs_with_many_edges_have_no_contributions_of_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = featured_model()
    monkeypatch.setattr("bankgcn.explain.MAX_EDGES", int(GRAPHS.num_edges[0]) - 1)
    assert explain(trained, GRAPHS[[0]]).edges is None
    monkeypatch.setattr("bankgcn.explain.MAX_EDGES", int(GRAPHS.num_edges[0]))
    together = explain(trained, GRAPHS[[0]]).edges
    monkeypatch.setattr("bankgcn.explain.EDGES_AT_ONCE", 1)
    alone = explain(trained, GRAPHS[[0]]).edges
    assert together is not None
    assert alone is not None
    torch.testing.assert_close(alone, together, rtol=1e-4, atol=1e-6)


def test_edges_are_explained_in_graphs_without_edges_too() -> None:
    graphs = GraphSet.from_edges(
        [2],
        np.empty((2, 0), int),
        labels=[0, 1],
        label_widths=7,
        edge_labels=np.empty((0, 1), int),
        edge_label_widths=4,
    )
    found = explain(featured_model(), graphs)
    assert found.edges is not None
    assert found.edges.shape == (0, 2)


def test_rows_of_edges_name_both_nodes_and_what_the_edge_carries() -> None:
    trained, graph = featured_model(), GRAPHS[[0]]
    found = explain(trained, graph)
    words = [((a, b), "aromatic") for a, b in undirected_edges(graph)[0].tolist()]
    rows = list(explanation_rows(found, None, words))
    columns = dict(explanation_columns(trained.task, [(0, "first", rows)]))
    labels = [label for kind, label in zip(columns["kind"], columns["label"], strict=True) if kind == "edge"]
    assert labels[0] == "0-1: aromatic"
    assert len(labels) == graph.num_edges[0]
    entry = explanation_json(trained.task, 0, "first", found.method, rows)
    assert entry["edges"][0]["nodes"] == [0, 1]
    assert entry["edges"][0]["label"] == "aromatic"
    assert found.edges is not None
    assert entry["edges"][0]["adds"]["1"] == pytest.approx(found.edges[0, 1].item())
    assert "edges" not in explanation_json(
        trained.task, 0, "first", found.method, explanation_rows(explain(model(), graph), None)
    )
