"""The cells of a store: the chosen runs of each model on each dataset."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bankgcn.experiments.comparison import draws_splits
from bankgcn.experiments.selection import Selection
from bankgcn.experiments.significance import FEWEST, Comparison, Spread, compare, corrected_interval
from bankgcn.metrics import METRICS, Metric
from bankgcn.nn.convs import CONVS
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

RowKey = tuple[str, Any, Any]
ColumnKey = tuple[str, int | None]


def row_of(config: RunSpec) -> RowKey:
    """What makes runs one row: the convolution, its order and its number of filters."""
    options = config.model.conv_options
    return config.model.conv, options.get("order"), options.get("num_subspaces")


def column_of(config: RunSpec) -> ColumnKey:
    """What makes runs one column: the graphs."""
    return config.dataset, config.train_per_class


def row_label(row: RowKey) -> str:
    """The name of a row."""
    conv, order, subspaces = row
    options = [f"K={order}"] if order is not None else []
    options += [f"s={subspaces}"] if subspaces is not None else []
    return " ".join([CONVS[conv].label, *options])


def column_labels(columns: Iterable[ColumnKey]) -> dict[ColumnKey, str]:
    """The name of each column: of a file, its name, with as many folders before it as tell it from the others."""
    found = list(columns)
    shown = short_names(dict.fromkeys(dataset for dataset, _ in found))
    return {
        (dataset, number): shown[dataset] if number is None else f"{shown[dataset]} ({number} a class)"
        for dataset, number in found
    }


def short_names(datasets: Iterable[str]) -> dict[str, str]:
    """The shortest ends of paths that differ; endings of files are left out where they tell nothing."""
    found = list(datasets)
    parts = {name: [part for part in re.split(r"[/\\]", name) if part] or [name] for name in found}
    short = {name: Path(parts[name][-1]).stem if len(parts[name]) > 1 else name for name in found}
    depth = 1
    while len(set(short.values())) < len(found) and depth <= max(map(len, parts.values())):
        same = {word for word in short.values() if list(short.values()).count(word) > 1}
        short = {name: "/".join(parts[name][-depth:]) if word in same else word for name, word in short.items()}
        depth += 1
    return short


def duration(seconds: float) -> str:
    """A time as a reader says it: seconds, minutes or hours, whichever is near."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


@dataclass(frozen=True, eq=False)
class Cell:
    """The chosen runs of one model on one dataset."""

    chosen: Selection

    @property
    def metric(self) -> Metric:
        """The metric of the scores."""
        return METRICS[self.chosen.records[0].metric]

    @property
    def test_to_train(self) -> float:
        """Test graphs for each training graph; 0 if all runs have the same test graphs."""
        first = self.chosen.records[0]
        same = not draws_splits(first.config) or len({record.split_hash for record in self.chosen.records}) == 1
        return 0.0 if same or not first.split_sizes else first.split_sizes[2] / max(first.split_sizes[0], 1)

    @cached_property
    def scores(self) -> dict[tuple[int, str], float]:
        """Test score of each run by seed and split, in percent where the metric says so; NaN if it diverged."""
        factor = 100 if self.metric.percent else 1
        return {
            (record.config.seed, record.split_hash): factor * record.test_score
            if record.test_score is not None and record.status != "diverged"
            else math.nan
            for record in self.chosen.records
        }

    @cached_property
    def spread(self) -> Spread:
        """Mean and standard deviation of the scores."""
        return Spread.of(list(self.scores.values()))

    @cached_property
    def half(self) -> float:
        """Half of the 95 % interval of the mean; NaN for too few runs."""
        if self.spread.count < FEWEST:
            return math.nan
        low, high = corrected_interval(list(self.scores.values()), self.test_to_train)
        return (high - low) / 2

    def versus(self, other: Cell) -> Comparison | None:
        """This cell against another on the runs that share seed and split; ``None`` without two of them."""
        shared = [key for key in self.scores if key in other.scores]
        if len(shared) < 2:
            return None
        pairs = [[cell.scores[key] for key in shared] for cell in (self, other)]
        return compare(pairs[0], pairs[1], self.test_to_train, self.metric.higher_is_better)


def grouped(records: Iterable[RunRecord]) -> dict[ColumnKey, list[RunRecord]]:
    """The records of each dataset."""
    found: defaultdict[ColumnKey, list[RunRecord]] = defaultdict(list)
    for record in records:
        found[column_of(record.config)].append(record)
    return dict(found)
