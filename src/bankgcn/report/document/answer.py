"""The first screen: what the records say about the paper's claim, in five lines."""

from __future__ import annotations

from bankgcn.experiments.paper.layout import STAND_INS, Column
from bankgcn.experiments.paper.settings import AS_PAPER, Setting, places_in_words
from bankgcn.report.document.evidence import MAIN, Evidence, row_named
from bankgcn.report.document.findings import (
    BLIND,
    baselines,
    columns_ahead,
    compared_cells,
    leader,
    mean_gain_by_test,
    rows_apart,
    standing,
)
from bankgcn.report.document.wording import bullets, counted, labels, on_datasets
from bankgcn.report.rank_plot import ranked_columns


def answer(evidence: Evidence) -> str:
    """Five lines: the claim, who leads, the edges, how near the paper is, and what is missing."""
    settings = [setting for setting in MAIN if ranked_columns(evidence.results("table1", setting))]
    if not settings:
        return "No dataset of Table 1 is complete yet."
    claim, lead, edges = (
        f"**{title}** {' '.join(sentence(evidence, setting) for setting in settings)}"
        for title, sentence in (
            ("Is BankGCN ahead?", _claim),
            ("Is any model ahead of all others?", _leaders),
            ("Do the edges help?", _edges),
        )
    )
    return bullets([claim, lead, edges, f"**Are the paper's figures met?** {_agreement(evidence)}", _missing(evidence)])


def _in_setting(setting: Setting) -> str:
    if setting == AS_PAPER:
        return f"As the paper ({places_in_words(AS_PAPER.grid.normalize)})"
    return "With each model at its best by validation"


def _claim(evidence: Evidence, setting: Setting) -> str:
    results = evidence.results("table1", setting)
    total, row = len(ranked_columns(results)), row_named(results, "bank-K2-s8")
    ahead = columns_ahead(results, row, baselines(results))
    blind = columns_ahead(results, row, [row_named(results, BLIND)])
    return (
        f"{_in_setting(setting)}, {row.label} is ahead of every baseline of the paper by a paired test "
        f"{on_datasets(ahead, total)}, and ahead of an MLP without edges {on_datasets(blind, total)}."
    )


def _leaders(evidence: Evidence, setting: Setting) -> str:
    results = evidence.results("table1", setting)
    columns = ranked_columns(results)
    nobody = [column for column in columns if leader(results, column) is None]
    leading: dict[str, list[Column]] = {}
    for column in columns:
        if found := leader(results, column):
            leading.setdefault(found.label, []).append(column)
    names = "".join(f" {model} leads on {labels(won)}." for model, won in leading.items())
    return (
        f"{_in_setting(setting)}, no kind of model is ahead of all others {on_datasets(nobody, len(columns))}.{names}"
    )


def _edges(evidence: Evidence, setting: Setting) -> str:
    results = evidence.results("table1", setting)
    columns = ranked_columns(results)
    useless = [column for column in columns if not rows_apart(results, BLIND, column)[0]]
    return (
        f"{_in_setting(setting)}, no model is ahead of the MLP without edges {on_datasets(useless, len(columns))}: "
        "there the test shows no use of the edges."
        if useless
        else f"{_in_setting(setting)}, some model is ahead of the MLP without edges on every complete dataset."
    )


def _agreement(evidence: Evidence) -> str:
    cells = compared_cells(evidence.results("table1", AS_PAPER))
    if not cells:
        return "There is no complete dataset in the paper's setting."
    worth = mean_gain_by_test(evidence.results("table1", AS_PAPER), evidence.records)
    counts = {word: sum(standing(cell) == word for cell in cells) for word in ("within", "above", "below")}
    return (
        f"{_in_setting(AS_PAPER)}, {counts['within']} of {len(cells)} lie within one standard deviation of the "
        f"paper's, {counts['above']} above, {counts['below']} below. Ours are chosen by validation score; a choice by "
        f"test score, as the paper's appears to be, is worth {worth:.1f} points on average."
    )


def _missing(evidence: Evidence) -> str:
    columns = evidence.table("table1", AS_PAPER).columns
    complete = {
        setting.label: [column.name for column in ranked_columns(evidence.results("table1", setting))]
        for setting in MAIN
    }
    parts = []
    for label, names in complete.items():
        missing: list[Column] = [
            column for column in columns if column.name not in names and column.dataset not in STAND_INS
        ]
        done = f"{len(names)} of {counted(len(columns), 'dataset')}"
        parts.append(f"{label}: {done}" + (f", not run yet: {labels(missing)}" if missing else ""))
    lacking = [
        column for column in columns if column.dataset in STAND_INS and column.name not in complete[MAIN[0].label]
    ]
    no_data = f" Data not available: {labels(lacking)}." if lacking else ""
    return f"**What is missing?** {'; '.join(parts)}.{no_data}"
