"""A table with a column of SMILES and, mostly, a column of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.data.errors import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecules import Features, Molecules, Policy, left_out, molecule_graphs, parse_smiles
from bankgcn.data.targets import TargetError, TargetKind, encode_targets, scalar
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
    target_kind: TargetKind = "auto",
    classes: Sequence[str] | None = None,
) -> GraphSet:
    """The molecules of a CSV file (with commas, semicolons or tabs) whose first line names the columns.

    Args:
        path: The file.
        smiles: Name of the column with the molecules; if not given, the one called "smiles", in any case.
        target: Name of the column with the targets; if not given, one called "target", "label", "class" or "y", in
            any case, else the only other column. With no other column there are no targets.
        has_target: False to read no targets: those of the molecules are unknown, or not wanted.
        features: As in :func:`bankgcn.data.readers.molecules.from_smiles`.
        unreadable: As there; messages name the line of the file.
        missing: If some molecules have no target, ``"refuse"`` the file, or ``"skip"`` those, which leaves a note.
        target_kind: As there: whole numbers and words are classes, real numbers are targets of a regression.
        classes: Names of the classes in order of their numbers, if they are fixed: those that a model knows.

    Raises:
        FileError: The file cannot be read as such a table, with the line where one is to blame.
        ImportError: RDKit is not installed.
    """
    table = read_table(Path(path))
    smiles = smiles or _smiles_column(table)
    table.column(smiles)  # an unknown name is told before the other column is guessed
    target = (target or _target_column(table, smiles)) if has_target else None
    notes: tuple[str, ...] = ()
    if target is not None:
        table, notes = _with_targets(table, target, missing)
    if not table.rows:
        raise FileError("has no molecules", path)
    molecules = parse_smiles([text.strip() for text in table.column(smiles)])
    try:
        notes += left_out(molecules, unreadable, lambda place: f"line {table.lines[place]}")
    except GraphError as error:
        raise FileError(str(error), path, table.lines[molecules.unreadable[0].place]) from error
    y, known = (None, None) if target is None else _encoded(table, target, molecules, target_kind, classes)
    return molecule_graphs(molecules, y, known, features=features, name=table.path.stem, notes=notes)


def _smiles_column(table: TextTable) -> str:
    """The one column called "smiles", in any case."""
    found = [name for name in table.header if name.lower() == "smiles"]
    if len(found) != 1:
        trouble = "more than one column is" if found else "no column is"
        raise FileError(
            f"{trouble} called 'smiles': say which has the molecules by smiles=\"NAME\": {table.listed()}", table.path
        )
    return found[0]


def _target_column(table: TextTable, smiles: str) -> str | None:
    """The column with the targets, by its name or because there is no other; ``None`` if there is none at all."""
    others = [name for name in table.header if name != smiles]
    usual = [name for name in others if name.lower() in TARGET_NAMES]
    candidates = usual or others
    if len(candidates) > 1:
        raise FileError(
            f'any of these columns may have the targets, say which by target="NAME": {table.listed()}',
            table.path,
        )
    return candidates[0] if candidates else None


def _with_targets(table: TextTable, target: str, missing: Policy) -> tuple[TextTable, tuple[str, ...]]:
    """The rows that have a target, and a note on those that have none."""
    pick(dict.fromkeys(("refuse", "skip")), missing, "way to treat missing targets")
    has_target = [scalar(cell) is not None for cell in table.column(target)]
    if all(has_target):
        return table, ()
    told = f"{has_target.count(False):,} of {len(table.rows):,} rows have no target in column {target!r}"
    if missing == "refuse":
        message = f'{told} (missing="skip" leaves them out, has_target=False reads no targets)'
        raise FileError(message, table.path, table.lines[has_target.index(False)])
    known = [row for row, has in enumerate(has_target) if has]
    kept = replace(table, rows=[table.rows[row] for row in known], lines=[table.lines[row] for row in known])
    return kept, (f"{told} and are left out",)


def _encoded(
    table: TextTable, target: str, molecules: Molecules, kind: TargetKind, classes: Sequence[str] | None
) -> tuple[NDArray, tuple[str, ...] | None]:
    """Targets of the molecules that could be read."""
    cells = table.column(target)
    try:
        return encode_targets([scalar(cells[place]) for place in molecules.places], kind, classes)
    except TargetError as error:
        raise FileError(str(error), table.path, table.lines[molecules.places[error.graph]]) from error
