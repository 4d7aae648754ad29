"""Rows count with their multiplicity."""

from __future__ import annotations

import numpy as np
from bankgcn.kernels.ops.multiplicity import scale_by_multiplicity

from padded_rows import padded


def test_rows_are_scaled_by_their_multiplicity() -> None:
    random = np.random.default_rng(0)
    x, multiplicity = random.normal(size=(6, 19)), np.array([1.0, 3.0, 1.0, 2.0, 5.0, 1.0])
    scaled = padded(x)
    scale_by_multiplicity(multiplicity, 6, scaled)
    np.testing.assert_allclose(scaled, padded(multiplicity[:, None] * x))
