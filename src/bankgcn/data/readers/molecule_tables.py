"""Tables with a molecule in each row: CSV, Parquet and Excel with a column of SMILES, ``.smi`` and ``.sdf``.

Each format becomes a :class:`MoleculeTable`; what follows is the same for all: targets, ids, unreadable molecules.

SMILES files (``.smi``) have a molecule on each line, and its name after a blank. A first line whose first word is a
usual name for SMILES, such as ``SMILES Name``, names the columns. Without it they are called ``smiles`` and ``name``;
in a file with tabs, further ones ``column3``, ``column4`` and so on. SD files (``.sdf``) have molecules with data
fields, which may hold targets. Hydrogens are not nodes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from bankgcn.data import GraphError
from bankgcn.data.features.descriptors import with_descriptors
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import Reader
from bankgcn.data.readers.molecules import (
    Molecules,
    atom_kind,
    attempted,
    left_out,
    molecule_graphs,
    parse_molecules,
    parse_smiles,
    standardizes,
    too_large,
)
from bankgcn.data.target_values import Targets
from bankgcn.data.targets import (
    GraphTable,
    clean_targets,
    encode_columns,
    feature_columns,
    fill_targets,
    id_column,
    rows_with_target,
    table_features,
    target_note,
)
from bankgcn.extras import require
from bankgcn.files.archives import open_plain, plain_stem
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TABLE_FORMATS, TextTable, open_table
from bankgcn.messages import Message, Option, message_of

if TYPE_CHECKING:
    from rdkit.Chem import Mol

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smiles_string", "smi", "mol")
"""Usual names of the column of SMILES, the most certain first."""
END = "$$$$"  # the line after each molecule of an SD file
NAME = "name"  # the column of the first lines of the molecules of an SD file
OPTIONS = (
    "target",
    "feature_columns",
    "descriptors",
    "fill_features",
    "id",
    "features",
    "standardize",
    "skip_unreadable",
    "skip_missing",
    "missing_words",
    "fill_missing",
    "ignore_case",
)
"""The options that every reader of such a table heeds."""
HEEDS = ("features", "task", "classes", "has_target", "edges")
_HEADER = re.compile(r">.*?<(.*)>")  # of a data field; a value may be >10


@dataclass(frozen=True, kw_only=True)
class MoleculeTable(GraphTable):
    """A table, and how to get the molecules of its rows.

    Args:
        parse: From numbers of rows, whether the features of bonds are wanted, and whether to standardise, to their
            molecules.
        line_word: What messages call a line of the table.
    """

    parse: Callable[[Sequence[int], bool, bool], Molecules]
    line_word: str = "line"

    def graphs(self, options: ReadOptions, expected: Expected) -> GraphSet:
        """The molecules as graphs; their set knows which rows have none.

        Raises:
            FileError: The message names the line.
        """
        features = feature_columns(self.table, options, self.smiles)
        targets = self.targets(options) if expected.has_target else []
        ids = id_column(self.table, options.id, targets)
        table = clean_targets(self.table, targets, expected.task, options)
        table = fill_targets(table, targets, options.fill_missing)
        rows, without, notes = rows_with_target(table, targets, options.skip_missing)
        if not rows:
            raise FileError("has no molecules", table.path)
        molecules = self.parse(rows, expected.edge_data != "none", standardizes(options, expected))
        notes = (*table.notes, *notes, *target_note(targets, options.target is None))
        notes += self._left_out(molecules, rows, options, expected)
        readable = table.take([rows[place] for place in molecules.places])
        beside = table_features(readable, features, options.fill_features) if features else None
        encoded = encode_columns(readable, targets, expected) if targets else Targets()
        skipped = sorted([*without, *((rows[one.place], one.reason) for one in molecules.unreadable)])
        kind = atom_kind(options, expected)
        graphs = molecule_graphs(molecules, encoded, features=kind, name=plain_stem(table.path), notes=notes)
        names = None if ids is None else tuple(readable.column(ids))
        graphs = replace(graphs, skipped=tuple(skipped), ids=names)
        if beside is not None:
            graphs = replace(graphs, graph_features=beside.values, graph_spec=beside.spec)
        return with_descriptors(graphs, options)

    def _left_out(
        self, molecules: Molecules, rows: Sequence[int], options: ReadOptions, expected: Expected
    ) -> tuple[str, ...]:
        """A note on the molecules that cannot be read, or an error that names the line of the first."""
        lines, path = self.table.lines, self.table.path
        try:
            notes = left_out(molecules, options.skip_unreadable, lambda place: f"{self.line_word} {lines[rows[place]]}")
        except GraphError as error:
            raise FileError(message_of(error), path, lines[rows[molecules.unreadable[0].place]]) from error
        if expected.has_target and not molecules.places:  # there is nothing to learn from
            first = molecules.unreadable[0]
            reason = f"no molecule can be read; the first is {first.name!r}: {first.reason}"
            raise FileError(reason, path, lines[rows[first.place]])
        return notes


# ---- tables with a column of SMILES


def smiles_table(path: Path, options: ReadOptions) -> MoleculeTable:
    """A CSV file (with commas, semicolons or tabs), a Parquet file, or the first sheet of a workbook.

    The first line of a CSV file or a sheet names the columns. The molecules are in the column that the options name; by
    default in the one with a name in :data:`SMILES_NAMES`, in upper or lower case, else in the only one whose name has
    "smiles" in it.

    Raises:
        FileError: The file is not such a table; the message names the line.
    """
    table = open_table(path)
    return with_smiles(table, options.smiles or smiles_column(table))


def with_smiles(table: TextTable, column: str, others: tuple[str, ...] = ()) -> MoleculeTable:
    """A table with SMILES in a column.

    Args:
        table: The table.
        column: The column of the molecules.
        others: Columns that never hold targets unless the user names them.
    """
    texts = [text.strip() for text in table.column(column)]

    def parse(rows: Sequence[int], with_bonds: bool, standardize: bool) -> Molecules:
        return parse_smiles([texts[row] for row in rows], with_bonds, standardize)

    return MoleculeTable(table, others, column, parse=parse)


def smiles_column(table: TextTable) -> str:
    """The only column with the first of the usual names that occurs, or the only one with "smiles" in its name."""
    for usual in SMILES_NAMES:
        columns = [name for name in table.header if _is_smiles_name(name, usual)]
        if len(columns) == 1:
            return columns[0]
        if columns:
            break
    else:
        columns = [name for name in table.header if "smiles" in name.lower()]
        if len(columns) == 1:
            return columns[0]
        usual = "smiles"
    count = f"more than one column is called {usual!r}" if columns else "no column is called 'smiles'"
    wanted = "{count}: name the column of the molecules by {smiles}: {listed}"
    raise FileError(Message(wanted, count=count, smiles=Option("smiles", "NAME"), listed=table.listed()), table.path)


def _is_smiles_name(name: str, usual: str) -> bool:
    """Whether a column has a usual name, apart from case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).lower() == usual.replace("_", "")


