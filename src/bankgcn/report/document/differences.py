"""Differences between rows of a table, here and in the paper: BankGCN and its baselines, orders, subspaces, gammas."""

from __future__ import annotations

import math

from bankgcn.experiments.paper.layout import Row
from bankgcn.experiments.paper.settings import Setting
from bankgcn.report.document.evidence import MAIN, Evidence, row_named
from bankgcn.report.document.findings import (
    BANK,
    apart_from_reference,
    baselines,
    columns_ahead,
    contrast,
    contrasts_with_baselines,
    mean_contrast,
)
from bankgcn.report.document.wording import NONE_COMPLETE, counted, labels, table_lines
from bankgcn.report.fields import MISSING, count
from bankgcn.report.rank_plot import ranked_columns
from bankgcn.report.results import Results

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
    lines, counts, own = [], [], MISSING
    for setting in MAIN:
        results = evidence.results("table1", setting)
        columns = ranked_columns(results)
        if columns:
            bank = row_named(results, BANK)
            own = f"A layer of {bank.label} has {count(results.at(bank, columns[0]).layer_parameters)} parameters."
            counts.append(f"{setting.label}: {counted(len(columns), 'dataset')}, {labels(columns)}.")
            for row in baselines(results):
                parameters = count(results.at(row, columns[0]).layer_parameters)
                lines.append([row.label, setting.label, parameters, *_difference(results, bank, row)])
    if not lines:
        return NONE_COMPLETE
    start = f"{CLAIM} {own} Differences are BankGCN minus the baseline, {MEASURE}."
    table = table_lines(["", "setting", "para/layer", *FIELDS], lines)
    intervals = [part for setting in MAIN for part in _intervals(evidence.results("table1", setting), setting)]
    return "\n\n".join([start, table, " ".join(counts), *intervals])


def _intervals(results: Results, setting: Setting) -> list[str]:
    """Each difference with its interval beside the paper's, and how many of either the test can show."""
    found, columns = contrasts_with_baselines(results), ranked_columns(results)
    if not columns:
        return []
    lines = [
        [row.label, *(f"{one.ours:+.2f} ± {one.half_width:.2f}; {one.paper:+.2f}" for one in found[row.name])]
        for row in baselines(results)
    ]
    every = [one for contrasts in found.values() for one in contrasts]
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
    compared, reference, columns = apart_from_reference(results), results.reference, ranked_columns(results)
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
    mean = mean_contrast([contrast(results, first, second, column) for column in ranked_columns(results)])
    return [
        f"{mean.ours:+.2f} ± {mean.half_width:.2f}",
        MISSING if math.isnan(mean.paper) else f"{mean.paper:+.2f}",
        labels(columns_ahead(results, first, [second])) or "none",
        labels(columns_ahead(results, second, [first])) or "none",
    ]
