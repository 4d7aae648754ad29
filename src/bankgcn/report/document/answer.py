"""The first screen: what the records say about the paper's claim, in five lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean

from bankgcn.experiments.paper.layout import STAND_INS, Column
from bankgcn.experiments.paper.settings import AS_PAPER, Setting, places_in_words
from bankgcn.experiments.paper.tables import TABLES
from bankgcn.report.document.evidence import MAIN, Evidence, planned_rows, row_named, settings_of
from bankgcn.report.document.findings import (
    BANK,
    BLIND,
    apart_from_reference,
    baselines,
    best_rank,
    columns_ahead,
    columns_behind,
    compared_cells,
    gap,
    leader,
    mean_gain_by_test,
    rows_apart,
    standing,
)
from bankgcn.report.document.wording import bullets, labels, on_datasets
from bankgcn.report.rank_plot import ranked_columns
from bankgcn.report.results import Results

Found = Mapping[Setting, Results]
"""The results of Table 1 in each setting with a complete dataset."""


def answer(evidence: Evidence) -> str:
    """Five lines: the claim, who leads, the edges, how near the paper is, and what is missing."""
    settings = [setting for setting in MAIN if ranked_columns(evidence.results("table1", setting))]
    if not settings:
        return "No dataset of Table 1 is complete yet."
    found = {setting: evidence.results("table1", setting) for setting in settings}
    return bullets(
        [
            f"**Is BankGCN ahead?** {_claim(found)}{_claim_on_large(evidence)}",
            f"**Is any model ahead of all others?** {_leaders(found)}",
            f"**Do the edges help?** {_edges(found)}{_edges_on_large(evidence)}",
            f"**Are the paper's figures met?** {_agreement(evidence)}{_studies(evidence)}{_met_on_large(evidence)}",
            _missing(evidence),
        ]
    )


def _count(found: Found, counts: Callable[[Results], list[Column]]) -> str:
    """On how many complete datasets something is so, in each setting."""
    words = [
        f"{on_datasets(counts(results), len(ranked_columns(results)))} {_in_words(setting)}"
        for setting, results in found.items()
    ]
    return ", and ".join(words)


def _in_words(setting: Setting) -> str:
    return "in the paper's setting" if setting == AS_PAPER else "with each model at its best by validation"


def _claim(found: Found) -> str:
    return " ".join(_claim_in(setting, results) for setting, results in found.items())


def _claim_in(setting: Setting, results: Results) -> str:
    bank, rivals, total = row_named(results, BANK), baselines(results), len(ranked_columns(results))
    won, lost = columns_ahead(results, bank, rivals), columns_behind(results, bank, rivals)
    beyond_blind = columns_ahead(results, bank, [row_named(results, BLIND)])
    words = _in_words(setting)
    return (
        f"{words[0].upper()}{words[1:]}, {bank.label} is ahead of every baseline of the paper by a paired test "
        f"{on_datasets(won, total)}, behind at least one of them {_on(lost, total)}, and ahead of an MLP without edges "
        f"{_on(beyond_blind, total)}."
    )


def _claim_on_large(evidence: Evidence) -> str:
    """The same for each dataset of Table 4 that has all its runs, and more than one."""
    results, words = evidence.results("table4", AS_PAPER), ""
    reference, blind = results.reference, row_named(results, BLIND)
    assert reference is not None
    for column in _tested_columns(results):
        rows = planned_rows(results.table, column)
        better, worse = rows_apart(results, reference.name, column)
        certain = rows_apart(results, reference.name, column, adjusted=True)[1]
        rivals = [row for row in baselines(results) if row in rows]
        ahead, surely, behind = (sum(row in found for row in rivals) for found in (worse, certain, better))
        words += (
            f" {_on_large(column)}, {reference.label} is ahead of {ahead} of {len(rivals)} baselines ({surely} with "
            f"p-values adjusted by Holm's method) and behind {behind}"
        )
        words += f", and {'' if blind in worse else 'not '}ahead of an MLP without edges." if blind in rows else "."
    return words


def _edges_on_large(evidence: Evidence) -> str:
    results, words = evidence.results("table4", AS_PAPER), ""
    blind = row_named(results, BLIND)
    for column in _tested_columns(results):
        if blind in planned_rows(results.table, column):
            ahead = rows_apart(results, BLIND, column)[0]
            models = f"{labels(ahead)} are" if len(ahead) > 1 else f"{labels(ahead) or 'no model'} is"
            words += f" {_on_large(column)}, {models} ahead of the MLP without edges."
    return words


def _tested_columns(results: Results) -> list[Column]:
    """The columns with all their runs, and more than one, so that there is a test."""
    return [column for column in results.table.columns if column.runs > 1 and _is_there(results, column)]


def _on_large(column: Column) -> str:
    return f"On {column.label} (Table 4, {column.runs} runs)"


def _on(columns: list[Column], total: int) -> str:
    """On how many of the datasets that were counted before, and which: ``on 1 (NCI1)``."""
    return f"on {len(columns)}" + (f" ({labels(columns)})" if columns and len(columns) < total else "")


def _leaders(found: Found) -> str:
    nobody = _count(found, lambda results: [c for c in ranked_columns(results) if leader(results, c) is None])
    names = ""
    for setting, results in found.items():
        leading: dict[str, list[Column]] = {}
        for column in ranked_columns(results):
            if row := leader(results, column):
                leading.setdefault(row.label, []).append(column)
        names += "".join(f" {model} leads on {labels(won)} {_in_words(setting)}." for model, won in leading.items())
    return f"No kind of model is ahead of all others {nobody}.{names}{_ranks(found)}"


def _ranks(found: Found) -> str:
    words = ""
    for setting, results in found.items():
        if best := best_rank(results):
            separated = labels(best.separated) or "no other model"
            words += (
                f" {best.row.label} has the best mean rank {_in_words(setting)} ({best.mean:.1f}); the Nemenyi test "
                f"separates it from {separated}."
            )
    return words


def _edges(found: Found) -> str:
    def useless(results: Results) -> list[Column]:
        return [column for column in ranked_columns(results) if not rows_apart(results, BLIND, column)[0]]

    if not any(useless(results) for results in found.values()):
        return "On every complete dataset, some model is ahead of the MLP without edges."
    counts = _count(found, useless)
    return f"No model is ahead of the MLP without edges {counts}: there the test shows no use of the edges."


def _agreement(evidence: Evidence) -> str:
    cells = compared_cells(evidence.results("table1", AS_PAPER))
    if not cells:
        return "There is no complete dataset in the paper's setting."
    worth = mean_gain_by_test(evidence.results("table1", AS_PAPER), evidence.records)
    counts = {word: sum(standing(cell) == word for cell in cells) for word in ("within", "above", "below")}
    return (
        f"In the paper's setting ({places_in_words(AS_PAPER.grid.normalize)}), {counts['within']} of {len(cells)} lie "
        f"within one standard deviation of the paper's, {counts['above']} above, {counts['below']} below. Ours are "
        f"chosen by validation score; a choice by test score, as the paper's appears to be, is worth {worth:.1f} "
        "points on average."
    )


def _met_on_large(evidence: Evidence) -> str:
    cells = compared_cells(evidence.results("table4", AS_PAPER))
    if not cells:
        return ""
    within = sum(standing(cell) == "within" for cell in cells)
    return (
        f" In Table 4, {within} of {len(cells)} lie within one standard deviation of the paper's; the mean absolute "
        f"difference is {fmean(abs(gap(cell)) for cell in cells):.1f} points."
    )


def _studies(evidence: Evidence) -> str:
    """Which rows of Tables 2 and 3 differ from the reference."""
    words = ""
    for name in ("table2", "table3"):
        results = evidence.results(name, AS_PAPER)
        compared, reference = apart_from_reference(results), results.reference
        if compared and reference is not None:
            apart = sum(len(ahead) + len(behind) for _, ahead, behind in compared)
            words += (
                f" In Table {name.removeprefix('table')}, the test shows a difference to {reference.label} in {apart} "
                f"of {len(compared) * len(ranked_columns(results))} pairs of a row and a dataset"
            )
            found = [f"{row.label} is ahead on {labels(ahead)}" for row, ahead, _ in compared if ahead]
            found += [f"{row.label} is behind on {labels(behind)}" for row, _, behind in compared if behind]
            words += f": {'; '.join(found)}." if found else "."
    return words


def _missing(evidence: Evidence) -> str:
    """What is not run yet, table by table, and the datasets without data."""
    parts = []
    for name, table in TABLES.items():
        for setting in settings_of(name):
            missing = [column for column in table.columns if not _is_there(evidence.results(name, setting), column)]
            missing = [column for column in missing if column.dataset not in STAND_INS]
            in_words = f", {setting.label.lower()}" if len(settings_of(name)) > 1 else ""
            parts += [f"Table {name.removeprefix('table')}{in_words}: {labels(missing)}"] if missing else []
    first = evidence.results("table1", AS_PAPER)
    lacking = [c for c in first.table.columns if c.dataset in STAND_INS and not _is_there(first, c)]
    not_run = f" Not run yet: {'; '.join(parts)}." if parts else " All tables are complete."
    return f"**What is missing?**{not_run}" + (f" Data not available: {labels(lacking)}." if lacking else "")


def _is_there(results: Results, column: Column) -> bool:
    """Whether a dataset has all rows that are run on it."""
    return all(results.at(row, column).complete for row in planned_rows(results.table, column))
