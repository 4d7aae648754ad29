"""The sections of the page on Tables 1 to 4, edges, filters and data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from bankgcn.experiments.design import Column, Row
from bankgcn.experiments.paper import AS_PAPER, BEST_OF_THREE, STAND_INS, TABLES, TableSetting, figure3
from bankgcn.report.plots import omegas
from bankgcn.report.results import Results, collect
from bankgcn.report.sheet import MISSING, count, counted, write_sheet
from bankgcn.report.tables import NOT_RUN, compact
from reproduction.evidence import MAIN, PLACE_SETTINGS, Evidence, planned_rows
from reproduction.findings import (
    BANK,
    NO_EDGES,
    apart_from_reference,
    baselines,
    best_rank,
    columns_ahead,
    contrast,
    contrasts_with_baselines,
    gap,
    marks,
    mean_contrast,
    rows_apart,
)
from reproduction.markdown import (
    FILTER_DATASETS,
    NONE_COMPLETE,
    NOT_YET,
    bullets,
    labels,
    listed,
    show,
    show_all,
    table_lines,
)

Files = Mapping[str, bytes]

STAND_IN_RUNS = 5
"""Number of runs of a dataset that stands in for one of the paper's."""


def table_of(results: Results) -> str:
    """The table in Markdown, with its legend and the rule of the choice."""
    if not results.occupied_columns():
        return NOT_YET
    sheet = compact(results, "markdown")
    return write_sheet(replace(sheet, title="", footer=sheet.footer[:2], notes=()), "markdown").strip()


def table1(evidence: Evidence, files: Files) -> str:
    """Table 1 in both settings, with dots and ranks; the first screen has shown the dots of the first."""
    parts = ["Only cells with all their runs are shown. p-values are not adjusted for the number of comparisons."]
    for setting in MAIN:
        results = evidence.results("table1", setting)
        parts += [f"### {setting.label}", f"In this setting, {setting.sentence}.", table_of(results)]
        parts += adjusted_marks(results, results.ranked_columns())
        if results.occupied_columns():
            dots = show_all("table1", setting, files, "table1-")
            parts += ([] if setting == AS_PAPER else dots) + show_all("table1", setting, files, "ranks-")
            parts += _best_rank(results)
    if evidence.results("table1", BEST_OF_THREE).ranked_columns():
        parts += [f"### {BEST_OF_THREE.label}", table_of(evidence.results("table1", BEST_OF_THREE))]
    return "\n\n".join([*parts, *_stand_ins(evidence)])


def _best_rank(results: Results) -> list[str]:
    """A sentence on the best mean rank, if there is one."""
    best = best_rank(results)
    if best is None:
        return []
    separated = labels(best.separated) or "no other model"
    return [
        f"{best.row.label} has the best mean rank, {best.mean:.1f}; the Nemenyi test separates it from {separated}."
    ]


def adjusted_marks(results: Results, columns: Sequence[Column]) -> list[str]:
    """A sentence on how many arrows of a table would remain with adjusted p-values, if it has arrows."""
    marked, remaining = marks(results, columns)
    if not marked:
        return []
    start = "With p-values adjusted for the rows of a dataset by Holm's method,"
    return [f"{start} {remaining} of {counted(marked, 'arrow')} on the complete datasets would remain."]


def _stand_ins(evidence: Evidence) -> list[str]:
    """The datasets that stand in for one of the paper's, in a table of their own."""
    parts = []
    datasets = {record.config.dataset for record in evidence.records.values()}
    for name in STAND_INS.values():
        if name in datasets:
            table = evidence.table("table1", AS_PAPER).restricted(datasets=[name], runs=STAND_IN_RUNS)
            results = collect(table, evidence.records).complete_only()
            runs = f"It is not the paper's dataset. Each model has {STAND_IN_RUNS} runs."
            parts += [f"### {table.columns[0].label}", runs, table_of(results)]
    return parts


def edges(evidence: Evidence, files: Files) -> str:
    """What the MLP without edges says about each dataset."""
    header = ["", "setting", "MLP", "best model", "ahead of the MLP", "behind it"]
    lines, sentences = [], []
    for column in evidence.table("table1", AS_PAPER).columns:
        for setting in MAIN:
            results = evidence.results("table1", setting)
            if column.name in [ranked.name for ranked in results.ranked_columns()]:
                lines.append([column.label, setting.label, *_beside_mlp(results, column)])
                sentences.append(_edges_sentence(results, setting, column))
    if not lines:
        return NONE_COMPLETE
    start = "The MLP has the same layers and readout, but no edges. Ahead and behind: by the paired test, p < 0.05."
    return "\n\n".join([start, table_lines(header, lines), bullets(sentences)])


