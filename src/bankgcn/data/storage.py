"""Sets of graphs in safetensors files; see :mod:`bankgcn.files.tensors` for the layout."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from bankgcn.data.graphs import GraphSet
from bankgcn.data.invariants import check_texts, check_values
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import read_arrays, write_arrays

KIND = "set of graphs"


def save_set(graphs: GraphSet, path: str | os.PathLike[str]) -> None:
    """Write a set to one file, atomically."""
    members = {member.name: getattr(graphs, member.name) for member in fields(graphs)}
    arrays = {name: value for name, value in members.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in members.items() if name not in arrays}
    write_arrays(path, KIND, {**rest, "fingerprint": graphs.fingerprint}, arrays)


def load_set(path: str | os.PathLike[str], verify: bool = True) -> GraphSet:
    """A saved set. Its arrays are mapped into memory: read when they are used, and shared by all processes.

    Degrees, neighbours, labels and targets are read now, to check that they are in range.

    Args:
        path: The file.
        verify: Whether to read all arrays now, to compare their checksums and to check that all numbers are finite.
            Without it, a changed attribute or edge weight is not noticed.

    Raises:
        FileError: The file is of another kind, of another format, cut short or damaged, or its arrays contradict each
            other.
    """
    rest, arrays = read_arrays(path, KIND, verify)
    stored_fingerprint = rest.pop("fingerprint", None)
    members: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in rest.items()}
    members |= arrays
    try:
        members["skipped"] = tuple(map(tuple, members.get("skipped", ())))
        loaded = GraphSet(**members)
        check_texts(loaded)
        if verify:
            check_values(loaded)
    except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise FileError(f"holds no set of graphs ({error})", path) from error
    if isinstance(stored_fingerprint, str):
        loaded.__dict__["fingerprint"] = stored_fingerprint
    return loaded
