"""Tables with a molecule in each row: what the readers of CSV, SMILES and SD files share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecules import Features, Molecules, left_out, molecule_graphs
from bankgcn.data.readers.policy import Policy, check_policy
from bankgcn.data.targets import TargetError, Targets, TaskName, encode_targets, scalar
from bankgcn.files.errors import FileError
from bankgcn.files.tables import TextTable

TARGET_NAMES = ("target", "label", "class", "y")
OPTIONS = ("target", "has_target", "features", "unreadable", "missing", "fill_missing", "task", "classes")
"""The options of :meth:`MoleculeTable.graphs`, which every reader of such a table has."""


@dataclass(frozen=True)
class MoleculeTable:
    """A table, and how to get the molecules of its rows.

    Args:
        table: The rows.
        parse: From numbers of rows to their molecules.
        others: Columns that never hold targets unless the user names them, such as that of the names.
        smiles: The column of the SMILES, if there is one; it never holds targets.
    """

    table: TextTable
    parse: Callable[[Sequence[int]], Molecules]
    others: tuple[str, ...] = ()
    smiles: str | None = None

    def graphs(
        self,
        *,
        target: str | None = None,
        has_target: bool = True,
        features: Features = "raw",
        unreadable: Policy = "refuse",
        missing: Policy = "refuse",
        fill_missing: str | None = None,
        task: TaskName | None = None,
        classes: Sequence[str] | None = None,
    ) -> GraphSet:
        """The molecules as graphs; their set knows which rows have none.

        Raises:
            FileError: The message names the line.
        """
        others = self.others if self.smiles is None else (self.smiles, *self.others)
        targets = target_columns(self.table, others, target) if has_target else []
        if self.smiles in targets:
            raise FileError(f"column {self.smiles!r} holds the molecules: it cannot be the target", self.table.path)
        table = self.table if fill_missing is None else fill_targets(self.table, targets, fill_missing)
        rows, without, notes = _rows_with_target(table, targets, missing)
        if not rows:
            raise FileError("has no molecules", table.path)
        molecules = self.parse(rows)
        try:
            notes += left_out(molecules, unreadable, lambda place: f"line {table.lines[rows[place]]}")
        except GraphError as error:
            raise FileError(str(error), table.path, table.lines[rows[molecules.unreadable[0].place]]) from error
        if has_target and not molecules.places:  # there is nothing to learn from
            first = molecules.unreadable[0]
            line = table.lines[rows[first.place]]
            raise FileError(f"no molecule can be read; the first is {first.name!r}: {first.reason}", table.path, line)
        readable = table.take([rows[place] for place in molecules.places])
        encoded = encode_columns(readable, targets, task, classes) if targets else Targets()
        skipped = sorted([*without, *((rows[one.place], one.reason) for one in molecules.unreadable)])
        graphs = molecule_graphs(molecules, encoded, features=features, name=table.path.stem, notes=notes)
        return replace(graphs, skipped=tuple(skipped))


def target_columns(table: TextTable, others: Sequence[str], target: str | None) -> list[str]:
    """The columns with the targets: those that ``target`` names, or the only candidate.

    Args:
        table: The table.
        others: Columns that are no candidates.
        target: The name of a column, or several, separated by commas.
    """
    if target in table.header:  # before splitting, because a name may contain a comma
        return [target]
    if target:
        names = [name.strip() for name in target.split(",")]
        for name in names:
            table.column(name)  # or an error that lists the columns
            if names.count(name) > 1:
                raise FileError(f'target="{target}" names column {name!r} more than once', table.path)
        return names
    free = [name for name in table.header if name not in others]
    usual = [name for name in free if name.lower() in TARGET_NAMES]
    candidates = usual or free
    if len(candidates) > 1:
        raise FileError(
            f'several columns may have the targets: choose one by target="NAME": {", ".join(map(repr, free))}',
            table.path,
        )
    return candidates


def fill_targets(table: TextTable, targets: Sequence[str], value: str) -> TextTable:
    """The table with this value in the empty cells of the targets."""
    places = [table.header.index(name) for name in targets]
    rows = [
        [value if place in places and scalar(cell) is None else cell for place, cell in enumerate(row)]
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _rows_with_target(
    table: TextTable, targets: Sequence[str], missing: Policy
) -> tuple[list[int], list[tuple[int, str]], tuple[str, ...]]:
    """The rows that have a known target, those that have none with the reason, and a note on them."""
    check_policy(missing, "way to treat missing targets")
    cells = list(zip(*(table.column(name) for name in targets), strict=True)) if targets else []
    without = [row for row, texts in enumerate(cells) if all(scalar(text) is None for text in texts)]
    if not without:
        return list(range(len(table.rows))), [], ()
    where = f"column{'s' if len(targets) > 1 else ''} {', '.join(map(repr, targets))}"
    found = f"{len(without):,} of {len(table.rows):,} rows have no target in {where}"
    if missing == "refuse":
        advice = 'missing="skip" leaves them out, fill_missing="VALUE" sets them, has_target=False reads no targets'
        raise FileError(f"{found} ({advice})", table.path, table.lines[without[0]])
    known = sorted(set(range(len(table.rows))) - set(without))
    return known, [(row, f"no target in {where}") for row in without], (f"{found} and are left out",)


def encode_columns(
    table: TextTable, names: Sequence[str], task: TaskName | None, classes: Sequence[str] | None
) -> Targets:
    """Targets of all rows.

    Raises:
        FileError: A target does not fit the task; the message names the line.
    """
    columns: dict[str, Any] = {name: table.column(name) for name in names}
    rows = [{name: scalar(cells[row]) for name, cells in columns.items()} for row in range(len(table.rows))]
    try:
        return encode_targets(rows, task, classes)
    except TargetError as error:
        line = None if error.graph is None else table.lines[error.graph]
        raise FileError(str(error), table.path, line) from error
