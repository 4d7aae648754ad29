"""Records of runs in a folder, one file each: the only truth about what was run."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bankgcn.data.atomic import atomic_write
from bankgcn.experiments.config import content_hash
from bankgcn.experiments.record import RunRecord


class Store:
    """A folder of records, named by the keys of their runs.

    Files are written whole or not at all, so several processes may write to one folder, and a kill at any moment leaves
    what was finished before. A file that cannot be trusted (cut short, changed by hand, of a newer format) is moved
    aside as ``*.corrupt-N`` and counts as missing; nothing is ever deleted.

    Args:
        folder: Where they are; it is made when the first record is put there.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.quarantined: list[str] = []
        """What was moved aside so far, and why: one sentence each, to be shown to the user."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder}: a store of records must be a folder")

    def path(self, key: str) -> Path:
        """The file of a run, whether or not it is there."""
        return self.folder / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is a sound record of this run."""
        return self.get(key) is not None

    def get(self, key: str) -> RunRecord | None:
        """The record of a run; ``None`` if there is none that can be trusted."""
        path = self.path(key)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except ValueError as error:
            self._move_aside(path, str(error))
            return None

    def put(self, record: RunRecord) -> None:
        """Keep the record of a run that came to an end.

        Raises:
            ValueError: The run failed: kept, it would never be tried again.
            OSError: It could not be written. What was there before is not touched.
        """
        if record.status == "failed":
            raise ValueError(f"run {record.config.key} failed ({record.error}): only runs that ended are kept")
        values = record.to_dict()
        content = {"key": record.config.key, "sha256": content_hash(values), "record": values}
        path = self.path(record.config.key)
        try:
            with atomic_write(path) as file:
                file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")
        except OSError as error:
            reason = f"{error.strerror or error}; this record is not kept, all earlier ones are"
            raise OSError(error.errno, reason, str(path)) from error

    def records(self) -> Iterator[RunRecord]:
        """All records, in the order of their keys."""
        for path in sorted(self.folder.glob("*.json")):
            record = self.get(path.stem)
            if record is not None:
                yield record

    def _move_aside(self, path: Path, reason: str) -> None:
        aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.corrupt-{n}")).exists())
        with contextlib.suppress(FileNotFoundError):  # another process may have been faster
            path.rename(aside)
        self.quarantined.append(f"{path} {reason}; moved to {aside.name}, and its run counts as missing")


def _read(path: Path) -> RunRecord:
    """The record in a file, if it is what was written there."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"is no whole JSON file ({error})") from error
    if not isinstance(content, dict) or not {"key", "sha256", "record"} <= content.keys():
        raise ValueError("is no record of a run")
    record = RunRecord.from_dict(content["record"])
    if content_hash(content["record"]) != content["sha256"]:
        raise ValueError("was changed after it was written")
    if not path.stem == content["key"] == record.config.key:
        raise ValueError(f"holds the run {record.config.key}, not the one it is named by")
    return record
