"""Growth of the time of a filter."""

from __future__ import annotations

import math

from growth import growth


def test_growth_is_fitted_by_a_power_law() -> None:
    fitted = growth(max_edges=300_000)
    assert fitted["edges"]["sizes"] == [100_000, 300_000]
    assert all(math.isfinite(fit["exponent"]) for fit in fitted.values())
