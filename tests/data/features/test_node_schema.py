"""Node data by name becomes the same columns, whatever order it comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.features.node_schema import NodeSchema


def test_columns_follow_the_alphabet_not_the_order_of_the_nodes() -> None:
    nodes = [{"size": 1, "kind": "b", "at": [2, 3]}, {"at": (4, 5.5), "kind": "a", "size": True}]
    schema = NodeSchema.infer(nodes)
    assert schema == NodeSchema.infer(nodes[::-1]) == NodeSchema({"at": 2, "size": 1}, {"kind": ("a", "b")})
    matrix, labels = schema.matrix(nodes), schema.labels(nodes)
    assert matrix is not None
    assert labels is not None
    assert matrix.tolist() == [[2, 3, 1], [4, 5.5, 1]]
    assert labels.tolist() == [[1], [0]]
    assert schema.label_widths == (2,)


def test_numbers_of_numpy_are_numbers() -> None:
    nodes = [{"a": np.float32(0.5), "b": np.array([1, 2]), "c": np.bool_(True)}]
    matrix = NodeSchema.infer(nodes).matrix(nodes)
    assert matrix is not None
    assert matrix.tolist() == [[0.5, 1, 2, 1]]


def test_nodes_without_data_have_no_columns() -> None:
    schema = NodeSchema.infer([{}, {}])
    assert schema.matrix([{}]) is None
    assert schema.labels([{}]) is None


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"a": 1}, {}], "node 1 has no 'a', but every node needs it"),
        ([{"a": 1}, {"a": "x"}], "'a' of node 1 is 'x', expected a number$"),
        ([{"a": [1, 2]}, {"a": "x"}], "'a' of node 1 is 'x', expected a list of 2 numbers$"),
        ([{"a": [1, 2]}, {"a": [1]}], r"'a' of node 1 has 1 numbers, expected 2: \[1\]"),
        ([{"a": [1, "x"]}], "expected a number, a list of numbers or a word"),
        ([{"a": None}], "is None, expected a number"),
        ([{"a": {"b": 1}}], "expected a number"),
        ([{"a": "x"}, {"a": 1}], "is 'x', expected a number"),
    ],
)
def test_data_that_fits_no_column_is_refused(nodes: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        NodeSchema.infer(nodes).matrix(nodes)
