"""The paper's table of datasets, beside the statistics of the data on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from bankgcn.data.catalog import CATALOG, Dataset, Statistics, find_in_catalog

PAPER_DATASETS = tuple(name for name, entry in CATALOG.items() if entry.published is not None)


@dataclass(frozen=True, kw_only=True)
class Description:
    """Statistics of a dataset.

    Args:
        name: Name of the dataset.
        here: Statistics of the data on this machine, by name; ``None`` without the data.
        published: The paper's statistics; ``None`` if it has none.
        notes: Notes for the reader.
    """

    name: str
    here: dict[str, float] | None
    published: dict[str, float] | None
    notes: tuple[str, ...] = ()


def describe(names: Iterable[str] = PAPER_DATASETS, data_root: Path | None = None) -> list[Description]:
    """Statistics of datasets by name, computed from the data on this machine."""
    return [_described(find_in_catalog(name), data_root) for name in names]


def is_here(name: str, data_root: Path | None = None) -> bool:
    """Whether a dataset of the catalogue can be read without a download."""
    from bankgcn.data.sources import locate

    entry = find_in_catalog(name)
    return not entry.places or locate(entry, data_root) is not None


def _described(entry: Dataset, data_root: Path | None) -> Description:
    from bankgcn.data.sources import find_dataset

    published = asdict(entry.published) if entry.published else None
    if not is_here(entry.name, data_root):
        return Description(name=entry.name, here=None, published=published)
    graphs = find_dataset(entry.name, data_root).load()
    return Description(
        name=entry.name, here=asdict(Statistics.of(graphs)), published=published, notes=tuple(graphs.notes)
    )
