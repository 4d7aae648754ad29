"""Which place of the l2 normalisation is the paper's, and which validates best."""

from __future__ import annotations

import math

from bankgcn.experiments.paper.layout import Column
from bankgcn.experiments.paper.settings import AS_PAPER, PLACES
from bankgcn.report.compact import NOT_RUN
from bankgcn.report.document.evidence import PLACE_SETTINGS, Evidence
from bankgcn.report.document.findings import nearness, validation_score
from bankgcn.report.document.wording import NONE_COMPLETE, counted, listed, table_lines
from bankgcn.report.rank_plot import ranked_columns


def which_place(evidence: Evidence) -> str:
    """The setting question: which place of l2 is nearest to the paper, and which validates best."""
    return "\n\n".join(
        [
            "The paper does not say where its l2 normalisation stands. Each cell has the mean absolute difference to "
            "the paper over its rows, in points, and the rank correlation with its rows.",
            _nearness_table(evidence),
            _nearest(evidence),
            "Mean validation score of each model over the seeds that choose, at each place; the best first.",
            _validation_table(evidence),
            _validates_best(evidence),
        ]
    )


def _columns(evidence: Evidence) -> list[Column]:
    """The datasets that are complete with at least one place."""
    complete = {
        column.name
        for setting in PLACE_SETTINGS.values()
        for column in ranked_columns(evidence.results("table1", setting))
    }
    return [column for column in evidence.table("table1", AS_PAPER).columns if column.name in complete]


def _nearness_table(evidence: Evidence) -> str:
    columns = _columns(evidence)
    rows = []
    for setting in PLACE_SETTINGS.values():
        found = [nearness(evidence.results("table1", setting), column) for column in columns]
        cells = [f"{near.mean_gap:.2f}; {near.correlation:+.2f}" if near else NOT_RUN for near in found]
        rows.append([setting.label, *cells])
    return table_lines(["", *(column.label for column in columns)], rows) if columns else NONE_COMPLETE


def _nearest(evidence: Evidence) -> str:
    nearest, similar, total = dict.fromkeys(PLACES, 0), dict.fromkeys(PLACES, 0), 0
    for column in _columns(evidence):
        found = {
            place: near
            for place, setting in PLACE_SETTINGS.items()
            if (near := nearness(evidence.results("table1", setting), column))
        }
        if len(found) > 1:
            total += 1
            nearest[min(found, key=lambda place: found[place].mean_gap)] += 1
            similar[max(found, key=lambda place: found[place].correlation)] += 1
    if not total:
        return "No dataset has been run with two places yet, so there is nothing to compare."
    words = [
        f"{PLACES[place]} is nearest on {nearest[place]} and orders the rows most like the paper on {similar[place]}"
        for place in PLACES
        if nearest[place] or similar[place]
    ]
    return f"Of {counted(total, 'dataset')} with at least two places, {'; '.join(words)}."


def _validations(evidence: Evidence, row_index: int, column: Column) -> dict[str, float]:
    found = {}
    for place, setting in PLACE_SETTINGS.items():
        table = evidence.table("table1", setting)
        score = validation_score(table, table.rows[row_index], column, evidence.records)
        if not math.isnan(score):
            found[place] = score
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _validation_table(evidence: Evidence) -> str:
    columns = _columns(evidence)
    if not columns:
        return NONE_COMPLETE
    lines = []
    for index, row in enumerate(evidence.table("table1", AS_PAPER).rows):
        cells = [_in_order(_validations(evidence, index, column)) for column in columns]
        lines.append([row.label, *(cell or NOT_RUN for cell in cells)])
    return table_lines(["", *(column.label for column in columns)], lines)


def _in_order(scores: dict[str, float]) -> str:
    """Places with their scores: ``before 72.00 > after 70.00``, with ``=`` where the printed digits are equal."""
    words = previous = ""
    for place, score in scores.items():
        printed = f"{score:.2f}"
        sign = " = " if printed == previous else " > "
        words = f"{words}{sign}{place} {printed}" if words else f"{place} {printed}"
        previous = printed
    return words


def _validates_best(evidence: Evidence) -> str:
    counts = dict.fromkeys(PLACES, 0)
    for column in _columns(evidence):
        for index in range(len(evidence.table("table1", AS_PAPER).rows)):
            found = _validations(evidence, index, column)
            if len(found) > 1:
                counts[next(iter(found))] += 1
    total = sum(counts.values())
    if not total:
        return "No model has been run with two places yet."
    words = [f"{PLACES[place]} for {number}" for place, number in counts.items() if number]
    return f"Of {counted(total, 'cell')} with at least two places, the best validation score has {listed(words)}."
