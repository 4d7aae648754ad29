"""A table with a column of SMILES and columns of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from bankgcn.choices import pick
from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecules import (
    Features,
    Molecules,
    Policy,
    expected_features,
    left_out,
    molecule_graphs,
    parse_smiles,
)
from bankgcn.data.readers.reader import Reader
from bankgcn.data.targets import TargetError, Targets, TaskName, encode_targets, scalar
from bankgcn.files.errors import FileError
from bankgcn.files.tables import TextTable, read_table

TARGET_NAMES = ("target", "label", "class", "y")


def read_smiles_table(
    path: str | PathLike[str],
    *,
    smiles: str | None = None,
    target: str | None = None,
    has_target: bool = True,
    features: Features = "raw",
    unreadable: Policy = "refuse",
    missing: Policy = "refuse",
    task: TaskName | None = None,
    classes: Sequence[str] | None = None,
) -> GraphSet:
    """The molecules of a CSV file (with commas, semicolons or tabs) whose first line names the columns.

    Args:
        path: The file.
        smiles: Name of the column with the molecules; by default the column called "smiles", in upper or lower case.
        target: Name of the column with the targets, or several names separated by commas; by default the column called
            "target", "label", "class" or "y", in upper or lower case, else the only other column. A table without
            another column has no targets.
        has_target: False to read no targets.
        features: As in :func:`bankgcn.data.readers.molecules.from_smiles`.
        unreadable: As there; messages name the line of the file.
        missing: What to do with molecules without a known target: ``"refuse"`` raises an error, ``"skip"`` leaves them
            out and adds a note. Some of several targets may be unknown.
        task: What the targets are, if the reader is not to guess; see :func:`bankgcn.data.targets.encode_targets`.
        classes: Names of the classes in order of their numbers, if a model fixes them.

    Raises:
        FileError: The file is not such a table; the message names the line.
        ImportError: RDKit is not installed.
    """
    table = read_table(Path(path))
    smiles = smiles or _smiles_column(table)
    table.column(smiles)  # report an unknown name before guessing the column of targets
    targets = _target_columns(table, smiles, target) if has_target else []
    notes: tuple[str, ...] = ()
    if targets:
        table, notes = _with_targets(table, targets, missing)
    if not table.rows:
        raise FileError("has no molecules", path)
    molecules = parse_smiles([text.strip() for text in table.column(smiles)])
    try:
        notes += left_out(molecules, unreadable, lambda place: f"line {table.lines[place]}")
    except GraphError as error:
        raise FileError(str(error), path, table.lines[molecules.unreadable[0].place]) from error
    encoded = _encode(table, targets, molecules, task, classes) if targets else Targets()
    return molecule_graphs(molecules, encoded, features=features, name=table.path.stem, notes=notes)


def _smiles_column(table: TextTable) -> str:
    """The only column called "smiles", in upper or lower case."""
    found = [name for name in table.header if name.lower() == "smiles"]
    if len(found) != 1:
        count = "more than one column is" if found else "no column is"
        raise FileError(
            f"{count} called 'smiles': name the column of the molecules by smiles=\"NAME\": {table.listed()}",
            table.path,
        )
    return found[0]


def _target_columns(table: TextTable, smiles: str, target: str | None) -> list[str]:
    """The columns with the targets: those that ``target`` names, or the only candidate."""
    if target in table.header:  # before splitting, because a name may contain a comma
        return [target]
    if target:
        names = [name.strip() for name in target.split(",")]
        for name in names:
            table.column(name)  # or an error that lists the columns
            if names.count(name) > 1:
                raise FileError(f'target="{target}" names column {name!r} more than once', table.path)
        return names
    others = [name for name in table.header if name != smiles]
    usual = [name for name in others if name.lower() in TARGET_NAMES]
    candidates = usual or others
    if len(candidates) > 1:
        raise FileError(
            f'several columns may have the targets: choose one by target="NAME": {table.listed()}',
            table.path,
        )
    return candidates


def _with_targets(table: TextTable, targets: Sequence[str], missing: Policy) -> tuple[TextTable, tuple[str, ...]]:
    """The rows that have a known target, and a note on those that have none."""
    pick(dict.fromkeys(("refuse", "skip")), missing, "missing")
    cells = zip(*(table.column(name) for name in targets), strict=True)
    has_target = [any(scalar(cell) is not None for cell in row) for row in cells]
    if all(has_target):
        return table, ()
    where = f"column{'s' if len(targets) > 1 else ''} {', '.join(map(repr, targets))}"
    found = f"{has_target.count(False):,} of {len(table.rows):,} rows have no target in {where}"
    if missing == "refuse":
        message = f'{found} (missing="skip" leaves them out, has_target=False reads no targets)'
        raise FileError(message, table.path, table.lines[has_target.index(False)])
    known = [row for row, has in enumerate(has_target) if has]
    kept = replace(table, rows=[table.rows[row] for row in known], lines=[table.lines[row] for row in known])
    return kept, (f"{found} and are left out",)


def _encode(
    table: TextTable, names: Sequence[str], molecules: Molecules, task: TaskName | None, classes: Sequence[str] | None
) -> Targets:
    """Targets of the readable molecules."""
    columns = {name: table.column(name) for name in names}
    rows = [{name: scalar(cells[place]) for name, cells in columns.items()} for place in molecules.places]
    try:
        return encode_targets(rows, task, classes)
    except TargetError as error:
        line = None if error.graph is None else table.lines[molecules.places[error.graph]]
        raise FileError(str(error), table.path, line) from error


READER = Reader(
    kind="a table of SMILES",
    accepts="a .csv or .tsv with a column of SMILES",
    read=read_smiles_table,
    options=("smiles", "target", "has_target", "features", "unreadable", "missing", "task", "classes"),
    suffixes=(".csv", ".tsv"),
    options_for=expected_features,
    holds_molecules=True,
    names_target=True,
)
