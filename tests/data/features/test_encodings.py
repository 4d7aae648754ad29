"""Encodings of nodes against dense matrices; what is fitted to training graphs, and what travels with a set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import oracles
from bankgcn import GraphSet
from bankgcn.data import GraphError
from bankgcn.data.combine import concatenate, join, without_weights
from bankgcn.data.duplicates import Duplicates
from bankgcn.data.features import encodings
from bankgcn.data.features.encodings import (
    BUMPS,
    STEPS,
    check_encoding_spec,
    column_names,
    conform,
    fit,
    node_encodings,
    with_encodings,
)
from bankgcn.data.features.signals import with_features
from bankgcn.data.options import ReadOptions
from bankgcn.kernels import use_kernels
from bankgcn.nn import GraphNetwork
from bankgcn.training.evaluation import Inference
from bankgcn.training.spec import RunSpec

BOTH = ["rwse", "laplacian"]
SIZES = (1, 7, 40, 2, 75, 0, 12)  # with and without nodes; of more columns than are computed at a time


def random_graphs(weighted: bool = False, seed: int = 0, order: list[np.ndarray] | None = None) -> GraphSet:
    """Graphs with isolated nodes, an attribute and a label; the nodes of each in another order, if there is one."""
    random = np.random.default_rng(seed)
    pairs, weights, attributes, labels, first = [], [], [], [], 0
    for number, size in enumerate(SIZES):
        i, j = np.triu_indices(max(size - 1, 0), 1)  # the last node is isolated
        kept = random.random(len(i)) < 3 / max(size, 1)
        place = np.arange(size) if order is None else order[number]
        ends = place[np.stack([i[kept], j[kept]])] if size else np.zeros((2, 0), int)
        weight = random.uniform(0.2, 3, ends.shape[1])
        own = random.standard_normal(size), random.integers(0, 3, size)
        for values, target in zip(own, (attributes, labels), strict=True):
            moved = np.empty_like(values)
            moved[place] = values
            target.append(moved)
        pairs += [ends + first, ends[::-1] + first]
        weights += [weight, weight]
        first += size
    return GraphSet.from_edges(
        SIZES,
        np.concatenate(pairs, axis=1),
        attributes=np.concatenate(attributes),
        labels=np.concatenate(labels),
        label_widths=3,
        edge_weight=np.concatenate(weights) if weighted else None,
        y=np.arange(len(SIZES)) % 2,
    )


def ring(nodes: int) -> GraphSet:
    i = np.arange(nodes)
    return GraphSet.from_edges([nodes], np.concatenate([[i, (i + 1) % nodes], [(i + 1) % nodes, i]], axis=1))


def dense(graphs: GraphSet, number: int) -> np.ndarray:
    batch = graphs.batch(number)
    weights = np.ones(batch.edge_index.shape[1]) if batch.edge_weight is None else batch.edge_weight.double().numpy()
    return oracles.adjacency(batch.num_nodes, batch.edge_index.T.tolist(), weights.tolist())


def return_probabilities(a: np.ndarray) -> np.ndarray:
    """The diagonals of the powers of D^-1 A; rows of isolated nodes are 0."""
    walk = a / np.where(a.sum(1) > 0, a.sum(1), 1)[:, None]
    return np.stack([np.diag(np.linalg.matrix_power(walk, step)) for step in range(1, STEPS + 1)], axis=1)


def bump(j: int, lam: np.ndarray) -> np.ndarray:
    """Jackson's approximation, of degree 31, of a unit mass at the j-th of 16 Chebyshev nodes, as a cosine series."""
    theta, center, terms = np.arccos(np.clip(lam - 1, -1, 1)), np.pi * (15 - j + 0.5) / 16, 32
    total = np.zeros_like(lam)
    for k in range(terms):
        q = np.pi / (terms + 1)
        g = ((terms - k + 1) * np.cos(q * k) + np.sin(q * k) / np.tan(q)) / (terms + 1)
        total += (1 if k == 0 else 2) * g * np.cos(k * center) * np.cos(k * theta)
    return total / 16


