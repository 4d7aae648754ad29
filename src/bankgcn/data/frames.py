"""DataFrames and Series of pandas and Polars: molecules and targets in, predictions out; neither library is needed.

A DataFrame is read by the rules of a table in a file, so that ``fit(frame)`` and ``bankgcn train`` of the same table
learn the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bankgcn.data import GraphError
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecule_tables import OPTIONS, MoleculeTable, smiles_column, with_smiles
from bankgcn.data.readers.molecules import is_molecule
from bankgcn.files.checked import FileError
from bankgcn.files.tables import Columns, cell_text, table_of_rows
from bankgcn.messages import Message, Option
from bankgcn.settings import pick

LIBRARIES = ("pandas", "polars")
FRAME_OPTIONS = tuple(name for name in ("smiles", *OPTIONS) if name not in ("features", "standardize"))
"""Options of reading that an estimator takes with a DataFrame; the others are its parameters."""
NAME = Path("the DataFrame")


def is_frame(table: Any) -> bool:
    """Whether this is a DataFrame of pandas or Polars."""
    return _library(table) is not None and hasattr(table, "columns") and hasattr(table, "shape")


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: ``None``, NaN, or the missing values of pandas."""
    if value is None:
        return True
    pandas = sys.modules.get("pandas")
    return (
        value != value
        if isinstance(value, float)
        else pandas is not None and (value is pandas.NA or value is pandas.NaT)
    )


def read_options(options: ReadOptions, given: dict[str, Any], is_table: bool) -> ReadOptions:
    """The options with those that were given for a DataFrame.

    Raises:
        GraphError: There is no such option, or the graphs are no DataFrame.
    """
    for name, value in given.items():
        try:
            pick(dict.fromkeys(FRAME_OPTIONS), name, "option")
        except ValueError as error:
            raise GraphError(str(error)) from error
        if not is_table:
            needs = "{given} is for a DataFrame of pandas or Polars: leave it out"
            raise GraphError(Message(needs, given=Option(name, value)))
    return replace(options, **given)


def molecule_table(frame: Any, options: ReadOptions) -> MoleculeTable:
    """The rows of a DataFrame as a table of molecules. Molecules are SMILES, or molecules of RDKit.

    Raises:
        FileError: There is no column of molecules, or several may be.
    """
    names = [str(name) for name in frame.columns]
    columns = [_texts(frame, place) for place in range(len(names))]
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    table = table_of_rows(NAME, [(-1, names), *enumerate(rows)], delimiter="")
    return replace(with_smiles(table, options.smiles or smiles_column(table)), line_word="row")


def frame_graphs(frame: Any, options: ReadOptions, expected: Expected) -> GraphSet:
    """The molecules of a DataFrame as graphs; their set knows which rows have none.

    Raises:
        GraphError: The message names the row, counted from 0.
    """
    try:
        return molecule_table(frame, options).graphs(options, expected)
    except FileError as error:
        where = "the DataFrame" if error.line is None else f"row {error.line} of the DataFrame"
        raise GraphError(Message("{where}: {what}", where=where, what=error.message)) from error


def frame_of(frame: Any, columns: Columns) -> Any:
    """A DataFrame of the same library as another, with these columns, and with its index.

    Args:
        frame: The other one, with a row for each cell.
        columns: The columns; ``None`` is an empty cell.
    """
    library: Any = sys.modules[str(_library(frame))]
    if _library(frame) == "pandas":
        cells_of = {
            name: library.array(cells, "Int64") if _whole_or_missing(cells) else cells for name, cells in columns
        }
        return library.DataFrame(cells_of, index=frame.index)
    empty = {name: library.String for name, cells in columns if all(cell is None for cell in cells)}
    return library.DataFrame(dict(columns), schema_overrides=empty, strict=False)


def _whole_or_missing(cells: Sequence[Any]) -> bool:
    """Whether some cells are empty and all others are whole numbers, of which pandas would make real ones."""
    kinds = {type(cell) for cell in cells}
    return kinds == {int, type(None)}


def rows_of(values: Any, rows: Sequence[int]) -> Any:
    """Some entries of a Series, a DataFrame, an array or a list, by their places."""
    if hasattr(values, "iloc"):
        return values.iloc[list(rows)]
    if _library(values) is not None or hasattr(values, "dtype"):
        return values[list(rows)]
    values = list(values)
    return [values[row] for row in rows]


def _library(table: Any) -> str | None:
    """The library of a table or a column; of a subclass, that of its base."""
    roots = (each.__module__.partition(".")[0] for each in type(table).__mro__)
    return next((root for root in roots if root in LIBRARIES), None)


def _texts(frame: Any, place: int) -> list[str]:
    """The cells of a column as text; names of columns may be equal, so they go by their places."""
    column = frame.iloc[:, place] if hasattr(frame, "iloc") else frame.to_series(place)
    return ["" if is_missing(cell) else _text(cell) for cell in column.to_list()]


def _text(cell: Any) -> str:
    if is_molecule(cell):
        from rdkit.Chem import MolToSmiles

        return MolToSmiles(cell)
    return cell_text(cell)


def check_no_column(smiles: str | None) -> None:
    """Raise an error if a column is named, but the graphs are no DataFrame."""
    if smiles is not None:
        read_options(ReadOptions(), {"smiles": smiles}, is_table=False)


def check_collected(table: Any) -> None:
    """Raise an error for a lazy table of Polars, which holds no rows yet."""
    if _library(table) == "polars" and type(table).__name__ == "LazyFrame":
        raise GraphError("this is a LazyFrame of Polars, which holds no rows yet: give table.collect()")
