"""MUTAG, which is part of the package, so that a first command works without internet access."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from bankgcn.data.features.tu_signals import TUSignals
from bankgcn.data.graphs import GraphSet

ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # what the node labels 0 to 6 mean
BONDS = ("aromatic", "single", "double", "triple")  # what the edge labels 0 to 3 mean
CITATION = (
    "A. K. Debnath, R. L. Lopez de Compadre, G. Debnath, A. J. Shusterman, C. Hansch: Structure-activity relationship "
    "of mutagenic aromatic and heteroaromatic nitro compounds. Journal of Medicinal Chemistry 34(2), 1991, 786-797"
)


def mutag() -> GraphSet:
    """MUTAG: 188 nitro compounds with one-hot atoms as signals; the class says whether they cause mutations.

    ``scripts/embed_mutag.py`` made the file; ``README.md`` beside this module names its source.

    Example:
        >>> graphs = mutag()
        >>> len(graphs), graphs.num_features, graphs.classes
        (188, 7, ('-1', '1'))
    """
    with files("bankgcn.data.builtin").joinpath("mutag.npz").open("rb") as file:
        packed = np.load(file, allow_pickle=False)
        arrays = {name: packed[name].astype(np.int64) for name in packed.files}
    first_atom = np.cumsum(arrays["num_nodes"]) - arrays["num_nodes"]
    bonds = arrays["bonds"] + np.repeat(first_atom, arrays["num_bonds"])
    return GraphSet.from_edges(
        arrays["num_nodes"],
        np.concatenate([bonds, bonds[::-1]], axis=1),
        labels=arrays["atoms"],
        label_widths=len(ATOMS),
        edge_labels=np.tile(arrays["bond_labels"], 2),
        y=arrays["classes"],
        classes=("-1", "1"),
        name="MUTAG",
        feature_spec=TUSignals(label_low=(0,), label_widths=(len(ATOMS),)).spec,  # as if read from the TU files
    )
