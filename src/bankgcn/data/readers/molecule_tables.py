"""Tables with a molecule in each row: CSV, Parquet and Excel with a column of SMILES, ``.smi`` and ``.sdf``.

Each format becomes a :class:`MoleculeTable`; what follows is the same for all: targets, ids, unreadable molecules.

SMILES files (``.smi``) have a molecule on each line, and its name after a blank. A first line whose first word is a
usual name for SMILES, such as ``SMILES Name``, names the columns. Without it they are called ``smiles`` and ``name``;
in a file with tabs, further ones ``column3``, ``column4`` and so on. SD files (``.sdf``) have molecules with data
fields, which may hold targets. Hydrogens are not nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from bankgcn.data import GraphError
from bankgcn.data.features.descriptors import descriptor_columns, with_descriptors
from bankgcn.data.features.graph_features import Columns
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import Reader
from bankgcn.data.readers.molecules import (
    Molecules,
    atom_kind,
    attempted,
    joined_molecules,
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
from bankgcn.data.workers import Job
from bankgcn.extras import require
from bankgcn.files.archives import Stream, plain_stem
from bankgcn.files.checked import FileError, hash_of_parts
from bankgcn.files.row_blocks import (
    LONGEST_LINE,
    as_text,
    bounded_lines,
    in_blocks,
    open_content,
    share_read,
    table_blocks,
)
from bankgcn.files.tables import TABLE_FORMATS, NumberedRow, TextTable, open_table
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
Blocks = Iterator[tuple["MoleculeTable", float]]
"""Tables, and the share of the file that was read with each."""
_HEADER = re.compile(r">.*?<(.*)>")  # of a data field; a value may be >10


@dataclass(frozen=True, kw_only=True)
class MoleculeTable(GraphTable):
    """A table, and how to get the molecules of its rows.

    Args:
        texts: What a molecule is read from, for each row.
        parse: From some of the texts, whether the features of bonds are wanted, and whether to standardise, to the
            molecules; a function of a module, which other processes find.
        line_word: What messages call a line of the table.
    """

    texts: Sequence[Any]
    parse: Callable[[Sequence[Any], bool, bool], Molecules]
    line_word: str = "line"

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.table.rows)

    @property
    def graph_table(self) -> GraphTable:
        """The rows."""
        return self

    def digest(self, before: str) -> str:
        """A hash of the cells, the molecules and what came before."""
        cells = (cell for row in self.table.rows for cell in row)
        texts = () if self.smiles else self.texts  # SMILES are cells
        return hash_of_parts(map(str.encode, (before, *self.table.header, *cells, *texts)))

    def job(self, options: ReadOptions, expected: Expected, rows: Sequence[int] | None = None) -> Job:
        """The work on all rows, or on these, that takes long."""
        texts = self.texts if rows is None else [self.texts[row] for row in rows]
        with_bonds, standardize = expected.edge_data != "none", standardizes(options, expected)
        arguments = (self.parse, with_bonds, standardize, tuple(options.families))
        return Job(parse_rows, texts, arguments, lost=_lost_row, joined=joined_rows)

    def graphs(self, options: ReadOptions, expected: Expected, run: Callable[[Job], Any] = Job.run) -> GraphSet:
        """The molecules as graphs; their set knows which rows have none.

        Args:
            options: How the table is read.
            expected: What a trained model fixes.
            run: What returns the result of a job: in this process, or in others.

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
        molecules, descriptors = run(self.job(options, expected, rows))
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
        return with_descriptors(graphs, options, descriptors)

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


class ParsedRows(NamedTuple):
    """What the job on some rows computes."""

    molecules: Molecules
    descriptors: Columns | None  # of the molecules that can be read, if any are wanted


def parse_rows(
    texts: Sequence[Any],
    parse: Callable[[Sequence[Any], bool, bool], Molecules],
    with_bonds: bool,
    standardize: bool,
    families: Sequence[str],
) -> ParsedRows:
    """The molecules of some texts, and their descriptors."""
    molecules = parse(texts, with_bonds, standardize)
    return ParsedRows(molecules, descriptor_columns(molecules.names, families) if families else None)


