"""Validation scores over each hyper-parameter that varies in a store."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import fmean, stdev
from typing import Any

from bankgcn.metrics import METRICS
from bankgcn.nn.convs import CONVS
from bankgcn.report.fields import unit
from bankgcn.report.page.chart import Axis, Chart, Choice, Figure, Series
from bankgcn.report.page.store_cells import column_labels, grouped
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

IGNORED = {"seed", "dataset", "conv", "train_per_class", "metric"}
WORDS = {
    "order": "order K of the filters",
    "num_subspaces": "number s of filters in a layer",
    "gamma": "weight γ of diversity",
    "normalize": "place of the normalisation",
}
"""Names of settings for a reader; others are shown by their own."""


def settings_of(config: RunSpec) -> dict[str, Any]:
    """All settings of a run in one flat list."""
    values = {**vars(config.train), **config.model.to_dict(), **config.model.conv_options}
    return {name: value for name, value in values.items() if name not in IGNORED and not isinstance(value, dict)}


def best_by_value(records: list[RunRecord], name: str) -> dict[Any, tuple[float, float]]:
    """Mean and deviation of the validation score for each value of a setting, its other settings at their best.

    Only seeds that all candidates have count, so that candidates with more runs have no advantage.

    Args:
        records: Runs of one model on one dataset.
        name: The setting.
    """
    candidates: defaultdict[str, dict[int, RunRecord]] = defaultdict(dict)
    for record in records:
        candidates[record.config.with_(seed=0).key][record.config.seed] = record
    shared = set.intersection(*(set(runs) for runs in candidates.values()))
    metric = METRICS[records[0].metric]
    found: dict[Any, tuple[float, float]] = {}
    for runs in candidates.values():
        seeds = shared or set(runs)
        scores = [_score(runs[seed]) for seed in sorted(seeds)]
        value = settings_of(next(iter(runs.values())).config).get(name)
        mean = fmean(scores)
        if not math.isnan(mean) and (value not in found or metric.improves(mean, found[value][0])):
            found[value] = mean, stdev(scores) if len(scores) > 1 else 0.0
    return {value: found[value] for value in sorted(found, key=_order)}


def hyper_figures(records: Iterable[RunRecord]) -> Iterator[Figure]:
    """A figure for each setting that varies, with a chart for each dataset on which it does."""
    charts: defaultdict[str, dict[str, Chart]] = defaultdict(dict)
    by_column = grouped(records)
    labels = column_labels(by_column)
    for column, runs in by_column.items():
        by_conv: defaultdict[str, list[RunRecord]] = defaultdict(list)
        for record in runs:
            by_conv[record.config.model.conv].append(record)
        for name in _varying(by_conv):
            charts[name][labels[column]] = _chart(name, by_conv)
    for name, found in charts.items():
        columns = tuple(sorted(found))
        word = WORDS.get(name, name.replace("_", " "))
        yield Figure(
            name=f"over-{name}",
            title=f"Over the {word}" if name in WORDS else f"Over {word}",
            caption="The validation score at each value, all other settings at their best for this value; a bar is the "
            "standard deviation over the runs. A flat curve means that the choice matters little.",
            charts=tuple(found[column] for column in columns),
            choices=(Choice(name="dataset", labels=columns),) if len(columns) > 1 else (),
        )


def _varying(by_conv: dict[str, list[RunRecord]]) -> list[str]:
    """The settings with several values within a model."""
    names: dict[str, None] = {}
    for records in by_conv.values():
        values: defaultdict[str, set[str]] = defaultdict(set)
        for record in records:
            for name, value in settings_of(record.config).items():
                values[name].add(repr(value))
        names |= dict.fromkeys(name for name, found in values.items() if len(found) > 1)
    return list(names)


def _chart(name: str, by_conv: dict[str, list[RunRecord]]) -> Chart:
    metric = METRICS[next(iter(by_conv.values()))[0].metric]
    found = {conv: best_by_value(by_conv[conv], name) for conv in CONVS if conv in by_conv}
    found = {conv: scores for conv, scores in found.items() if len(scores) > 1}
    lines = []
    for place, (conv, scores) in enumerate(found.items()):
        means, spreads = zip(*scores.values(), strict=True)
        bars = spreads if len(found) == 1 else ()  # the bars of several curves cannot be told apart
        words = [_word(value) for value in scores]
        lines.append(Series(name=CONVS[conv].label, x=words, y=means, error=bars, color=place, dash=place))
    title = f"validation {metric.label}{unit(metric)}"
    values = sorted({value for scores in found.values() for value in scores}, key=_order)
    axis = Axis(title=WORDS.get(name, name.replace("_", " ")), words=tuple(map(_word, values)))
    return Chart(x=axis, y=Axis(title=title), series=tuple(lines))


def _order(value: Any) -> tuple[bool, Any]:
    """Where a value of a setting stands beside others: none first, then numbers, then words."""
    return isinstance(value, str), -math.inf if value is None else value


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _score(record: RunRecord) -> float:
    metric = METRICS[record.metric]
    if record.valid_score is None or record.status == "diverged":
        return math.nan
    return record.valid_score * (100 if metric.percent else 1)
