"""Write a table of molecules of any size, such as one for virtual screening: those of ogbg-molhiv, again and again.

    python scripts/make_library.py 2000000 --seed 0 --out library.csv

The ending decides the form: ``.csv`` or ``.csv.gz`` with the columns ``id`` and ``smiles``, or ``.smi``. Each pass has
all molecules in an order of its own, which follows from the seed; the same numbers give the same bytes. Only the
molecules of one pass are in memory. ``HIV.csv`` is looked for below ``BANKGCN_DATA``; ``--molecules`` names another
table with a column ``smiles``. RDKit refuses 7 of the 41,127 molecules.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bankgcn.files.checked import atomic_write

ENDINGS = (".csv", ".csv.gz", ".smi")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=int, help="number of molecules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help=f"table to write: {', '.join(ENDINGS)}")
    parser.add_argument("--molecules", type=Path, help="table of the molecules, by default HIV.csv of ogbg-molhiv")
    arguments = parser.parse_args()
    if arguments.rows < 1:
        parser.error(f"rows={arguments.rows}: expected at least 1")
    if not arguments.out.name.endswith(ENDINGS):
        parser.error(f"--out {arguments.out}: expected a name that ends in {', '.join(ENDINGS)}")
    usual = Path(os.environ.get("BANKGCN_DATA", ".")) / "ogbg_molhiv" / "HIV.csv"
    path = arguments.molecules or usual
    if not path.is_file():
        parser.error(f"{path} is not there: set BANKGCN_DATA, or name a table by --molecules")
    write_library(arguments.out, read_molecules(path), arguments.rows, arguments.seed)
    print(f"{arguments.rows:,} molecules are in {arguments.out}")


def read_molecules(path: Path) -> list[str]:
    """The column ``smiles`` of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def library(molecules: list[str], rows: int, seed: int) -> Iterator[tuple[str, str]]:
    """The id and the SMILES of each row."""
    generator = np.random.default_rng(seed)
    written = 0
    while written < rows:
        for place in generator.permutation(len(molecules))[: rows - written].tolist():
            written += 1
            yield f"M{written:09}", molecules[place]


def write_library(out: Path, molecules: list[str], rows: int, seed: int) -> None:
    """Write the rows in the form that the ending names."""
    with atomic_write(out) as file:
        if out.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=1, mtime=0) as packed:
                _write(packed, out, library(molecules, rows, seed))
        else:
            _write(file, out, library(molecules, rows, seed))


def _write(file: BinaryIO | gzip.GzipFile, out: Path, rows: Iterator[tuple[str, str]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    if out.suffix == ".smi":
        text.writelines(f"{smiles} {name}\n" for name, smiles in rows)
    else:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("id", "smiles"))
        table.writerows(rows)
    text.flush()
    text.detach()


if __name__ == "__main__":
    main()
