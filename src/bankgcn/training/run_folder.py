"""The folder of one run: what was asked for, what came of it, and while it is not finished, where it stands."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bankgcn.files.atomic import atomic_write, is_unfinished, remove_unfinished
from bankgcn.files.errors import FileError
from bankgcn.files.folder_lock import LOCK, lock_folder
from bankgcn.files.tensors import load_tensors
from bankgcn.training.fitting import Epoch

FORMAT = 1


@dataclass(frozen=True)
class RunFolder:
    """Where each file of a run is. Every one is written whole or not at all, the record last: it tells the end.

    Args:
        path: The folder; it need not be there yet.
    """

    path: Path

    @property
    def config(self) -> Path:
        """What was asked for, in TOML."""
        return self.path / "config.toml"

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.path / "model.safetensors"

    @property
    def split(self) -> Path:
        """Which graphs train, validate and test."""
        return self.path / "split.json"

    @property
    def history(self) -> Path:
        """A line an epoch."""
        return self.path / "history.csv"

    @property
    def record(self) -> Path:
        """What came of it."""
        return self.path / "record.json"

    @property
    def checkpoint(self) -> Path:
        """The state of a training that is not finished."""
        return self.path / "training.safetensors"

    @property
    def started(self) -> bool:
        """Whether a run was begun here."""
        return self.config.exists()

    @property
    def finished(self) -> bool:
        """Whether a run came to its end here."""
        return self.record.exists()

    def check_free(self) -> None:
        """Raise if there is something else than a run."""
        if self.path.exists() and not self.path.is_dir():
            raise FileError("is a file, but a run needs a folder", self.path)
        if self.path.is_dir() and not self.started and any(not _is_leftover(file) for file in self.path.iterdir()):
            raise FileError("holds other files and no run: name a folder that is empty or not there yet", self.path)

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes from training in this folder; see :func:`~bankgcn.files.folder_lock.lock_folder`."""
        return lock_folder(self.path)

    def clear(self) -> None:
        """Remove the files of the run, the record first, and nothing else."""
        for file in (self.record, self.checkpoint, self.model, self.history, self.split, self.config):
            file.unlink(missing_ok=True)

    def remove_scraps(self) -> None:
        """Remove what killed processes left of their writes."""
        remove_unfinished(self.path)

    def set_damaged_aside(self) -> Path | None:
        """Rename a checkpoint that cannot be read, and tell its new name."""
        if not self.checkpoint.exists():
            return None
        try:
            load_tensors(self.checkpoint)
        except FileError:
            aside = self.checkpoint.with_suffix(".damaged")
            self.checkpoint.replace(aside)
            return aside
        return None

    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs of a training that is not finished."""
        if not self.checkpoint.exists():
            return ()
        return tuple(Epoch(*epoch) for epoch in load_tensors(self.checkpoint)[1]["epochs"])

    def write_history(self, epochs: Sequence[Epoch]) -> None:
        """Write what is known of each epoch."""
        text = io.StringIO()
        table = csv.DictWriter(text, [field.name for field in fields(Epoch)], lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(epoch) for epoch in epochs)
        with atomic_write(self.history) as file:
            file.write(text.getvalue().encode())

    def write_record(self, record: dict[str, Any]) -> None:
        """Write what came of the run."""
        with atomic_write(self.record) as file:
            file.write(json.dumps({**record, "format": FORMAT}, indent=2, allow_nan=False).encode() + b"\n")

    def read_record(self) -> dict[str, Any]:
        """What :meth:`write_record` wrote.

        Raises:
            FileError: There is none, it is damaged, or of a newer format.
        """
        try:
            record = json.loads(self.record.read_bytes())
            version = record["format"]
        except FileNotFoundError as error:
            raise FileError("there is no finished run", self.path) from error
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"is no record of a run ({error})", self.record) from error
        if version > FORMAT:
            raise FileError(f"has format {version}, newer than {FORMAT}: update bankgcn", self.record)
        return record


def _is_leftover(file: Path) -> bool:
    """Whether a process that was killed before it began a run may have left the file."""
    return file.name == LOCK or is_unfinished(file)
