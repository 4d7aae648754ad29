"""SD files (``.sdf``): molecules with their data fields, which may hold targets. Hydrogens are not nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.molecule_limits import too_large
from bankgcn.data.readers.molecule_table import OPTIONS, MoleculeTable
from bankgcn.data.readers.molecules import Features, Molecules, attempted, expected_features, parse_molecules
from bankgcn.data.readers.policy import Policy
from bankgcn.data.readers.reader import Reader
from bankgcn.data.targets import TaskName
from bankgcn.extras import require
from bankgcn.files.archives import open_plain
from bankgcn.files.checked import FileError
from bankgcn.files.tables import TextTable

if TYPE_CHECKING:
    from rdkit.Chem import Mol

END = "$$$$"  # the line after each molecule
NAME = "name"  # the column of the first lines of the molecules
_HEADER = re.compile(r">.*?<(.*)>")  # of a data field; a value may be >10


def read_sd_file(
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
    """The molecules of an SD file. Options as in :func:`~bankgcn.data.readers.smiles_table.read_smiles_table`.

    Raises:
        FileError: A molecule cannot be read; the message names the line.
        ImportError: RDKit is not installed.
    """
    require("rdkit", "reading molecules")
    blocks = list(_blocks(Path(path)))
    table = _table(Path(path), blocks)

    def parse(rows: Sequence[int]) -> Molecules:
        return _parsed([blocks[row][1] for row in rows])

    return MoleculeTable(table, parse, (NAME,)).graphs(
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


def sd_file_table(path: Path) -> TextTable:
    """The names and data fields of the molecules as a table; a field that a molecule lacks is an empty cell."""
    return _table(path, list(_blocks(path)))


def _table(path: Path, blocks: Sequence[tuple[int, str]]) -> TextTable:
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


def _parsed(blocks: Sequence[str]) -> Molecules:
    """The molecules, with their SMILES as names; an unreadable one has its title."""
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        read = [attempted(partial(_molecule, block)) for block in blocks]
    molecules = [one if isinstance(one, str) else one[0] for one in read]
    names = [_title(block) if isinstance(one, str) else one[1] for block, one in zip(blocks, read, strict=True)]
    return parse_molecules(names, lambda place: molecules[place])


def _molecule(block: str) -> tuple[Mol, str] | str:
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


READER = Reader(
    kind="an SD file",
    accepts="a .sdf of molecules",
    read=read_sd_file,
    options=OPTIONS,
    suffixes=(".sdf", ".sd"),
    options_for=expected_features,
    table=sd_file_table,
    holds_molecules=True,
)
