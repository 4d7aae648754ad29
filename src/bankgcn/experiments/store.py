"""Records of runs in a folder, one file each."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bankgcn.files.atomic import SHARED_AGE, atomic_write, remove_unfinished
from bankgcn.files.checked import content_hash, read_json
from bankgcn.files.locks import Claims
from bankgcn.training.record import OtherVersion, RunRecord


class Store:
    """A folder of records, named by the keys of their runs.

    Files are written atomically: several processes may write to one folder, and a killed process loses no finished
    record. Reading changes nothing in the folder. A damaged file (truncated, edited, unreadable) counts as missing;
    when its run is repeated, the file is renamed to ``*.corrupt-N``. A record of other graphs is renamed to
    ``*.outdated-N`` in the same way. A record that only another version of bankgcn can read is never replaced. No
    record is ever deleted.

    Args:
        folder: The folder; the first :meth:`put` creates it.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.skipped: list[str] = []
        """Messages for the user about files that cannot be used, one sentence each."""
        self._identity = _identity(self.folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder}: a store of records must be a folder")

    def path(self, key: str) -> Path:
        """The file of a run, which may not exist."""
        return self.folder / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is an intact record of this run."""
        return self.get(key) is not None

    def get(self, key: str) -> RunRecord | None:
        """The record of a run; ``None`` if it is missing or damaged.

        Raises:
            OtherVersion: Only another version of bankgcn can read the record.
        """
        path = self.path(key)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except OtherVersion as error:
            raise OtherVersion(f"{path} {error}") from error
        except (OSError, ValueError) as error:
            reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
            self.skipped.append(f"{path} {reason}; its run counts as missing")
            return None

    def peek(self, key: str) -> RunRecord | None:
        """As :meth:`get`, without a message about a damaged file."""
        try:
            return _read(self.path(key))
        except (OSError, ValueError):
            return None

    @contextlib.contextmanager
    def claims(self) -> Iterator[Claims]:
        """Claims on keys: of several sweeps on one store, one runs each run. The folder is created.

        Raises:
            OSError: The folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._identity = self._identity or _identity(self.folder)
        claims = Claims(self.folder)
        try:
            yield claims
        finally:
            claims.close()

    def put(self, record: RunRecord) -> None:
        """Store the record of a finished or diverged run.

        Raises:
            ValueError: The run failed; with a record it would never be repeated. Or only another version of bankgcn can
                read the record in the store.
            OSError: The record cannot be written. The earlier records are intact.
        """
        if record.status == "failed":
            raise ValueError(
                f"run {record.config.key} failed ({record.error}): only finished and diverged runs are stored"
            )
        values = record.to_dict()
        content = {"key": record.config.key, "sha256": content_hash(values), "record": values}
        path = self.path(record.config.key)
        try:
            self._check_folder()
            self._set_aside(path, record)
            with atomic_write(path) as file:
                file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")
        except OSError as error:
            reason = f"{error.strerror or error}; this record is not stored, all earlier ones are"
            raise OSError(error.errno, reason, str(path)) from error

    def records(self) -> Iterator[RunRecord]:
        """All records that this version can read, ordered by key."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                record = self.get(path.stem)
            except OtherVersion as error:
                self.skipped.append(f"{error}; it is left out")
                continue
            if record is not None:
                yield record

    def remove_unfinished(self) -> None:
        """Remove temporary files and claims of killed processes; records are not affected."""
        remove_unfinished(self.folder, SHARED_AGE)
        with contextlib.suppress(OSError):  # not ours to remove
            Claims(self.folder).remove_dead()

    def _check_folder(self) -> None:
        """Raise if the folder was there and is no more: records would end in a place that nobody looks at."""
        found = _identity(self.folder)
        if self._identity is not None and found != self._identity:
            reason = "The folder of the store was removed or replaced"
            raise FileNotFoundError(errno.ENOENT, reason, str(self.folder))
        self._identity = found

    def _set_aside(self, path: Path, record: RunRecord) -> None:
        """Rename a file that a new record must not overwrite: it is damaged, or of other graphs or another split."""
        existing = None
        try:
            existing = _read(path)
        except FileNotFoundError:
            return
        except OtherVersion as error:
            raise ValueError(f"{path} {error}, or use another store") from error
        except (OSError, ValueError):
            pass  # it is damaged, but must not be lost
        data = (record.fingerprint, record.split_hash)
        if existing is not None and (existing.fingerprint, existing.split_hash) == data:
            return
        label = "corrupt" if existing is None else "outdated"
        aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.{label}-{n}")).exists())
        with contextlib.suppress(FileNotFoundError):  # another process may have renamed it
            path.rename(aside)


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one of the same name; ``None`` if there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read(path: Path) -> RunRecord:
    """Read the record in a file, and check that it is intact."""
    content = read_json(path)
    if not isinstance(content, dict) or not {"key", "sha256", "record"} <= content.keys():
        raise ValueError("is not a record of a run")
    if path.stem != content["key"]:
        raise ValueError(f"holds the run {content['key']}, not that of its name")
    record = _parse(content["record"], intact=content_hash(content["record"]) == content["sha256"])
    if record.config.key != content["key"]:
        raise OtherVersion(
            f"holds a run that this version of bankgcn names {record.config.key}: use the version that wrote it"
        )
    return record


def _parse(values: Any, intact: bool) -> RunRecord:
    """The record of these values. Values that are intact but cannot be parsed come from another version."""
    try:
        record = RunRecord.from_dict(values)
    except OtherVersion:
        raise
    except ValueError as error:
        if not intact:
            raise
        raise OtherVersion(
            f"cannot be read by this version of bankgcn ({error}): use the version that wrote it"
        ) from error
    if not intact:
        raise ValueError("was changed after it was written")
    return record
