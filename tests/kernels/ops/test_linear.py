"""Products of padded matrices and their gradients equal NumPy's, and keep the padding zero."""

from __future__ import annotations

import numpy as np

from bankgcn.kernels.ops.linear import add_bias_gradient, add_weight_gradient, linear
from padded_rows import padded

ROWS, INNER, COLUMNS = 6, 5, 19


def test_linear_and_its_gradients() -> None:
    random = np.random.default_rng(0)
    x, weight, bias = (random.normal(size=shape) for shape in ((ROWS, INNER), (INNER, COLUMNS), (2, COLUMNS)))
    out = padded(np.zeros((ROWS, COLUMNS)))
    linear(padded(x), padded(weight), ROWS, INNER, padded(bias), 1, out)
    np.testing.assert_allclose(out[:ROWS], padded(x @ weight + bias[1])[:ROWS])

    gradient = random.normal(size=(ROWS, COLUMNS))
    grad_weight, grad_bias = padded(np.ones((INNER, COLUMNS))), padded(np.ones((2, COLUMNS)))
    add_weight_gradient(padded(x), padded(gradient), ROWS, grad_weight)
    add_bias_gradient(padded(gradient), ROWS, grad_bias, 1)
    np.testing.assert_allclose(grad_weight, padded(1 + x.T @ gradient))
    np.testing.assert_allclose(grad_bias, padded(np.stack([np.ones(COLUMNS), 1 + gradient.sum(0)])))
