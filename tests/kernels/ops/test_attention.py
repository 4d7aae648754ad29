"""Attention and its gradients equal PyG's ``GATConv``; on a quotient graph they equal those of the full graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.data import GraphSet
from bankgcn.kernels.network.flat_arrays import NodeColors
from bankgcn.kernels.network.quotient import color_graphs, quotient
from bankgcn.kernels.ops import blocks as entry
from bankgcn.kernels.ops.attention import attend, attend_adjoint
from block_of_graphs import random_block
from run_operation import DTYPES, Matrix, Outcome, assert_close, result, run

HEADS = [1, 2, 4, 8, 16]


def run_both(
    x: np.ndarray,
    grad: np.ndarray,
    vectors: dict[str, np.ndarray],
    heads: int,
    edges: int,
    dtype: np.dtype,
    table: dict,
) -> tuple[np.ndarray, Outcome]:
    """The result, and what its adjoint gives."""
    operands: dict[str, Any] = {"x": x, **vectors, "out": result(*x.shape)}
    operands |= {"scores": result(len(x), 2 * heads, "none"), "attention": result(edges + len(x), heads, "none")}
    found = run(attend(heads), dtype, operands, table).buffers
    kept = {name: Matrix(found[name], "none") for name in ("scores", "attention")}
    operands = {"grad": grad, "x": x, "source": vectors["source"], "target": vectors["target"], **kept}
    operands |= {"grad_attention": result(edges + len(x), heads, "none"), "out": result(*x.shape)}
    operands |= {"grad_scores": result(len(x), 2 * heads, "none")}
    return found["out"], run(attend_adjoint(heads), dtype, operands, table)


def random_vectors(columns: int) -> dict[str, np.ndarray]:
    source, target, bias = np.random.default_rng(columns).normal(size=(3, columns))
    return {"source": source, "target": target, "bias": bias}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3, 4, 8])
@pytest.mark.parametrize("heads", HEADS)
def test_equals_pyg(heads: int, channels: int, dtype: np.dtype) -> None:
    from torch_geometric.nn import GATConv

    block, columns = random_block(merged=False), heads * channels
    # In a program, all heads of a channel are side by side; in PyG, all channels of a head.
    place = np.arange(columns).reshape(channels, heads).T.reshape(-1)
    x, grad = np.random.default_rng(0).normal(size=(2, block.rows, columns))
    vectors = random_vectors(columns)
    conv = GATConv(columns, channels, heads=heads)
    with torch.no_grad():
        conv.lin.weight.copy_(torch.eye(columns))
        conv.att_src.copy_(torch.from_numpy(vectors["source"][place]).view(1, heads, channels))
        conv.att_dst.copy_(torch.from_numpy(vectors["target"][place]).view(1, heads, channels))
        conv.bias.copy_(torch.from_numpy(vectors["bias"][place]))
    signals = torch.tensor(x[:, place], requires_grad=True)
    target, source = np.nonzero(block.matrix[block.nodes, block.nodes])
    expected = conv(signals, torch.from_numpy(np.stack([source, target])))
    expected.backward(torch.from_numpy(grad[:, place]))

    table = block.table(dtype)
    table[entry.WEIGHT][:] = 1  # each edge stands for one
    out, adjoint = run_both(x, grad, vectors, heads, block.num_edges, dtype, table)
    assert_close(out[:, place], expected.detach(), dtype)
    assert_close(adjoint.buffers["out"][:, place], signals.grad, dtype)
    assert_close(adjoint.gradients["source"][0, place], conv.att_src.grad.reshape(-1), dtype)
    assert_close(adjoint.gradients["target"][0, place], conv.att_dst.grad.reshape(-1), dtype)


def symmetric_set() -> GraphSet:
    """A star, two joined squares, a ring and a single node."""
    star = [(0, 1), (0, 2), (0, 3), (0, 4)]
    squares = [(5, 6), (6, 7), (7, 8), (8, 5), (7, 9), (9, 10), (10, 11), (11, 7)]
    ring = [(12 + k, 12 + (k + 1) % 5) for k in range(5)]
    edges = np.array(star + squares + ring).T
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return GraphSet.from_edges([5, 7, 5, 1], both, labels=np.zeros(18, np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [1, 8])
def test_a_quotient_graph_acts_as_the_full_graph(heads: int, dtype: np.dtype) -> None:
    from bankgcn.kernels.network.collate import collate
    from bankgcn.kernels.network.program import Operator

    graphs, columns = symmetric_set(), heads * 3
    colors = NodeColors.unknown(graphs.node_ptr)
    color_graphs(graphs.flat, colors)
    merged = quotient(graphs.flat)
    assert merged.multiplicity.max() == 5
    row = colors.color + merged.node_ptr[:-1].repeat(graphs.num_nodes)  # of the quotient, for each node
    x, grad = np.random.default_rng(0).normal(size=(2, len(merged.degree), columns))
    vectors, found = random_vectors(columns), []
    for arrays, rows in ((merged, np.arange(len(x))), (graphs.flat, row)):
        collated = collate(arrays, np.arange(4), Operator("sum", 1.0), dtype)
        table = {entry.FIRST_NODE: 0, entry.ROWS: len(rows), entry.FIRST_GRAPH: 0, entry.GRAPHS: 4}
        table |= {entry.ROWPTR: collated.rowptr, entry.COL: collated.col, entry.WEIGHT: collated.weight}
        table |= {entry.MULTIPLICITY: collated.multiplicity}
        found.append(run_both(x[rows], grad[rows], vectors, heads, len(collated.col), dtype, table))
    (out, adjoint), (full_out, full_adjoint) = found
    assert_close(out[row], full_out, dtype)
    assert_close(adjoint.buffers["out"][row], full_adjoint.buffers["out"], dtype)
    for name in ("source", "target"):
        assert_close(adjoint.gradients[name], full_adjoint.gradients[name], dtype)


def test_scores_of_any_size_do_not_overflow() -> None:
    block, single = random_block(merged=False), np.dtype(np.float32)
    table = block.table(single)
    table[entry.WEIGHT][:] = 1
    x, grad = 1000 * np.random.default_rng(0).normal(size=(2, block.rows, 8))
    out, adjoint = run_both(x, grad, random_vectors(8), 2, block.num_edges, single, table)
    assert np.isfinite(out).all()
    assert np.isfinite(adjoint.buffers["out"]).all()


def test_nan_of_a_node_does_not_reach_other_graphs() -> None:
    block, double = random_block(merged=False), np.dtype(np.float64)
    table = block.table(double)
    x, grad = np.random.default_rng(0).normal(size=(2, block.rows, 8))
    x[6:, 0] = np.nan  # the last graph of the block
    out, adjoint = run_both(x, grad, random_vectors(8), 2, block.num_edges, double, table)
    assert np.isnan(out[6:, 0::2]).all()  # the columns of the first head
    assert np.isfinite(out[:6]).all()
    assert np.isfinite(adjoint.buffers["out"][:6]).all()
