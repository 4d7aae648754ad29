"""A run that starts with the features and the weights of another one, its parent.

The network must be the same, apart from what only training sees, and from its head: another number of outputs, or
another task, gets a fresh one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from bankgcn.data.duplicates import graph_hashes
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option
from bankgcn.nn.network import GraphNetwork
from bankgcn.rivals import Rival
from bankgcn.settings import Plain
from bankgcn.tasks import Task
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RUN_SETTINGS, RunSpec, settings_of_run

OF_THE_SOURCE = frozenset(
    {"smiles", "target", "id", "skip_unreadable", "skip_missing", "missing_words", "fill_missing", "ignore_case"}
    | {"symmetrise"}
)
"""Settings of reading that depend on the source; all others decide what features graphs have."""
OF_THE_TRAINING = frozenset({"head", "dropout", "initial_alpha"})
"""Settings of the network that may differ: its weights below the head mean the same."""
SHARED = tuple(
    name
    for name, place in RUN_SETTINGS.items()
    if (place.part == "reader" and name not in OF_THE_SOURCE)
    or (place.part in ("model", "conv_options") and name not in OF_THE_TRAINING)
)
"""Settings that a run has in common with its parent."""


@dataclass(frozen=True)
class Parent:
    """A finished run with its model.

    Args:
        folder: Where it is.
        model: Its model.
        spec: Its description.
    """

    folder: RunFolder
    model: TrainedModel
    spec: RunSpec

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The run in a folder.

        Raises:
            FileError: There is no finished run with a model.
        """
        folder = RunFolder(Path(path).expanduser())
        if not folder.started and folder.path.is_dir():
            several = [inner for inner in sorted(folder.path.iterdir()) if RunFolder(inner).started]
            if several:
                raise FileError(f"holds several runs: name one of them, such as {several[0]}", folder.path)
        if not folder.model.exists():
            raise FileError(folder.why_no_model(), folder.path)
        model = TrainedModel.load(folder.model)
        if model.spec is None:
            raise FileError("was not trained by a run, so that its features are not known", folder.model)
        if isinstance(model.net, Rival):
            raise FileError(f"holds a model without weights to start with: {model.label}", folder.model)
        return cls(folder, model, model.spec)

    @classmethod
    def of(cls, spec: RunSpec) -> Self | None:
        """The run that another one starts from; ``None`` if it starts from nothing.

        Raises:
            FileError: There is no finished run with a model.
            ValueError: Features or networks differ.
        """
        if spec.init_from is None:
            return None
        parent = cls.load(spec.init_from)
        parent.check_same(spec)
        return parent

    @property
    def key(self) -> str:
        """Name of the run."""
        return self.spec.key

    @property
    def shared(self) -> dict[str, Plain]:
        """The settings that a run must have in common with this one."""
        return {name: value for name, value in settings_of_run(self.spec).items() if name in SHARED}

    def check_same(self, spec: RunSpec) -> None:
        """Raise unless a run has the same kind of features and the same network below the head.

        Raises:
            ValueError: The message has the first setting that differs, and both values.
        """
        own, theirs = settings_of_run(spec), self.shared
        for name in SHARED:  # the model comes before its options
            if own.get(name) != theirs.get(name):
                row = RUN_SETTINGS[name]
                raise ValueError(
                    Message(
                        "{own}, but {folder} was trained with {theirs}: a run that starts with its weights needs the "
                        "same features and the same network",
                        own=Option(name, own.get(name), field=row.field),
                        folder=self.folder.path,
                        theirs=Option(name, theirs.get(name), field=row.field),
                    )
                )

    def start(self, net: GraphNetwork, task: Task) -> str:
        """Copy the weights into a network, those of the head if the outputs mean the same; return a note on it."""
        before = self.model.network.state_dict()
        mine = (task.kind, task.names, net.head is None)
        same = mine == (self.model.task.kind, self.model.task.names, self.model.network.head is None)
        copied = {
            name: tensor for name, tensor in before.items() if same or name.partition(".")[0] not in ("head", "predict")
        }
        net.load_state_dict({**net.state_dict(), **copied})
        head = "its head included" if same else "with a fresh head, as the outputs are others"
        return f"starts with the weights of the run {self.key} in {self.folder.path}, {head}"

    def seen_note(self, graphs: GraphSet, split: Split) -> tuple[str, ...]:
        """A note on test graphs from which this run learned, if there are any: they flatter the score.

        Args:
            graphs: Graphs with the features of this run.
            split: Their split.
        """
        if not self.folder.split.exists() or not len(split.test):
            return ()
        hashes = graph_hashes(graphs[split.test], self.model.edge_dim is not None)
        seen = np.isin(hashes, Split.load_seen(self.folder.split))
        if not seen.any():
            return ()
        return (
            f"{int(seen.sum()):,} of {len(seen):,} test graphs are equal to training or validation graphs of the run "
            "whose weights this one starts with, so the test score is flattering",
        )
