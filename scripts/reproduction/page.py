"""The page: its first screen, which answers in five lines, and the list of its sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Column
from bankgcn.experiments.paper import AS_PAPER, BEST, STAND_INS, TABLES, TableSetting
from bankgcn.experiments.verify import Verification
from bankgcn.report.results import Results
from bankgcn.report.sheet import counted
from reproduction.agreement import choice_by_test, few_seeds, what_reproduces, which_place
from reproduction.evidence import MAIN, SEARCH_RUNS, Evidence, planned_rows, settings_of
from reproduction.findings import (
    BANK,
    NO_EDGES,
    apart_from_reference,
    baselines,
    columns_ahead,
    columns_behind,
    compared_cells,
    contrasts_with_baselines,
    gap,
    leader,
    mean_contrast,
    mean_gain_by_test,
    position,
    rows_apart,
)
from reproduction.markdown import NOT_YET, bullets, draw_pictures, labels, listed, on_datasets, show_all
from reproduction.runs import commands, cost, verification
from reproduction.sections import against_baselines, data, edges, filters, large_datasets, studies, table1

ResultsBySetting = Mapping[TableSetting, Results]
"""The results of Table 1 in each setting with a complete dataset."""

IN_WORDS = {AS_PAPER: "in the paper's setting", BEST: "with each model at its best by validation"}


def answer(evidence: Evidence) -> str:
    """Five lines: the claim, other models, the edges, the paper's figures, and its studies."""
    settings = [setting for setting in MAIN if evidence.results("table1", setting).ranked_columns()]
    if not settings:
        return "No dataset of Table 1 is complete yet."
    tables = {setting: evidence.results("table1", setting) for setting in settings}
    return bullets(
        [
            f"**Is BankGCN ahead?** By a paired test, {_in_settings(tables, _claim)}. In the mean over the datasets, "
            f"it is {_in_settings(tables, _on_average)}. {_sharpness(tables)}{_claim_on_large(evidence)}",
            f"**Is any model ahead of all others?** By the same test, {_in_settings(tables, _leaders)}.",
            f"**Do the edges help?** No model is ahead of an MLP without edges {_in_settings(tables, _without_gain)}."
            f"{_edges_on_large(evidence)}",
            f"**Are the paper's figures met?** {_figures_within(evidence)}{_figures_within_on_large(evidence)}",
            f"**Do orders, subspaces and diversity matter?** {_studies(evidence)}",
        ]
    )


def missing(evidence: Evidence) -> str:
    """What is not run yet, table by table, and the datasets without data."""
    parts = []
    for name, table in TABLES.items():
        for setting in settings_of(name):
            columns = [column for column in table.columns if not _is_there(evidence.results(name, setting), column)]
            columns = [column for column in columns if column.dataset not in STAND_INS]
            in_words = f", {setting.label.lower()}" if len(settings_of(name)) > 1 else ""
            parts += [f"{TABLES[name].label}{in_words}: {labels(columns)}"] if columns else []
    first = evidence.results("table1", AS_PAPER)
    lacking = [c for c in first.design.columns if c.dataset in STAND_INS and not _is_there(first, c)]
    sentences = [f"Not run yet: {'; '.join(parts)}." if parts else "No planned run is missing."]
    sentences += [f"Data not available: {labels(lacking)}."] if lacking else []
    return " ".join([*sentences, *_not_planned()])


def _not_planned() -> list[str]:
    """The columns on which only some of the paper's models are run."""
    sentences = []
    for name, table in TABLES.items():
        columns = [column for column in table.columns if len(planned_rows(table, column)) < len(table.rows)]
        if columns:
            sentences.append(f"{TABLES[name].label} has only some of the models on {labels(columns)}.")
    return sentences


def _in_settings(results_of: ResultsBySetting, finding: Callable[[Results], str]) -> str:
    """A finding in each setting of Table 1; said once if the settings agree."""
    text_of = {setting: finding(results) for setting, results in results_of.items()}
    if len(text_of) > 1 and len(set(text_of.values())) == 1:
        return f"{text_of[AS_PAPER]}, in both settings of Table 1"
    return "; ".join(f"{text} {IN_WORDS[setting]}" for setting, text in text_of.items())


