"""Runs programs in plain torch, instruction by instruction: the oracle between modules and compiled code.

It reads a program as its documentation says, and shares no code with the compiled operations. All graphs are one block.
Rows of a quotient graph stand for several nodes: gradients of signals are those of one of them, and gradients of
parameters are sums over all. Rows of kinds stand for all nodes of a kind: their gradients are sums. Derivatives that
are not a formula of one line come from autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bankgcn.kernels.network.collate import CollatedGraphs
from bankgcn.kernels.network.executor import Targets
from bankgcn.kernels.network.program import Buffer, Instruction, NumColumns, Program, Slot
from bankgcn.kernels.ops.blocks import KIND_ROWS, NODE_GRADIENTS
from bankgcn.nn.layers import drop
from bankgcn.tasks import LOSSES


@dataclass
class Interpreted:
    """What a program computes."""

    embedding: Tensor
    loss: float
    gradient: Tensor


def interpret(
    program: Program, graphs: CollatedGraphs, theta: Tensor, targets: Targets, *, gamma: float = 0.0, key: int = 0
) -> Interpreted:
    state = State(program, graphs, theta, targets, gamma, key)

    def run(stream: tuple[Instruction, ...]) -> None:
        for operation, operands in stream:
            INTERPRETERS[operation.name](state, **operands)

    run(program.prologue)
    with state.rows_of_kinds():
        run(program.kinds_forward)
    run(program.forward)
    run(program.backward)
    with state.rows_of_kinds():
        run(program.kinds_backward)
    run(program.epilogue)
    embedding = state[program.readout][:, torch.from_numpy(program.readout_columns)]
    return Interpreted(embedding, state.loss, state.grad_theta)


class State:
    """Everything that instructions read and write."""

    def __init__(self, program, graphs, theta, targets, gamma, key):
        self.program, self.theta, self.targets, self.gamma, self.key = program, theta, targets, gamma, key
        self.dtype = theta.dtype
        self.grad_theta = torch.zeros_like(theta)
        self.parameters = theta.new_zeros(program.parameter_size)
        self.gradients = theta.new_zeros(program.gradient_size)
        self.loss = 0.0
        self.buffers: dict[Buffer, Tensor] = {}
        self.num_graphs, self.num_nodes = len(graphs.node_ptr) - 1, int(graphs.node_ptr[-1])
        self.attributes, self.labels = torch.from_numpy(graphs.attributes), torch.from_numpy(graphs.labels)
        self.graph = torch.from_numpy(np.repeat(np.arange(self.num_graphs), np.diff(graphs.node_ptr)))
        self.nodes = torch.from_numpy(graphs.multiplicity).unsqueeze(1)
        kinds, example = np.unique(graphs.kinds, return_index=True)
        self.example = torch.from_numpy(example)
        self.kind = torch.from_numpy(np.searchsorted(kinds, graphs.kinds))
        self.kind_rows: dict[int, Tensor] = {}
        self.node_gradients: dict[int, Tensor] = {}
        row = torch.from_numpy(np.repeat(np.arange(self.num_nodes), np.diff(graphs.rowptr)))
        self.edge_row, self.edge_col, self.weight = row, torch.from_numpy(graphs.col), torch.from_numpy(graphs.weight)
        self.edge_features = torch.from_numpy(graphs.edge_features[graphs.edge_kind])
        self.graph_features = torch.from_numpy(graphs.graph_features)
        self.matrix, self.transposed = (
            torch.zeros(self.num_nodes, self.num_nodes, dtype=self.dtype).index_put(
                (row, torch.from_numpy(graphs.col)), torch.from_numpy(weight), accumulate=True
            )
            + torch.diag(torch.from_numpy(graphs.diagonal))
            for weight in (graphs.weight, graphs.adjoint_weight)
        )

    @contextmanager
    def rows_of_kinds(self) -> Iterator[None]:
        nodes, self.nodes = self.nodes, torch.ones(len(self.example), 1, dtype=self.dtype)
        yield
        self.nodes = nodes

    def __getitem__(self, buffer: Buffer) -> Tensor:
        return self.buffers[buffer]

    def __setitem__(self, buffer: Buffer, value: Tensor) -> None:
        self.buffers[buffer] = value

    def columns(self, count: int | NumColumns) -> int:
        return self.attributes.size(1) if isinstance(count, NumColumns) else count

    def slot(self, slot: Slot, memory: Tensor | None = None) -> Tensor:
        memory = self.parameters if memory is None else memory
        return memory[slot.offset : slot.offset + slot.rows * slot.stride].view(slot.rows, slot.stride)

    def row(self, slot: Slot, like: Tensor) -> Tensor:
        return self.slot(slot)[0, : like.size(1)]

    def grad(self, slot: Slot) -> Tensor:
        return self.slot(slot, self.gradients)

    def plus(self, buffer: Buffer | None) -> Tensor | float:
        return 0.0 if buffer is None else self[buffer]

    def adjoint(self, function: Callable[..., Tensor], grad: Tensor, x: Tensor, *slots: Slot) -> Tensor:
        """The gradient of one node's row; adds those of the slots' first rows, which are sums over all nodes."""
        rows = [self.row(slot, x).clone().requires_grad_() for slot in slots]
        x = x.clone().requires_grad_()
        with torch.enable_grad():
            result = function(x, *rows)
        grad_x, *grad_rows = torch.autograd.grad(result, (x, *rows), self.nodes * grad)
        for slot, value in zip(slots, grad_rows, strict=True):
            self.grad(slot)[0, : x.size(1)] += value
        return grad_x / self.nodes

    def per_graph(self, x: Tensor) -> Tensor:
        return x.new_zeros(self.num_graphs, x.size(1)).index_add(0, self.graph, x)


def unpack_parameters(s: State) -> None:
    for places in (s.program.places, s.program.copies):
        known = torch.from_numpy(places >= 0)
        s.parameters[torch.from_numpy(places)[known]] = s.theta[known]


def pack_gradient(s: State) -> None:
    places = torch.from_numpy(s.program.places)
    s.grad_theta[places >= 0] += s.gradients[places[places >= 0]]


def basis_at(s: State, basis: int, terms: int, degree: int) -> Tensor:
    return torch.from_numpy(s.program.bases)[basis : basis + terms * (degree + 1)].view(terms, degree + 1)


def expand_filters(s: State, alpha, filters, terms, basis, degree, channels, shortcut, c) -> None:
    bank = s.theta[alpha : alpha + filters * terms].view(filters, terms) @ basis_at(s, basis, terms, degree)
    bank = bank + shortcut * F.one_hot(torch.tensor(0), degree + 1)
    s.slot(c)[: degree + 1, : filters * channels] = bank.T.repeat_interleave(channels, dim=1)


def filters_gradient(s: State, alpha, filters, terms, basis, degree, channels, c) -> None:
    grad = s.grad(c)[: degree + 1, : filters * channels].reshape(degree + 1, filters, channels).sum(2).T
    s.grad_theta[alpha : alpha + filters * terms] += (grad @ basis_at(s, basis, terms, degree).T).reshape(-1)


def coherence_gradient(s: State, alpha, filters, terms, unit) -> None:
    if s.gamma == 0:
        return
    bank = s.theta[alpha : alpha + filters * terms].clone().requires_grad_()
    with torch.enable_grad():
        rows = F.normalize(bank.view(filters, terms), dim=1)
        omega = (rows @ rows.T).triu(1).abs().amax()
    s.grad_theta[alpha : alpha + filters * terms] += s.gamma * torch.autograd.grad(omega, bank)[0]


def load_attributes(s: State, out) -> None:
    s[out] = s.attributes


def linear(s: State, x, inner, weight, bias, plus, out, rows) -> None:
    inner = s.columns(inner)
    s[out] = s.plus(plus) + s[x][:, :inner] @ s.slot(weight)[:inner, : out.columns] + s.slot(bias)[0, : out.columns]


def weight_gradient(s: State, x, inner, grad, weight, rows) -> None:
    inner = s.columns(inner)
    s.grad(weight)[:inner, : grad.columns] += s[x][:, :inner].T @ s[grad]


def bias_gradient(s: State, grad, bias, rows) -> None:
    s.grad(bias)[0, : grad.columns] += s[grad].sum(0)


def add_label_rows(s: State, plus, weight, out) -> None:
    s[out] = s.plus(plus) + s.slot(weight)[s.labels, : out.columns].sum(1)


def label_rows_gradient(s: State, grad, weight) -> None:
    for column in s.labels.T:
        s.grad(weight)[:, : grad.columns].index_add_(0, column, s[grad])


def rows_of_labels(s: State, hop: int) -> Tensor:
    """From rows of the weights to those of the kinds: a matrix."""
    width = int(s.labels.max()) + 1 if s.labels.numel() else 1
    one_hot = F.one_hot(s.labels, width).sum(1).to(s.dtype)
    return (s.matrix @ one_hot if hop else one_hot)[s.example]


def kinds_of_labels(s: State, weight, hop, factor, bias, plus, out) -> None:
    matrix = rows_of_labels(s, hop)
    rows = s.slot(weight)[: matrix.size(1), : out.columns]
    s[out] = s.slot(bias)[0, : out.columns] + s.plus(plus) + factor * matrix @ rows


def kinds_of_labels_gradient(s: State, grad, weight, hop, factor) -> None:
    matrix = rows_of_labels(s, hop)
    s.grad(weight)[: matrix.size(1), : grad.columns] += factor * matrix.T @ s[grad]


def share_rows(s: State, x, place, column) -> None:
    {KIND_ROWS: s.kind_rows, NODE_GRADIENTS: s.node_gradients}[place][column] = s[x]


def load_kind_rows(s: State, column, out) -> None:
    s[out] = s.kind_rows[column][s.kind]


def sum_node_gradients(s: State, column, out) -> None:
    s[out] = s.kind_rows[column].new_zeros(len(s.example), out.columns).index_add(0, s.kind, s.node_gradients[column])


def hops(s: State, x: Tensor, order: int) -> list[Tensor]:
    terms = [x, s.matrix @ x]
    while len(terms) <= order:
        terms.append(2 * s.matrix @ terms[-1] - terms[-2])
    return terms[: order + 1]


def filter_bank(s: State, x, c, order, hops: Buffer, out) -> None:
    s[out] = sum(s.slot(c)[k, : out.columns] * term for k, term in enumerate(_hops(s, s[x], order)))


def filter_bank_adjoint(s: State, grad, signal, c, order, hops: Buffer, out) -> None:
    terms = _hops(s, s[grad], order)
    s[out] = sum(s.slot(c)[k, : out.columns] * term for k, term in enumerate(terms))
    for k, term in enumerate(terms):
        s.grad(c)[k, : out.columns] += (term * s[signal]).sum(0)


_hops = hops


def entries(s: State, subspaces: int) -> Callable[[Tensor, Tensor], Tensor]:
    """The entries of the shifts from the parameters: -w / sqrt(d_i d_j), (edges, subspaces)."""

    def function(theta: Tensor, bias: Tensor) -> Tensor:
        w = 2 * s.weight.unsqueeze(1) * torch.sigmoid(s.edge_features @ theta + bias)
        degree = w.new_zeros(s.num_nodes, subspaces).index_add(0, s.edge_row, w)
        return -w / (degree[s.edge_row] * degree[s.edge_col]).sqrt()

    return function


def edge_shifts(s: State, theta, bias, slope, scale, out) -> None:
    features, subspaces = s.edge_features.size(1), out.columns
    s[out] = entries(s, subspaces)(s.slot(theta)[:features, :subspaces], s.slot(bias)[0, :subspaces])


def edge_shifts_adjoint(s: State, grad, shift, slope, scale, theta, bias, sums) -> None:
    features, subspaces = s.edge_features.size(1), shift.columns
    rows = s.slot(theta)[:features, :subspaces].clone().requires_grad_()
    first = s.slot(bias)[0, :subspaces].clone().requires_grad_()
    with torch.enable_grad():
        result = entries(s, subspaces)(rows, first)
    # An entry stands for those of all nodes of its row.
    grad_rows, grad_first = torch.autograd.grad(result, (rows, first), s.nodes[s.edge_row] * s[grad])
    s.grad(theta)[:features, :subspaces] += grad_rows
    s.grad(bias)[0, :subspaces] += grad_first


def by_subspace(s: State, shift: Buffer, x: Tensor) -> Tensor:
    """The shift of each column's subspace times the column; all subspaces of a channel are side by side."""
    subspaces = shift.columns
    dense = x.new_zeros(s.num_nodes, s.num_nodes, subspaces)
    dense = dense.index_put((s.edge_row, s.edge_col), s[shift], accumulate=True)
    return torch.einsum("ijp,jcp->icp", dense, x.view(len(x), -1, subspaces)).reshape(len(x), -1)


