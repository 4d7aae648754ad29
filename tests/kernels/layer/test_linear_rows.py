"""The compiled product of rows with a weight against NumPy's sums, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels.layer.linear_rows import linear_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 8, 15, 128, 129, 257, 300, 768, 3000])
def test_sums_are_those_of_numpy_bit_for_bit(width: int, dtype: type) -> None:
    generator = np.random.default_rng(width)
    for rows, outputs in ((0, 3), (1, 1), (5, 3), (18, 64)):
        x = generator.standard_normal((rows, width)).astype(dtype)
        weight = generator.standard_normal((outputs, width)).astype(dtype)
        expected = np.multiply(x[:, None, :], weight, order="C").sum(axis=-1)
        product = linear_rows(np.asfortranarray(x), weight)
        assert product.dtype == dtype
        np.testing.assert_array_equal(product, expected)


def test_a_row_does_not_depend_on_the_others() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((11, 300)).astype(np.float32)
    weight = generator.standard_normal((5, 300)).astype(np.float32)
    together = linear_rows(x, weight)
    for row in range(len(x)):
        np.testing.assert_array_equal(linear_rows(x[row : row + 1], weight)[0], together[row])