def _claim(results: Results) -> str:
    bank, rivals, total = results.row(BANK), baselines(results), len(results.ranked_columns())
    won, lost = columns_ahead(results, bank, rivals), columns_behind(results, bank, rivals)
    names = f" ({labels(lost)})" if lost else ""
    return f"{bank.label} is ahead of every baseline {on_datasets(won, total)} and behind one on {len(lost)}{names}"


def _on_average(results: Results) -> str:
    """The baselines from which BankGCN differs in the mean over the datasets."""
    means = {name: mean_contrast(contrasts) for name, contrasts in contrasts_with_baselines(results).items()}
    apart = [row for row in baselines(results) if means[row.name].is_shown]
    ahead = [row for row in apart if means[row.name].ours > 0]
    behind = [row for row in apart if row not in ahead]
    return f"ahead of {labels(ahead) or 'no baseline'}" + (f" and behind {labels(behind)}" if behind else "")


def _sharpness(results_of: ResultsBySetting) -> str:
    """How many of the paper's differences the test would show, if ours were as large."""
    contrasts = [one for row in contrasts_with_baselines(next(iter(results_of.values()))).values() for one in row]
    papers = sum(one.papers_is_shown for one in contrasts)
    return f"Of the paper's {counted(len(contrasts), 'difference')} to a baseline, the test would show {papers}."


def _leaders(results: Results) -> str:
    leading: dict[str, list[Column]] = {}
    for column in results.ranked_columns():
        if row := leader(results, column):
            leading.setdefault(row.label, []).append(column)
    if not leading:
        return f"no kind of model is ahead of all others on any of {counted(len(results.ranked_columns()), 'dataset')}"
    return ", ".join(f"{model} is ahead of all others on {labels(won)}" for model, won in leading.items())


def _without_gain(results: Results) -> str:
    """On which datasets no model is better than the MLP without edges."""
    columns = results.ranked_columns()
    return on_datasets([column for column in columns if not rows_apart(results, NO_EDGES, column)[0]], len(columns))


def _claim_on_large(evidence: Evidence) -> str:
    """The claim on each dataset of Table 4 that has all its runs, and more than one."""
    results = evidence.results("table4", AS_PAPER)
    reference, columns = results.reference, _tested_columns(results)
    assert reference is not None
    if not columns:
        return ""
    won, lost = [], []
    for column in columns:
        better, worse = rows_apart(results, reference.name, column)
        rivals = [row for row in baselines(results) if row in planned_rows(results.design, column)]
        ahead, behind = (sum(row in found for row in rivals) for found in (worse, better))
        won.append(f"{ahead} of {counted(len(rivals), 'baseline')} on {column.label}")
        lost += [f"{behind} on {column.label}"] if behind else []
    runs = listed([str(number) for number in sorted({column.runs for column in columns})])
    claim = f" In Table 4 with {runs} runs, {reference.label} is ahead of {listed(won)}"
    return f"{claim}, and behind {listed(lost)}." if lost else f"{claim}."


def _edges_on_large(evidence: Evidence) -> str:
    results, sentences = evidence.results("table4", AS_PAPER), ""
    mlp = results.row(NO_EDGES)
    for column in _tested_columns(results):
        if mlp in planned_rows(results.design, column):
            ahead = rows_apart(results, NO_EDGES, column)[0]
            models = f"{labels(ahead)} are" if len(ahead) > 1 else f"{labels(ahead) or 'no model'} is"
            sentences += f" On {column.label}, {models} ahead of it."
    return sentences


def _tested_columns(results: Results) -> list[Column]:
    """The columns with all their runs, and more than one, so that there is a test."""
    return [column for column in results.design.columns if column.runs > 1 and _is_there(results, column)]


def _figures_within(evidence: Evidence) -> str:
    cells = compared_cells(evidence.results("table1", AS_PAPER))
    if not cells:
        return "There is no complete dataset in the paper's setting."
    worth = mean_gain_by_test(evidence.results("table1", AS_PAPER), evidence.records)
    within = sum(position(cell) == "within" for cell in cells)
    return (
        f"In Table 1, {within} of {len(cells)} lie within one standard deviation of the paper's. Ours are chosen by "
        f"validation score; a choice by test score, as the paper's appears to be, would add {worth:.1f} points."
    )


