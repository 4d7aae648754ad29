"""The dense matrix products of a training and nothing else: a lower bound for programs that compute with every node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F

from bankgcn.bench.peers import HIDDEN, LAYERS
from bankgcn.data.graphs import GraphSet
from bankgcn.nn.convs import CONVS

PRODUCTS = "matrix products"


class LayerProducts(NamedTuple):
    """Number of matrix products in the forward pass of a layer.

    Args:
        input_output: Products of the layer's input with a matrix (in_channels, out_channels).
        output_output: Products of a signal inside the layer with a matrix (out_channels, out_channels).
    """

    input_output: int
    output_output: int = 0


@cache
def layer_products(model: str) -> LayerProducts:
    """The products of a model's layer: one for each matrix that the layer learns."""
    in_channels = HIDDEN + 1  # another width than the output's, so that it shows what a matrix is multiplied with
    weights = [getattr(part, "weight", None) for part in CONVS[model](in_channels, HIDDEN).modules()]
    widths = [weight.shape[1] for weight in weights if weight is not None and weight.ndim == 2]
    return LayerProducts(widths.count(in_channels), widths.count(HIDDEN))


def products_name(model: str) -> str:
    """Name of the products among the contenders. Models with equal products share the name of the first of them."""
    first = next(name for name in CONVS if layer_products(name) == layer_products(model))
    return PRODUCTS if first == "bank" else f"{PRODUCTS} {CONVS[first].label}"


class Product(NamedTuple):
    """A product of signals (n, in_channels) with a matrix, and of its gradients.

    Args:
        in_channels: Width of the signals.
        out_channels: Width of the result.
        signal_gradient: Whether the gradient of the signals is needed; not for the input of the network.
    """

    in_channels: int
    out_channels: int
    signal_gradient: bool

    @property
    def multiplications(self) -> int:
        """Multiplications per node: forward pass, gradient of the matrix, gradient of the signals."""
        return self.in_channels * self.out_channels * (3 if self.signal_gradient else 2)


def network_products(model: str, in_channels: int) -> list[Product]:
    """The products of all layers of a model."""
    row = layer_products(model)
    products = []
    for layer in range(LAYERS):
        width = HIDDEN if layer else in_channels
        products += [Product(width, HIDDEN, signal_gradient=layer > 0)] * row.input_output
        products += [Product(HIDDEN, HIDDEN, signal_gradient=True)] * row.output_output
    return products


class MatrixProducts:
    """The matrix products of a training, forward and backward.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
        model: A name in ``CONVS``.
    """

    def __init__(self, graphs: GraphSet, batch_size: int, model: str = "bank"):
        self.sizes = [int(graphs.num_nodes[i : i + batch_size].sum()) for i in range(0, len(graphs), batch_size)]
        self.products = network_products(model, graphs.num_features)
        self.weights = [torch.randn(product.out_channels, product.in_channels) for product in self.products]
        widths = {product.in_channels for product in self.products}
        self.signals = {width: torch.randn(max(self.sizes), width) for width in widths}

    @property
    def multiplications(self) -> int:
        """Multiplications of an epoch."""
        return sum(self.sizes) * sum(product.multiplications for product in self.products)

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        for size in self.sizes:
            for product, weight in zip(self.products, self.weights, strict=True):
                x = self.signals[product.in_channels][:size]
                y = F.linear(x, weight)
                y.T @ x  # gradient of the matrix; y stands for the incoming gradient
                if product.signal_gradient:
                    y @ weight
            yield
