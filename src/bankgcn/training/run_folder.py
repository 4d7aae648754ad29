"""The folder of one run: its settings, its outcome, and until it is finished, the state of the training."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankgcn.files.checked import (
    CURE,
    MAX_TABLE_BYTES,
    FileError,
    atomic_write,
    check_name,
    check_regular,
    is_unfinished,
    read_json,
    remove_unfinished,
    with_checksum,
    without_checksum,
)
from bankgcn.files.locks import LOCK, lock_folder
from bankgcn.files.tables import Columns, read_table, write_csv
from bankgcn.files.tensors import UNREADABLE, load_tensors
from bankgcn.messages import Message, Option
from bankgcn.training.fitting import Epoch
from bankgcn.training.record import OtherVersion, RunRecord
from bankgcn.training.spec import spec_of

if TYPE_CHECKING:  # which prepares runs, and a run may start with the model in the folder of another
    from bankgcn.training.execute import RunResult

SMALLER_STEPS = Message("a smaller {option} may help", option=Option("learning_rate"))
"""What to do about a training that diverged."""


class _File:
    """The path of a file in the folder of a run."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path:
        return folder.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """The files of a run. Each is written whole or not at all, the record last: a folder with a record is finished.

    Args:
        path: The folder; it need not be there yet.
    """

    path: Path

    config = _File("config.toml")
    """The settings, in TOML."""
    model = _File("model.safetensors")
    """The trained model."""
    split = _File("split.json")
    """Which graphs train, validate and test."""
    history = _File("history.csv")
    """One line for each epoch."""
    record = _File("record.json")
    """The outcome."""
    test_predictions = _File("test_predictions.csv")
    """Predictions for the test graphs, beside the truth."""
    skipped = _File("skipped.csv")
    """Rows of the source that have no graph, counted from 0, and why; only if there are such rows."""
    validation = _File("validation.safetensors")
    """Predictions for the validation graphs, from which intervals follow."""
    domain = _File("domain.safetensors")
    """What the training graphs look like, to compare new graphs with; only of a user's own graphs."""
    checkpoint = _File("training.safetensors")
    """The state of a training that is not finished."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of a run, the record first."""
        derived = (self.test_predictions, self.skipped, self.validation, self.domain, self.model)
        return (self.record, self.checkpoint, *derived, self.history, self.split, self.config)

    @property
    def started(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return self.config.exists()

    @property
    def finished(self) -> bool:
        """Whether the folder holds a finished run."""
        return self.record.exists()

    @property
    def to_resume(self) -> str:
        """The command that resumes the training."""
        return f"bankgcn train --out {_quoted(self.path)}"

    @property
    def to_repeat(self) -> str:
        """The command that repeats the run from its first epoch."""
        return f"bankgcn train --config {_quoted(self.config)} --out {_quoted(self.path)} --overwrite"

    def why_no_model(self) -> str:
        """Why there is no model in the folder of a run, and what to do.

        Raises:
            FileError: The record cannot be read.
        """
        if not self.started:
            return "has no trained model"
        if not self.finished:
            return f"has no trained model: its run is not finished: {self.to_resume}"
        if self.read_record().best_epoch is None:
            diverged = "has no trained model: its training diverged in the first epoch; {smaller}: {repeat}"
            return Message(diverged, smaller=SMALLER_STEPS, repeat=self.to_repeat)
        return f"has no trained model: {self.model.name} is missing; to train it again: {self.to_repeat}"

    def check_free(self) -> None:
        """Raise if the folder holds something else than a run, or cannot hold one."""
        check_name(self.path)
        if self.path.is_symlink() and not self.path.exists():
            raise FileError("is a symbolic link that leads to nothing, or to itself: remove it", self.path)
        if self.path.exists() and not self.path.is_dir():
            raise FileError("is a file, but a run needs a folder", self.path)
        if self.path.is_dir() and not self.started and any(not _is_leftover(file) for file in self.path.iterdir()):
            raise FileError("holds other files and no run: name a folder that is empty or not there yet", self.path)

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes from training in this folder; see :func:`~bankgcn.files.locks.lock_folder`."""
        return lock_folder(self.path)

    def clear(self) -> None:
        """Remove the files of the run, the record first, and nothing else."""
        for file in self.files:
            file.unlink(missing_ok=True)

    def write_skipped(self, skipped: Sequence[tuple[int, str]]) -> None:
        """Write which rows of the source have no graph, and why."""
        columns: Columns = [("graph", [row for row, _ in skipped]), ("reason", [reason for _, reason in skipped])]
        with atomic_write(self.skipped) as file:
            write_csv(file, columns)

    def remove_scraps(self) -> None:
        """Remove what killed processes left of their writes."""
        remove_unfinished(self.path)

    def tidy_finished(self) -> None:
        """Remove what a process left that was killed after it had written the record: checkpoint and lock."""
        with suppress(OSError, FileError), self.lock():  # not ours to remove, or about to be removed
            self.remove_scraps()
            self.checkpoint.unlink(missing_ok=True)

    def set_damaged_aside(self) -> Path | None:
        """Rename a checkpoint that cannot be read, and return its new name."""
        try:
            self.epochs()
        except FileError:
            aside = self.checkpoint.with_suffix(".damaged")
            self.checkpoint.replace(aside)
            return aside
        return None

    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs of a training that is not finished."""
        if not self.checkpoint.exists():
            return ()
        _, values = load_tensors(self.checkpoint)
        try:
            return tuple(Epoch(*epoch) for epoch in values["epochs"])
        except UNREADABLE as error:
            raise FileError(f"holds no state of a training ({error})", self.checkpoint) from error

    def write_result(self, result: RunResult) -> None:
        """Write what a run yields, the record last. Then the checkpoint is no longer needed."""
        self._write_history(result.epochs)
        if result.model is not None:
            result.model.save(self.model)
            if result.model.validation is not None:
                result.model.validation.save(self.validation)
            if result.model.domain is not None:
                result.model.domain.save(self.domain)
        if result.test_table:
            with atomic_write(self.test_predictions) as file:
                write_csv(file, result.test_table)
        with atomic_write(self.record) as file:
            file.write(json.dumps(with_checksum(result.record.to_dict()), indent=2, allow_nan=False).encode() + b"\n")
        self.checkpoint.unlink(missing_ok=True)

    def read_record(self) -> RunRecord:
        """The outcome of the run.

        Raises:
            FileError: There is none, it is damaged, or of a newer format.
        """
        try:
            return RunRecord.from_dict(_upgraded(without_checksum(read_json(self.record))))
        except FileNotFoundError as error:
            raise FileError("there is no finished run", self.path) from error
        except OtherVersion as error:
            raise FileError(str(error), self.record) from error
        except FileError:
            raise
        except UNREADABLE as error:
            raise FileError(f"is no intact record of a run ({error}); {CURE}", self.record) from error

    def read_history(self) -> tuple[Epoch, ...]:
        """The epochs of a finished run. An empty cell is a figure that is unknown or not finite.

        Raises:
            FileError: The file cannot be read.
        """
        try:
            check_regular(self.history, MAX_TABLE_BYTES)
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", self.history) from error
        table = read_table(self.history)
        epochs = []
        for line, (number, *figures) in zip(table.lines, table.rows, strict=True):
            try:
                epochs.append(Epoch(int(number), *(float(figure) if figure else math.nan for figure in figures)))
            except (ValueError, TypeError) as error:
                raise FileError(f"is no epoch ({error})", self.history, line) from error
        return tuple(epochs)

    def _write_history(self, epochs: Sequence[Epoch]) -> None:
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow([field.name for field in fields(Epoch)])
        table.writerows([cell if math.isfinite(cell) else "" for cell in astuple(epoch)] for epoch in epochs)
        with atomic_write(self.history) as file:
            file.write(text.getvalue().encode())


def _upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """A record as it is written now. Folders of version 0.1.0 hold other names, and settings of the command line."""
    if content["format"] > 1 or "config" not in content or "model" not in content["config"]:
        return content
    shared = {field.name for field in fields(RunRecord)} - {"config"}
    spec = spec_of(content["config"]["source"], content["config"])
    same = {name: value for name, value in content.items() if name in shared | {"format"}}
    return {**same, "config": spec.to_dict(), "fingerprint": content["graphs"], "split_hash": content["split"]}


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _is_leftover(file: Path) -> bool:
    """Whether a process that was killed before it began a run may have left the file."""
    return file.name == LOCK or is_unfinished(file)
