"""Attributes are copied; rows that labels select equal products with their one-hot columns."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.ops.blocks import ATTRIBUTES, FIRST_NODE, LABELS, NUM_ATTRIBUTES, NUM_LABELS, ROWS
from bankgcn.kernels.ops.input_rows import add_label_rows, label_rows_gradient, load_attributes
from run_operation import DTYPES, assert_close, result, run

FIRST, COUNT, INNER, COLUMNS = 2, 6, 5, 19


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [0, 1, 16, 21])
def test_attributes_of_the_block_are_copied(columns: int, dtype: np.dtype) -> None:
    attributes = np.random.default_rng(0).normal(size=(9, columns)).astype(dtype)
    table = {FIRST_NODE: FIRST, ROWS: COUNT, NUM_ATTRIBUTES: columns, ATTRIBUTES: attributes}
    found = run(load_attributes, dtype, {"out": result(COUNT, columns)}, table).buffers["out"]
    np.testing.assert_array_equal(found, attributes[FIRST : FIRST + COUNT])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_labels", [0, 1, 2])
@pytest.mark.parametrize("plus", ["absent", "apart", "in place"])
def test_label_rows_are_the_product_with_one_hot_labels(plus: str, num_labels: int, dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, INNER, (FIRST + COUNT + 1, num_labels))
    one_hot = np.eye(INNER)[labels[FIRST : FIRST + COUNT]].sum(1)
    weight, given = random.normal(size=(INNER, COLUMNS)), random.normal(size=(COUNT, COLUMNS))
    table = {FIRST_NODE: FIRST, ROWS: COUNT, NUM_LABELS: num_labels, LABELS: labels}
    operands = {"plus": None if plus == "absent" else given, "weight": weight}
    operands |= {"out": "plus" if plus == "in place" else result(COUNT, COLUMNS)}
    found = run(add_label_rows, dtype, operands, table).buffers["out"]
    assert_close(found, one_hot @ weight + (0 if plus == "absent" else given), dtype)
    found = run(label_rows_gradient, dtype, {"grad": given, "weight": weight}, table).gradients["weight"]
    assert_close(found, one_hot.T @ given, dtype)