def spectral_density(a: np.ndarray) -> np.ndarray:
    """Sum of the squares of the eigenvectors, weighted by each bump at their frequencies."""
    lam, u = oracles.fourier(oracles.laplacian(a))
    return np.stack([(u**2 * bump(j, lam)).sum(1) for j in range(BUMPS)], axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernels", [True, False])
def test_encodings_are_those_of_dense_matrices(weighted: bool, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "VALUES_AT_ONCE", 32 * 20)  # several pieces
    graphs = random_graphs(weighted)
    with use_kernels(kernels):
        computed = node_encodings(graphs, BOTH)
    for number, size in enumerate(SIZES):
        a = dense(graphs, number)
        expected = np.concatenate([return_probabilities(a), spectral_density(a)], axis=1) if size else None
        own = computed[graphs.node_ptr[number] : graphs.node_ptr[number + 1]]
        if size:
            np.testing.assert_allclose(own, expected, rtol=0, atol=1e-7)  # multiples of 2^-24
            np.testing.assert_array_equal(own[-1, :STEPS], 0)  # the isolated node


def test_bumps_share_the_spectrum_out() -> None:
    lam = np.linspace(0, 2, 1001)
    values = np.stack([bump(j, lam) for j in range(BUMPS)])
    assert values.min() > -1e-12
    np.testing.assert_allclose(values.sum(0), 1, atol=1e-12)
    np.testing.assert_allclose(node_encodings(ring(9), ["laplacian"]).sum(1), 1, atol=1e-6)


def test_a_graph_has_the_same_bits_alone_and_beside_others() -> None:
    graphs = random_graphs(weighted=True)
    together = node_encodings(graphs, BOTH)
    for number in range(len(graphs)):
        own = together[graphs.node_ptr[number] : graphs.node_ptr[number + 1]]
        np.testing.assert_array_equal(node_encodings(graphs[number], BOTH), own)


def test_permuted_graphs_have_permuted_encodings_and_symmetric_nodes_equal_bits() -> None:
    random = np.random.default_rng(1)
    order = [random.permutation(size) for size in SIZES]
    there, back = node_encodings(random_graphs(True), BOTH), node_encodings(random_graphs(True, order=order), BOTH)
    start = np.cumsum([0, *SIZES])
    for place, first, last in zip(order, start[:-1], start[1:], strict=True):
        np.testing.assert_array_equal(back[first:last][place], there[first:last])
    for nodes in (3, 8, 41):  # all nodes of a ring are alike
        assert len(np.unique(node_encodings(ring(nodes), BOTH), axis=0)) == 1


def test_columns_have_mean_0_and_deviation_1_over_the_training_nodes() -> None:
    graphs = with_encodings(random_graphs(), BOTH)
    fitted = fit(graphs, [1, 2, 4])
    columns = fitted[[1, 2, 4]].signals()[:, : STEPS + BUMPS].astype(float)
    np.testing.assert_allclose(columns.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(columns.std(0)[1:], 1, atol=1e-4)
    assert (columns[:, 0] == 0).all()  # after one step, no walk is back
    np.testing.assert_array_equal(fitted.signals()[:, STEPS + BUMPS :], random_graphs().signals())
    assert column_names(fitted.encoding_spec)[STEPS - 1 : STEPS + 1] == ["rwse 20", "laplacian 1"]

    new = conform(random_graphs(seed=3), fitted.encoding_spec)
    raw, spec = node_encodings(new, BOTH), fitted.encoding_spec
    expected = (raw - np.array(spec["center"])) / np.array(spec["width"])
    np.testing.assert_array_equal(new.signals()[:, : STEPS + BUMPS], expected.astype(np.float32))
    assert conform(new, spec) is new
    assert conform(new, {}).num_encodings == 0


def test_the_set_without_encodings_keeps_its_fingerprint_and_is_known_by_it() -> None:
    graphs = random_graphs()
    encoded = with_encodings(graphs, ["rwse"])
    assert encoded.fingerprint == graphs.fingerprint
    assert encoded.num_features == graphs.num_features + STEPS
    bare = with_encodings(ring(5), ["rwse"])
    assert with_features(bare).num_features > STEPS  # a graph without features of its own still gets its degrees


def test_encodings_travel_with_parts_files_and_other_sets(tmp_path: Path) -> None:
    graphs = fit(with_encodings(random_graphs(weighted=True), BOTH), [0, 1, 2])
    graphs.save(tmp_path / "set.graphs")
    loaded = GraphSet.load(tmp_path / "set.graphs")
    np.testing.assert_array_equal(loaded.signals(), graphs.signals())
    np.testing.assert_array_equal(graphs[[4, 1]].signals(), np.concatenate([graphs[4].signals(), graphs[1].signals()]))
    np.testing.assert_array_equal(join([graphs[:3], graphs[3:]]).signals(), graphs.signals())
    np.testing.assert_array_equal(concatenate(graphs, graphs[:2])[-2:].signals(), graphs[:2].signals())
    assert without_weights(graphs).encodings is None  # they were those of the weights
    with pytest.raises(GraphError, match="set 1 has the encodings"):
        join([graphs, random_graphs()])
    for damaged in (graphs.encodings[1:], graphs.encodings[:, 1:], None):
        with pytest.raises(GraphError, match="encodings"):
            replace(graphs, encodings=damaged)


def test_graphs_that_encodings_tell_apart_are_not_equal() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], [(i, (i + 1) % 6) for i in range(6)]
    pairs = np.array([*edges[0], *((i + 6, j + 6) for i, j in edges[1])]).T  # two triangles, and a ring of six
    graphs = GraphSet.from_edges([6, 6], np.concatenate([pairs, pairs[::-1]], axis=1), labels=np.zeros(12, int))
    assert Duplicates.of(graphs).repeated == 1
    assert Duplicates.of(with_encodings(graphs, ["rwse"])).repeated == 0
    assert Duplicates.of(with_encodings(graphs, ["laplacian"])).repeated == 0


@pytest.mark.usefixtures("small_sets_are_merged")
@pytest.mark.parametrize("conv", ["bank", "gcn", "gin"])
def test_compiled_code_computes_what_the_modules_compute(conv: str) -> None:
    graphs = fit(with_encodings(random_graphs(), BOTH), slice(0, 4))
    net = GraphNetwork(graphs.num_features, 2, hidden_channels=8, num_layers=2, conv=conv)
    outputs = []
    for on in (True, False):
        with use_kernels(on):
            outputs.append(Inference(net).logits(graphs))
    torch.testing.assert_close(*outputs, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match='encoding="rwse,rwse": expected rwse or laplacian'):
        ReadOptions(encoding="rwse,rwse")
    with pytest.raises(ValueError, match='features="embedded" .* encoding="rwse"'):
        RunSpec(dataset="mine.csv", reader=ReadOptions(features="embedded", encoding="rwse"))
    monkeypatch.setattr(encodings, "MAX_NODES", 70)
    with pytest.raises(GraphError, match='encoding="rwse": graph 4 .* has 75 nodes, more than the 70'):
        with_encodings(random_graphs(), ["rwse"])


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"names": []}, "expected names"),
        ({"names": ["rwse", "rwse"]}, "twice"),
        ({"names": ["walk"]}, "'walk'"),
        ({"width": [0.0] * STEPS}, "width"),
        ({"width": [1.0]}, "width"),
        ({"center": [float("nan")] * STEPS}, "center"),
        ({"center": None}, "center"),
    ],
)
def test_a_spec_of_a_file_that_cannot_be_is_refused(changes: dict, names: str) -> None:
    spec = {"names": ["rwse"], "center": [0.0] * STEPS, "width": [1.0] * STEPS}
    check_encoding_spec(spec, fitted=True)
    with pytest.raises(ValueError, match=names):
        check_encoding_spec({**spec, **changes}, fitted=True)


def test_keys_of_runs_without_encodings_stay() -> None:
    assert "encoding" not in str(RunSpec(dataset="NCI1").to_dict())
    assert RunSpec(dataset="NCI1").key != RunSpec(dataset="NCI1", reader=ReadOptions(encoding="rwse")).key
