"""The sections of the document on Tables 1 to 3, edges, filters and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bankgcn.experiments.paper.layout import STAND_INS, Column
from bankgcn.experiments.paper.settings import AS_PAPER, BEST_OF_THREE, Setting
from bankgcn.experiments.paper.tables import figure3
from bankgcn.report.compact import compact
from bankgcn.report.document.differences import against_reference
from bankgcn.report.document.evidence import MAIN, PLACE_SETTINGS, Evidence, complete_only, row_named
from bankgcn.report.document.findings import BLIND, best_rank, marks, rows_apart
from bankgcn.report.document.pictures import FILTER_DATASETS, show, show_all
from bankgcn.report.document.wording import NONE_COMPLETE, NOT_YET, bullets, counted, labels, table_lines
from bankgcn.report.dot_plot import occupied_columns
from bankgcn.report.figures import omegas
from bankgcn.report.rank_plot import ranked_columns
from bankgcn.report.results import Results, collect
from bankgcn.report.sheet import write_sheet

Files = Mapping[str, bytes]

STAND_IN_RUNS = 5
"""Number of runs of a dataset that stands in for one of the paper's."""


def table_of(results: Results) -> str:
    """The table in Markdown, with its legend and the rule of the choice."""
    if not occupied_columns(results):
        return NOT_YET
    sheet = compact(results, "markdown")
    return write_sheet(replace(sheet, title="", footer=sheet.footer[:2], notes=()), "markdown").strip()


def table1(evidence: Evidence, files: Files) -> str:
    """Table 1 in both settings, with dots and ranks; the first screen has shown the dots of the first."""
    parts = ["Only cells with all their runs are shown. p-values are not adjusted for the number of comparisons."]
    for setting in MAIN:
        results = evidence.results("table1", setting)
        parts += [f"### {setting.label}", f"In this setting, {setting.sentence}.", table_of(results)]
        parts += adjusted_marks(results, ranked_columns(results))
        if occupied_columns(results):
            dots = show_all("table1", setting, files, "table1-")
            parts += ([] if setting == AS_PAPER else dots) + show_all("table1", setting, files, "ranks-")
            parts += _best_rank(results)
    if ranked_columns(evidence.results("table1", BEST_OF_THREE)):
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
            results = complete_only(collect(table, evidence.records))
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
            if column.name in [known.name for known in ranked_columns(results)]:
                lines.append([column.label, setting.label, *_beside_blind(results, column)])
                sentences.append(_blind_sentence(results, setting, column))
    if not lines:
        return NONE_COMPLETE
    start = "The MLP has the same layers and readout, but no edges. Ahead and behind: by the paired test, p < 0.05."
    return "\n\n".join([start, table_lines(header, lines), bullets(sentences)])


def _beside_blind(results: Results, column: Column) -> list[str]:
    blind = row_named(results, BLIND)
    best = next(row for row in results.table.rows if results.is_best(row, column))
    ahead, behind = rows_apart(results, BLIND, column)
    means = {row.name: results.at(row, column).spread.mean for row in (blind, best)}
    return [f"{means[BLIND]:.2f}", f"{best.label} {means[best.name]:.2f}", str(len(ahead)), str(len(behind))]


def _blind_sentence(results: Results, setting: Setting, column: Column) -> str:
    ahead, behind = rows_apart(results, BLIND, column)
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
        if ranked_columns(results):
            parts += [f"### {results.table.title}", table_of(results), against_reference(results)]
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