def _beside_mlp(results: Results, column: Column) -> list[str]:
    mlp = results.row(NO_EDGES)
    best = next(row for row in results.design.rows if results.is_best(row, column))
    ahead, behind = rows_apart(results, NO_EDGES, column)
    means = {row.name: results.at(row, column).spread.mean for row in (mlp, best)}
    return [f"{means[NO_EDGES]:.2f}", f"{best.label} {means[best.name]:.2f}", str(len(ahead)), str(len(behind))]


def _edges_sentence(results: Results, setting: TableSetting, column: Column) -> str:
    ahead, behind = rows_apart(results, NO_EDGES, column)
    start = f"{column.label}, {setting.label.lower()}:"
    worse = f" The MLP is ahead of {labels(behind)}." if behind else ""
    if not ahead:
        return f"{start} no model is ahead of the MLP, so the test shows no use of the edges.{worse}"
    return f"{start} the edges help {labels(ahead)}.{worse}"


def studies(evidence: Evidence, files: Files) -> str:
    """Tables 2 and 3: their figures, the differences to their reference, and curves."""
    parts = []
    for name in ("table2", "table3"):
        results = evidence.results(name, AS_PAPER)
        if results.ranked_columns():
            parts += [f"### {results.design.title}", table_of(results), against_reference(results)]
            parts += show_all(name, AS_PAPER, files)
    return "\n\n".join(parts) or NOT_YET


def data(evidence: Evidence) -> str:
    """What the records say about their datasets."""
    notes = {f"{record.config.dataset}: {note}." for record in evidence.records.values() for note in record.notes}
    start = "[The page on data](data.md#the-datasets) says where our copies come from, and how they were checked."
    return "\n\n".join([start, bullets(sorted(notes))])


def filters(evidence: Evidence, files: Files) -> str:
    """Figure 3 and its values of Omega, for each place of l2 that has been run."""
    parts = []
    for setting in PLACE_SETTINGS.values():
        (place,) = setting.grid.normalize
        figure = figure3(FILTER_DATASETS, normalize=place)
        if any(config.key in evidence.records for config in figure.configs()):
            sheet = replace(omegas(figure, evidence.records), title="", notes=())
            text = f"Responses of the filters of the first layer, {setting.label}."
            parts += [f"### {setting.label}", show(f"figure3-{place}", text, files)]
            parts += [write_sheet(sheet, "markdown").strip()]
    return "\n\n".join(parts) or NOT_YET


CLAIM = (
    "The paper says that BankGCN outperforms all baselines of message passing with about as many parameters, and "
    "ChebNet with about a third of the parameters."
)
MEASURE = (
    "in points, as a mean over the complete datasets with its 95 % interval, which takes the datasets as independent; "
    "ahead and behind: the datasets on which the first is better or worse by the paired test, p < 0.05"
)
FIELDS = ["ours", "paper", "ahead", "behind"]


def against_baselines(evidence: Evidence) -> str:
    """BankGCN minus each baseline, in both settings."""
    lines, counts, layer = [], [], MISSING
    for setting in MAIN:
        results = evidence.results("table1", setting)
        columns = results.ranked_columns()
        if columns:
            bank = results.row(BANK)
            layer = f"A layer of {bank.label} has {count(results.at(bank, columns[0]).layer_parameters)} parameters."
            counts.append(f"{setting.label}: {counted(len(columns), 'dataset')}, {labels(columns)}.")
            for row in baselines(results):
                parameters = count(results.at(row, columns[0]).layer_parameters)
                lines.append([row.label, setting.label, parameters, *_difference(results, bank, row)])
    if not lines:
        return NONE_COMPLETE
    start = f"{CLAIM} {layer} Differences are BankGCN minus the baseline, {MEASURE}."
    table = table_lines(["", "setting", "para/layer", *FIELDS], lines)
    intervals = [part for setting in MAIN for part in _intervals(evidence.results("table1", setting), setting)]
    return "\n\n".join([start, table, " ".join(counts), *intervals])


