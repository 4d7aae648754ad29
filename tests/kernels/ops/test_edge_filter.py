"""Filters on graphs that differ by subspace, and their gradients, equal those of autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.edge_filter import (
    edge_filter_bank,
    edge_filter_bank_adjoint,
    edge_shifts,
    edge_shifts_adjoint,
)
from bankgcn.spectral import chebyshev
from bankgcn.spectral.featured_edges import FeaturedEdges
from block_of_graphs import Block, random_block
from run_operation import DTYPES, Matrix, Outcome, assert_close, result, run

SUBSPACES = [1, 2, 8, 16, 32]
FEATURES = np.array([[1.0, 0, 0.5], [0, 1, 0], [0, 0, 0], [0.3, -2, 1]])


def narrow(values: Any) -> Matrix:
    return Matrix(np.atleast_2d(np.asarray(values, np.float64)), "none")


class Example:
    """A block with features of its edges, and parameters of a layer; both directions of an edge are of one kind."""

    def __init__(self, subspaces: int, channels: int = 3, order: int = 2, seed: int = 0, scale: float = 1.0):
        self.random = np.random.default_rng(seed)
        self.block: Block = random_block(seed, symmetric=True, merged=False)
        self.subspaces, self.columns, self.order = subspaces, subspaces * channels, order
        n = len(self.block.matrix)
        kinds = self.random.integers(0, len(FEATURES), (n, n))
        self.kinds = np.triu(kinds) + np.triu(kinds, 1).T
        self.theta = scale * self.random.normal(size=(FEATURES.shape[1], subspaces))
        self.bias = self.random.normal(size=(1, subspaces))
        self.c = self.random.normal(size=(order + 1, subspaces))
        self.x, self.grad = self.random.normal(size=(2, self.block.rows, self.columns))

    def table(self, dtype: np.dtype) -> dict[int, Any]:
        row, col = np.nonzero(self.block.matrix)
        features = {entry.EDGE_KIND: np.ascontiguousarray(self.kinds[row, col])}
        features |= {entry.EDGE_FEATURES: FEATURES.astype(dtype), entry.NUM_EDGE_FEATURES: FEATURES.shape[1]}
        return self.block.table(dtype) | features

    def forward(self, dtype: np.dtype) -> dict[str, np.ndarray]:
        rows, edges = self.block.rows, self.block.num_edges
        operands = {
            "theta": narrow(self.theta),
            "bias": narrow(self.bias),
            "slope": result(edges, self.subspaces, "none"),
        }
        operands |= {"scale": result(rows, self.subspaces, "none"), "out": result(edges, self.subspaces, "none")}
        found = run(edge_shifts(self.subspaces), dtype, operands, self.table(dtype)).buffers
        operands = {"x": self.x, "c": narrow(self.c), "order": self.order, "shift": narrow(found["out"])}
        operands |= {"hops": result(rows * self.order, self.columns), "out": result(rows, self.columns)}
        filtered = run(edge_filter_bank(self.subspaces), dtype, operands, self.table(dtype)).buffers
        return {"slope": found["slope"], "scale": found["scale"], "shift": found["out"], **filtered}

    def backward(self, dtype: np.dtype, kept: dict[str, np.ndarray]) -> tuple[Outcome, Outcome]:
        rows, edges = self.block.rows, self.block.num_edges
        operands = {"grad": self.grad, "x": self.x, "c": narrow(self.c), "order": self.order}
        operands |= {"shift": narrow(kept["shift"]), "hops": kept["hops"], "out": result(rows, self.columns)}
        operands |= {
            "adjoints": result(rows * self.order, self.columns),
            "grad_shift": result(edges, self.subspaces, "none"),
        }
        first = run(edge_filter_bank_adjoint(self.subspaces), dtype, operands, self.table(dtype))
        operands = {"grad": narrow(first.buffers["grad_shift"]), "theta": narrow(self.theta), "bias": narrow(self.bias)}
        operands |= {name: narrow(kept[name]) for name in ("shift", "slope", "scale")}
        operands |= {"sums": result(rows, self.subspaces, "none")}
        return first, run(edge_shifts_adjoint(self.subspaces), dtype, operands, self.table(dtype))

    def by_autograd(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        inside = self.block.matrix[self.block.nodes, self.block.nodes]
        row, col = np.nonzero(inside)
        kinds = self.kinds[self.block.nodes, self.block.nodes][row, col]
        edges = FeaturedEdges(
            torch.from_numpy(row),
            torch.from_numpy(col),
            torch.from_numpy(inside[row, col]),
            torch.from_numpy(FEATURES[kinds]),
            self.block.rows,
        )
        leaves = {name: torch.tensor(getattr(self, name), requires_grad=True) for name in ("x", "theta", "bias", "c")}
        weights = 2 * torch.sigmoid(edges.features @ leaves["theta"] + leaves["bias"])
        # In a program, all subspaces of a channel are side by side; in the layer, all channels of a subspace.
        by_subspace = leaves["x"].unflatten(1, (-1, self.subspaces)).transpose(1, 2).flatten(1)
        out = chebyshev.apply(edges.shifts(weights), by_subspace, leaves["c"])
        out = out.unflatten(1, (self.subspaces, -1)).transpose(1, 2).flatten(1)
        out.backward(torch.from_numpy(self.grad))
        return out.detach(), {name: leaf.grad for name, leaf in leaves.items()}


def check(example: Example, dtype: np.dtype) -> None:
    kept = example.forward(dtype)
    filters, shifts = example.backward(dtype, kept)
    out, gradients = example.by_autograd()
    assert_close(kept["out"], out, dtype)
    assert_close(filters.buffers["out"], gradients["x"], dtype)
    assert_close(filters.gradients["c"], gradients["c"], dtype)
    assert_close(shifts.gradients["theta"], gradients["theta"], dtype)
    assert_close(shifts.gradients["bias"], gradients["bias"], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize("subspaces", SUBSPACES)
def test_equals_autograd(subspaces: int, channels: int, dtype: np.dtype) -> None:
    check(Example(subspaces, channels), dtype)


@pytest.mark.parametrize("order", [1, 3, 4])
def test_equals_autograd_for_each_order(order: int) -> None:
    check(Example(8, 5, order, seed=order), np.dtype(np.float64))


def test_weights_near_their_limits_keep_their_digits() -> None:
    example = Example(8, scale=20)
    kept = example.forward(np.dtype(np.float64))
    assert kept["slope"].min() < 1e-6
    assert kept["slope"].max() > 1 - 1e-6
    check(example, np.dtype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_that_vanish_leave_finite_gradients(dtype: np.dtype) -> None:
    example = Example(4, scale=1e4)
    filters, shifts = example.backward(dtype, example.forward(dtype))
    assert np.isfinite(filters.buffers["out"]).all()
    assert np.isfinite(shifts.gradients["theta"]).all()


def test_order_zero_uses_no_edge() -> None:
    example = Example(4, order=0)
    double = np.dtype(np.float64)
    operands: dict[str, Any] = {"x": example.x, "c": narrow(example.c), "order": 0, "hops": None}
    shift = narrow(np.ones((example.block.num_edges, 4)))
    out = run(
        edge_filter_bank(4), double, operands | {"shift": shift, "out": result(*example.x.shape)}, example.table(double)
    )
    assert_close(out.buffers["out"], example.x * np.tile(example.c[0], example.columns // 4), double)
