"""Tables with a molecule in each row: what the readers of CSV, SMILES and SD files share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecules import Features, Molecules, left_out, molecule_graphs
from bankgcn.data.readers.policy import Policy, check_policy
from bankgcn.data.targets import (
    TargetError,
    Targets,
    TargetWords,
    TaskName,
    class_name_notes,
    encode_targets,
    scalar,
    with_decimal_points,
)
from bankgcn.files.archives import plain_stem
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable

SHOWN = 5  # columns that a note lists
TARGET_NAMES = ("target", "label", "class", "y")
ID_NAMES = tuple(
    f"{what}{kind}"
    for kind in ("id", "name", "")
    for what in ("", "compound", "molecule", "mol", "chembl", "cas", "drug")
    if what == "compound" or kind
)
"""Usual names of the column of ids, without blanks and signs, the most certain first."""
OPTIONS = (
    "target",
    "id",
    "has_target",
    "features",
    "unreadable",
    "missing",
    "missing_words",
    "fill_missing",
    "ignore_case",
    "task",
    "classes",
)
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
        id: str | None = None,
        has_target: bool = True,
        features: Features = "raw",
        unreadable: Policy = "refuse",
        missing: Policy = "refuse",
        missing_words: str | None = None,
        fill_missing: str | None = None,
        ignore_case: bool = False,
        task: TaskName | None = None,
        classes: Sequence[str] | None = None,
    ) -> GraphSet:
        """The molecules as graphs; their set knows which rows have none.

        Raises:
            FileError: The message names the line.
        """
        others = no_targets(self.table, self.others if self.smiles is None else (self.smiles, *self.others), id)
        targets = target_columns(self.table, others, target) if has_target else []
        ids = id_column(self.table, id, targets)
        if self.smiles in targets:
            raise FileError(f"column {self.smiles!r} holds the molecules: it cannot be the target", self.table.path)
        table = clean_targets(self.table, targets, task, TargetWords.of(missing_words, ignore_case))
        table = table if fill_missing is None else fill_targets(table, targets, fill_missing)
        rows, without, notes = _rows_with_target(table, targets, missing)
        notes = (*table.notes, *notes)
        if not rows:
            raise FileError("has no molecules", table.path)
        notes += _target_note(targets, target is None)
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
        notes += class_name_notes(encoded.classes or ())
        skipped = sorted([*without, *((rows[one.place], one.reason) for one in molecules.unreadable)])
        graphs = molecule_graphs(molecules, encoded, features=features, name=plain_stem(table.path), notes=notes)
        names = None if ids is None else tuple(readable.column(ids))
        return replace(graphs, skipped=tuple(skipped), ids=names)


def id_column(table: TextTable, id: str | None, others: Sequence[str] = ()) -> str | None:
    """The column by which a user knows the molecules: the one named, or one with a usual name whose cells differ.

    Args:
        table: The table.
        id: The name of the column, if it is known.
        others: Columns that hold something else.

    Raises:
        FileError: The table has no such column.
    """
    if id is not None:
        table.column(id)  # or an error that lists the columns
        return id
    plain = [(re.sub(r"[\W_]+", "", name).lower(), name) for name in table.header]
    usual = [(ID_NAMES.index(word), name) for word, name in plain if word in ID_NAMES and name not in others]
    for _, name in sorted(usual):
        cells = [cell.strip() for cell in table.column(name)]
        if all(cells) and len(set(cells)) == len(cells):
            return name
    return None


def no_targets(table: TextTable, others: Sequence[str], id: str | None) -> tuple[str, ...]:
    """The columns that never hold targets unless the user names them: these, and that of the ids."""
    ids = id_column(table, id, others)
    return (*others, *(() if ids is None else (ids,)))


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
        for name, count in Counter(names).items():
            table.column(name)  # or an error that lists the columns
            if count > 1:
                raise FileError(f'target="{target}" names column {name!r} more than once', table.path)
        return names
    free = [name for name in table.header if name not in others]
    usual = [name for name in free if name.lower() in TARGET_NAMES]
    candidates = usual or free
    if len(candidates) > 1:
        listed = replace(table, header=tuple(free)).listed()
        raise FileError(f'several columns may have the targets: choose one by target="NAME": {listed}', table.path)
    return candidates


def _target_note(targets: Sequence[str], guessed: bool) -> tuple[str, ...]:
    """Which columns hold the targets, and whether the reader chose them."""
    if not targets:
        return ()
    shown = ", ".join(map(repr, targets[:SHOWN])) + (f" and {len(targets) - SHOWN} more" * (len(targets) > SHOWN))
    found = f"the target is column {shown}" if len(targets) == 1 else f"the targets are columns {shown}"
    return (f"{found}: no other was named" if guessed else found,)


def clean_targets(table: TextTable, targets: Sequence[str], task: str | None, words: TargetWords) -> TextTable:
    """The table with the targets as they are meant: words for missing ones are empty cells, decimal commas are points.

    Decimal commas are read unless a comma separates the cells of the file, or the targets are classes. A note names
    their columns.
    """
    rows, notes = table.rows, list(table.notes)
    for name in targets:
        place, before = table.header.index(name), table.column(name)
        cells = [words(cell) or "" for cell in before] if words != TargetWords() else before
        points = None if task == "classes" or table.delimiter == "," else with_decimal_points(cells)
        if points is not None:
            first = next(row for row, cell in enumerate(cells) if "," in cell)
            notes.append(
                f"column {name!r} has decimal commas: {cells[first].strip()} is read as {points[first].strip()}"
            )
            cells = points
        if cells is not before:
            rows = [[*row[:place], cell, *row[place + 1 :]] for row, cell in zip(rows, cells, strict=True)]
    return replace(table, rows=rows, notes=tuple(notes))


def fill_targets(table: TextTable, targets: Sequence[str], value: str) -> TextTable:
    """The table with this value in the empty cells of the targets."""
    places = {table.places[name] for name in targets}
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