# ---- SMILES files


def smiles_file(path: Path, options: ReadOptions) -> MoleculeTable:
    """The lines of a SMILES file.

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
    if any(_is_smiles_name(numbered[0][1][0], usual) for usual in SMILES_NAMES):
        header, numbered = tuple(cell.strip() for cell in numbered[0][1]), numbered[1:]
    else:
        width = max(len(row) for _, row in numbered)
        header = ("smiles", "name", *(f"column{number}" for number in range(3, width + 1)))[:width]
    for number, row in numbered:
        if len(row) > len(header):
            raise FileError(f"has {len(row)} cell(s) where the header has {len(header)}", path, number)
    rows = [[*row, *[""] * (len(header) - len(row))] for _, row in numbered]
    table = TextTable(path, header, rows, [number for number, _ in numbered])
    return with_smiles(table, header[0], others=header[1:2])


# ---- SD files


def sd_file(path: Path, options: ReadOptions) -> MoleculeTable:
    """The names and data fields of the molecules of an SD file; a field that a molecule lacks is an empty cell."""
    blocks = list(_blocks(path))

    def parse(rows: Sequence[int], with_bonds: bool, standardize: bool) -> Molecules:
        require("rdkit", "reading molecules")
        return _parse_blocks([blocks[row][1] for row in rows], with_bonds, standardize)

    return MoleculeTable(_fields_table(path, blocks), (NAME,), parse=parse)


def _fields_table(path: Path, blocks: Sequence[tuple[int, str]]) -> TextTable:
    fields = [_fields(block) for _, block in blocks]
    header = (NAME, *(name for name in dict.fromkeys(name for each in fields for name in each) if name != NAME))
    rows = [
        [each.get(name, _title(block) if name == NAME else "") for name in header]
        for each, (_, block) in zip(fields, blocks, strict=True)
    ]
    return TextTable(path, header, rows, [line for line, _ in blocks])


def _blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Each molecule as text, with its first line."""
    try:
        with open_plain(path) as file:
            lines = _lines(file.read())
    except OSError as error:
        raise FileError(f"cannot be opened: {error.strerror}", path) from error
    if not any(line.strip() for line in lines):
        raise FileError("is empty: expected molecules, each followed by a line $$$$", path)
    start = 0
    for number, line in enumerate([*lines, END]):
        if line.strip() == END:
            if any(each.strip() for each in lines[start:number]):
                yield start + 1, "\n".join(lines[start:number])
            start = number + 1


