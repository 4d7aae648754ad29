"""A set of graphs as compiled passes take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FlatArrays(NamedTuple):
    """The fields of a ``GraphSet`` that a network looks at; ``label_start`` is the first column of each one-hot block.

    ``alike`` says how many nodes each one stands for: it is empty if that is always one. A field that a set lacks is
    empty. All are read-only, so that it makes no difference for the compiler whether they lie in a file or in memory.
    """

    node_ptr: NDArray[np.int64]
    entry_ptr: NDArray[np.int64]
    degree: NDArray[np.unsignedinteger]
    neighbor: NDArray[np.unsignedinteger]
    shift: NDArray[np.float32]
    attributes: NDArray[np.float32]
    labels: NDArray[np.unsignedinteger]
    label_start: NDArray[np.int64]
    alike: NDArray[np.float32]


def read_only(array: NDArray) -> NDArray:
    """A view of the array that cannot be written to."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
