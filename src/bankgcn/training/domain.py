"""How near new graphs are to the training graphs, and what of them was never seen there.

A model is trusted where it has seen similar graphs. Molecules are compared by the Tanimoto similarity of their Morgan
fingerprints; other graphs by the distance of their representations, as a percentile of the distances of training graphs
to their own nearest neighbours: 100 is further away than any training graph is from the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.descriptors import MORGAN_RADIUS, MORGAN_SIZE, have_smiles
from bankgcn.data.features.seen import Seen, seen_values
from bankgcn.data.graphs import GraphSet
from bankgcn.data.standardize import is_standardized, molecule_of
from bankgcn.extras import is_installed
from bankgcn.files.checked import FileError
from bankgcn.files.tables import Columns, number_cells
from bankgcn.files.tensors import UNREADABLE, read_arrays, write_arrays
from bankgcn.kernels.nearest import count_bits, most_similar, nearest_distance, pack_bits

KIND = "domain of a model"
MOLECULES_KEPT = 100_000  # fingerprints of 256 bytes
VECTORS_KEPT = 10_000  # whose distances to each other are computed
SIMILARITY, PERCENTILE = "similarity", "distance_percentile"

Embed = Callable[[GraphSet], NDArray]


class Nearness(NamedTuple):
    """How near G graphs are to the training graphs."""

    name: str  # SIMILARITY or PERCENTILE, the name of the column
    values: NDArray[np.float64]  # (G,): from 0 to 1, or from 0 to 100
    unseen: Sequence[str | None]  # values that no training graph has, in words

    @property
    def columns(self) -> Columns:
        """The columns of a table."""
        return [(self.name, number_cells(self.values)), ("unseen", list(self.unseen))]


@dataclass(frozen=True, eq=False)
class Domain:
    """What a model keeps of its training graphs.

    Args:
        fingerprints: Morgan fingerprints of molecules, in the order of their numbers of ones, shape ``(n, 32)``.
        vectors: Representations of other graphs, shape ``(n, width)``.
        own: Distances of the vectors to their nearest others, in ascending order, shape ``(n,)``.
        seen: Which values of atoms and bonds the training graphs have.
        split: Hash of the split: models with equal ones have the same training graphs.
    """

    fingerprints: NDArray[np.uint64] | None = None
    vectors: NDArray[np.float32] | None = None
    own: NDArray[np.float64] | None = None
    seen: Seen = field(default_factory=dict)
    split: str = ""

    @classmethod
    def of(cls, train: GraphSet, embed: Embed | None, split: str) -> Domain | None:
        """The domain of a model, by its training graphs; ``None`` if they cannot be compared, or are too few.

        Of very many training graphs, it keeps a sample, which is the same at every call.

        Args:
            train: The training graphs, with the features that the model takes.
            embed: From graphs to their representations; ``None`` if the model has none. Molecules need none.
            split: Hash of the split.
        """
        seen = seen_values(train)
        if have_smiles(train) and is_installed("rdkit"):
            rows = fingerprints(_sample(train, MOLECULES_KEPT))
            return cls(fingerprints=rows[np.argsort(count_bits(rows), kind="stable")], seen=seen, split=split)
        if embed is None:
            return None
        vectors = embed(_sample(train, VECTORS_KEPT)).astype(np.float32)
        if len(vectors) < 2 or not np.isfinite(vectors).all():
            return None
        own = np.sort(nearest_distance(vectors, vectors, skip_self=True))
        return cls(vectors=vectors, own=own, seen=seen, split=split)

    @property
    def name(self) -> str:
        """What is measured."""
        return PERCENTILE if self.fingerprints is None else SIMILARITY

    def nearness(self, graphs: GraphSet, embed: Embed) -> NDArray[np.float64]:
        """The similarity of each graph to the nearest training graph, or the percentile of its distance."""
        if self.fingerprints is not None:
            return most_similar(fingerprints(graphs), self.fingerprints)
        assert self.vectors is not None
        assert self.own is not None
        distance = nearest_distance(embed(graphs).astype(np.float32), self.vectors)
        return 100 * np.searchsorted(self.own, distance, side="right") / len(self.own)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one file."""
        arrays = {"fingerprints": self.fingerprints, "vectors": self.vectors, "own": self.own}
        present = {name: array for name, array in arrays.items() if array is not None}
        write_arrays(path, KIND, {"seen": self.seen, "split": self.split}, present)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Domain:
        """Read the domain of a model.

        Raises:
            FileError: The file is damaged, or holds something else.
        """
        fields, arrays = read_arrays(path, KIND)
        try:
            domain = cls(**arrays, seen=_checked_seen(fields["seen"]), split=str(fields["split"]))
            domain._check()
        except UNREADABLE as error:
            raise FileError(f"does not hold the domain of a model ({error})", path) from error
        return domain

    def _check(self) -> None:
        rows, vectors, own = self.fingerprints, self.vectors, self.own
        if rows is not None:
            if rows.shape[1:] != (MORGAN_SIZE // 64,) or rows.dtype != np.uint64 or not len(rows):
                raise ValueError(f"fingerprints have the shape {rows.shape}")
            if (np.diff(count_bits(rows)) < 0).any():
                raise ValueError("fingerprints are not in the order of their numbers of ones")
        elif vectors is None or own is None or vectors.ndim != 2 or own.shape != (len(vectors),) or len(own) < 2:
            raise ValueError("it has neither fingerprints nor vectors")
        elif not (np.isfinite(vectors).all() and np.isfinite(own).all() and (np.diff(own) >= 0).all()):
            raise ValueError("a number is not finite, or distances are not in their order")


def _checked_seen(seen: Any) -> dict[str, list[list[int]]]:
    return {str(kind): [[int(code) for code in codes] for codes in columns] for kind, columns in seen.items()}


def fingerprints(graphs: GraphSet) -> NDArray[np.uint64]:
    """Morgan fingerprints of molecules, as rows of words."""
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    if not have_smiles(graphs):
        raise ValueError(
            f"{graphs.name or 'the set'} does not hold the SMILES of its molecules, which {SIMILARITY} needs"
        )
    assert graphs.names is not None
    generator = GetMorganGenerator(radius=MORGAN_RADIUS, fpSize=MORGAN_SIZE)
    standardize = is_standardized(graphs.feature_spec)
    rows = np.zeros((len(graphs), MORGAN_SIZE // 64), np.uint64)
    for row, smiles in enumerate(graphs.names):
        molecule = molecule_of(smiles, standardize)
        if molecule is not None:
            rows[row] = pack_bits(generator.GetFingerprintAsNumPy(molecule)[None])[0]
    return rows


def _sample(graphs: GraphSet, most: int) -> GraphSet:
    if len(graphs) <= most:
        return graphs
    chosen = np.random.Generator(np.random.PCG64(0)).choice(len(graphs), most, replace=False)
    return graphs[np.sort(chosen)]
