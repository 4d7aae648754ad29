"""The best rows of a table by a column of its predictions: however many rows there are, few are held."""

from __future__ import annotations

import heapq
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from bankgcn.cli.table_output import Format, keep_rows, kept_rows
from bankgcn.files.tables import Cell, Columns
from bankgcn.messages import Message, Option
from bankgcn.settings import pick
from bankgcn.tasks import Task

ROW = "row"  # the column of the number of a row in its source
ORDER = "order"  # a column of the rows that wait, which the table does not have: the number of the row in all sources


class Ranking(NamedTuple):
    """Which rows are the best.

    Args:
        rows: How many rows to keep.
        by: The column that decides.
        lowest: Whether small numbers are the best.
    """

    rows: int
    by: str
    lowest: bool

    def key(self, value: float, order: int) -> tuple[float, int]:
        """What is smaller for better rows; of equal ones, the first is better."""
        return (value if self.lowest else -value), order


def ranking_of(task: Task, rows: int, by: str | None, lowest: bool) -> Ranking:
    """The ranking that options describe.

    Args:
        task: What the models predict. Of two classes, the probability of the second decides by default, and of a single
            value or label this one.
        rows: How many rows to keep.
        by: The column that decides.
        lowest: Whether small numbers are the best.

    Raises:
        ValueError: There are several predictions, and no column is named.
    """
    if by is None:
        prefix = "predicted_" if task.kind == "values" else "p_"
        decisive = task.names[1:] if task.kind == "classes" else task.names
        if len(decisive) != 1:
            listed = ", ".join(f"{prefix}{name}" for name in task.names)
            wrong = "{best} needs {by}, because there are several predictions: {listed}"
            best, named = Option("best", rows), Option("by", "COLUMN")
            raise ValueError(Message(wrong, best=best, by=named, listed=listed))
        by = f"{prefix}{decisive[0]}"
    return Ranking(rows, by, lowest)


class BestRows:
    """Picks out the rows that may be among the best of those that were seen so far.

    Args:
        ranking: Which rows are the best.
    """

    def __init__(self, ranking: Ranking):
        self.ranking = ranking
        self._heap: list[tuple[float, int]] = []  # the keys of the best rows, negative: the worst of them is first

    def candidates(self, repeated: Columns, predicted: Columns, first: int, order: int) -> Columns:
        """The columns with those rows alone, and the numbers of the rows.

        Args:
            repeated: Columns of the source.
            predicted: Columns of predictions.
            first: Number of the first row in its source.
            order: Number of rows before.

        Raises:
            ValueError: The column that decides is none of the predictions, or has no numbers.
        """
        cells = pick(dict(predicted), self.ranking.by, "column of predictions")
        chosen = [row for row, value in enumerate(cells) if value is not None and self._enters(value, order + row)]
        columns: Columns = [(name, [column[row] for row in chosen]) for name, column in (*repeated, *predicted)]
        return [(ROW, [first + row for row in chosen]), *columns, (ORDER, [order + row for row in chosen])]

    def _enters(self, value: Cell, order: int) -> bool:
        if isinstance(value, str):
            raise ValueError(f"the column {self.ranking.by!r} holds words, which have no best: choose one of numbers")
        assert value is not None
        rank, place = self.ranking.key(value, order)
        if len(self._heap) < self.ranking.rows:
            heapq.heappush(self._heap, (-rank, -place))
            return True
        return heapq.heappushpop(self._heap, (-rank, -place)) != (-rank, -place)


def best_format(format: Format, ranking: Ranking) -> Format:
    """How the best rows are written: candidates wait until all are there. They are ranked then, the best first."""

    def finish(rows: BinaryIO, file: BinaryIO) -> None:
        names, table = kept_rows(rows)
        best = _best(names, table, ranking)
        columns: Columns = [(name, [row[place] for row in best]) for place, name in enumerate(names) if name != ORDER]
        written = io.BytesIO()
        format.write(written, columns, True)
        if format.finish is None:
            file.write(written.getvalue())
        else:
            format.finish(written, file)

    return Format(keep_rows, finish)


def _best(names: Sequence[str], rows: Iterator[list[Cell]], ranking: Ranking) -> list[list[Cell]]:
    value, order = names.index(ranking.by), len(names) - 1

    def key(row: list[Cell]) -> tuple[float, int]:
        return ranking.key(float(row[value] or 0), int(row[order] or 0))

    return heapq.nsmallest(ranking.rows, rows, key)
