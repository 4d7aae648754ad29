"""Which column of a table, or which key of a graph, holds the targets: decided here, and nowhere else.

Also which column holds the ids, which rows have a target, and their targets as arrays. What the values mean is the
business of :mod:`bankgcn.data.target_values`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bankgcn.data import GraphError
from bankgcn.data.features.graph_features import Columns, value_columns
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.target_values import TargetError, Targets, TargetWords, encode_targets, scalar, with_decimal_points
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable
from bankgcn.messages import Message, Option, advise

SHOWN = 5  # columns that a note lists
TARGET_NAMES = ("target", "label", "class", "y")
ID_NAMES = tuple(
    f"{what}{kind}"
    for kind in ("id", "name", "")
    for what in ("", "compound", "molecule", "mol", "chembl", "cas", "drug")
    if what == "compound" or kind
)
"""Usual names of the column of ids, without blanks and signs, the most certain first."""
READ_NO_TARGETS = "ignore_targets"  # the option of commands and of bankgcn.load; readers have Expected.has_target


def target_names(target: str, available: Collection[str]) -> list[str]:
    """The names that a user gives, separated by commas; a name that there is may contain a comma itself."""
    return [target] if target in available else [name.strip() for name in target.split(",")]


def target_of_document(document: Mapping[str, Any], metadata: Mapping[str, Any], target: str | None) -> Any:
    """The target of a graph in JSON.

    Args:
        document: The graph.
        metadata: Its entry ``graph``.
        target: The key of ``graph``, or of the document itself, or several; by default ``y`` of ``graph``, or
            ``target`` of the document.
    """
    if target is not None:
        names = target_names(target, {*metadata, *document})
        values = {name: metadata.get(name, document.get(name)) for name in names}
        return values if len(values) > 1 else next(iter(values.values()))
    if "target" in document and "y" in metadata:
        raise GraphError("has two targets: 'target', and 'y' of 'graph'")
    return document.get("target", metadata.get("y"))


def target_columns(table: TextTable, others: Sequence[str], target: str | None) -> list[str]:
    """The columns with the targets: those that ``target`` names, or the only candidate.

    Args:
        table: The table.
        others: Columns that are no candidates.
        target: The name of a column, or several, separated by commas.
    """
    if target:
        names = target_names(target, table.header)
        for name, count in Counter(names).items():
            table.column(name)  # or an error that lists the columns
            if count > 1:
                twice = Message("{target} names column {name!r} more than once", target=_target(target), name=name)
                raise FileError(twice, table.path)
        return names
    free = [name for name in table.header if name not in others]
    usual = [name for name in free if name.lower() in TARGET_NAMES]
    candidates = usual or free
    if len(candidates) > 1:
        listed = replace(table, header=tuple(free)).listed()
        several = "several columns may have the targets: choose one by {target}: {listed}"
        raise FileError(Message(several, target=_target("NAME"), listed=listed), table.path)
    return candidates


def feature_columns(table: TextTable, options: ReadOptions, smiles: str | None) -> list[str]:
    """The columns with features of the graphs.

    Raises:
        FileError: The table lacks some; the message names them all.
    """
    if options.feature_columns is None:
        return []
    names = list(dict.fromkeys(target_names(options.feature_columns, table.header)))
    lacking = [name for name in names if name not in table.header]
    given = Option("feature_columns", options.feature_columns)
    if lacking:
        wrong = "{given}: there is no column {lacking}; the columns are {listed}"
        missing = " and no column ".join(map(repr, lacking))
        raise FileError(Message(wrong, given=given, lacking=missing, listed=table.listed()), table.path)
    if smiles in names:
        holds = "{given}: column {name!r} holds the molecules; {descriptors} describes them"
        described = Option("descriptors", "rdkit")
        raise FileError(Message(holds, given=given, name=smiles, descriptors=described), table.path)
    return names


def table_features(table: TextTable, names: Sequence[str], fill: bool) -> Columns:
    """The features of the graphs of all rows.

    Raises:
        FileError: A cell is empty or not finite; the message names the line and the column.
    """
    cells: dict[str, list[Any]] = {}
    for name in names:
        cells[name] = [scalar(cell) for cell in table.column(name)]
        for row, value in enumerate(cells[name]):
            infinite = isinstance(value, float) and not math.isfinite(value)
            if infinite or (value is None and not fill):
                raise FileError(missing_feature(name, infinite), table.path, table.lines[row])
    return value_columns(cells, fill)


def missing_feature(name: str, infinite: bool = False) -> Message:
    """What to say of a graph that lacks a feature."""
    if infinite:
        return Message("{name!r} is not a finite number", name=name)
    advice = [advise("fill_features", True, "takes the mean of the training graphs")]
    return Message("the feature {name!r} is missing{advice}", name=name, advice=advice)


def id_column(table: TextTable, id: str | None, others: Sequence[str] = ()) -> str | None:
    """The column by which a user knows the graphs: the one named, or one with a usual name whose cells differ.

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


