"""A hash of the content of a set of graphs: the same on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

VALUES_AT_ONCE = 1 << 20


def fingerprint(graphs: GraphSet) -> str:
    """Counts of graphs, nodes and edges, and the SHA-256 of structure, signals, targets and names of classes.

    It ignores the shift, which follows from the rest and is rounded differently by different processors, and names and
    notes, which do not affect training.
    """
    digest = hashlib.sha256(json.dumps([graphs.label_widths, graphs.classes]).encode())
    content = {
        "num_nodes": graphs.num_nodes,
        "degree": graphs.degree,
        "neighbor": graphs.neighbor,
        "edge_weight": graphs.edge_weight,
        "edge_labels": graphs.edge_labels,
        "attributes": graphs.attributes,
        "labels": graphs.labels,
        "y": graphs.y,
    }
    for name, array in content.items():
        if array is not None:
            digest.update(f"{name}{array.shape}{array.dtype.kind}".encode())
            _update(digest, array)
    return f"{len(graphs)}-{len(graphs.degree)}-{len(graphs.neighbor) // 2}-{digest.hexdigest()}"


def _update(digest: hashlib._Hash, array: NDArray) -> None:
    """Hash values, not bytes: integers may be stored in several widths."""
    flat = array.reshape(-1)
    dtype = "<f4" if flat.dtype.kind == "f" else "<i8"
    for start in range(0, len(flat), VALUES_AT_ONCE):
        digest.update(np.ascontiguousarray(flat[start : start + VALUES_AT_ONCE], dtype=dtype).data)
