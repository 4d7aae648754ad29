"""The page of a store: models by datasets, paired tests, and scores over hyper-parameters, from records alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from bankgcn.experiments.selection import select
from bankgcn.experiments.significance import Comparison, holm
from bankgcn.nn.convs import CONVS
from bankgcn.report.fields import difference, number, p_value, unit
from bankgcn.report.page.chart import Axis, Chart, Choice, Figure, Series, Table
from bankgcn.report.page.hyper_curves import hyper_figures
from bankgcn.report.page.page import Facts, Page, Section, Tile
from bankgcn.report.page.store_cells import (
    Cell,
    ColumnKey,
    RowKey,
    column_labels,
    column_of,
    duration,
    row_label,
    row_of,
)
from bankgcn.training.record import RunRecord

LEVEL = 0.05
NONE = "-"
PREFERRED = ("bank", 2, 8)
"""The row that others are compared with, if it is there: the paper's."""

Cells = Mapping[tuple[RowKey, ColumnKey], Cell]


def store_page(records: Iterable[RunRecord], origin: str) -> Page:
    """The page of a store.

    Raises:
        ValueError: There are no finished runs, or runs of one dataset used different graphs.
    """
    ended = [record for record in records if record.status != "failed"]
    if not ended:
        raise ValueError("there are no finished runs to show: bankgcn reproduce or bankgcn train makes some")
    chosen = select(ended, group_by=lambda config: (row_of(config), column_of(config)))
    cells: dict[Any, Cell] = {group: Cell(selection) for group, selection in chosen.items()}
    rows = sorted({row for row, _ in cells}, key=lambda row: (list(CONVS).index(row[0]), row[1] or 0, row[2] or 0))
    columns = sorted({column for _, column in cells}, key=str)
    reference = PREFERRED if PREFERRED in rows else rows[0]
    return Page(
        title="Models by datasets",
        subtitle=f"{counted(len(ended), 'run')} of {counted(len(rows), 'model')} on {counted(len(columns), 'dataset')}",
        tiles=tuple(_tiles(ended, rows, columns)),
        sections=tuple(section for section in _sections(ended, cells, rows, columns, reference) if section.items),
        origin=origin,
    )


