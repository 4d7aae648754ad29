"""Features of graphs add their products to the rows of a block, and their gradients to the weight."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.network.program import Padding
from bankgcn.kernels.ops.blocks import GRAPH_FEATURES, NUM_GRAPH_FEATURES
from bankgcn.kernels.ops.graph_features import add_graph_features, graph_features_gradient
from block_of_graphs import random_block
from run_operation import DTYPES, Matrix, assert_close, result, run

BLOCK = random_block()


def features(columns: int, dtype: np.dtype) -> np.ndarray:
    """Features of all graphs of the call, many of them 0."""
    random = np.random.default_rng(columns)
    graphs = len(BLOCK.node_ptr) - 1
    return (random.normal(size=(graphs, columns)) * (random.random((graphs, columns)) < 0.6)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("padding", ["wide", "narrow"])
@pytest.mark.parametrize("columns", [1, 5, 40])
@pytest.mark.parametrize("outputs", [1, 19, 64])
@pytest.mark.parametrize("shared", [False, True])
def test_products_and_their_gradient(
    shared: bool, outputs: int, columns: int, padding: Padding, dtype: np.dtype
) -> None:
    given, random = features(columns, dtype), np.random.default_rng(0)
    own = given[BLOCK.first : BLOCK.last].astype(np.float64)
    plus, weight = (random.normal(size=(rows, outputs)).astype(dtype) for rows in (BLOCK.graphs, columns))
    table = BLOCK.table(dtype) | {GRAPH_FEATURES: given, NUM_GRAPH_FEATURES: columns}
    out = "plus" if shared else result(BLOCK.graphs, outputs, padding)
    operands = {"plus": Matrix(plus, padding), "weight": Matrix(weight, padding), "out": out}
    found = run(add_graph_features, dtype, operands, table).buffers["out"]
    assert_close(found, plus + own @ weight, dtype)

    operands = {"grad": Matrix(plus, padding), "weight": Matrix(weight, padding)}
    gradient = run(graph_features_gradient, dtype, operands, table).gradients["weight"]
    assert_close(gradient, own.T @ plus, dtype)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_feature_that_is_not_finite_is_not_lost(value: float) -> None:
    given = features(3, DTYPES[0])
    given[BLOCK.first, 1] = value
    table = BLOCK.table(DTYPES[0]) | {GRAPH_FEATURES: given, NUM_GRAPH_FEATURES: 3}
    operands = {"plus": np.zeros((BLOCK.graphs, 2)), "weight": np.ones((3, 2)), "out": result(BLOCK.graphs, 2)}
    found = run(add_graph_features, DTYPES[0], operands, table).buffers["out"]
    assert not np.isfinite(found[0]).any()
    assert np.isfinite(found[1:]).all()
