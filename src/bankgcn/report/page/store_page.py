"""The page of a store: models by datasets, paired tests, and scores over hyper-parameters, from records alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import fmean, median, stdev
from typing import Any

from bankgcn.experiments.design import Column, Row
from bankgcn.experiments.statistics import LEVEL, Comparison, holm
from bankgcn.metrics import METRICS
from bankgcn.nn.convs import MODELS
from bankgcn.report.page.page import Axis, Chart, Facts, Figure, Page, Section, Series, Table, Tile, choice_of
from bankgcn.report.results import Cell, ColumnKey, Results, collect_found, column_labels, column_of
from bankgcn.report.sheet import counted, difference, number, p_value, shown, unit
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

NONE = "-"


def store_page(records: Iterable[RunRecord], origin: str) -> Page:
    """The page of a store.

    Raises:
        ValueError: There are no finished runs, or runs of one dataset used different graphs.
    """
    ended = [record for record in records if record.status != "failed"]
    if not ended:
        raise ValueError("there are no finished runs to show: bankgcn paper reproduce or bankgcn train makes some")
    results = collect_found(ended)
    models, datasets = len(results.design.rows), len(results.design.columns)
    return Page(
        title=results.design.title,
        subtitle=f"{counted(len(ended), 'run')} of {counted(models, 'model')} on {counted(datasets, 'dataset')}",
        tiles=tuple(_tiles(ended, results)),
        sections=tuple(section for section in _sections(ended, results) if section.items),
        origin=origin,
    )


def _tiles(records: list[RunRecord], results: Results) -> Iterator[Tile]:
    yield Tile(label="runs", value=f"{len(records):,}")
    yield Tile(label="models", value=str(len(results.design.rows)))
    yield Tile(label="datasets", value=str(len(results.design.columns)))
    yield Tile(label="time of training", value=duration(sum(record.seconds for record in records)))
    yield Tile(label="diverged", value=f"{sum(record.status == 'diverged' for record in records):,}")


def _sections(records: list[RunRecord], results: Results) -> Iterator[Section]:
    yield Section(
        name="scores",
        title="Which model is best?",
        text="Test scores. The hyper-parameters of each model were chosen by the mean score on validation graphs, "
        "among those with the most runs; test graphs chose nothing.",
        items=(_dots(results), _scores(results)),
    )
    if results.reference is not None:
        yield Section(
            name="tests",
            title="Is the difference more than chance?",
            text=f"Each model beside {results.reference.label}, on the runs that share a split.",
            items=(_tests(results, results.reference),),
        )
    yield Section(
        name="curves",
        title="What do the hyper-parameters do?",
        text="Scores on validation graphs, by which hyper-parameters are chosen.",
        items=tuple(hyper_figures(records)),
    )
    yield Section(name="cost", title="Time and choices", text="", items=(_cost(results), _choices(results)))


def _cells(results: Results, column: Column) -> list[Cell]:
    """The cells of a column, in the order of the rows."""
    names = [(row.name, column.name) for row in results.design.rows]
    return [results.cells[name] for name in names if name in results.cells]


def _half(cell: Cell) -> float:
    """Half of the 95 % interval of the mean; NaN for too few runs."""
    low, high = cell.interval
    return (high - low) / 2


def _dots(results: Results) -> Figure:
    charts = []
    for column in results.design.columns:
        here = _cells(results, column)
        points = Series(
            kind="points",
            x=[cell.row.label for cell in here],
            y=[cell.spread.mean for cell in here],
            error=[0.0 if math.isnan(_half(cell)) else _half(cell) for cell in here],
            text=[f"{cell.spread.count} runs" for cell in here],
        )
        metric = here[0].metric
        charts.append(Chart(x=Axis(), y=Axis(title=f"test {metric.label}{unit(metric)}"), series=(points,), height=400))
    labels = tuple(column.label for column in results.design.columns)
    return Figure(
        name="scores",
        title="Test scores",
        caption="A point is the mean over the runs of a model, the bar its 95 % interval, which allows for the overlap "
        "of random splits. Bars may overlap although the paired difference is certain: see the tests.",
        charts=tuple(charts),
        choices=choice_of("dataset", labels),
        wide=True,
    )


def _scores(results: Results) -> Table:
    marks = {}
    lines = []
    for r, row in enumerate(results.design.rows):
        line = [row.label]
        for c, column in enumerate(results.design.columns, start=1):
            cell = results.cells.get((row.name, column.name))
            if cell is None:
                line.append(NONE)
                continue
            metric, mean = cell.metric, cell.spread.mean
            half = "" if math.isnan(_half(cell)) else f" ± {number(_half(cell), metric)}"
            line.append(f"{number(mean, metric)}{half} ({cell.spread.count})")
            if not any(metric.improves(other.spread.mean, mean) for other in _cells(results, column)):
                marks[r, c] = "best"
        lines.append(tuple(line))
    columns = results.design.columns
    return Table(
        caption="Mean test score ± half of its 95 % interval (number of runs). The best of each dataset is marked.",
        header=("", *(f"{column.label}, {_cells(results, column)[0].metric.label}" for column in columns)),
        rows=tuple(lines),
        marks=marks,
    )


def _tests(results: Results, reference: Row) -> Table:
    others = [row for row in results.design.rows if row.name != reference.name]
    marks: dict[tuple[int, int], str] = {}
    lines = [[row.label] for row in others]
    for c, column in enumerate(results.design.columns, start=1):
        comparisons = [_versus(results, row, reference, column) for row in others]
        adjusted = holm([math.nan if versus is None else versus.t_test for versus in comparisons])
        for r, (versus, p) in enumerate(zip(comparisons, adjusted, strict=True)):
            if versus is None:
                lines[r].append(NONE)
                continue
            metric = results.at(reference, column).metric
            better = (versus.difference > 0) == metric.higher_is_better
            if p < LEVEL:
                marks[r, c] = "ahead" if better else "behind"
            arrow = "" if not p < LEVEL else "↑ " if better else "↓ "
            lines[r].append(f"{arrow}{difference(versus.difference, metric)} (p {p_value(p)}; {versus.counts})")
    return Table(
        caption=f"Mean difference to {reference.label}, with the p-value of the corrected paired t-test, and on "
        f"how many splits the model is better / equal / worse. p-values are adjusted for the number of models of a "
        f"dataset by Holm's method; ↑ and ↓ mark p < {LEVEL:g}.",
        header=("", *(column.label for column in results.design.columns)),
        rows=tuple(map(tuple, lines)),
        marks=marks,
    )


def _versus(results: Results, row: Row, reference: Row, column: Column) -> Comparison | None:
    """A row against the reference; ``None`` if one has no cell, or they share fewer than two runs."""
    cell, against = (results.cells.get((each.name, column.name)) for each in (row, reference))
    return None if cell is None or against is None else cell.versus(against, fewest=2)


def _cost(results: Results) -> Table:
    lines = []
    for row in results.design.rows:
        cells = [results.cells.get((row.name, column.name)) for column in results.design.columns]
        times = [NONE if cell is None else duration(median(r.seconds for r in cell.recorded)) for cell in cells]
        parameters = {record.parameters for cell in cells if cell is not None for record in cell.recorded}
        lines.append((row.label, *times, " / ".join(f"{n:,}" for n in sorted(parameters) if n) or NONE))
    return Table(
        caption="Median time of a run, and number of parameters of the network.",
        header=("", *(column.label for column in results.design.columns), "parameters"),
        rows=tuple(lines),
    )


def _choices(results: Results) -> Facts:
    rows = []
    for cell in results.cells.values():
        assert cell.chosen is not None
        train, place = cell.chosen.train, cell.chosen.model.normalize
        chosen = f"weight decay {train.weight_decay:g}, gamma {train.gamma:g}, normalisation: {place}"
        rows.append((f"{cell.row.label}, {cell.column.label}", f"{chosen}; of {cell.candidates} complete candidates"))
    return Facts(title="Chosen hyper-parameters", rows=tuple(rows), folded=True)


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
    best: dict[Any, tuple[float, float]] = {}
    for runs in candidates.values():
        seeds = shared or set(runs)
        scores = [_score(runs[seed]) for seed in sorted(seeds)]
        value = settings_of(next(iter(runs.values())).config).get(name)
        mean = fmean(scores)
        if not math.isnan(mean) and (value not in best or metric.improves(mean, best[value][0])):
            best[value] = mean, stdev(scores) if len(scores) > 1 else 0.0
    return {value: best[value] for value in sorted(best, key=_order)}


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
    for name, chart_of in charts.items():
        columns = tuple(sorted(chart_of))
        word = WORDS.get(name, name.replace("_", " "))
        yield Figure(
            name=f"over-{name}",
            title=f"Over the {word}" if name in WORDS else f"Over {word}",
            caption="The validation score at each value, all other settings at their best for this value; a bar is the "
            "standard deviation over the runs. A flat curve means that the choice matters little.",
            charts=tuple(chart_of[column] for column in columns),
            choices=choice_of("dataset", columns),
        )


def _varying(by_conv: dict[str, list[RunRecord]]) -> list[str]:
    """The settings with several values within a model."""
    names: dict[str, None] = {}
    for records in by_conv.values():
        values: defaultdict[str, set[str]] = defaultdict(set)
        for record in records:
            for name, value in settings_of(record.config).items():
                values[name].add(repr(value))
        names |= dict.fromkeys(name for name, different in values.items() if len(different) > 1)
    return list(names)


def _chart(name: str, by_conv: dict[str, list[RunRecord]]) -> Chart:
    metric = METRICS[next(iter(by_conv.values()))[0].metric]
    scores_of = {conv: best_by_value(by_conv[conv], name) for conv in MODELS if conv in by_conv}
    scores_of = {conv: scores for conv, scores in scores_of.items() if len(scores) > 1}
    lines = []
    for place, (conv, scores) in enumerate(scores_of.items()):
        means, spreads = zip(*scores.values(), strict=True)
        bars = spreads if len(scores_of) == 1 else ()  # the bars of several curves cannot be told apart
        labels = [_word(value) for value in scores]
        lines.append(Series(name=MODELS[conv].label, x=labels, y=means, error=bars, color=place, dash=place))
    title = f"validation {metric.label}{unit(metric)}"
    values = sorted({value for scores in scores_of.values() for value in scores}, key=_order)
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
    if record.valid_score is None or record.status == "diverged":
        return math.nan
    return shown(record.valid_score, METRICS[record.metric])


def duration(seconds: float) -> str:
    """A time as a reader says it: seconds, minutes or hours, whichever is near."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def grouped(records: Iterable[RunRecord]) -> dict[ColumnKey, list[RunRecord]]:
    """The records of each dataset."""
    by_column: defaultdict[ColumnKey, list[RunRecord]] = defaultdict(list)
    for record in records:
        by_column[column_of(record.config)].append(record)
    return dict(by_column)
