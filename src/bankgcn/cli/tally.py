"""What is counted over the blocks of a table: rows, graphs, and predictions beside known targets, for the scores.

Each block is noted as JSON, so that a command that goes on counts the blocks of the earlier process, too.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.cli.errors import print_note, with_flags
from bankgcn.cli.input_blocks import InputBlock
from bankgcn.tasks import Task


class Tally:
    """The counts. Memory grows with the number of rows whose targets are known, and with nothing else.

    Args:
        task: What the models learned.
        noted: What was noted of the blocks of an earlier process.
    """

    def __init__(self, task: Task, noted: Iterable[Mapping[str, Any]] = ()):
        self.task = task
        self.rows = self.graphs = self.unreadable = 0
        self.digest = ""
        self.no_score: str | None = None
        """Why there is no score, if a target does not fit the models."""
        self._means: list[NDArray] = []
        self._targets: list[NDArray] = []
        self._notes: set[str] = set()
        for one in noted:
            self._count(one)

    def add(self, block: InputBlock, mean: Tensor | None = None) -> dict[str, Any]:
        """Count a block.

        Args:
            block: The block.
            mean: The mean prediction for each of its graphs, if there shall be scores.

        Returns:
            What to note of it.
        """
        inputs = block.inputs
        noted: dict[str, Any] = {
            "rows": block.rows,
            "graphs": len(inputs.graphs),
            "unreadable": len(inputs.reasons),
            "digest": block.digest,
        }
        if mean is not None and self.no_score is None:
            try:
                known, y = inputs.truth(self.task)
            except ValueError as error:
                noted["no_score"] = with_flags(error)
            else:
                if len(known):
                    noted |= {"mean": _packed(mean[known].numpy()), "y": _packed(y)}
        self._count(noted)
        return noted

    def _count(self, noted: Mapping[str, Any]) -> None:
        self.rows += noted["rows"]
        self.graphs += noted["graphs"]
        self.unreadable += noted["unreadable"]
        self.digest = noted["digest"]
        self.no_score = noted.get("no_score", self.no_score)
        if "y" in noted:
            self._means.append(_unpacked(noted["mean"]))
            self._targets.append(_unpacked(noted["y"]))

    def known(self) -> tuple[Tensor, NDArray]:
        """The mean predictions for the graphs whose targets are known, and these targets."""
        if not self._targets:
            return torch.empty(0, len(self.task.names)), np.empty(0)
        return torch.from_numpy(np.concatenate(self._means)), np.concatenate(self._targets)

    def note(self, message: str) -> None:
        """Print a note, unless a block before had the same."""
        if message not in self._notes:
            self._notes.add(message)
            print_note(message)


def _packed(array: NDArray) -> list[Any]:
    """An array as JSON holds it."""
    return [array.dtype.str, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


def _unpacked(packed: list[Any]) -> NDArray:
    kind, shape, content = packed
    return np.frombuffer(base64.b64decode(content), np.dtype(kind)).reshape(shape).copy()