def edge_hops(s: State, shift: Buffer, x: Tensor, order: int, first: float) -> list[Tensor]:
    """Chebyshev polynomials of the first kind (``first`` is 1) or the second (2) of the shifts, applied to x."""
    terms = [x, first * by_subspace(s, shift, x)]
    while len(terms) <= order:
        terms.append(2 * by_subspace(s, shift, terms[-1]) - terms[-2])
    return terms[: order + 1]


def coefficient(s: State, c: Slot, k: int, subspaces: int, columns: int) -> Tensor:
    return s.slot(c)[k, :subspaces].repeat(columns // subspaces)


def edge_filter_bank(s: State, x, c, order, shift: Buffer, hops: Buffer, out) -> None:
    terms = edge_hops(s, shift, s[x], order, 1)
    s[out] = sum(coefficient(s, c, k, shift.columns, out.columns) * term for k, term in enumerate(terms))


def edge_filter_bank_adjoint(
    s: State, grad, x, c, order, shift: Buffer, hops: Buffer, adjoints, grad_shift: Buffer, out
) -> None:
    subspaces, columns = shift.columns, out.columns
    factors = [coefficient(s, c, k, subspaces, columns) for k in range(order + 1)]
    first, second = (edge_hops(s, shift, s[grad], order, kind) for kind in (1, 2))
    s[out] = sum(factor * term for factor, term in zip(factors, first, strict=True))
    terms = edge_hops(s, shift, s[x], order, 1)
    for k, term in enumerate(terms):
        products = (s.nodes * term * s[grad]).view(s.num_nodes, columns // subspaces, subspaces)
        s.grad(c)[k, :subspaces] += products.sum((0, 1))
    # d T_k(S) = sum over j < k of (2 - [j = 0]) U_{k-1-j}(S) dS T_j(S)
    s[grad_shift] = s[shift].new_zeros(s[shift].shape)
    for k in range(1, order + 1):
        for j in range(k):
            left, right = factors[k] * second[k - 1 - j], terms[j]
            products = (
                (left[s.edge_row] * right[s.edge_col]).view(len(s.edge_row), columns // subspaces, subspaces).sum(1)
            )
            s[grad_shift] += (1 if j == 0 else 2) * products


def propagate(s: State, x, factor, adjoint, bias, plus, minus, out) -> None:
    matrix = s.transposed if adjoint else s.matrix
    s[out] = s.slot(bias)[0, : out.columns] + s.plus(plus) + factor * (matrix @ s[x]) - s.plus(minus)


def attention(s: State, heads: int) -> Callable[..., Tensor]:
    def function(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        by_head = x.view(len(x), -1, heads)  # (nodes, channels, heads)
        score = ((by_head * value.view(-1, heads)).sum(1) for value in (source, target))
        of_source, of_target = score
        logits = F.leaky_relu(of_target.unsqueeze(1) + of_source.unsqueeze(0), 0.2)
        logits = logits.masked_fill((s.matrix == 0).unsqueeze(2), -torch.inf)
        # An entry m of the matrix stands for m neighbours with the same score.
        share = torch.softmax(logits + s.matrix.clamp(min=1).log().unsqueeze(2), dim=1)
        return torch.einsum("ijh,jch->ich", share, by_head).reshape(len(x), -1)

    return function


def attend(s: State, x, source, target, bias, scores, attention: Buffer, out) -> None:
    rows = [s.row(slot, s[x]) for slot in (source, target)]
    s[out] = _attention(s, attention.columns)(s[x], *rows) + s.row(bias, s[x])


def attend_adjoint(
    s: State, grad, x, source, target, scores, attention: Buffer, grad_attention, grad_scores, out
) -> None:
    s[out] = s.adjoint(_attention(s, attention.columns), s[grad], s[x], source, target)


_attention = attention


def relu(s: State, x, out, rows) -> None:
    s[out] = F.relu(s[x])


def relu_adjoint(s: State, grad, x, out, rows) -> None:
    s[out] = torch.where(s[x] > 0, s[grad], 0.0)


def add_multiple(s: State, x, factor, plus, out) -> None:
    s[out] = s.plus(plus) + factor * s[x]


def scale_by_multiplicity(s: State, x, out) -> None:
    s[out] = s.nodes * s[x]


def dropout(s: State, x, columns, threshold, scale, stream, rows, first, out) -> None:
    numbers = torch.from_numpy(s.program.column_numbers[columns : columns + out.columns])
    kept = numbers >= 0
    probability = 1 - 1 / float(np.int64(scale).view(np.float64))
    # The numbers of the columns are those of the result; the buffer may have them in another order.
    ordered = torch.zeros(len(s[x]), int(numbers.max()) + 1, dtype=s.dtype)
    ordered[:, numbers[kept]] = s[x][:, kept]
    dropped = drop(ordered, probability, s.key, stream)
    s[out] = torch.zeros_like(s[x])
    s[out][:, kept] = dropped[:, numbers[kept]]


def l2_normalize(s: State, x, scale, out, relu) -> None:
    normalized = F.normalize(s[x], dim=1)
    s[out] = F.relu(normalized) if relu else normalized


def l2_normalize_adjoint(s: State, grad, x, result, scale, out) -> None:
    g = s[grad] if result is None else torch.where(s[result] > 0, s[grad], 0.0)
    s[out] = s.adjoint(lambda signal: F.normalize(signal, dim=1), g, s[x])


def layer_norm(s: State, x, columns, weight, bias, moments, out) -> None:
    s[out] = F.layer_norm(s[x], (columns,), s.row(weight, s[x]), s.row(bias, s[x]))


def layer_norm_adjoint(s: State, grad, x, columns, weight, bias, moments, out) -> None:
    s[out] = s.adjoint(
        lambda *arguments: F.layer_norm(arguments[0], (columns,), *arguments[1:]), s[grad], s[x], weight, bias
    )


def normalized_graphs(s: State) -> Callable[..., Tensor]:
    def function(x: Tensor, weight: Tensor, bias: Tensor, mean_scale: Tensor) -> Tensor:
        nodes = s.per_graph(s.nodes).clamp(min=1)
        center = (s.per_graph(s.nodes * x) / nodes)[s.graph] * mean_scale
        variance = (s.per_graph(s.nodes * (x - center) ** 2) / nodes)[s.graph]
        return weight * (x - center) / (variance + 1e-5).sqrt() + bias

    return function


def graph_norm(s: State, x, weight, bias, mean_scale, moments, out) -> None:
    s[out] = normalized_graphs(s)(s[x], *(s.row(slot, s[x]) for slot in (weight, bias, mean_scale)))


def graph_norm_adjoint(s: State, grad, x, weight, bias, mean_scale, moments, out) -> None:
    s[out] = s.adjoint(normalized_graphs(s), s[grad], s[x], weight, bias, mean_scale)


def parts_of(s: State, x: Tensor) -> dict[str, Tensor]:
    total = s.per_graph(s.nodes * x)
    index = s.graph.unsqueeze(1).expand_as(x)
    largest = x.new_zeros(s.num_graphs, x.size(1)).scatter_reduce(0, index, x, "amax", include_self=False)
    return {"mean": total / s.per_graph(s.nodes).clamp(min=1), "largest": largest, "total": total}


def add_graph_features(s: State, plus, weight, out) -> None:
    s[out] = s[plus] + s.graph_features @ s.slot(weight)[: s.program.graph_features, : out.columns]


def graph_features_gradient(s: State, grad, weight) -> None:
    s.grad(weight)[: s.program.graph_features, : grad.columns] += s.graph_features.T @ s[grad]


def read_out(s: State, x, mean, largest, total, size, out) -> None:
    if out not in s.buffers:
        s[out] = torch.zeros(s.num_graphs, out.columns, dtype=s.dtype)
    for name, column in (("mean", mean), ("largest", largest), ("total", total)):
        if column >= 0:
            s[out][:, column : column + x.columns] = parts_of(s, s[x])[name] / (size if name == "total" else 1)


def read_out_adjoint(s: State, x, readout, grad, mean, largest, total, size, plus, out) -> None:
    result = torch.zeros_like(s[x])
    columns = {"mean": mean, "largest": largest, "total": total}
    given = {name: s[grad][:, column : column + x.columns] for name, column in columns.items() if column >= 0}
    nodes = s.per_graph(s.nodes).clamp(min=1)
    if "mean" in given:
        result += (given["mean"] / nodes)[s.graph]
    if "total" in given:
        result += given["total"][s.graph] / size
    if "largest" in given:
        ties = (s[x] == parts_of(s, s[x])["largest"][s.graph]).to(s.dtype)
        result += ties * (given["largest"] / s.per_graph(s.nodes * ties))[s.graph]
    s[out] = s.plus(plus) + result


def loss_of(function: Callable[[Tensor, State], Tensor]) -> Callable[..., None]:
    def interpreter(s: State, outputs, columns, out) -> None:
        z = s[outputs][:, :columns].clone().requires_grad_()
        with torch.enable_grad():
            losses = function(z, s)
            share = torch.from_numpy(s.targets.share)
            each = losses.double()
            total = (share * each if share.dim() == each.dim() else share[:, None] * each).sum()
        s.loss += total.item()
        s[out] = torch.autograd.grad(total, z)[0]

    return interpreter


def known(values: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, State], Tensor]:
    def function(z: Tensor, s: State) -> Tensor:
        y = torch.from_numpy(s.targets.values)
        return torch.where(y.isnan(), 0.0, values(z, y.nan_to_num().to(z.dtype)))

    return function


def _classes(z: Tensor, s: State) -> Tensor:
    return F.cross_entropy(z, torch.from_numpy(s.targets.classes), reduction="none")


cross_entropy = loss_of(_classes)
squared_error = loss_of(known(lambda z, y: (z - y) ** 2))
absolute_error = loss_of(known(lambda z, y: (z - y).abs()))
binary_cross_entropy = loss_of(known(lambda z, y: F.binary_cross_entropy_with_logits(z, y, reduction="none")))

INTERPRETERS: dict[str, Callable[..., None]] = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__annotations__", {}).get("s") == "State"
} | {loss: globals()[loss] for loss in LOSSES}
