"""BankGCN against each baseline: what the paper claims, and what the records say."""

from __future__ import annotations

from statistics import fmean

from bankgcn.experiments.paper.layout import Column, Row
from bankgcn.report.document.evidence import MAIN, Evidence, row_named
from bankgcn.report.document.findings import BANK, baselines, is_ahead
from bankgcn.report.document.wording import NONE_COMPLETE, counted, labels, table_lines
from bankgcn.report.fields import MISSING, count
from bankgcn.report.rank_plot import ranked_columns
from bankgcn.report.results import Results

CLAIM = (
    "The paper says that BankGCN outperforms all baselines of message passing with about as many parameters, and "
    "ChebNet with about a third of the parameters."
)
HEADER = ["", "setting", "para/layer", "difference, ours", "difference, paper", "ahead", "behind"]


def against_baselines(evidence: Evidence) -> str:
    """For each baseline: mean difference here and in the paper, and on which datasets the paired test shows one."""
    parts = []
    lines = []
    for setting in MAIN:
        results = evidence.results("table1", setting)
        columns = ranked_columns(results)
        if columns:
            bank = row_named(results, BANK)
            number = count(results.at(bank, columns[0]).layer_parameters)
            parts.append(f"{setting.label}: {counted(len(columns), 'dataset')}, {labels(columns)}.")
            lines += [[row.label, setting.label, *_against(results, bank, row)] for row in baselines(results)]
    if not lines:
        return NONE_COMPLETE
    start = (
        f"{CLAIM} A layer of {bank.label} has {number} parameters. Differences are BankGCN minus the baseline, in "
        "points, as a mean over the complete datasets; ahead and behind: the datasets on which BankGCN is better or "
        "worse by the paired test, p < 0.05."
    )
    return "\n\n".join([start, table_lines(HEADER, lines), " ".join(parts)])


def _against(results: Results, bank: Row, other: Row) -> list[str]:
    columns = ranked_columns(results)
    ahead = [column for column in columns if is_ahead(results, bank, [other], column)]
    behind = [column for column in columns if is_ahead(results, other, [bank], column)]
    ours = [results.at(bank, column).spread.mean - results.at(other, column).spread.mean for column in columns]
    return [
        count(results.at(other, columns[0]).layer_parameters),
        f"{fmean(ours):+.2f}",
        _papers(results, bank, other, columns),
        labels(ahead) or "none",
        labels(behind) or "none",
    ]


def _papers(results: Results, bank: Row, other: Row, columns: list[Column]) -> str:
    """The paper's mean difference over the columns for which it has both figures."""
    pairs = [(results.at(bank, column).published, results.at(other, column).published) for column in columns]
    gaps = [ours.mean - theirs.mean for ours, theirs in pairs if ours and theirs]
    return f"{fmean(gaps):+.2f}" if gaps else MISSING
