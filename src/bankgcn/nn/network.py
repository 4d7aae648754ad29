"""The network of the paper's section 5.1: convolutions, a readout after each, one linear layer; the signals inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from bankgcn.kernels import use_kernels
from bankgcn.messages import Message, Option
from bankgcn.nn.activation import ACTIVATIONS, NORMS, Norm, activate_and_read
from bankgcn.nn.bank_conv import BankConv, edge_uses, mutual_coherence
from bankgcn.nn.convs import CONVS, MODELS, ConvFactory, ConvSpec
from bankgcn.nn.layers import FeedForward, drop, reset_parameters
from bankgcn.nn.names import HEADS
from bankgcn.nn.readout import POOLINGS, READOUT_PARTS, readout_parts
from bankgcn.settings import pick
from bankgcn.spectral.basis import Basis
from bankgcn.spectral.featured_edges import FeaturedEdges
from bankgcn.spectral.shift import GraphShift

REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"sum": torch.sum, "mean": torch.mean}


def check_available(conv: str, pooling: str | None = None) -> None:
    """Raise if a model, with this pooling if it is a network, needs a library that is not installed.

    It builds nothing: call it before any work starts.

    Raises:
        ImportError: The message has the line to type.
        ValueError: There is no such convolution or pooling.
    """
    pick(MODELS, conv, "model").check_available()
    if pooling is not None:
        pick(POOLINGS, pooling, "pooling").check_available()


class GraphNetwork(nn.Module):
    r"""Classify graphs: :math:`\text{logits}(\mathcal G) = \text{linear}(\omega(X_1) \| \dots \| \omega(X_4))`.

    Each layer is a convolution followed by ReLU and an :math:`\ell_2` normalisation of every node's signal. The
    readouts :math:`\omega` of all layers are concatenated (Eq. 21), and one linear layer maps them to logits; the loss
    applies the softmax. The paper has no other normalisation, no residuals, no dropout and no hidden layer in the head;
    the options add them.

    Args:
        in_channels: Width of the node signals.
        out_channels: Number of classes.
        hidden_channels: Width of every hidden layer.
        num_layers: Number of convolutions.
        conv: A name in :data:`~bankgcn.nn.CONVS`, such as ``"bank"`` or ``"gcn"``, or a function that makes a
            convolution from ``(in_channels, out_channels)``.
        conv_options: Further keyword arguments of the convolution, such as ``{"order": 3}``.
        normalize: Place of the normalisation: ``"before"`` or ``"after"`` the ReLU, or ``"none"``: ReLU alone.
        norm: Kind of the normalisation, a name in :data:`~bankgcn.nn.NORMS`; ``"none"`` is ReLU alone, too.
        readout: Parts of the readout, among mean, max and sum: ``"mean_max"``, or ``("mean", "max")``.
        pooling: Pooling between the convolutions: a name in :data:`~bankgcn.nn.POOLINGS`, or a function that makes a
            PyG pooling layer from the number of channels. ``None`` keeps all nodes, as the paper's experiments do.
        encoder: A module that first maps the node signals to ``in_channels`` channels, such as
            :class:`~bankgcn.nn.AtomEncoder`.
        residual: Whether to add the input of each layer to its output; a linear map gives the first input the right
            width.
        feed_forward: Width of the hidden layer of a feed-forward block after each layer, as a multiple of
            ``hidden_channels``; 0 for no blocks. A block :math:`f` adds :math:`f(\nu(h))` to the signal :math:`h` of
            each node, where :math:`\nu` is a normalisation of the network's kind; with ``norm="l2"``, the result is
            :math:`\nu(h + f(h))`. See :class:`~bankgcn.nn.layers.FeedForward`.
        dropout: Probability to drop an element, in training mode: of the activated signals of each layer, of the hidden
            layers of the blocks and of the head, and of the graph representations.
        head: ``"linear"``, or ``"mlp"``: a hidden layer of ``hidden_channels`` with a ReLU before the linear layer.
        edge_dim: Number of features of each edge; ``None`` if edges have none.
        edges: How the features of the edges are used. ``"weights"``: by each convolution, which must have a parameter
            ``edge_dim``: filter banks weigh the edges in each subspace, GAT and GINE do as their definition says.
            ``"input"``: the sum of the features of a node's edges, each times its weight, comes before the signal of
            the node in the first layer, whatever the convolution. ``"both"``, or ``"none"``.
        graph_dim: Number of features of each graph, which the head takes behind the representation of the graph;
            ``None`` if graphs have none. They are never dropped.
        scale_sum: Whether sums of the readout are divided by the buffer ``typical_size``, a number of nodes, 1 at the
            start. A training sets it to the mean size of its graphs, so that sums are about as large as means.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden_channels: int = 64,
        num_layers: int = 4,
        *,
        conv: str | ConvFactory = "bank",
        conv_options: Mapping[str, object] | None = None,
        normalize: Literal["before", "after", "none"] = "before",
        norm: Literal["l2", "layer", "graph", "batch", "none"] = "l2",
        readout: str | Sequence[str] = "mean_max",
        pooling: str | Callable[[int], nn.Module] | None = None,
        encoder: nn.Module | None = None,
        residual: bool = False,
        feed_forward: int = 0,
        dropout: float = 0.0,
        head: Literal["linear", "mlp"] = "linear",
        edge_dim: int | None = None,
        edges: Literal["weights", "input", "both", "none"] = "weights",
        graph_dim: int | None = None,
        scale_sum: bool = False,
    ):
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers={num_layers}: expected at least 1")
        if graph_dim is not None and graph_dim < 1:
            raise ValueError(f"graph_dim={graph_dim}: expected at least 1, or None")
        if feed_forward < 0:
            raise ValueError(f"feed_forward={feed_forward}: expected at least 0")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout}: expected at least 0 and less than 1")
        for table, name, kind in ((ACTIVATIONS, normalize, "normalize"), (NORMS, norm, "norm"), (HEADS, head, "head")):
            pick(dict.fromkeys(table), name, kind)
        make_conv = pick(CONVS, conv, "convolution") if isinstance(conv, str) else conv
        self.encoder = encoder
        uses = edge_uses(edge_dim, edges)
        self.edge_dim, self.sums_edges = (edge_dim if uses else None), "input" in uses
        first = in_channels + (edge_dim or 0) if self.sums_edges else in_channels
        options = dict(conv_options or {})
        if "weights" in uses:
            if isinstance(make_conv, ConvSpec) and not make_conv.takes_features:
                raise ValueError(
                    Message(
                        "{edges}: {label} uses features of edges only as a part of its {first}",
                        edges=Option("edges", edges),
                        label=make_conv.label,
                        first=Option("edges", "input"),
                    )
                )
            options["edge_dim"] = edge_dim
        self.weighs_edges = "weights" in uses
        widths = [first] + [hidden_channels] * num_layers
        self.convs = nn.ModuleList(make_conv(width, next_width, **options) for width, next_width in pairwise(widths))
        self.pools = nn.ModuleList()
        if pooling is not None and "weights" in uses:
            raise ValueError(
                Message(
                    "{pooling} makes new edges, which have no features: {edges} is possible",
                    pooling=Option("pooling", pooling),
                    edges=Option("edges", "input"),
                )
            )
        if pooling is not None:
            make_pool = pick(POOLINGS, pooling, "pooling") if isinstance(pooling, str) else pooling
            self.pools.extend(make_pool(hidden_channels) for _ in range(num_layers - 1))
        relu_alone = "none" in (norm, normalize)
        self.norm, self.normalize = ("none", "none") if relu_alone else (norm, normalize)
        self.norms = NORMS[self.norm].modules(hidden_channels, num_layers)
        self.residual = _first_residual(first, hidden_channels) if residual else None
        blocks = num_layers if feed_forward else 0
        self.feed_forwards = nn.ModuleList(
            FeedForward(hidden_channels, feed_forward * hidden_channels) for _ in range(blocks)
        )
        self.feed_forward_norms = NORMS[self.norm].modules(hidden_channels, blocks)
        self.dropout = dropout
        self.readout = readout_parts(readout)
        self.typical_size: Tensor | None
        self.register_buffer("typical_size", torch.tensor(1) if scale_sum else None)
        self.graph_dim = graph_dim or 0
        width = num_layers * len(self.readout) * hidden_channels + self.graph_dim
        self.head = nn.Linear(width, hidden_channels) if head == "mlp" else None
        self.predict = nn.Linear(width if self.head is None else hidden_channels, out_channels)
        self.takes_weights = not isinstance(make_conv, ConvSpec) or make_conv.takes_weights
        self._faster_sparse = isinstance(make_conv, ConvSpec) and make_conv.faster_sparse

    def reset_parameters(self) -> None:
        """Reinitialise all parameters."""
        for module in self.children():
            reset_parameters(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        *,
        batch_size: int | None = None,
        dropout_key: int | Tensor | None = None,
    ) -> Tensor:
        """Logits of each graph: shape ``(num_graphs, out_channels)``; see :meth:`graph_embedding`.

        With a ``graph_dim``, ``graph_attr`` has the features of each graph, shape ``(num_graphs, graph_dim)``.
        """
        key = self._dropout_key(dropout_key)
        embedding = self.graph_embedding(
            x, edge_index, batch, edge_weight, edge_attr, batch_size=batch_size, dropout_key=key
        )
        return self.predict_from(embedding, key, graph_attr)

    def graph_embedding(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        *,
        batch_size: int | None = None,
        dropout_key: int | Tensor | None = None,
    ) -> Tensor:
        r"""The representation :math:`h_{\mathcal G}` of every graph (Eq. 21).

        Args:
            x: Node signals, shape ``(num_nodes, in_channels)``.
            edge_index: The edges, in any form that the convolution takes; many graphs form one disconnected graph.
            batch: Graph of each node, shape ``(num_nodes,)``. ``None`` means a single graph.
            edge_weight: Weight of each edge, shape ``(num_edges,)``, if the convolution takes weights.
            edge_attr: Features of each edge, the same in both directions, shape ``(num_edges, edge_dim)``, if the
                network has an ``edge_dim``.
            batch_size: Number of graphs; by default one more than the largest number in ``batch``.
            dropout_key: Decides what is dropped in training mode; see :func:`~bankgcn.nn.layers.dropout_key`. By
                default, torch's global generator draws it.

        Returns:
            Shape ``(num_graphs, num_layers * len(readout) * hidden_channels)``.
        """
        if edge_weight is not None and not self.takes_weights:
            raise ValueError(f"{type(self.convs[0]).__name__} takes no edge weights: edge_weight must be None")
        if batch is None:
            batch, batch_size = torch.zeros(x.size(0), dtype=torch.long, device=x.device), 1
        batch = _check_batch(batch, x.size(0))
        if batch_size is None:
            batch_size = _num_graphs(batch)
        if self.encoder is not None:
            x = self.encoder(x)
        edges = self._edges(x, edge_index, edge_weight, edge_attr)
        if self.sums_edges:
            featured = edge_index if isinstance(edge_index, FeaturedEdges) else edges[0]
            if not isinstance(featured, FeaturedEdges):
                featured = FeaturedEdges.of(
                    edge_index, edge_weight, edge_attr, num_nodes=x.size(0), edge_dim=self.edge_dim or 0, dtype=x.dtype
                )
            elif edge_attr is not None and not featured.features.size(1):  # edges with a mask, one for each given edge
                featured = replace(featured, features=edge_attr.to(x.dtype).reshape(len(edge_attr), -1))
            x = torch.cat([featured.sums(), x], dim=1)
        key = self._dropout_key(dropout_key)

        layers = []
        for number, conv in enumerate(self.convs):
            x, *read = self._activate_and_read(number, x, conv(x, *edges), batch, batch_size, key)
            layers += read
            if number < len(self.pools):
                if isinstance(edge_index, FeaturedEdges):  # sums of features are part of x; pools take plain edges
                    edge_weight = edge_index.weight if self.takes_weights else None
                    edge_index = torch.stack([edge_index.row, edge_index.col])
                x, edge_index, edge_weight, batch = self.pools[number](x, edge_index, edge_weight, batch)[:4]
                edges = self._prepared(x, edge_index, edge_weight)
        return torch.cat(layers, dim=1)

    def predict_from(
        self, embedding: Tensor, dropout_key: int | Tensor | None = None, graph_attr: Tensor | None = None
    ) -> Tensor:
        """Logits of graphs with these representations: dropout, the hidden layer if there is one, the linear layer.

        Args:
            embedding: The representations, shape ``(num_graphs, embedding_channels)``.
            dropout_key: Decides what is dropped in training mode; see :meth:`graph_embedding`.
            graph_attr: The features of the graphs, if the network has a ``graph_dim``.
        """
        key, stream = self._dropout_key(dropout_key), len(self.convs)
        h = self._beside_features(self._drop(embedding, key, stream), graph_attr)
        if self.head is not None:
            h = self._drop(F.relu(self.head(h)), key, stream + 1)
        return self.predict(h)

    def first_layers(self, count: int) -> list[nn.Module]:
        """All modules that the output of the first layers depends on: those that ``freeze`` leaves as they are.

        Raises:
            ValueError: There are fewer layers.
        """
        if not 0 <= count <= len(self.convs):
            raise ValueError(f"freeze={count}: the network has num_layers={len(self.convs)}")
        before = [module for module in (self.encoder, self.residual) if module is not None and count]
        blocks = [*self.feed_forwards[:count], *self.feed_forward_norms[:count]]
        return [*before, *self.convs[:count], *self.norms[:count], *blocks, *self.pools[:count]]

    @property
    def embedding_channels(self) -> int:
        """Width of the representation of a graph."""
        first = self.predict if self.head is None else self.head
        return first.in_features - self.graph_dim

    @property
    def takes_shift(self) -> bool:
        """Whether a :class:`GraphShift` may be passed for the edges: for filter banks without pooling."""
        return isinstance(self.convs[0], BankConv) and not self.pools and self.edge_dim is None

    @property
    def takes_adjacency(self) -> bool:
        """Whether an unweighted ``torch.sparse`` adjacency in CSR form is faster than the edges."""
        return self._faster_sparse and not self.pools and self.edge_dim is None

    def coherence(self, reduction: Literal["sum", "mean"] = "sum") -> Tensor:
        r""":math:`\Omega` over the layers, for the objective (Eq. 20); 0 if no layer has a filter bank."""
        banks: dict[torch.Size, list[Tensor]] = {}  # banks of one shape are stacked: fewer and larger operations
        for number, conv in enumerate(self.convs):
            if isinstance(conv, BankConv):
                if is_lazy(conv.alpha):
                    raise ValueError(
                        f"layer {number} has no filters before its first input: apply the network to some graphs first"
                    )
                banks.setdefault(conv.alpha.shape, []).append(conv.alpha)
        if not banks:
            return self.predict.weight.new_zeros(())
        omegas = torch.cat([mutual_coherence(torch.stack(alphas)) for alphas in banks.values()])
        return pick(REDUCTIONS, reduction, "reduction")(omegas)

    def _activate_and_read(
        self, layer: int, x: Tensor, h: Tensor, batch: Tensor, num_graphs: int, key: int | Tensor | None
    ) -> tuple[Tensor, ...]:
        """The output of a layer with input ``x`` and convolved signals ``h``; then each part of its readout."""
        if not self.norms and self.residual is None and not self.feed_forwards and key is None:
            h, *parts = activate_and_read(h, batch, num_graphs, self.normalize, self.readout)
            return (h, *self._scaled(parts))

        def normalized(signal: Tensor, modules: nn.ModuleList) -> Tensor:
            return NORMS[self.norm].apply(modules[layer] if modules else None, signal, batch, num_graphs)

        h = ACTIVATIONS[self.normalize](h, lambda signal: normalized(signal, self.norms))
        h = self._drop(h, key, layer)
        if self.residual is not None:
            h = h + (self.residual(x) if layer == 0 else x)
        if self.feed_forwards:
            h = self._feed_forward(layer, h, lambda signal: normalized(signal, self.feed_forward_norms), key)
        return (h, *self._scaled([READOUT_PARTS[part](h, batch, num_graphs) for part in self.readout]))

    def _scaled(self, parts: Sequence[Tensor]) -> Iterator[Tensor]:
        """The parts of a readout, with sums divided by the typical size of a graph."""
        for part, value in zip(self.readout, parts, strict=True):
            yield value / self.typical_size if part == "sum" and self.typical_size is not None else value

    def _feed_forward(self, layer: int, h: Tensor, norm: Norm, key: int | Tensor | None) -> Tensor:
        """The signals after the block of a layer."""
        stream = feed_forward_stream(layer, len(self.convs))

        def block(x: Tensor) -> Tensor:
            return self.feed_forwards[layer](x, lambda hidden: self._drop(hidden, key, stream))

        return norm(h + block(h)) if NORMS[self.norm].ends_block else h + block(norm(h))

    def _dropout_key(self, given: int | Tensor | None) -> int | Tensor | None:
        """The key if something is to be dropped, drawn if it is not given; ``None`` if nothing is."""
        if not self.training or self.dropout == 0:
            return None
        return torch.randint(2**63 - 1, ()) if given is None else given

    def _beside_features(self, h: Tensor, graph_attr: Tensor | None) -> Tensor:
        """What the head takes: the representations, then the features of the graphs."""
        if (graph_attr is None) != (self.graph_dim == 0):
            given = "needs graph_attr" if graph_attr is None else "takes no graph_attr"
            raise ValueError(f"the network has graph_dim={self.graph_dim or None}: it {given}")
        if graph_attr is None:
            return h
        # len() would make the number of graphs a constant for torch.export.
        if graph_attr.dim() != 2 or graph_attr.size(0) != h.size(0) or graph_attr.size(1) != self.graph_dim:
            raise ValueError(
                f"graph_attr has shape {tuple(graph_attr.shape)}, expected ({h.size(0)}, graph_dim={self.graph_dim})"
            )
        return torch.cat([h, graph_attr.to(h.dtype)], dim=1)

    def _drop(self, x: Tensor, key: int | Tensor | None, stream: int) -> Tensor:
        return x if key is None else drop(x, self.dropout, key, stream)

    def _edges(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
    ) -> tuple:
        """What the first convolution takes besides the signal; if nothing is pooled, so do all others."""
        if isinstance(edge_index, FeaturedEdges) and self.edge_dim is not None:
            if isinstance(self.convs[0], BankConv):
                return (edge_index if self.weighs_edges else edge_index.shift(),)
            weight = edge_index.weight if self.takes_weights else None
            edges = torch.stack([edge_index.row, edge_index.col])
            return self._prepared(x, edges, weight, edge_index.features if self.weighs_edges else None)
        if (edge_attr is None) != (self.edge_dim is None):
            given = "needs edge_attr" if edge_attr is None else "takes no edge_attr"
            raise ValueError(f"the network has edge_dim={self.edge_dim}: it {given}")
        return self._prepared(x, edge_index, edge_weight, edge_attr if self.weighs_edges else None)

    def _prepared(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None = None,
    ) -> tuple:
        """The edges in the form of the convolutions, prepared once for all layers if the convolution can do so."""
        first: Any = self.convs[0]
        features = () if edge_attr is None else (edge_attr,)
        if isinstance(edge_index, GraphShift):
            if self.pools:
                raise ValueError("pooling makes new graphs from the edges: pass edge_index, not a GraphShift")
            if not isinstance(first, BankConv):
                raise ValueError(f"{type(first).__name__} takes edge_index, not a GraphShift")
        elif self.takes_adjacency and isinstance(edge_index, Tensor) and edge_index.layout == torch.sparse_csr:
            edge_index = edge_index.to(x.dtype)
        if hasattr(first, "prepare_edges"):
            return (first.prepare_edges(x, edge_index, edge_weight, *features),)
        return (edge_index, *features) if edge_weight is None else (edge_index, edge_weight)


