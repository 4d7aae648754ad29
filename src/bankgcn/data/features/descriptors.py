"""Descriptors of molecules as features of graphs: RDKit's list in two dimensions, and counts of Morgan's environments.

A family of descriptors is a row of :data:`DESCRIPTORS`. Needs RDKit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bankgcn.data import GraphError
from bankgcn.data.features.graph_features import Columns, computed_columns, joined
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import ReadOptions
from bankgcn.extras import require
from bankgcn.messages import Message, Option

MORGAN_RADIUS, MORGAN_SIZE = 2, 2048


def _rdkit(smiles: Sequence[str]) -> Columns:
    """RDKit's descriptors in two dimensions; one that RDKit cannot compute for a molecule is NaN."""
    from rdkit.Chem import Descriptors, MolFromSmiles

    rows = [
        [_number(partial(function, molecule)) for _, function in Descriptors.descList]
        for molecule in map(MolFromSmiles, smiles)
    ]
    values = np.array(rows, np.float64).reshape(len(rows), len(Descriptors.descList))
    return computed_columns([name for name, _ in Descriptors.descList], values, "rdkit")


def _number(compute: Callable[[], float]) -> float:
    try:
        return float(compute())
    except Exception:  # RDKit raises whatever it likes: some atoms have no charges, for example
        return float("nan")


def _morgan(smiles: Sequence[str]) -> Columns:
    """How often each environment of up to two bonds around an atom occurs, hashed to 2,048 columns."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=MORGAN_RADIUS, fpSize=MORGAN_SIZE)
    counts = np.zeros((len(smiles), MORGAN_SIZE), np.uint32)
    for row, molecule in enumerate(map(MolFromSmiles, smiles)):
        counts[row] = generator.GetCountFingerprintAsNumPy(molecule)
    return computed_columns([f"morgan {column}" for column in range(MORGAN_SIZE)], counts, "morgan")


def _quick(smiles: Sequence[str]) -> Columns:
    """The descriptors that RDKit computes in C++, which takes a tenth of the time of all of them."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdMolDescriptors import Properties

    properties = Properties()
    rows = [list(properties.ComputeProperties(molecule)) for molecule in map(MolFromSmiles, smiles)]
    names = list(properties.GetPropertyNames())
    return computed_columns(names, np.array(rows, np.float64).reshape(len(rows), len(names)), QUICK)


QUICK = "quick"
"""A family for estimates that must not take long; no option names it."""

DESCRIPTORS: dict[str, Callable[[Sequence[str]], Columns]] = {"rdkit": _rdkit, "morgan": _morgan}
"""Each family: from SMILES to columns."""


def have_smiles(graphs: GraphSet) -> bool:
    """Whether the graphs are molecules whose SMILES are known: their names."""
    return graphs.feature_spec.get("kind") == "atoms" and graphs.names is not None


def with_descriptors(graphs: GraphSet, options: ReadOptions, computed: Columns | None = None) -> GraphSet:
    """The molecules with the descriptors that the options name, behind features that they have; names are SMILES.

    Args:
        graphs: The molecules.
        options: The options.
        computed: The descriptors, if they have been computed already.

    Raises:
        GraphError: The graphs are no molecules.
    """
    present = graphs.graph_spec.get("descriptors", ())
    families = [family for family in options.families if family not in present]
    if not families:
        return graphs
    if graphs.names is None or graphs.feature_spec.get("kind") != "atoms":
        wrong = "{given} is for molecules, which {name} does not hold"
        given = Option("descriptors", options.descriptors)
        raise GraphError(Message(wrong, given=given, name=graphs.name or "the set"))
    own = [] if graphs.graph_features is None else [Columns(graphs.graph_features, dict(graphs.graph_spec))]
    values, spec = joined([*own, computed or descriptor_columns(graphs.names, families)])
    return replace(graphs, graph_features=values, graph_spec=spec)


def descriptor_columns(smiles: Sequence[str], families: Sequence[str]) -> Columns:
    """The descriptors of molecules.

    Args:
        smiles: The molecules; RDKit can read them.
        families: Names in :data:`bankgcn.data.options.DESCRIPTOR_NAMES`, or :data:`QUICK`.
    """
    require("rdkit", "descriptors of molecules")
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        return joined([(DESCRIPTORS | {QUICK: _quick})[family](smiles) for family in families])
