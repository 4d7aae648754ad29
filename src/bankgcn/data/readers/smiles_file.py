"""SMILES files (``.smi``): a molecule on each line, and its name after a blank.

A first line whose first word is a usual name for SMILES, such as ``SMILES Name``, names the columns. Without it they
are called ``smiles`` and ``name``; in a file with tabs, further ones ``column3``, ``column4`` and so on.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecule_table import OPTIONS
from bankgcn.data.readers.molecules import Features, expected_features
from bankgcn.data.readers.policy import Policy
from bankgcn.data.readers.reader import Reader
from bankgcn.data.readers.smiles_table import SMILES_NAMES, is_smiles_name, with_smiles
from bankgcn.data.targets import TaskName
from bankgcn.files.archives import open_plain
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable


def read_smiles_file(
    path: str | PathLike[str],
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
    """The molecules of a SMILES file. Options as in :func:`~bankgcn.data.readers.smiles_table.read_smiles_table`.

    Raises:
        FileError: A line cannot be read; the message names it.
        ImportError: RDKit is not installed.
    """
    table = smiles_file_table(Path(path))
    return with_smiles(table, table.header[0], others=table.header[1:2]).graphs(
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


def smiles_file_table(path: Path) -> TextTable:
    """The lines of a SMILES file as a table.

    Raises:
        FileError: The file cannot be read, is empty, or has a line with more columns than the first.
    """
    try:
        with io.TextIOWrapper(open_plain(path), encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"is not text in UTF-8 ({error.reason})", path) from error
    separator = "\t" if "\t" in text else None
    limit = -1 if separator else 1  # without tabs, a name may have blanks
    # A tab at the start stays: before it, the molecule is missing.
    numbered = [(number, line.rstrip().split(separator, limit)) for number, line in enumerate(text.splitlines(), 1)]
    numbered = [(number, row) for number, row in numbered if any(row)]
    if not numbered:
        raise FileError("is empty: expected a molecule on each line", path)
    if any(is_smiles_name(numbered[0][1][0], usual) for usual in SMILES_NAMES):
        header, numbered = tuple(cell.strip() for cell in numbered[0][1]), numbered[1:]
    else:
        width = max(len(row) for _, row in numbered)
        header = ("smiles", "name", *(f"column{number}" for number in range(3, width + 1)))[:width]
    for number, row in numbered:
        if len(row) > len(header):
            raise FileError(f"has {len(row)} cell(s) where the header has {len(header)}", path, number)
    rows = [[*row, *[""] * (len(header) - len(row))] for _, row in numbered]
    return TextTable(path, header, rows, [number for number, _ in numbered])


READER = Reader(
    kind="a file of SMILES",
    accepts="a .smi of molecules",
    read=read_smiles_file,
    options=OPTIONS,
    suffixes=(".smi", ".smiles"),
    options_for=expected_features,
    table=smiles_file_table,
    holds_molecules=True,
)