@dataclass(frozen=True)
class GraphTable:
    """A source that is a table with a row for each graph.

    Args:
        table: The rows.
        others: Columns that never hold targets unless the user names them, such as that of the names.
        smiles: The column of the SMILES, if there is one; it never holds targets.
    """

    table: TextTable
    others: tuple[str, ...] = ()
    smiles: str | None = None

    def targets(self, options: ReadOptions, required: bool = True) -> list[str]:
        """The columns of the targets.

        Args:
            options: How the table is read.
            required: Whether the targets are looked for as for training. Otherwise, they are those that the options
                name, if the table has them all: options of a training fit other tables, too.

        Raises:
            FileError: There is no such column, or several may be meant.
        """
        if required:
            return self._required_targets(options)
        if options.target is None:
            return []  # any column may be anything
        names = target_names(options.target, self.table.header)
        return names if set(names) <= set(self.table.header) else []

    def _required_targets(self, options: ReadOptions) -> list[str]:
        others = self.others if self.smiles is None else (self.smiles, *self.others)
        others = (*others, *feature_columns(self.table, options, self.smiles))
        ids = id_column(self.table, options.id, others)
        targets = target_columns(self.table, others if ids is None else (*others, ids), options.target)
        for name in feature_columns(self.table, options, self.smiles):
            if name in targets:
                both = "column {name!r} is a target: leave it out of {features}"
                given = Option("feature_columns", options.feature_columns)
                raise FileError(Message(both, name=name, features=given), self.table.path)
        if self.smiles in targets:
            raise FileError(f"column {self.smiles!r} holds the molecules: it cannot be the target", self.table.path)
        return targets


def target_note(targets: Sequence[str], guessed: bool) -> tuple[str, ...]:
    """Which columns hold the targets, and whether the reader chose them."""
    if not targets:
        return ()
    shown = ", ".join(map(repr, targets[:SHOWN])) + (f" and {len(targets) - SHOWN} more" * (len(targets) > SHOWN))
    found = f"the target is column {shown}" if len(targets) == 1 else f"the targets are columns {shown}"
    return (f"{found}: no other was named" if guessed else found,)


def clean_targets(table: TextTable, targets: Sequence[str], task: str | None, options: ReadOptions) -> TextTable:
    """The table with the targets as they are meant: words for missing ones are empty cells, decimal commas are points.

    Decimal commas are read unless a comma separates the cells of the file, or the targets are classes. A note names
    their columns.
    """
    rows, notes, words = table.rows, list(table.notes), options.words
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


def fill_targets(table: TextTable, targets: Sequence[str], value: str | None) -> TextTable:
    """The table with this value, if there is one, in the empty cells of the targets."""
    if value is None:
        return table
    places = {table.places[name] for name in targets}
    rows = [
        [value if place in places and scalar(cell) is None else cell for place, cell in enumerate(row)]
        for row in table.rows
    ]
    return replace(table, rows=rows)


def rows_with_target(
    table: TextTable, targets: Sequence[str], skip_missing: bool
) -> tuple[list[int], list[tuple[int, str]], tuple[str, ...]]:
    """The rows that have a known target, those that have none with the reason, and a note on them.

    Raises:
        FileError: A row has no target, and such rows are not to be skipped.
    """
    cells = list(zip(*(table.column(name) for name in targets), strict=True)) if targets else []
    without = [row for row, texts in enumerate(cells) if all(scalar(text) is None for text in texts)]
    if not without:
        return list(range(len(table.rows))), [], ()
    where = f"column{'s' if len(targets) > 1 else ''} {', '.join(map(repr, targets))}"
    found = f"{len(without):,} of {len(table.rows):,} rows have no target in {where}"
    if not skip_missing:
        advice = [
            advise("skip_missing", True, "leaves them out"),
            advise("fill_missing", "VALUE", "sets them"),
            advise(READ_NO_TARGETS, True, "reads no targets"),
        ]
        raise FileError(Message("{found}", found=found, advice=advice), table.path, table.lines[without[0]])
    known = sorted(set(range(len(table.rows))) - set(without))
    return known, [(row, f"no target in {where}") for row in without], (f"{found} and are left out",)


def encode_columns(table: TextTable, names: Sequence[str], expected: Expected) -> Targets:
    """Targets of all rows.

    Raises:
        FileError: A target does not fit the task; the message names the line.
    """
    columns: dict[str, Any] = {name: table.column(name) for name in names}
    rows = [{name: scalar(cells[row]) for name, cells in columns.items()} for row in range(len(table.rows))]
    try:
        return encode_targets(rows, expected.task, expected.classes)
    except TargetError as error:
        line = None if error.graph is None else table.lines[error.graph]
        raise FileError(error.message, table.path, line) from error


def _target(value: str) -> Option:
    return Option("target", value)