def _intervals(results: Results, setting: TableSetting) -> list[str]:
    """Each difference with its interval beside the paper's, and how many of either the test can show."""
    contrasts_of, columns = contrasts_with_baselines(results), results.ranked_columns()
    if not columns:
        return []
    lines = [
        [row.label, *(f"{one.ours:+.2f} ± {one.half_width:.2f}; {one.paper:+.2f}" for one in contrasts_of[row.name])]
        for row in baselines(results)
    ]
    every = [one for contrasts in contrasts_of.values() for one in contrasts]
    ours, papers = sum(one.is_shown for one in every), sum(one.papers_is_shown for one in every)
    inside = sum(abs(one.ours - one.paper) <= one.half_width for one in every)
    would = f"If ours were as large as the paper's, it would show {papers}"
    if 2 * papers < len(every):
        would += ": most of the paper's differences are too small for a test over these splits"
    return [
        f"{setting.label}: BankGCN minus each baseline with its 95 % interval, and then the paper's difference.",
        table_lines(["", *(column.label for column in columns)], lines),
        "The test shows a difference if the interval does not contain 0: "
        f"{ours} of {counted(len(every), 'difference')}. {would}. {inside} of the paper's differences lie in our "
        "intervals.",
    ]


def against_reference(results: Results) -> str:
    """Each row with edges minus the reference of the table, and how often the test shows a difference at all."""
    compared, reference, columns = apart_from_reference(results), results.reference, results.ranked_columns()
    if not compared or reference is None:
        return NONE_COMPLETE
    lines = [[row.label, *_difference(results, row, reference)] for row, _, _ in compared]
    shown = sum(len(ahead) + len(behind) for _, ahead, behind in compared)
    return "\n\n".join(
        [
            f"Differences are the row minus {reference.label}, {MEASURE}.",
            table_lines(["", *FIELDS], lines),
            f"Of {counted(len(compared) * len(columns), 'pair')} of a row and a dataset, the test shows a difference "
            f"to {reference.label} in {shown}. Datasets: {labels(columns)}.",
        ]
    )


def _difference(results: Results, first: Row, second: Row) -> list[str]:
    """The first minus the second: here and in the paper, and the datasets on which the first is ahead and behind."""
    mean = mean_contrast([contrast(results, first, second, column) for column in results.ranked_columns()])
    return [
        f"{mean.ours:+.2f} ± {mean.half_width:.2f}",
        MISSING if math.isnan(mean.paper) else f"{mean.paper:+.2f}",
        labels(columns_ahead(results, first, [second])) or "none",
        labels(columns_ahead(results, second, [first])) or "none",
    ]


LENGTHS = "Number of models on each dataset, number of their runs, and the epoch after which each run ended:"
DECREASE = "Change from the whole dataset to the reduced one, in percent of the score; ours, then the paper's:"


def large_datasets(evidence: Evidence, files: Mapping[str, bytes]) -> str:
    """Table 4 in words, figures and differences."""
    results = evidence.results("table4", AS_PAPER)
    columns = results.occupied_columns()
    if not columns:
        return NOT_YET
    return "\n\n".join(
        [
            table_of(results),
            *adjusted_marks(results, columns),
            *show_all("table4", AS_PAPER, files),
            bullets([_summary(results, column) for column in columns]),
            *_same_figures(results, columns),
            *_differences(results, columns),
            *_decreases(results, columns),
            LENGTHS,
            _lengths(results, columns),
        ]
    )


def _summary(results: Results, column: Column) -> str:
    """Which model is the best here and in the paper, and what the paired test says about BankGCN and the MLP."""
    rows = [row for row in results.design.rows if results.at(row, column).spread.count]
    best = max(rows, key=lambda row: results.at(row, column).spread.mean)
    summary = f"{column.label}: {best.label} has the highest mean of {counted(len(rows), 'model')}"
    figures = {row.label: figure.mean for row in rows if (figure := results.at(row, column).published)}
    summary += f"; in the paper, {max(figures, key=figures.__getitem__)}." if figures else "."
    summary += _cut_off(results, column)
    if column.runs == 1:
        return f"{summary} With one run, there is no test."
    if results.reference in rows:
        better, worse = rows_apart(results, results.reference.name, column)
        summary += (
            f" By the paired test over {column.runs} seeds, {results.reference.label} is ahead of {_named(worse)} and "
            f"behind {_named(better)}."
        )
    if NO_EDGES in [row.name for row in rows]:
        better, worse = rows_apart(results, NO_EDGES, column)
        summary += f" The MLP without edges is ahead of {_named(worse)} and behind {_named(better)}."
    return summary


