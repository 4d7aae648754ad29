"""Who takes part in a measurement: this package, the plain way with PyG, and plain matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bankgcn.data.convert import to_pyg
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.nn.convs import CONVS, PLAIN_CONVS
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.checks import task_of
from bankgcn.training.fitting import Context, Training

OURS = "ours"


class Steps(Protocol):
    """A training that can be run step by step."""

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""


def our_name(model: str) -> str:
    """Name of our training of a model among the contenders: ``"ours"`` for BankGCN, ``"ours GCN"`` for GCN."""
    return OURS if model == "bank" else f"{OURS} {CONVS[model].label}"


class OurTraining:
    """Training as in ``bankgcn train``. Equal arguments give equal trainings.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
        model: A name in ``CONVS``.
    """

    def __init__(self, graphs: GraphSet, batch_size: int, model: str = "bank"):
        torch.manual_seed(0)
        net = ModelConfig(conv=model).build(graphs.num_features, graphs.num_classes)
        config = TrainConfig(batch_size=batch_size, gamma=0.0)
        batches = torch.Generator().manual_seed(0)
        context = Context(config=config, task=task_of(graphs, config), generator=batches)
        self.training = Training(net, graphs, graphs[:1], context)

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        yield from (None for _ in self.training.steps())


HIDDEN, LAYERS, ORDER, SUBSPACES = 64, 4, 2, 8


def plain_bank_conv(in_channels: int, out_channels: int) -> nn.Module:
    """BankGCN's convolution with PyG's message passing: a Laplacian in every call, a tensor for every hop."""
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import get_laplacian, remove_self_loops

    class PlainBankConv(MessagePassing):
        def __init__(self) -> None:
            super().__init__(aggr="add", node_dim=0)
            self.lin = nn.Linear(in_channels, out_channels)
            self.alpha = nn.Parameter(torch.empty(SUBSPACES, ORDER + 1))
            nn.init.xavier_uniform_(self.alpha)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            edge_index, weight = get_laplacian(edge_index, normalization="sym", num_nodes=x.size(0))
            edge_index, weight = remove_self_loops(edge_index, weight)  # L - I
            r = self.lin(x).view(-1, SUBSPACES, out_channels // SUBSPACES)
            previous, current = r, self.propagate(edge_index, x=r, weight=weight)
            alpha = self.alpha.unsqueeze(-1)
            h = r + alpha[:, 0] * previous + alpha[:, 1] * current
            for k in range(2, ORDER + 1):
                previous, current = current, 2 * self.propagate(edge_index, x=current, weight=weight) - previous
                h = h + alpha[:, k] * current
            return h.reshape(-1, out_channels)

        def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
            return weight.view(-1, 1, 1) * x_j

    return PlainBankConv()


class PlainNetwork(nn.Module):
    """The paper's network, written with PyG.

    Args:
        make_conv: Makes a convolution from the numbers of channels.
        in_channels: Width of the node signals.
        out_channels: Number of classes.
    """

    def __init__(self, make_conv: Callable[[int, int], nn.Module], in_channels: int, out_channels: int):
        super().__init__()
        widths = [in_channels] + [HIDDEN] * LAYERS
        self.convs = nn.ModuleList(make_conv(widths[i], widths[i + 1]) for i in range(LAYERS))
        self.predict = nn.Linear(2 * LAYERS * HIDDEN, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Logits of every graph."""
        from torch_geometric.nn import global_max_pool, global_mean_pool

        layers = []
        for conv in self.convs:
            x = F.relu(F.normalize(conv(x, edge_index), dim=-1))
            layers += [global_mean_pool(x, batch), global_max_pool(x, batch)]
        return self.predict(torch.cat(layers, dim=1))


def peer_name(model: str) -> str:
    """Name of plain PyG's training of a model among the contenders: ``"PyG GCN"`` for GCN."""
    return f"PyG {CONVS[model].label}"


def plain_conv(model: str) -> Callable[[int, int], nn.Module]:
    """Makes the convolution of the plain network: the row of the model, which without prepared edges is PyG's layer."""
    return plain_bank_conv if model == "bank" else CONVS[model]


class PlainTraining:
    """Training of a plain network, step by step.

    Args:
        model: A name in ``CONVS``.
        graphs: The training graphs.
        batch_size: Graphs per step.
    """

    def __init__(self, model: str, graphs: GraphSet, batch_size: int):
        require("torch_geometric", "the comparison with PyG")
        from torch_geometric.loader import DataLoader

        torch.manual_seed(0)
        self.net = PlainNetwork(plain_conv(model), graphs.num_features, graphs.num_classes)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.loader: Any = DataLoader(to_pyg(graphs), batch_size=batch_size, shuffle=True)

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        for batch in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(batch.x, batch.edge_index, batch.batch), batch.y).backward()
            self.optimizer.step()
            yield


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
    first = next(name for name in PLAIN_CONVS if layer_products(name) == layer_products(model))
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
