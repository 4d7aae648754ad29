"""Scaffolds of molecules: their rings and what links them (Bemis and Murcko, 1996). Needs RDKit."""

from __future__ import annotations

from collections.abc import Sequence

from bankgcn.data.errors import GraphError
from bankgcn.extras import require


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """The scaffold of each molecule as SMILES. Molecules without a ring have the empty scaffold.

    Args:
        smiles: The molecules.

    Raises:
        GraphError: One of them is not a molecule.
        ImportError: RDKit is not installed.

    Example:
        >>> scaffolds(["Cc1ccccc1", "c1ccccc1CCO", "CCO"])
        ['c1ccccc1', 'c1ccccc1', '']
    """
    require("rdkit", "a split by scaffolds")
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles
    from rdkit.rdBase import BlockLogs

    found = []
    with BlockLogs():
        for number, text in enumerate(smiles):
            try:
                found.append(MurckoScaffoldSmiles(text))
            except (ValueError, RuntimeError) as error:
                raise GraphError(f"graph {number}, {text!r}, has no scaffold: it is not a molecule") from error
    return found
