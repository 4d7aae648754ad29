"""Records of runs in a folder, one file each: the only truth about what was run."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bankgcn.files.atomic import SHARED_AGE, atomic_write, remove_unfinished
from bankgcn.training.keys import content_hash
from bankgcn.training.record import OtherVersion, RunRecord


class Store:
    """A folder of records, named by the keys of their runs.

    Files are written whole or not at all, so several processes may write to one folder, and a kill at any moment leaves
    what was finished before. Reading changes nothing in the folder. A file that cannot be trusted (cut short, changed
    by hand, unreadable) counts as missing; when its run is done again, it is renamed to ``*.corrupt-N``. A record of
    other graphs is renamed to ``*.outdated-N`` in the same way. A record that only another version of bankgcn can read
    is never replaced. No record is ever deleted.

    Args:
        folder: Where they are; it is made when the first record is put there.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.skipped: list[str] = []
        """The files that could not be used so far, and why: one sentence each, to be shown to the user."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder}: a store of records must be a folder")

    def path(self, key: str) -> Path:
        """The file of a run, whether or not it is there."""
        return self.folder / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether there is a sound record of this run."""
        return self.get(key) is not None

    def get(self, key: str) -> RunRecord | None:
        """The record of a run; ``None`` if there is none that can be trusted.

        Raises:
            OtherVersion: There is one that only another version of bankgcn can read.
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

    def put(self, record: RunRecord) -> None:
        """Keep the record of a run that came to an end.

        Raises:
            ValueError: The run failed: kept, it would never be tried again. Or only another version of bankgcn can read
                the record that is there.
            OSError: It could not be written. No record that was there before is lost.
        """
        if record.status == "failed":
            raise ValueError(f"run {record.config.key} failed ({record.error}): only runs that ended are kept")
        values = record.to_dict()
        content = {"key": record.config.key, "sha256": content_hash(values), "record": values}
        path = self.path(record.config.key)
        try:
            self._make_way(path, record)
            with atomic_write(path) as file:
                file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")
        except OSError as error:
            reason = f"{error.strerror or error}; this record is not kept, all earlier ones are"
            raise OSError(error.errno, reason, str(path)) from error

    def records(self) -> Iterator[RunRecord]:
        """All records that this version can read, in the order of their keys."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                record = self.get(path.stem)
            except OtherVersion as error:
                self.skipped.append(f"{error}; it is left out")
                continue
            if record is not None:
                yield record

    def remove_unfinished(self) -> None:
        """Remove what killed processes left of their writes; no record is among it."""
        remove_unfinished(self.folder, SHARED_AGE)

    def _make_way(self, path: Path, record: RunRecord) -> None:
        """Rename what a new record must not delete: a file that is no sound record, or one of other graphs."""
        known = None
        try:
            known = _read(path)
        except FileNotFoundError:
            return
        except OtherVersion as error:
            raise ValueError(f"{path} {error}, or use another store") from error
        except (OSError, ValueError):
            pass  # whatever it is, it stays
        if known is not None and known.fingerprint == record.fingerprint:
            return
        label = "corrupt" if known is None else "outdated"
        aside = next(name for n in count(1) if not (name := path.with_name(f"{path.name}.{label}-{n}")).exists())
        with contextlib.suppress(FileNotFoundError):  # another process may have been faster
            path.rename(aside)


def _read(path: Path) -> RunRecord:
    """The record in a file, if it is what was written there."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"is no whole JSON file ({error})") from error
    if not isinstance(content, dict) or not {"key", "sha256", "record"} <= content.keys():
        raise ValueError("is no record of a run")
    if path.stem != content["key"]:
        raise ValueError(f"holds the run {content['key']}, not the one it is named by")
    record = _understood(content["record"], intact=content_hash(content["record"]) == content["sha256"])
    if record.config.key != content["key"]:
        raise OtherVersion(
            f"holds a run that this version of bankgcn names {record.config.key}: use the version that wrote it"
        )
    return record


def _understood(values: Any, intact: bool) -> RunRecord:
    """The record of these values. What is intact, but not understood, comes from another version."""
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
