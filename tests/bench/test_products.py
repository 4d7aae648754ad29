"""The matrix products of each model, counted by hand."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bankgcn.bench.cases import random_graphs
from bankgcn.bench.peers import LayerProducts, MatrixProducts, layer_products, products_name
from bankgcn.nn import PLAIN_CONVS
from bankgcn.training import ModelConfig

FEATURES, WIDTH = 5, 64
FIRST = 2 * FEATURES * WIDTH  # forward and weight gradient: nobody needs the gradient of the network's input
LATER = 3 * WIDTH * WIDTH  # forward, weight gradient, signal gradient
BY_HAND = {  # multiplications per node in four layers
    "bank": FIRST + 3 * LATER,
    "gcn": FIRST + 3 * LATER,
    "sage": 2 * FIRST + 6 * LATER,
    "gin": (FIRST + LATER) + 3 * (LATER + LATER),
    "gat": FIRST + 3 * LATER,
    "cheb": 3 * FIRST + 9 * LATER,
    "mlp": FIRST + 3 * LATER,
}


def test_the_products_of_a_layer_are_found_in_its_weights() -> None:
    expected = {model: LayerProducts(1) for model in ("bank", "gcn", "gat", "mlp")}
    expected["sage"] = LayerProducts(2)  # the node itself, and the mean of its neighbours
    expected["gin"] = LayerProducts(1, 1)  # an MLP of two layers
    expected["cheb"] = LayerProducts(3)  # one for each Chebyshev polynomial
    assert {model: layer_products(model) for model in PLAIN_CONVS} == expected


@pytest.mark.parametrize("model", PLAIN_CONVS)
def test_the_multiplications_are_those_of_a_hand_count(model: str) -> None:
    graphs = random_graphs(10, 8, 9, FEATURES, 2)
    products = MatrixProducts(graphs, 4, model)
    assert products.multiplications == graphs.num_nodes.sum() * BY_HAND[model]
    with FlopCounterMode(display=False) as counter:
        assert len(list(products.steps())) == 3  # batches of 4, 4 and 2 graphs
    assert counter.get_total_flops() == 2 * products.multiplications  # each with its addition


@pytest.mark.parametrize(
    "model", [model for model in PLAIN_CONVS if model != "gat"]
)  # attention is made of products, too
def test_the_network_itself_multiplies_as_much(model: str) -> None:
    graphs = random_graphs(10, 8, 9, FEATURES, 2)
    batch = graphs.batch()
    net = ModelConfig(conv=model).build(FEATURES, 2)
    with FlopCounterMode(display=False) as counter:
        edges = batch.shift if model == "bank" else batch.edge_index
        net(batch.x, edges, batch.batch, batch_size=10).sum().backward()
    classifier = 10 * (2 * 4 * WIDTH) * 2 * 3  # mean and max of four layers, two classes, forward and backward
    assert counter.get_total_flops() == 2 * (MatrixProducts(graphs, 10, model).multiplications + classifier)


def test_models_with_equal_products_share_them() -> None:
    assert {products_name(model) for model in ("bank", "gcn", "gat", "mlp")} == {"matrix products"}
    others = [products_name(model) for model in ("sage", "gin", "cheb")]
    assert others == ["matrix products GraphSAGE", "matrix products GIN", "matrix products ChebNet"]


def test_the_products_compute_with_contiguous_signals() -> None:
    products = MatrixProducts(random_graphs(10, 8, 9, 89, 2), 4)
    assert set(products.signals) == {89, 64}
    assert all(signals[:3].is_contiguous() for signals in products.signals.values())
    assert all(signals.dtype == torch.float32 for signals in products.signals.values())