class BankGCN(GraphNetwork):
    r"""The paper's network with filter banks in its layers.

    Args:
        in_channels: Width of the node signals.
        out_channels: Number of classes.
        hidden_channels: Width of every hidden layer.
        num_layers: Number of convolutions.
        order: Order :math:`K` of the filters; see :class:`BankConv`.
        num_subspaces: Number :math:`s` of filters in a layer; see :class:`BankConv`.
        basis: Polynomial basis; see :class:`BankConv`.
        projection: ``"linear"`` or ``"mlp"``; see :class:`BankConv`.
        shortcut: Whether to add the projected signal to the filtered one.
        bias: Whether the projections learn a bias.
        initial_alpha: Initial coefficients of the filters; see :class:`BankConv`.
        normalize: Place of the normalisation; see :class:`GraphNetwork`.
        norm: Kind of the normalisation; see :class:`GraphNetwork`.
        readout: Parts of the readout; see :class:`GraphNetwork`.
        pooling: An optional pooling between the layers; see :class:`GraphNetwork`.
        encoder: An optional module before the first layer; see :class:`GraphNetwork`.
        residual: Whether each layer adds its input; see :class:`GraphNetwork`.
        feed_forward: Width factor of a feed-forward block after each layer, or 0; see :class:`GraphNetwork`.
        dropout: Probability to drop an element in training; see :class:`GraphNetwork`.
        head: ``"linear"`` or ``"mlp"``; see :class:`GraphNetwork`.
        edge_dim: Number of features of each edge; see :class:`BankConv`.
        edges: How the features of the edges are used; see :class:`GraphNetwork`.
        graph_dim: Number of features of each graph; see :class:`GraphNetwork`.

    Example:
        >>> net = BankGCN(in_channels=3, out_channels=2)
        >>> two_edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])  # two graphs of one edge each
        >>> net(torch.randn(4, 3), two_edges, batch=torch.tensor([0, 0, 1, 1])).shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden_channels: int = 64,
        num_layers: int = 4,
        order: int = 2,
        num_subspaces: int = 8,
        *,
        basis: str | Basis = "chebyshev",
        projection: Literal["linear", "mlp"] = "linear",
        shortcut: bool = True,
        bias: bool = True,
        initial_alpha: Literal["xavier", "zeros", "lowpass"] = "xavier",
        normalize: Literal["before", "after", "none"] = "before",
        norm: Literal["l2", "layer", "graph", "batch", "none"] = "l2",
        readout: str | Sequence[str] = "mean_max",
        pooling: str | Callable[[int], nn.Module] | None = None,
        encoder: nn.Module | None = None,
        residual: bool = False,
        feed_forward: int = 0,
        dropout: float = 0.0,
        head: Literal["linear", "mlp"] = "linear",
        edge_dim: int | None = None,
        edges: Literal["weights", "input", "both", "none"] = "weights",
        graph_dim: int | None = None,
        scale_sum: bool = False,
    ):
        super().__init__(
            in_channels,
            out_channels,
            hidden_channels,
            num_layers,
            conv=BankConv,
            conv_options={
                "order": order,
                "num_subspaces": num_subspaces,
                "basis": basis,
                "projection": projection,
                "shortcut": shortcut,
                "bias": bias,
                "initial_alpha": initial_alpha,
            },
            normalize=normalize,
            norm=norm,
            readout=readout,
            pooling=pooling,
            encoder=encoder,
            residual=residual,
            feed_forward=feed_forward,
            dropout=dropout,
            head=head,
            edge_dim=edge_dim,
            edges=edges,
            graph_dim=graph_dim,
            scale_sum=scale_sum,
        )


def feed_forward_stream(layer: int, num_layers: int) -> int:
    """Number of the dropout in a feed-forward block: layers, representations and head have those before."""
    return num_layers + 2 + layer


def _first_residual(in_channels: int, out_channels: int) -> nn.Linear:
    """The linear map of the first residual; with ``in_channels=-1``, the first input decides its width."""
    if in_channels == -1:
        return nn.LazyLinear(out_channels, bias=False)
    return nn.Linear(in_channels, out_channels, bias=False)


def _check_batch(batch: Tensor, num_nodes: int) -> Tensor:
    """Check the graph number of each node, and return them as int64."""
    if batch.shape != (num_nodes,):
        raise ValueError(f"batch has shape {tuple(batch.shape)}, expected ({num_nodes},): the graph of each node")
    if batch.is_floating_point() or batch.is_complex() or batch.dtype == torch.bool:
        raise ValueError(f"batch has dtype {batch.dtype}, expected integers")
    return batch.long()


def _num_graphs(batch: Tensor) -> int:
    """One more than the largest graph number."""
    if batch.numel() == 0:
        return 0
    count = batch.max().item() + 1
    torch._check(count >= 0)  # tells torch.export that this is a size, which stays dynamic
    return count  # type: ignore[return-value]  # int() would fix the size of the example


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """The signals of the nodes in one layer.

    Args:
        input: What enters the convolution, shape ``(num_nodes, in_channels)``.
        convolved: What leaves it, shape ``(num_nodes, hidden_channels)``.
        output: The same after normalisation, ReLU, residual and feed-forward block: what the readout reads, and what
            enters the next layer.
    """

    input: Tensor
    convolved: Tensor
    output: Tensor


@torch.no_grad()
def trace(
    net: GraphNetwork,
    x: Tensor,
    edge_index: Tensor | GraphShift | FeaturedEdges,
    batch: Tensor,
    edge_weight: Tensor | None = None,
    *,
    batch_size: int,
) -> list[LayerTrace]:
    """The signals in each layer, in evaluation mode; the arguments are those of :meth:`GraphNetwork.graph_embedding`.

    Raises:
        ValueError: The network has pooling, which leaves other nodes in each layer.
    """
    if net.pools:
        raise ValueError("the network pools nodes between its layers, so that its layers have different nodes")
    seen: list[tuple[Tensor, Tensor]] = []

    def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        seen.append((args[0], output))

    handles = [conv.register_forward_hook(keep) for conv in net.convs]
    training = net.training
    net.eval()
    try:
        with use_kernels(False):  # compiling them takes longer than the few graphs that one looks at
            net.graph_embedding(x, edge_index, batch, edge_weight, batch_size=batch_size)
            return [
                LayerTrace(given, h, net._activate_and_read(layer, given, h, batch, batch_size, None)[0])
                for layer, (given, h) in enumerate(seen)
            ]
    finally:
        net.train(training)
        for handle in handles:
            handle.remove()