def _same_figures(results: Results, columns: Sequence[Column]) -> list[str]:
    """Which columns stand beside the same figures of the paper, and which is nearest to them."""
    sentences = []
    for first in columns:
        same = [column for column in columns if _published(results, column) == _published(results, first)]
        gaps = [[gap(results.at(row, column)) for column in same] for row in results.design.rows]
        rows = [row for row in gaps if not any(map(math.isnan, row))]
        if len(same) > 1 and same[0] is first and rows:
            means = [fmean(map(abs, distances)) for distances in zip(*rows, strict=True)]
            listing = listed([f"{column.label} {mean:.2f}" for column, mean in zip(same, means, strict=True)])
            sentences.append(
                f"{labels(same)} stand beside the same figures, because the paper does not say which of them it has. "
                f"Mean absolute difference to these figures over {counted(len(rows), 'model')}, in points: {listing}."
            )
    return sentences


def _published(results: Results, column: Column) -> list[object]:
    return [results.at(row, column).published for row in results.design.rows]


def _cut_off(results: Results, column: Column) -> str:
    """How many runs a limit below the paper's has ended."""
    limit, papers = _most_epochs(column), _most_epochs(_papers(results, column))
    ended = [record.epochs for row in results.design.rows for record in results.at(row, column).records if record]
    reached = sum(epochs >= limit for epochs in ended)
    if not reached or limit >= papers:
        return ""
    return (
        f" {reached} of {counted(len(ended), 'run')} ended at the limit of {limit} epochs (paper: {papers}); "
        "a longer training may raise their scores."
    )


def _named(rows: Sequence[Row]) -> str:
    return labels(rows) or "no model"


def _differences(results: Results, columns: Sequence[Column]) -> list[str]:
    """Each row minus the reference, here and in the paper."""
    reference = results.reference
    if reference is None:
        return []

    def pair(row: Row, column: Column) -> tuple[float, float]:
        first, second = results.at(row, column), results.at(reference, column)
        ours = first.spread.mean - second.spread.mean
        if first.published is None or second.published is None:
            return ours, math.nan
        return ours, first.published.mean - second.published.mean

    rows = [row for row in results.design.rows if row.name != reference.name]
    start = f"Differences are the row minus {reference.label}, in points; ours, then the paper's:"
    return _pairs(start, rows, columns, pair)


def _decreases(results: Results, columns: Sequence[Column]) -> list[str]:
    """How much of the score is lost with few training graphs, here and in the paper."""
    reduced = [column for column in columns if column.relative_to is not None]
    return _pairs(DECREASE, results.design.rows, reduced, lambda row, column: results.decrease(row, column) or _UNKNOWN)


_UNKNOWN = (math.nan, math.nan)


def _pairs(
    start: str, rows: Sequence[Row], columns: Sequence[Column], pair: Callable[[Row, Column], tuple[float, float]]
) -> list[str]:
    """A table of two figures in each cell, without the rows and columns that have none of ours."""
    pairs = {(row.name, column.name): pair(row, column) for row in rows for column in columns}
    scored = {key for key, (ours, _) in pairs.items() if not math.isnan(ours)}
    columns = [column for column in columns if any((row.name, column.name) in scored for row in rows)]
    rows = [row for row in rows if any((row.name, column.name) in scored for column in columns)]
    if not rows:
        return []
    lines = [[row.label, *(_both(pairs[row.name, column.name]) for column in columns)] for row in rows]
    return [start, table_lines(["", *(column.label for column in columns)], lines)]


def _both(values: tuple[float, float]) -> str:
    return "; ".join(MISSING if math.isnan(value) else f"{value:+.2f}" for value in values)


def _lengths(results: Results, columns: Sequence[Column]) -> str:
    """How many models and runs the columns have, and after how many epochs the runs ended."""
    table = results.design
    models = [f"{len(planned_rows(table, column))} of {len(table.rows)}" for column in columns]
    runs = [f"{column.runs} (paper: {_papers(results, column).runs})" for column in columns]
    most = [f"{_most_epochs(column)} (paper: {_most_epochs(_papers(results, column))})" for column in columns]
    lines = [["models", *models], ["runs", *runs], ["epochs at most", *most]]
    for row in table.rows:
        ended = [[record.epochs for record in results.at(row, column).records if record] for column in columns]
        if any(ended):
            lines.append([row.label, *(", ".join(map(str, epochs)) or NOT_RUN for epochs in ended)])
    return table_lines(["", *(column.label for column in columns)], lines)


def _papers(results: Results, column: Column) -> Column:
    """The column as the paper has it."""
    return next(each for each in TABLES[results.design.name].columns if each.name == column.name)


def _most_epochs(column: Column) -> int:
    return column.base.train.max_epochs
