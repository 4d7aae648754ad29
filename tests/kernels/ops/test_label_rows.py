"""Rows that labels select equal products with their one-hot columns."""

from __future__ import annotations

import numpy as np
from bankgcn.kernels.ops.label_rows import add_label_rows, scatter_add_label_rows

from padded_rows import padded

ROWS, INNER, COLUMNS = 6, 5, 19


def test_label_rows_are_the_product_with_one_hot_labels() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, INNER, (ROWS + 2, 2))
    one_hot = np.eye(INNER)[labels[2:]].sum(1)
    weight, gradient = random.normal(size=(INNER, COLUMNS)), random.normal(size=(ROWS, COLUMNS))
    out, grad_weight = padded(np.ones((ROWS, COLUMNS))), padded(np.ones((INNER, COLUMNS)))
    add_label_rows(labels, 2, ROWS, padded(weight), out)
    scatter_add_label_rows(labels, 2, ROWS, padded(gradient), grad_weight)
    np.testing.assert_allclose(out, padded(1 + one_hot @ weight))
    np.testing.assert_allclose(grad_weight, padded(1 + one_hot.T @ gradient))