def joined_rows(parts: Sequence[ParsedRows]) -> ParsedRows:
    """The rows of all parts, one after another."""
    tables = [part.descriptors for part in parts if part.descriptors is not None]
    descriptors = Columns(np.concatenate([one.values for one in tables]), tables[0].spec) if tables else None
    return ParsedRows(joined_molecules([part.molecules for part in parts]), descriptors)


def _lost_row(text: Any, cause: str, parse: Any, *arguments: Any) -> ParsedRows:
    """What stands for a row whose process died."""
    reason = f"the process that read it {cause}"
    return parse_rows([text], partial(_unread, parse, reason), *arguments)


def _unread(parse: Any, reason: str, texts: Sequence[Any], with_bonds: bool, standardize: bool) -> Molecules:
    name_of = _title if parse is _parse_blocks else str
    return parse_molecules([name_of(text) for text in texts], lambda place: reason, with_bonds, standardize)


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
    return MoleculeTable(table, others, column, texts=texts, parse=parse_smiles)


def smiles_table_blocks(path: Path, options: ReadOptions) -> Blocks | None:
    """The same in blocks of rows; ``None`` for a workbook."""
    tables = table_blocks(path)
    if tables is None:
        return None
    return ((with_smiles(table, options.smiles or smiles_column(table)), share) for table, share in tables)


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
    (table, _), *rest = _smiles_file_blocks(path, whole=True)
    assert not rest
    return table


def smiles_file_blocks(path: Path, options: ReadOptions) -> Blocks:
    """The same in blocks of rows."""
    return _smiles_file_blocks(path)


def _smiles_file_blocks(path: Path, whole: bool = False) -> Blocks:
    separator, width = _layout(path)
    with open_content(path, whole) as content:
        numbered = _split_lines(content, path, separator)
        first = next(numbered, None)
        if first is None:
            raise FileError("is empty: expected a molecule on each line", path)
        header = ("smiles", "name", *(f"column{number}" for number in range(3, width + 1)))[:width]
        rows: Iterable[NumberedRow] = chain([first], numbered)
        if any(_is_smiles_name(first[1][0], usual) for usual in SMILES_NAMES):
            header, rows = tuple(cell.strip() for cell in first[1]), numbered
        blocks = [list(rows)] if whole else in_blocks(rows, lambda row: sum(map(len, row[1])))
        for block in blocks:
            yield with_smiles(_table_of_lines(path, header, block), header[0], others=header[1:2]), share_read(content)


def _layout(path: Path) -> tuple[str | None, int]:
    """What separates the cells of a SMILES file, and the length of the longest row: all lines decide."""
    longest = {"\t": 1, None: 1}
    with open_content(path) as content:
        for line in bounded_lines(as_text(content), path):
            text = line.rstrip()
            longest["\t"] = max(longest["\t"], text.count("\t") + 1)
            longest[None] = max(longest[None], len(text.split(None, 1)))
    separator = "\t" if longest["\t"] > 1 else None
    return separator, longest[separator]


def _split_lines(content: Stream, path: Path, separator: str | None) -> Iterator[NumberedRow]:
    """The rows of a SMILES file that are not blank, with their lines. At most one blank separates without tabs."""
    lines = (line for text in bounded_lines(as_text(content), path) for line in text.splitlines())
    limit = -1 if separator else 1  # without tabs, a name may have blanks
    for number, line in enumerate(lines, 1):
        row = line.rstrip().split(separator, limit)  # a tab at the start stays: before it, the molecule is missing
        if any(row):
            yield number, row


def _table_of_lines(path: Path, header: tuple[str, ...], numbered: Sequence[NumberedRow]) -> TextTable:
    for number, row in numbered:
        if len(row) > len(header):
            raise FileError(f"has {len(row)} cell(s) where the header has {len(header)}", path, number)
    rows = [[*row, *[""] * (len(header) - len(row))] for _, row in numbered]
    return TextTable(path, header, rows, [number for number, _ in numbered])


