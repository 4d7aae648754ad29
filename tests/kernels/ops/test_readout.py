"""Readouts and their gradients equal PyTorch's; a row with multiplicity m acts as m equal nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bankgcn.kernels.ops.blocks import FIRST_GRAPH, FIRST_NODE, GRAPHS, MULTIPLICITY, NODE_PTR, padded_width
from bankgcn.kernels.ops.readout import MAX_SUMMANDS, read_out, read_out_adjoint
from block_of_graphs import random_block
from run_operation import DTYPES, assert_close, result, run

PARTS = ("mean", "largest", "total")
BLOCK = random_block()
SIZE = 3  # divides sums


def signal(columns: int) -> np.ndarray:
    """Random signals, all negative in some columns, in which rows of a graph are equal."""
    x = np.random.default_rng(0).normal(size=(BLOCK.rows, columns))
    x[1] = x[0]
    x[8:11] = x[7]
    x[:, ::3] = -np.abs(x[:, ::3])
    return x


def reference(x: torch.Tensor, parts: tuple[str, ...]) -> torch.Tensor:
    """The parts side by side, with all nodes apart, sums divided by ``SIZE``; those of a graph without nodes are 0."""
    rows = []
    graph = BLOCK.graph_of_node.repeat(BLOCK.counts.astype(int))
    nodes = x[np.arange(BLOCK.rows).repeat(BLOCK.counts.astype(int))]
    for number in range(BLOCK.graphs):
        own = nodes[graph == number]
        if not len(own):
            rows.append(torch.zeros(len(parts) * x.shape[1]))
            continue
        values = {"mean": own.mean(0), "largest": own.amax(0), "total": own.sum(0) / SIZE}
        rows.append(torch.cat([values[part] for part in parts]))
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 19, 64])
@pytest.mark.parametrize(
    "parts", [("mean",), ("largest",), ("total",), ("mean", "largest"), ("total", "mean", "largest")]
)
@pytest.mark.parametrize("shared", [None, "plus", "x"])
def test_parts_and_their_gradient(shared: str | None, parts: tuple[str, ...], columns: int, dtype: np.dtype) -> None:
    x, width = signal(columns).astype(dtype).astype(np.float64), padded_width(columns, dtype)
    start = {part: number * width for number, part in enumerate(parts)}
    places = {part: start.get(part, -1) for part in PARTS} | {"size": SIZE}
    # The gap must not be read, and each part starts with a whole vector.
    used = np.concatenate([start[part] + np.arange(columns) for part in parts])
    table, inputs = BLOCK.table(dtype), torch.tensor(x, requires_grad=True)
    expected = reference(inputs, parts)
    whole = {"x": x, **places, "out": result(BLOCK.graphs, len(parts) * width)}
    readout = run(read_out, dtype, whole, table).buffers["out"]
    assert_close(readout[:, used], expected.detach(), dtype)

    random = np.random.default_rng(1)
    upstream, plus = random.normal(size=expected.shape), random.normal(size=x.shape)
    (gradient,) = torch.autograd.grad(expected, inputs, torch.tensor(upstream))
    grad = np.zeros(readout.shape)
    grad[:, used] = upstream
    given = plus if shared == "plus" or columns == 19 else None
    operands = {"x": x, "readout": readout, "grad": grad, **places, "plus": given, "out": shared or result(*x.shape)}
    found = run(read_out_adjoint, dtype, operands, table).buffers["out"]
    # The gradient of a row in torch is that of all its nodes together.
    of_node = gradient.numpy() / BLOCK.counts[:, None]
    assert_close(found, of_node + (0 if given is None else given), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("where", [0, 2, 4])
def test_nan_in_a_node_is_in_its_column_and_graph_alone(where: int, dtype: np.dtype) -> None:
    x = signal(19)
    x[where, 3] = np.nan  # the first graph of the block has five nodes
    width = padded_width(19, dtype)
    places = {"mean": 0, "largest": width, "total": 2 * width, "size": SIZE}
    operands = {"x": x, **places, "out": result(BLOCK.graphs, 3 * width)}
    readout = run(read_out, dtype, operands, BLOCK.table(dtype)).buffers["out"]
    expected = np.zeros(readout.shape, bool)
    expected[0, [3, width + 3, 2 * width + 3]] = True
    np.testing.assert_array_equal(np.isnan(readout), expected)
    operands = {"x": x, "readout": readout, "grad": np.ones_like(readout), **places, "plus": None}
    operands["grad"].reshape(BLOCK.graphs, 3, width)[:, :, 19:] = 0
    found = run(read_out_adjoint, dtype, operands | {"out": result(*x.shape)}, BLOCK.table(dtype)).buffers["out"]
    assert np.isnan(found[:5, 3]).all()
    assert np.isfinite(np.delete(found, 3, axis=1)).all()
    assert np.isfinite(found[5:]).all()


def test_a_mean_over_many_nodes_is_right_in_single_precision() -> None:
    count = 400 * MAX_SUMMANDS + 1
    x, single = np.full((count, 3), 0.1), np.dtype(np.float32)
    operands = {"x": x, "mean": 0, "largest": -1, "total": 32, "size": 1, "out": result(1, 64)}
    table = {FIRST_NODE: 0, FIRST_GRAPH: 0, GRAPHS: 1, NODE_PTR: np.array([0, count])}
    table |= {MULTIPLICITY: np.ones(count, single)}
    found = run(read_out, single, operands, table).buffers["out"]
    np.testing.assert_allclose(found[0, :3], 0.1, rtol=1e-5)
    np.testing.assert_allclose(found[0, 32:35], 0.1 * count, rtol=1e-5)