def _lines(content: bytes) -> list[str]:
    """The lines of text in UTF-8, or else in Latin-1, which older programs write."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return re.split(r"\r\n|\r|\n", text)  # splitlines also splits at form feeds and others


def _title(block: str) -> str:
    return block.partition("\n")[0].strip()


def _fields(block: str) -> dict[str, str]:
    """The data fields: a line ``> <NAME>``, then lines up to a blank one."""
    fields: dict[str, str] = {}
    name = None
    for line in block.split("\n"):
        if header := _HEADER.match(line):
            name = header[1]
            fields[name] = ""
        elif not line.strip():
            name = None
        elif name is not None:
            fields[name] = f"{fields[name]}\n{line}" if fields[name] else line.strip()
    return fields


def _parse_blocks(blocks: Sequence[str], with_bonds: bool, standardize: bool) -> Molecules:
    """The molecules, with their SMILES as names; an unreadable one has its title."""
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        read = [attempted(partial(_molecule_of_block, block)) for block in blocks]
    molecules = [one if isinstance(one, str) else one[0] for one in read]
    names = [_title(block) if isinstance(one, str) else one[1] for block, one in zip(blocks, read, strict=True)]
    return parse_molecules(names, lambda place: molecules[place], with_bonds, standardize)


def _molecule_of_block(block: str) -> tuple[Mol, str] | str:
    """RDKit's molecule and its SMILES, or the reason why there is none."""
    from rdkit import Chem

    unchecked: Mol | None = Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)  # None: not in its type hints
    if not unchecked:
        return "is no molecule in the SD format"
    if reason := too_large(unchecked):
        return reason
    problems = [problem.Message() for problem in Chem.DetectChemistryProblems(unchecked)]
    molecule: Mol | None = None if problems else Chem.MolFromMolBlock(block)
    return (molecule, Chem.MolToSmiles(molecule)) if molecule else next(iter(problems), "RDKit gives no reason")


# ---- readers


def read_molecules(
    table: Callable[[Path, ReadOptions], MoleculeTable],
    path: str | PathLike[str],
    options: ReadOptions | None = None,
    expected: Expected | None = None,
) -> GraphSet:
    """The molecules of a file as graphs.

    Args:
        table: What makes a table of the file: :func:`smiles_table`, :func:`smiles_file` or :func:`sd_file`.
        path: The file.
        options: How it is read. Without a target, the column called "target", "label", "class" or "y" holds it, in
            upper or lower case, else the only other column; a table without another column has no targets.
        expected: What a trained model fixes.

    Raises:
        FileError: The file is not such a table; the message names the line.
        ImportError: RDKit is not installed.
    """
    options = options or ReadOptions()
    return table(Path(path), options).graphs(options, expected or Expected())


read_smiles_table = partial(read_molecules, smiles_table)
read_smiles_file = partial(read_molecules, smiles_file)
read_sd_file = partial(read_molecules, sd_file)

SMILES_TABLE = Reader(
    kind="a table of SMILES",
    accepts="a .csv, .tsv, .parquet or .xlsx with a column of SMILES",
    read=read_smiles_table,
    table=smiles_table,
    options=("smiles", *OPTIONS),
    heeds=HEEDS,
    suffixes=tuple(TABLE_FORMATS),
    holds_molecules=True,
)
SMILES_FILE = Reader(
    kind="a file of SMILES",
    accepts="a .smi of molecules",
    read=read_smiles_file,
    table=smiles_file,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=(".smi", ".smiles"),
    holds_molecules=True,
)
SD_FILE = Reader(
    kind="an SD file",
    accepts="a .sdf of molecules",
    read=read_sd_file,
    table=sd_file,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=(".sdf", ".sd"),
    holds_molecules=True,
)
