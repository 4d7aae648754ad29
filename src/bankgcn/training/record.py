"""What is known after a run, and the files that keep the states of unfinished runs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from bankgcn.files.checked import content_hash
from bankgcn.training.spec import RunSpec

FORMAT = 2  # 2 adds how the training ended, the parts of the split, the task and the number of processes

Status = Literal["finished", "diverged", "failed"]
STATUSES = ("finished", "diverged", "failed")
CHECKPOINT_SUFFIX = ".checkpoint"


class OtherVersion(ValueError):
    """A sound record that another version of bankgcn wrote, and that this one cannot read."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    r"""The outcome of a run, as a store and a run folder keep it. A score that is unknown or NaN is ``None``.

    Args:
        config: What was run.
        status: ``"finished"``; ``"diverged"``, if the loss became infinite or NaN: the scores are those of the best
            epoch before that, if there is one; or ``"failed"``, if the run could not be brought to an end, which says
            nothing of the configuration.
        metric: What the scores are.
        valid_score: Score on the validation graphs at the best epoch, whose weights are restored.
        valid_loss: Task loss on them at that epoch.
        test_score: Score on the test graphs, with the weights of that epoch.
        test_loss: Task loss on them.
        best_epoch: Number of that epoch, from 1.
        epochs: Number of epochs that were run.
        coherence: :math:`\Omega` of each layer; empty without filter banks.
        alpha: Coefficients of the first layer's filters, one row a subspace; empty without filter banks.
        parameters: Number of parameters of the network.
        layer_parameters: Number of parameters of one hidden layer, with its feed-forward block, without normalisations.
        ended: Why the training ended: ``"patience"``, ``"max_epochs"``, ``"diverged"``, or ``"stopped"`` by a callback.
        protocol: How the epoch was selected and the test graphs were scored, in words.
        task: What the network learned, as :meth:`bankgcn.tasks.Task.to_dict` writes it.
        fingerprint: That of the graphs.
        split_hash: That of the split.
        split_sizes: Number of training, validation and test graphs.
        split_from: Where the split comes from, in words.
        notes: What a reader must know of the graphs, as their reader says, and why the test graphs have no score.
        warnings: What was doubtful of the targets before the training.
        versions: Versions of what the outcome depends on.
        threads: Number of threads that computed it.
        processes: Number of processes that trained together.
        assessment: How good the predictions for the test graphs are, as
            :meth:`bankgcn.training.assessment.Assessment.to_dict` writes it; empty if no test graphs were scored.
        temperature: What divides the outputs before they become probabilities; see
            :mod:`bankgcn.training.assessment`.
        intervals: How often intervals hold the targets of test graphs, as
            :func:`bankgcn.training.intervals.coverage` returns it; empty where a run keeps none, as in a sweep.
        seconds: How long it took.
        error: Why it did not finish; empty if it did.
        parent: Key of the run whose weights it started with; empty if it started with weights of its own.
    """

    config: RunSpec
    status: Status
    metric: str
    valid_score: float | None = None
    valid_loss: float | None = None
    test_score: float | None = None
    test_loss: float | None = None
    best_epoch: int | None = None
    epochs: int = 0
    coherence: tuple[float, ...] = ()
    alpha: tuple[tuple[float, ...], ...] = ()
    parameters: int = 0
    layer_parameters: int = 0
    ended: str = ""
    protocol: str = ""
    task: Mapping[str, Any] = field(default_factory=dict, hash=False)
    fingerprint: str = ""
    split_hash: str = ""
    split_sizes: tuple[int, ...] = ()
    split_from: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    threads: int = 1
    processes: int = 1
    assessment: Mapping[str, Any] = field(default_factory=dict, hash=False)
    temperature: float = 1.0
    intervals: Mapping[str, Any] = field(default_factory=dict, hash=False)
    seconds: float = 0.0
    error: str = ""
    parent: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status={self.status!r}: expected one of {', '.join(STATUSES)}")
        for name in ("valid_score", "valid_loss", "test_score", "test_loss"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                object.__setattr__(self, name, None)
        for name in ("coherence", "notes", "warnings", "split_sizes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "alpha", tuple(tuple(row) for row in self.alpha))

    @classmethod
    def failed(cls, config: RunSpec, error: str) -> RunRecord:
        """The record of a run that could not be brought to an end."""
        return cls(config=config, status="failed", metric=config.train.metric, error=error)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, as JSON holds them.

        Earlier versions can read it if it has neither warnings nor a parent nor intervals.
        """
        plain = {item.name: _as_json(getattr(self, item.name)) for item in fields(self)}
        for name in ("warnings", "parent", "intervals"):
            if not getattr(self, name):
                del plain[name]
        return plain | {"format": FORMAT, "config": self.config.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunRecord:
        """The record that :meth:`to_dict` wrote.

        Raises:
            OtherVersion: It is of a newer format.
            ValueError: It is no record at all.
        """
        if not isinstance(values, Mapping) or not isinstance(values.get("format"), int):
            raise ValueError("is no record of a run")
        if values["format"] > FORMAT:
            raise OtherVersion(f"has format {values['format']}, newer than {FORMAT}: update bankgcn")
        try:
            config = RunSpec.from_dict(values["config"])
            rest = {name: value for name, value in values.items() if name not in ("format", "config")}
            _check_types(rest)
            return cls(config=config, **rest)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"is no record of a run ({error})") from error


def _as_json(value: Any) -> Any:
    """Tuples as lists, mappings as dictionaries, anything else as it is."""
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _check_types(values: Mapping[str, Any]) -> None:
    """Raise a ``TypeError`` if a value of a file is of another type than a field of a record."""
    for item in fields(RunRecord):
        value, hint = values.get(item.name), str(item.type)
        if item.name not in values or (value is None and hint.endswith("| None")):
            continue
        expected = next((kinds for start, kinds in _JSON_TYPES.items() if hint.startswith(start)), object)
        if not isinstance(value, expected) or isinstance(value, bool):
            raise TypeError(f"{item.name} is {value!r}")


_JSON_TYPES: dict[str, Any] = {
    "float": int | float,
    "int": int,
    "str": str,
    "tuple": list | tuple,
    "Mapping": Mapping,
}
"""What JSON holds for a type hint, by the start of the hint."""


def checkpoint_path(folder: Path, key: str, depends_on: Any) -> Path:
    """The file for the state of a run.

    Args:
        folder: The folder.
        key: The key of the run.
        depends_on: What else the run depends on, as JSON can hold it. With another value, the file has another name: a
            run never resumes from a state that it would not have reached itself.
    """
    return folder / f"{key}.{content_hash(depends_on)[:10]}{CHECKPOINT_SUFFIX}"


def remove_checkpoints(folder: Path, keys: Container[str]) -> None:
    """Remove all states of runs whose records are stored. One that cannot be removed stays: it does no harm."""
    for path in folder.glob(f"*{CHECKPOINT_SUFFIX}"):
        if path.name.partition(".")[0] in keys:
            with contextlib.suppress(OSError):
                path.unlink()
