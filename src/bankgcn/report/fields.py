"""Numbers of a table as text."""

from __future__ import annotations

import math

from bankgcn.metrics import Metric

MISSING = "-"


def unit(metric: Metric) -> str:
    """The unit of a metric after its label: percent for scores in [0, 1], nothing for others."""
    return " in %" if metric.percent else ""


def number(score: float, metric: Metric) -> str:
    """A score: two decimals in percent, otherwise four digits."""
    return f"{score:.2f}" if metric.percent else f"{score:.4g}"


def mean_std(mean: float, std: float, metric: Metric) -> str:
    """A mean with its standard deviation, if there is one."""
    return number(mean, metric) if math.isnan(std) else f"{number(mean, metric)} ± {number(std, metric)}"


def difference(value: float, metric: Metric) -> str:
    """A difference of two scores, with its sign."""
    if math.isnan(value):
        return MISSING
    rounded = float(number(value, metric)) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{rounded:+.2f}" if metric.percent else f"{rounded:+.4g}"


def percentage(value: float) -> str:
    """A relative change in percent, with its sign."""
    return MISSING if math.isnan(value) else f"{round(value, 1) + 0.0:+.1f}%"


def p_value(value: float) -> str:
    """A p-value with three decimals."""
    if math.isnan(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int | None) -> str:
    """A number of things, with separators of thousands."""
    return MISSING if value is None else f"{value:,}"


def exact(value: object) -> str:
    """A value in full precision, for programs; empty if unknown."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
