"""A table with a column of SMILES and columns of targets: CSV, Parquet or Excel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecule_table import OPTIONS, MoleculeTable
from bankgcn.data.readers.molecules import Features, expected_features, parse_smiles
from bankgcn.data.readers.policy import Policy
from bankgcn.data.readers.reader import Reader
from bankgcn.data.readers.table_formats import TABLE_FORMATS, open_table
from bankgcn.data.targets import TaskName
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smiles_string", "smi", "mol")
"""Usual names of the column of SMILES, the most certain first."""


def read_smiles_table(
    path: str | PathLike[str],
    *,
    smiles: str | None = None,
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
    """The molecules of a CSV file (with commas, semicolons or tabs), a Parquet file, or the first sheet of a workbook.

    The first line of a CSV file or a sheet names the columns.

    Args:
        path: The file.
        smiles: Name of the column with the molecules; by default the column with a name in :data:`SMILES_NAMES`, in
            upper or lower case, else the only one whose name has "smiles" in it.
        target: Name of the column with the targets, or several names separated by commas; by default the column called
            "target", "label", "class" or "y", in upper or lower case, else the only other column. A table without
            another column has no targets.
        id: Name of the column by which you know the molecules; by default one with a usual name, such as "id",
            "compound_id" or "name", whose cells all differ. It becomes ``ids`` of the set, and holds no targets.
        has_target: False to read no targets.
        features: As in :func:`bankgcn.data.readers.molecules.from_smiles`.
        unreadable: As there; messages name the line of the file.
        missing: What to do with molecules without a known target: ``"refuse"`` raises an error, ``"skip"`` leaves them
            out and adds a note. Some of several targets may be unknown.
        missing_words: Words that stand for a missing target, separated by commas, in upper or lower case.
        fill_missing: The target of molecules without one.
        ignore_case: Whether classes that differ only in case or blanks are one, in lower case.
        task: What the targets are, if the reader is not to guess; see :func:`bankgcn.data.targets.encode_targets`.
        classes: Names of the classes in order of their numbers, if a model fixes them.

    Raises:
        FileError: The file is not such a table; the message names the line.
        ImportError: RDKit is not installed.
    """
    return with_smiles(open_table(Path(path)), smiles).graphs(
        target=target,
        id=id,
        has_target=has_target,
        features=features,
        unreadable=unreadable,
        missing=missing,
        missing_words=missing_words,
        fill_missing=fill_missing,
        ignore_case=ignore_case,
        task=task,
        classes=classes,
    )


def with_smiles(table: TextTable, smiles: str | None, others: tuple[str, ...] = ()) -> MoleculeTable:
    """A table with the molecules of its column of SMILES.

    Args:
        table: The table.
        smiles: Name of the column; by default the one with a usual name.
        others: Further columns that never hold targets unless the user names them.
    """
    column = smiles or smiles_column(table)
    texts = [text.strip() for text in table.column(column)]
    return MoleculeTable(table, lambda rows: parse_smiles([texts[row] for row in rows]), others, column)


def smiles_column(table: TextTable) -> str:
    """The only column with the first of the usual names that occurs, or the only one with "smiles" in its name."""
    for usual in SMILES_NAMES:
        found = [name for name in table.header if is_smiles_name(name, usual)]
        if len(found) == 1:
            return found[0]
        if found:
            break
    else:
        found = [name for name in table.header if "smiles" in name.lower()]
        if len(found) == 1:
            return found[0]
        usual = "smiles"
    count = f"more than one column is called {usual!r}" if found else "no column is called 'smiles'"
    raise FileError(f'{count}: name the column of the molecules by smiles="NAME": {table.listed()}', table.path)


def is_smiles_name(name: str, usual: str) -> bool:
    """Whether a column has a usual name, apart from case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).lower() == usual.replace("_", "")


READER = Reader(
    kind="a table of SMILES",
    accepts="a .csv, .tsv, .parquet or .xlsx with a column of SMILES",
    read=read_smiles_table,
    options=("smiles", *OPTIONS),
    suffixes=tuple(TABLE_FORMATS),
    options_for=expected_features,
    table=open_table,
    holds_molecules=True,
)
