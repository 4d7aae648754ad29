"""The paper's table of datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bankgcn.experiments.paper.datasets import Description
from bankgcn.report.fields import MISSING
from bankgcn.report.sheet import Block, Cell, Sheet

STATISTICS = ("graphs", "nodes", "edges", "features", "classes")
NOT_HERE = "not here"


def dataset_sheet(descriptions: Iterable[Description]) -> Sheet:
    """One row for each dataset, and one for the paper's figures where they differ."""
    described = list(descriptions)
    rows = tuple(tuple(map(Cell, line)) for data in described for line in _lines(data))
    absent = f"{NOT_HERE}: the figures are the paper's; 'bankgcn data fetch NAME' downloads the dataset."
    return Sheet(
        title="Table 0: Datasets (nodes and edges: means)",
        blocks=(Block(title="", header=("", *STATISTICS, "data"), rows=rows),),
        footer=(absent,) if any(data.here is None for data in described) else (),
        notes=tuple(f"{data.name}: {note}." for data in described for note in data.notes),
    )


def _lines(data: Description) -> Iterator[tuple[str, ...]]:
    here, published = (
        [_number((figures or {}).get(name)) for name in STATISTICS] for figures in (data.here, data.published)
    )
    if data.here is None:
        yield data.name, *published, NOT_HERE
    elif data.published is None:
        yield data.name, *here, "not in paper"
    elif data.here == data.published:
        yield data.name, *here, "as in paper"
    else:
        yield data.name, *here, "differs"
        yield f"{data.name}, paper", *published, ""


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