def counted(number: int, word: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _tiles(records: list[RunRecord], rows: list[RowKey], columns: list[ColumnKey]) -> Iterator[Tile]:
    yield Tile(label="runs", value=f"{len(records):,}")
    yield Tile(label="models", value=str(len(rows)))
    yield Tile(label="datasets", value=str(len(columns)))
    yield Tile(label="time of training", value=duration(sum(record.seconds for record in records)))
    yield Tile(label="diverged", value=f"{sum(record.status == 'diverged' for record in records):,}")


def _sections(
    records: list[RunRecord], cells: Cells, rows: list[RowKey], columns: list[ColumnKey], reference: RowKey
) -> Iterator[Section]:
    yield Section(
        name="scores",
        title="Which model is best?",
        text="Test scores. The hyper-parameters of each model were chosen by the mean score on validation graphs, "
        "among those with the most runs; test graphs chose nothing.",
        items=(_dots(cells, rows, columns), _scores(cells, rows, columns)),
    )
    tests = tuple(_tests(cells, rows, columns, reference)) if len(rows) > 1 else ()
    yield Section(
        name="tests",
        title="Is the difference more than chance?",
        text=f"Each model beside {row_label(reference)}, on the runs that share a split.",
        items=tests,
    )
    yield Section(
        name="curves",
        title="What do the hyper-parameters do?",
        text="Scores on validation graphs, by which hyper-parameters are chosen.",
        items=tuple(hyper_figures(records)),
    )
    yield Section(name="cost", title="Time and choices", text="", items=(_cost(cells, rows, columns), _choices(cells)))


def _dots(cells: Cells, rows: list[RowKey], columns: list[ColumnKey]) -> Figure:
    charts = []
    for column in columns:
        found = [row for row in rows if (row, column) in cells]
        here = [cells[row, column] for row in found]
        points = Series(
            kind="points",
            x=[row_label(row) for row in found],
            y=[cell.spread.mean for cell in here],
            error=[0.0 if math.isnan(cell.half) else cell.half for cell in here],
            text=[f"{cell.spread.count} runs" for cell in here],
        )
        metric = here[0].metric
        charts.append(Chart(x=Axis(), y=Axis(title=f"test {metric.label}{unit(metric)}"), series=(points,), height=400))
    return Figure(
        name="scores",
        title="Test scores",
        caption="A point is the mean over the runs of a model, the bar its 95 % interval, which allows for the overlap "
        "of random splits. Bars may overlap although the paired difference is certain: see the tests.",
        charts=tuple(charts),
        choices=(Choice(name="dataset", labels=tuple(column_labels(columns).values())),) if len(columns) > 1 else (),
        wide=True,
    )


def _scores(cells: Cells, rows: list[RowKey], columns: list[ColumnKey]) -> Table:
    marks = {}
    lines = []
    for r, row in enumerate(rows):
        line = [row_label(row)]
        for c, column in enumerate(columns, start=1):
            cell = cells.get((row, column))
            line.append(NONE if cell is None else _mean_and_half(cell))
            if cell is not None and _is_best(cell, [cells[k] for k in cells if k[1] == column]):
                marks[r, c] = "best"
        lines.append(tuple(line))
    labels = column_labels(columns)
    header = ("", *(f"{labels[column]}, {_first(cells, column).metric.label}" for column in columns))
    return Table(
        caption="Mean test score ± half of its 95 % interval (number of runs). The best of each dataset is marked.",
        header=header,
        rows=tuple(lines),
        marks=marks,
    )


def _mean_and_half(cell: Cell) -> str:
    half = "" if math.isnan(cell.half) else f" ± {number(cell.half, cell.metric)}"
    return f"{number(cell.spread.mean, cell.metric)}{half} ({cell.spread.count})"


def _is_best(cell: Cell, others: list[Cell]) -> bool:
    return not any(cell.metric.improves(other.spread.mean, cell.spread.mean) for other in others)


def _first(cells: Cells, column: ColumnKey) -> Cell:
    return next(cell for (_, other), cell in cells.items() if other == column)


def _tests(cells: Cells, rows: list[RowKey], columns: list[ColumnKey], reference: RowKey) -> Iterator[Table]:
    others = [row for row in rows if row != reference]
    marks: dict[tuple[int, int], str] = {}
    lines = [[row_label(row)] for row in others]
    for c, column in enumerate(columns, start=1):
        against = cells.get((reference, column))
        found = [None if against is None else _versus(cells.get((row, column)), against) for row in others]
        adjusted = holm([math.nan if versus is None else versus.t_test for versus in found])
        for r, (versus, p) in enumerate(zip(found, adjusted, strict=True)):
            if versus is None or against is None:
                lines[r].append(NONE)
                continue
            better = (versus.difference > 0) == against.metric.higher_is_better
            if p < LEVEL:
                marks[r, c] = "ahead" if better else "behind"
            arrow = "" if not p < LEVEL else "↑ " if better else "↓ "
            counts = f"{versus.wins}/{versus.ties}/{versus.losses}"
            lines[r].append(f"{arrow}{difference(versus.difference, against.metric)} (p {p_value(p)}; {counts})")
    yield Table(
        caption=f"Mean difference to {row_label(reference)}, with the p-value of the corrected paired t-test, and on "
        f"how many splits the model is better / equal / worse. p-values are adjusted for the number of models of a "
        f"dataset by Holm's method; ↑ and ↓ mark p < {LEVEL:g}.",
        header=("", *column_labels(columns).values()),
        rows=tuple(map(tuple, lines)),
        marks=marks,
    )


def _versus(cell: Cell | None, against: Cell) -> Comparison | None:
    return None if cell is None else cell.versus(against)


def _cost(cells: Cells, rows: list[RowKey], columns: list[ColumnKey]) -> Table:
    lines = []
    for row in rows:
        times = [
            NONE
            if (row, column) not in cells
            else duration(median(r.seconds for r in cells[row, column].chosen.records))
            for column in columns
        ]
        parameters = {
            r.parameters for column in columns if (row, column) in cells for r in cells[row, column].chosen.records
        }
        lines.append((row_label(row), *times, " / ".join(f"{n:,}" for n in sorted(parameters) if n) or NONE))
    return Table(
        caption="Median time of a run, and number of parameters of the network.",
        header=("", *column_labels(columns).values(), "parameters"),
        rows=tuple(lines),
    )


def _choices(cells: Cells) -> Facts:
    rows = []
    labels = column_labels(dict.fromkeys(column for _, column in cells))
    for (row, column), cell in cells.items():
        config = cell.chosen.config
        train, place = config.train, config.model.normalize
        chosen = f"weight decay {train.weight_decay:g}, gamma {train.gamma:g}, normalisation: {place}"
        rows.append(
            (f"{row_label(row)}, {labels[column]}", f"{chosen}; of {cell.chosen.candidates} complete candidates")
        )
    return Facts(title="Chosen hyper-parameters", rows=tuple(rows), folded=True)
