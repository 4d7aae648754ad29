"""The graph convolution of the paper's section 4, and the diversity of its filters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter, is_lazy

from bankgcn.messages import Message, Option
from bankgcn.nn.activation import shortest_length
from bankgcn.nn.layers import reset_parameters
from bankgcn.nn.names import EDGE_USES
from bankgcn.settings import pick
from bankgcn.spectral import chebyshev
from bankgcn.spectral.basis import Basis, Chebyshev, basis_named, nearest_filter
from bankgcn.spectral.featured_edges import FeaturedEdges, SubspaceShifts
from bankgcn.spectral.shift import GraphShift

LOWPASS = (1 / 2, -1 / 2)
"""Chebyshev coefficients of the low-pass filter 1 - lambda / 2 = 1/2 - T_1(lambda - 1) / 2."""


class BankConv(nn.Module):
    r"""Graph convolution with an adaptive filter bank, from `BankGCN <https://arxiv.org/abs/2106.09910>`_.

    The signal is projected into :math:`s` subspaces of equal width (Eq. 12), each subspace is filtered by a polynomial
    of its own (Eq. 14-15), and the filtered subspaces are concatenated (Eq. 9):

    .. math::
        R_{[p]} = X W_{[p]} + b_{[p]}, \qquad
        H_{[p]} = \sum_{k=0}^{K} \alpha_{[p]}^{(k)}\, T_k(\tilde L)\, R_{[p]} + R_{[p]}, \qquad
        H = H_{[1]} \,\|\, \dots \,\|\, H_{[s]}

    where :math:`\tilde L = L - I = -D^{-1/2} A D^{-1/2}` has its spectrum in :math:`[-1, 1]`, and the second term of
    :math:`H_{[p]}` is the shortcut (Eq. 11). Projection and filters are learned together.

    The graph must be undirected: ``edge_index`` contains each edge in both directions. Self-loops are ignored.

    With ``edge_dim``, edges have features :math:`f_e`, and each subspace filters a graph of its own: there, an edge of
    weight :math:`a_e` (1 without weights) has the weight

    .. math:: w_{[p]}(e) = 2 a_e\, \sigma(\theta_{[p]} \cdot f_e + b_{[p]}),

    and :math:`\tilde L_{[p]} = -D_{[p]}^{-1/2} W_{[p]} D_{[p]}^{-1/2}` takes the place of :math:`\tilde L`. It is
    symmetric with its spectrum in :math:`[-1, 1]`, so responses and diversity keep their meaning. The layer starts with
    :math:`\theta = b = 0`, and so as the layer without edge features.

    Args:
        in_channels: Width of the input, or -1 to infer it from the first input. With a single input channel every
            output channel is a subspace and ``num_subspaces`` is ignored (the paper's footnote 4): a one-channel signal
            cannot be decomposed, only scaled.
        out_channels: Width of the output, a multiple of ``num_subspaces``.
        order: Order :math:`K` of the polynomials: the filters reach ``order`` hops. PyG's ``ChebConv(K=...)`` counts
            terms, one more than the order. Filters of order 0 use no neighbours.
        num_subspaces: Number :math:`s` of subspaces; each has one filter.
        basis: ``"chebyshev"``, ``"monomial"``, ``"legendre"``, ``"jacobi"``, ``"bernstein"``, ``"interpolation"``,
            ``"pulses"``, or a :class:`~bankgcn.spectral.Basis` such as ``Jacobi(a=0.5, b=2.0)``.
        projection: ``"linear"``, ``"mlp"`` (two layers with a ReLU between), or any module that maps
            ``(num_nodes, in_channels)`` to ``(num_nodes, out_channels)``. A given module keeps its weights.
        shortcut: Whether to add the projected signal to the filtered one.
        bias: Whether the projection learns a bias.
        initial_alpha: Initial coefficients of the filters: ``"xavier"`` draws them at random. With ``"zeros"``, the
            layer starts as its shortcut. With ``"lowpass"``, each filter, with its shortcut, starts as the low-pass
            filter :math:`1 - \lambda / 2`, or as near to it as the basis and the order allow: the start to take where
            neighbours are alike, as in place of a ``GCNConv``.
        edge_dim: Number of features of each edge; ``None`` if edges have none.
        edges: How the features of the edges are used: as ``"weights"`` of the edges in each subspace; as ``"input"``:
            the sum of the features of a node's edges, each times its weight, joins the signal of the node; as
            ``"both"``; or ``"none"``, which ignores them.

    Shapes:
        - **input**: node signals ``(num_nodes, in_channels)``; edges as an ``edge_index`` of shape ``(2, num_edges)``,
          PyG's ``EdgeIndex``, a ``torch.sparse`` adjacency of shape ``(num_nodes, num_nodes)`` or a
          :class:`~bankgcn.spectral.GraphShift`; edge weights ``(num_edges,)`` *(optional)*; edge features
          ``(num_edges, edge_dim)``, the same in both directions of an edge, with ``edge_dim``
        - **output**: node signals ``(num_nodes, out_channels)``

    Example:
        >>> conv = BankConv(3, 16, order=2, num_subspaces=4)
        >>> ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
        >>> conv(torch.randn(4, 3), ring).shape
        torch.Size([4, 16])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        order: int = 2,
        num_subspaces: int = 8,
        *,
        basis: str | Basis = "chebyshev",
        projection: Literal["linear", "mlp"] | nn.Module = "linear",
        shortcut: bool = True,
        bias: bool = True,
        initial_alpha: Literal["xavier", "zeros", "lowpass"] = "xavier",
        edge_dim: int | None = None,
        edges: Literal["weights", "input", "both", "none"] = "weights",
    ):
        super().__init__()
        if in_channels < 1 and in_channels != -1:
            raise ValueError(f"in_channels={in_channels}: expected at least 1, or -1 to infer it")
        if out_channels < 1:
            raise ValueError(f"out_channels={out_channels}: expected at least 1")
        if order < 0:
            raise ValueError(f"order={order} is negative")
        if num_subspaces < 1:
            raise ValueError(f"num_subspaces={num_subspaces}: expected at least 1")
        uses = edge_uses(edge_dim, edges)
        if uses and in_channels == -1:
            raise ValueError("in_channels=-1: a layer with edge_dim needs the width of its input")
        width = in_channels + (edge_dim or 0) if "input" in uses else in_channels
        if width != 1 and out_channels % num_subspaces:
            raise _indivisible(out_channels, num_subspaces)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.order = order
        self.num_subspaces = out_channels if width == 1 else num_subspaces
        self.edge_dim, self.edges = (edge_dim, edges) if uses else (None, "none")
        self.basis = basis_named(basis)
        self.shortcut = shortcut
        self._draw_alpha = pick(INITIAL_ALPHA, initial_alpha, "initial_alpha")
        # Coefficients of each polynomial of the basis. Not a buffer, because .float() would round them for good; they
        # are converted to the type of alpha where they are used.
        self.chebyshev_coefficients = self.basis.to_chebyshev(order)

        self.project = _projection(projection, width, out_channels, bias)
        self._made_projection = not isinstance(projection, nn.Module)
        if in_channels == -1:  # the shape of alpha depends on the first input
            self.alpha: nn.Parameter | UninitializedParameter = UninitializedParameter()
            self.register_load_state_dict_pre_hook(_infer_from_state)
        else:
            self.alpha = nn.Parameter(torch.empty(self.num_subspaces, order + 1))
        self.weigh_edges = nn.Linear(edge_dim or 0, self.num_subspaces) if "weights" in uses else None
        if not isinstance(projection, nn.Module):  # a given module may be trained or shared
            reset_parameters(self.project)
        self._reset_filters()

    def reset_parameters(self) -> None:
        """Reinitialise the projection, even a given one, the filters, and the weights of the edges."""
        reset_parameters(self.project)
        self._reset_filters()

    def _reset_filters(self) -> None:
        if not is_lazy(self.alpha):
            self._draw_alpha(self)
        if self.weigh_edges is not None:  # sigmoid(0) = 1/2: each edge has its own weight in all subspaces
            nn.init.zeros_(self.weigh_edges.weight)
            nn.init.zeros_(self.weigh_edges.bias)

    def coefficients(self) -> Tensor:
        """Chebyshev coefficients of every filter, shortcut included: shape ``(degree + 1, num_subspaces)``."""
        return self._bank(self.shortcut).T

    def response(self, lam: Tensor, shortcut: bool = False) -> Tensor:
        r"""Frequency response :math:`\hat g_{[p]}(\lambda)` of every filter (Eq. 14).

        Args:
            lam: Frequencies in [0, 2], shape ``(num_frequencies,)``.
            shortcut: Whether to add 1 for the shortcut. The paper's figures omit it.

        Returns:
            One row per filter, shape ``(num_subspaces, num_frequencies)``.
        """
        lam = torch.as_tensor(lam, device=self.alpha.device)
        if lam.dim() != 1:
            raise ValueError(f"lam has shape {tuple(lam.shape)}, expected one dimension")
        if lam.numel() and not (lam.min() >= 0 and lam.max() <= 2):
            raise ValueError(f"frequencies lie in [0, 2], got lam from {lam.min().item()} to {lam.max().item()}")
        x = lam.to(self.alpha.dtype).unsqueeze(-1) - 1
        bank = self._bank(shortcut and self.shortcut)
        return chebyshev.apply(lambda signal: x * signal, torch.ones_like(x), bank.T).T

    def edge_weights(self, edge_attr: Tensor) -> Tensor:
        r"""The weight :math:`2\sigma(\theta_{[p]} \cdot f_e + b_{[p]})` of each edge in each subspace, from 0 to 2.

        Args:
            edge_attr: Features of the edges, shape ``(num_edges, edge_dim)``.

        Returns:
            Shape ``(num_edges, num_subspaces)``.
        """
        if self.weigh_edges is None:
            raise ValueError(f"the layer does not weigh edges: it has edge_dim={self.edge_dim}, edges={self.edges!r}")
        return 2 * torch.sigmoid(self.weigh_edges(edge_attr))

    def prepare_edges(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> GraphShift | FeaturedEdges:
        """What :meth:`forward` takes in place of the edges: a graph shift, or with ``edge_dim`` the featured edges.

        Networks build it once for all layers.
        """
        if self.edge_dim is not None:
            return FeaturedEdges.of(
                edge_index, edge_weight, edge_attr, num_nodes=x.size(0), edge_dim=self.edge_dim, dtype=x.dtype
            )
        if isinstance(edge_index, FeaturedEdges) or edge_attr is not None:
            raise ValueError("the layer has no edge_dim and takes no edge features: edge_attr must be None")
        return GraphShift.of(edge_index, edge_weight, num_nodes=x.size(0), dtype=x.dtype)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | GraphShift | FeaturedEdges,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Filter the signals of a graph, or of a batch of graphs."""
        self._check_signal(x)
        edges = self.prepare_edges(x, edge_index, edge_weight, edge_attr)
        self._check_precision(x)
        shift: GraphShift | SubspaceShifts
        if isinstance(edges, GraphShift):
            shift = edges
        else:
            if self.edges in ("input", "both"):
                x = torch.cat([edges.sums(), x], dim=1)
            shift = edges.shifts(self.edge_weights(edges.features)) if self.weigh_edges is not None else edges.shift()
        r = self.project(x)  # (n, s * c)  Eq. 12
        if r.shape != (x.size(0), self.out_channels):
            raise ValueError(
                f"the projection turned {tuple(x.shape)} into {tuple(r.shape)}, "
                f"expected ({x.size(0)}, out_channels={self.out_channels})"
            )
        return chebyshev.apply(shift, r, self.coefficients())  # (n, s * c)  Eq. 9-15

    def _bank(self, shortcut: bool) -> Tensor:
        """Chebyshev coefficients of every filter, shape ``(num_subspaces, degree + 1)``."""
        bank: Tensor = self.alpha
        if not isinstance(self.basis, Chebyshev):
            # alpha @ to_chebyshev, as a sum of products: autocast would round a matrix product to half precision
            bank = (self.alpha.unsqueeze(-1) * self.chebyshev_coefficients.to(self.alpha)).sum(1)
        if not shortcut:
            return bank
        identity = torch.zeros(bank.size(1), dtype=bank.dtype, device=bank.device)
        identity[0] = 1  # T_0 = 1
        return bank + identity

    def _check_signal(self, x: Any) -> None:
        if isinstance(x, tuple | list):
            raise ValueError(
                "x is a pair (x_src, x_dst), as PyG passes for a relation from nodes to other nodes; BankConv filters "
                "the signal of one set of nodes by edges in both directions. Pass one tensor for the graph of both "
                "sets (HeteroData.to_homogeneous() and torch_geometric.utils.to_undirected make it), or take another "
                "layer for this relation"
            )
        if not x.is_floating_point():
            raise ValueError(f"x has dtype {x.dtype}, expected floating point: x.float() converts it")
        if x.dim() != 2:
            raise ValueError(f"x has shape {tuple(x.shape)}, expected (num_nodes, in_channels)")
        if self.in_channels == -1:
            self._infer(x.size(1))
        if x.size(1) != self.in_channels:
            raise ValueError(f"x has {x.size(1)} channels, expected in_channels={self.in_channels}")

    def _check_precision(self, x: Tensor) -> None:
        weight = next(self.project.parameters(), x)
        given = not self._made_projection  # it may convert its input
        if given or x.dtype == weight.dtype or torch.is_autocast_enabled(x.device.type):
            return
        raise ValueError(
            f"x has dtype {x.dtype}, but the weights have {weight.dtype}: x.to({weight.dtype}) converts the signal, "
            f"conv.to({x.dtype}) the layer"
        )

    def _infer(self, in_channels: int) -> None:
        """Create alpha for an input of this width; a lazy projection creates its own parameters."""
        self.in_channels = in_channels
        if isinstance(self.alpha, UninitializedParameter):  # else a loaded state has created it
            self.num_subspaces = self.out_channels if in_channels == 1 else self.num_subspaces
            self.alpha.materialize((self.num_subspaces, self.order + 1))
            self._draw_alpha(self)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, order={self.order}, "
            f"num_subspaces={self.num_subspaces}, basis={self.basis})"
        )


def _xavier(conv: BankConv) -> None:
    nn.init.xavier_uniform_(conv.alpha)


def _zeros(conv: BankConv) -> None:
    nn.init.zeros_(conv.alpha)


@torch.no_grad()
def _lowpass(conv: BankConv) -> None:
    wanted = torch.tensor(LOWPASS, dtype=torch.float64, device="cpu")
    wanted[0] -= int(conv.shortcut)  # which adds T_0 = 1
    conv.alpha.copy_(nearest_filter(conv.chebyshev_coefficients, wanted).expand(conv.alpha.shape))


INITIAL_ALPHA: dict[str, Callable[[BankConv], None]] = {"xavier": _xavier, "zeros": _zeros, "lowpass": _lowpass}


def edge_uses(edge_dim: int | None, edges: str) -> tuple[str, ...]:
    """The ways in which a layer or a network uses the features of edges, ``"weights"`` or ``"input"`` or both."""
    uses = pick(EDGE_USES, edges, "edges")
    if edge_dim is not None and edge_dim < 1:
        raise ValueError(f"edge_dim={edge_dim}: expected at least 1, or None if edges have no features")
    return () if edge_dim is None else uses


def _indivisible(out_channels: int, num_subspaces: int) -> ValueError:
    def width(value: int) -> Option:
        return Option("hidden", value, field="out_channels")

    def subspaces(value: int) -> Option:
        return Option("subspaces", value, field="num_subspaces")

    return ValueError(
        Message(
            "{width} does not divide into {subspaces}: choose {fewer}, or {wider}",
            width=width(out_channels),
            subspaces=subspaces(num_subspaces),
            fewer=subspaces(_nearest_divisor(out_channels, num_subspaces)),
            wider=width(-(-out_channels // num_subspaces) * num_subspaces),
        )
    )


def _nearest_divisor(number: int, wanted: int) -> int:
    """The divisor of a number that is nearest to the wanted one; the larger of two that are as near."""
    divisors = (divisor for divisor in range(number, 0, -1) if number % divisor == 0)
    return min(divisors, key=lambda divisor: abs(divisor - wanted))


def _projection(projection: str | nn.Module, in_channels: int, out_channels: int, bias: bool) -> nn.Module:
    if isinstance(projection, nn.Module):
        return projection
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Lazy modules are a new feature")
        if in_channels == -1:
            first: nn.Module = nn.LazyLinear(out_channels, bias=bias)
        else:
            first = nn.Linear(in_channels, out_channels, bias=bias)
    if projection == "linear":
        return first
    if projection == "mlp":
        return nn.Sequential(first, nn.ReLU(), nn.Linear(out_channels, out_channels, bias=bias))
    raise ValueError(f"unknown projection {projection!r}, expected 'linear', 'mlp' or a module")


def _infer_from_state(conv: BankConv, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Give the filters of a lazy layer the shape that the loaded ones have; the first input sets ``in_channels``."""
    alpha = state.get(f"{prefix}alpha")
    if alpha is not None and isinstance(conv.alpha, UninitializedParameter):
        conv.alpha.materialize(alpha.shape)
        conv.num_subspaces = alpha.size(0)


def mutual_coherence(alpha: Tensor) -> Tensor:
    r"""Largest :math:`|\cos|` between the coefficients of two filters: :math:`\Omega(\alpha)`, Eq. 18.

    .. math:: \Omega(\alpha) = \max_{p \neq q} \frac{|\langle\alpha_p, \alpha_q\rangle|}{\|\alpha_p\| \|\alpha_q\|}

    It falls as diversity rises: 1 if two filters are multiples of each other, 0 if all are orthogonal, which at most
    ``order + 1`` filters can be. It is 0 for a single filter, and a pair that contains a filter of zeros counts as 0.

    Args:
        alpha: Coefficients of the filters, shape ``(num_subspaces, order + 1)``; leading dimensions hold several banks.

    Returns:
        A scalar in [0, 1] up to rounding, or one for each bank. Its gradient is finite everywhere and concerns only
        the most similar pair.

    Example:
        >>> import torch
        >>> mutual_coherence(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        tensor(0.7071)
    """
    if alpha.dim() < 2:
        raise ValueError(f"alpha has shape {tuple(alpha.shape)}, expected (num_subspaces, order + 1)")
    unit = F.normalize(alpha, dim=-1, eps=shortest_length(alpha.dtype))
    # unit @ unit.mT, as a sum of products: autocast would round a matrix product to half precision
    cosine = (unit.unsqueeze(-2) * unit.unsqueeze(-3)).sum(-1)
    return cosine.triu(diagonal=1).abs().amax((-2, -1))
