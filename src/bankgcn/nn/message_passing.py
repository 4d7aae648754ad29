"""Filter banks as layers of PyG's own type, which PyG's explainers and ``to_hetero`` look for."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch_geometric.nn import MessagePassing

from bankgcn.nn.bank_conv import BankConv
from bankgcn.spectral.featured_edges import FeaturedEdges, MaskedEdges
from bankgcn.spectral.shift import GraphShift, edge_list

Net = TypeVar("Net", bound=nn.Module)


class MessageBankConv(BankConv, MessagePassing):
    r"""A :class:`BankConv` that PyG treats as one of its message passing layers; its arguments are the same.

    PyG's explainers set masks on such layers. The mask :math:`m_e` of a directed edge is a factor of what passes along
    it at each hop; degrees stay as they are, as in PyG's layers. Without a mask, the layer is a :class:`BankConv`.

    ``to_hetero`` makes a copy for each relation, and passes the nodes twice where both ends are of one type. Such a
    relation must contain each edge in both directions. A relation between nodes of two types has no filter bank.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        # Explainers of nodes count layers to know how far a network sees, and a filter reaches order hops.
        self.further_hops = nn.ModuleList(_Hop() for _ in range(self.order - 1))

    def forward(
        self,
        x: Any,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Filter the signals of a graph, or of a batch of graphs; a pair of the same signals twice counts as one."""
        if isinstance(x, tuple) and len(x) == 2 and x[0] is x[1]:
            x = x[0]
        return super().forward(x, edge_index, edge_weight, edge_attr)

    def prepare_edges(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> GraphShift | FeaturedEdges:
        """What :meth:`forward` takes in place of the edges; with the mask, if an explainer has set one."""
        if isinstance(edge_index, MaskedEdges):
            return edge_index
        checked = super().prepare_edges(x, edge_index, edge_weight, edge_attr)
        layer: Any = self  # PyG adds what its annotations do not name
        if not layer.explain or layer._edge_mask is None:
            return checked
        if isinstance(edge_index, GraphShift | FeaturedEdges) or edge_index.layout != torch.strided:
            raise ValueError("a mask of edges needs an edge_index: other forms do not tell the given edges apart")
        (source, target), weight = edge_list(edge_index, edge_weight, len(x))
        weight = x.new_ones(source.shape) if weight is None else weight.to(x.dtype)
        features = x.new_zeros(len(source), 0) if edge_attr is None else edge_attr.to(x.dtype).reshape(len(source), -1)
        mask = layer._edge_mask.sigmoid() if layer._apply_sigmoid else layer._edge_mask
        if mask.shape != source.shape:
            raise ValueError(f"the mask has shape {tuple(mask.shape)}, expected ({len(source)},): one per edge")
        # Messages go from the first node of an edge to the second, whose row of the shift receives them.
        return MaskedEdges(target, source, weight.masked_fill(source == target, 0), features, len(x), mask)


class _Hop(MessagePassing):
    """A hop that PyG counts. It is never called, and takes no mask."""

    def __init__(self) -> None:
        super().__init__()
        self.explain = False


def explainable(net: Net) -> Net:
    """A copy of a network in which each :class:`BankConv` is a :class:`MessageBankConv` with the same parameters.

    PyG's ``Explainer`` learns masks of the edges of the copy. Its weights are those of the network, not copies.

    Raises:
        ValueError: A layer has no parameters yet, because it infers its width from the first input.

    Example:
        >>> from bankgcn.nn import BankGCN
        >>> net = explainable(BankGCN(3, 2))
        >>> type(net.convs[0]).__name__
        'MessageBankConv'
    """
    if any(map(is_lazy, net.parameters())):
        raise ValueError("the network infers its width from its first input: apply it to some graph first")
    shared = {id(tensor): tensor for tensor in (*net.parameters(), *net.buffers())}
    replaced: Any = copy.deepcopy(net, shared)
    if type(replaced) is BankConv:
        return _as_message_passing(replaced)
    for module in list(replaced.modules()):
        for name, child in list(module.named_children()):
            if type(child) is BankConv:
                setattr(module, name, _as_message_passing(child))
    return replaced


def _as_message_passing(conv: BankConv) -> MessageBankConv:
    layer = MessageBankConv(
        conv.in_channels,
        conv.out_channels,
        conv.order,
        conv.num_subspaces,
        basis=conv.basis,
        projection=conv.project,
        shortcut=conv.shortcut,
        initial_alpha="zeros",
        edge_dim=conv.edge_dim,
        edges=conv.edges,
    )
    layer.alpha, layer.weigh_edges = conv.alpha, conv.weigh_edges
    layer._draw_alpha, layer._made_projection = conv._draw_alpha, conv._made_projection
    return layer.train(conv.training)
