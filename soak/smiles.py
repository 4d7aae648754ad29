"""Mutated SMILES through the reader of tables and through the service: each is read or refused, none crashes.

python soak/smiles.py --molecules 200000
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecule_tables import read_smiles_table
from bankgcn.serve.access import Limits, RequestError
from bankgcn.serve.engine import Engine
from bankgcn.serve.requests import parse_request
from bankgcn.training.ensemble import Ensemble

AT_ONCE = 500  # molecules in a file, and in a request

MOLECULES = (
    "CCO", "c1ccccc1", "C1CC1", "CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "C[C@H](N)C(=O)O",
    "F/C=C/F", "[NH4+].[Cl-]", "[2H]C([2H])([2H])O", "O=[N+]([O-])c1ccccc1", "C%12CCCCC%12", "[Os@OH12](F)(Cl)(Br)(I)N",
    "[13CH4:7]", "C1CC2CCC1CC2", "c1ccc2ccccc2c1", "N[Pt](N)(Cl)Cl", "[Na+].[O-]c1ccccc1", "CC#N", "CS(=O)(=O)C",
    "CCO |$;;OH$|", "C[Si](C)(C)C", "[H][H]", "*c1ccccc1", "[#6]-[#8]", "C->[Fe]", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",
    "c1ccc[nH]1", "[CH2]C", "C1=CC=CN1 |c:0,2|", "[U]", "P(=O)(O)(O)O", "[O-][Cl+3]([O-])([O-])[O-]",
)  # fmt: skip
PIECES = (
    *"()[]{}<>|.-=#$:/\\@+%*~^&!?;,_'\"0123456789 \t\0\x7f", *"CNOPSFIBHcnops", "Cl", "Br", "[", "]", "[C", "H256]",
    "[CH99999999]", "[#999H65536]", " |LO:0:1.2.3|", "%(99999)", "%99", "[C+256]", "[C-99999999]", "[99999C]",
    ":4294967296]", "@TB21", "@OH31", "@SP4", "->", "<-", "é", "\u2013", "\u202e", "𝒞", " |$é$|", " |^9:0|", " |C:0.9|",
    " |m:0:1.2|", " |Sg:n:0:1:ht|", " |(1,2,3)|", " |SgD:0:a:b|", "C" * 300, "(C)" * 100, "C1" * 50, "=" * 50, "H" * 50,
    "+" * 20, "[" * 20, "C(" * 200, "%(1)" * 20, "*123456789" * 30,
)  # fmt: skip


def mutated(random: random.Random) -> str:
    """A molecule after one to eight cuts, copies, swaps and insertions; RDKit reads about every tenth."""
    text = random.choice(MOLECULES)
    for _ in range(random.choice((1, 1, 2, 3, 5, 8))):
        start, end = sorted(random.choices(range(len(text) + 1), k=2))
        change = random.randrange(6)
        if change == 0:
            text = text[:start] + text[end:]
        elif change == 1:
            text = text[:end] + text[start:end] * random.choice((1, 2, 20)) + text[end:]
        elif change == 2:
            text = text[:start] + text[end:] + text[start:end]
        elif change == 3:
            text = text[:start] + random.choice(MOLECULES) + text[end:]
        else:
            text = text[:start] + random.choice(PIECES) + text[start if change == 4 else end :]
    return text[:8_000]


def check(smiles: list[str], engine: Engine, folder: Path) -> Counter[str]:
    """Give molecules to the reader and to the service; both must read the same, and refuse the others.

    Returns:
        The number of molecules that were read, and of those that were refused.

    Raises:
        AssertionError: They did something else.
    """
    path = folder / "molecules.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("smiles",), *((one,) for one in smiles)])
    graphs = read_smiles_table(path, ReadOptions(skip_unreadable=True), Expected(has_target=False))
    assert len(graphs) + len(graphs.skipped) == len(smiles), "a molecule was lost"
    assert graphs.attributes is None or np.isfinite(graphs.attributes).all()
    refused = {row for row, _ in graphs.skipped}
    answers = engine.answer([_request([one.strip()]) for one in smiles])
    for row, answer in enumerate(answers):
        if isinstance(answer, RequestError):
            assert answer.status < 500, f"{smiles[row]!r}: status {answer.status}"
            assert json.dumps(answer.content), smiles[row]
        assert isinstance(answer, RequestError) == (row in refused), f"{smiles[row]!r}: {answer}"
    return Counter(read=len(graphs), refused=len(refused))


def _request(smiles: list[str]) -> object:
    """A request as the service parses it."""
    return parse_request(json.dumps({"smiles": smiles}).encode(), Limits())


def small_engine(folder: Path) -> Engine:
    """The service of a small model."""
    from bankgcn import BankGCNRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BankGCNRegressor(epochs=1, hidden=8, layers=1).fit(list(MOLECULES), np.arange(len(MOLECULES)) / 2)
    model.save(folder / "run")
    return Engine(Ensemble.load(folder / "run"))


def fuzz(molecules: int, seed: int, folder: Path, engine: Engine) -> Counter[str]:
    """Check so many mutated molecules."""
    source, outcome = random.Random(seed), Counter[str]()
    for start in range(0, molecules, AT_ONCE):
        outcome += check([mutated(source) for _ in range(min(AT_ONCE, molecules - start))], engine, folder)
    return outcome


def main() -> None:
    """Fuzz, and print what became of the molecules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--molecules", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        outcome = fuzz(options.molecules, options.seed, Path(folder), small_engine(Path(folder)))
    print(
        f"{options.molecules:,} mutated SMILES in {time.monotonic() - started:.0f} s: {outcome['read']:,} read, "
        f"{outcome['refused']:,} refused, none crashed"
    )


if __name__ == "__main__":
    main()