# ---- SD files


def sd_file(path: Path, options: ReadOptions) -> MoleculeTable:
    """The names and data fields of the molecules of an SD file; a field that a molecule lacks is an empty cell."""
    encoding, names = _sd_layout(path)
    with open_content(path, whole=True) as content:
        return _sd_table(path, names, list(_molecules_of(as_text(content, encoding), path)))


def sd_file_blocks(path: Path, options: ReadOptions) -> Blocks:
    """The same in blocks of molecules."""
    encoding, names = _sd_layout(path)
    with open_content(path) as content:
        for block in in_blocks(_molecules_of(as_text(content, encoding), path), lambda one: len(one[1])):
            yield _sd_table(path, names, block), share_read(content)


def _sd_table(path: Path, names: Sequence[str], numbered: Sequence[tuple[int, str]]) -> MoleculeTable:
    """The names and data fields of some molecules, each given with its first line."""
    header = (NAME, *(name for name in names if name != NAME))
    rows = []
    for _, text in numbered:
        fields = _fields(text)
        rows.append([fields.get(name, _title(text) if name == NAME else "") for name in header])
    table = TextTable(path, header, rows, [line for line, _ in numbered])
    return MoleculeTable(table, (NAME,), texts=[text for _, text in numbered], parse=_parse_blocks)


def _sd_layout(path: Path) -> tuple[str, list[str]]:
    """The encoding of an SD file, and the names of the data fields in it: all molecules decide.

    Text that is not in UTF-8 is in Latin-1, which older programs write.
    """
    for encoding in ("utf-8-sig", "latin-1"):
        names: dict[str, None] = {}
        empty = True
        try:
            with open_content(path) as content:
                for _, text in _molecules_of(as_text(content, encoding), path):
                    names.update(dict.fromkeys(_fields(text)))
                    empty = False
        except UnicodeDecodeError:
            continue
        if empty and not names:
            break
        return encoding, list(names)
    raise FileError("is empty: expected molecules, each followed by a line $$$$", path)


def _molecules_of(text: TextIO, path: Path) -> Iterator[tuple[int, str]]:
    """Each molecule of an SD file as text, with its first line."""
    lines: list[str] = []
    start = size = 0
    for number, line in enumerate(chain(text, [END])):
        if line.strip() == END:
            if any(each.strip() for each in lines):
                yield start + 1, "\n".join(lines)
            lines, start, size = [], number + 1, 0
            continue
        lines.append(line.removesuffix("\n"))
        size += len(line)
        if size > LONGEST_LINE:
            raise FileError(f"has a molecule of more than {LONGEST_LINE:,} characters", path, start + 1)


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
    require("rdkit", "reading molecules")
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
    run: Callable[[Job], Any] = Job.run,
) -> GraphSet:
    """The molecules of a file as graphs.

    Args:
        table: What makes a table of the file: :func:`smiles_table`, :func:`smiles_file` or :func:`sd_file`.
        path: The file.
        options: How it is read. Without a target, the column called "target", "label", "class" or "y" holds it, in
            upper or lower case, else the only other column; a table without another column has no targets.
        expected: What a trained model fixes.
        run: What returns the result of a job: in this process, or in others.

    Raises:
        FileError: The file is not such a table; the message names the line.
        ImportError: RDKit is not installed.
    """
    options = options or ReadOptions()
    return table(Path(path), options).graphs(options, expected or Expected(), run)


read_smiles_table = partial(read_molecules, smiles_table)
read_smiles_file = partial(read_molecules, smiles_file)
read_sd_file = partial(read_molecules, sd_file)

SMILES_TABLE = Reader(
    kind="a table of SMILES",
    accepts="a .csv, .tsv, .parquet or .xlsx with a column of SMILES",
    read=read_smiles_table,
    table=smiles_table,
    blocks=smiles_table_blocks,
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
    blocks=smiles_file_blocks,
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
    blocks=sd_file_blocks,
    options=OPTIONS,
    heeds=HEEDS,
    suffixes=(".sdf", ".sd"),
    holds_molecules=True,
)