def _figures_within_on_large(evidence: Evidence) -> str:
    cells = compared_cells(evidence.results("table4", AS_PAPER))
    if not cells:
        return ""
    within = sum(position(cell) == "within" for cell in cells)
    return (
        f" In Table 4, {within} of {len(cells)} lie within one standard deviation; the mean absolute difference is "
        f"{fmean(abs(gap(cell)) for cell in cells):.1f} points."
    )


def _studies(evidence: Evidence) -> str:
    """Which rows of Tables 2 and 3 differ from the reference."""
    sentences = []
    for name in ("table2", "table3"):
        results = evidence.results(name, AS_PAPER)
        compared, reference = apart_from_reference(results), results.reference
        if compared and reference is not None:
            clauses = [f"{row.label} is ahead on {labels(ahead)}" for row, ahead, _ in compared if ahead]
            clauses += [f"{row.label} is behind on {labels(behind)}" for row, _, behind in compared if behind]
            apart = sum(len(ahead) + len(behind) for _, ahead, behind in compared)
            pairs = counted(len(compared) * len(results.ranked_columns()), "comparison")
            start = f"In {TABLES[name].label}, {apart} of {pairs} with {reference.label} show a difference"
            sentences.append(f"{start}: {'; '.join(clauses)}." if clauses else f"{start}.")
    return " ".join(sentences) or NOT_YET


def _is_there(results: Results, column: Column) -> bool:
    """Whether a dataset has all rows that are run on it."""
    return all(results.at(row, column).complete for row in planned_rows(results.design, column))


Section = Callable[[Evidence, Mapping[str, bytes]], str]

TITLE = "# Does the paper reproduce?"
ORIGIN = (
    "`python scripts/reproduction_page.py results --out docs/reproduction.md` writes this page from the records in "
    "`results/`. Every figure and every sentence with a figure comes from them; nothing is edited by hand."
)
SECTIONS: dict[str, Section] = {
    "Table 1": table1,
    "BankGCN against each baseline": lambda evidence, files: against_baselines(evidence),
    "Which place of the l2 normalisation is the paper's?": lambda evidence, files: which_place(evidence),
    "What reproduces, and what does not": lambda evidence, files: what_reproduces(evidence),
    "Choice by validation score, and by test score": lambda evidence, files: choice_by_test(evidence),
    "Few seeds, and all of them": lambda evidence, files: few_seeds(evidence),
    "What the MLP without edges says": edges,
    "Order, subspaces and diversity (Tables 2 and 3)": studies,
    "The filters (Figure 3)": filters,
    "CIFAR-10 and ogbg-molhiv (Table 4)": large_datasets,
    "The data": lambda evidence, files: data(evidence),
    "Records that were run again": lambda evidence, files: verification(evidence),
    "Time, machine and missing runs": lambda evidence, files: cost(evidence),
    "Commands": lambda evidence, files: commands(evidence.search_runs),
}
"""The sections below the first screen, by their titles."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with its pictures.

    Args:
        text: The document in Markdown.
        pictures: Content of the picture files by name; the document expects them in the folder ``figures`` beside it.
    """

    text: str
    pictures: Mapping[str, bytes]


def write_document(
    records: Mapping[str, RunRecord], search_runs: int = SEARCH_RUNS, verified: Verification | None = None
) -> Document:
    """The document. The same records give the same bytes, with the same version of matplotlib.

    Args:
        records: Records by the keys of their runs; the document says what is missing.
        search_runs: Number of seeds that choose hyper-parameters, as in ``bankgcn paper reproduce --search-runs``.
        verified: What ``bankgcn paper verify --json`` wrote about these records.
    """
    evidence = Evidence(records, search_runs, verified)
    files = draw_pictures(evidence)
    first = [TITLE, answer(evidence), *show_all("table1", AS_PAPER, files, "table1-"), missing(evidence), ORIGIN]
    sections = [f"## {title}\n\n{section(evidence, files).strip()}" for title, section in SECTIONS.items()]
    return Document(text="\n\n".join([*first, *sections]) + "\n", pictures=files)
