"""The paper's table of datasets."""

from __future__ import annotations

from collections.abc import Iterable

from bankgcn.experiments.paper.datasets import Description
from bankgcn.report.sheet import Block, Entry, Sheet

FIGURES = {
    "graphs": "graphs",
    "nodes": "mean nodes",
    "edges": "mean edges",
    "features": "features",
    "classes": "classes",
}


def dataset_sheet(descriptions: Iterable[Description]) -> Sheet:
    """One line a dataset; where what is here differs from the paper, both figures."""
    described = list(descriptions)
    rows = tuple(
        (Entry(data.name), *(Entry(_figure(data, name)) for name in FIGURES), Entry(_verdict(data)))
        for data in described
    )
    return Sheet(
        title="Table 0: Datasets",
        blocks=(Block(title="", header=("", *FIGURES.values(), "here"), rows=rows),),
        notes=tuple(f"{data.name}: {note}." for data in described for note in data.notes),
    )


def _figure(data: Description, name: str) -> str:
    here, published = ((figures or {}).get(name) for figures in (data.here, data.published))
    if here is None or published is None or here == published:
        return _number(published if here is None else here)
    return f"{_number(here)} (paper {_number(published)})"


def _verdict(data: Description) -> str:
    if data.here is None:
        return "no: the paper's figures"
    if data.published is None:
        return "not in the paper"
    return "as in the paper" if data.here == data.published else "differs"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
