"""Records of runs: a store has a file for each, a packed folder a few small files for a repository.

``results/table1/NCI1.jsonl`` holds one record per line, ordered by key. A line leaves out values that equal their
default, and some that :func:`compact` names. The same records always give the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from bankgcn.experiments.paper import DRAWN, L2_PLACES, figure3
from bankgcn.files.checked import (
    MAX_TABLE_BYTES,
    SHARED_AGE,
    FileError,
    atomic_write,
    content_hash,
    parse_json,
    read_json,
    read_regular,
    remove_unfinished,
)
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
        identity = _identity(self.folder)
        if self._identity is not None and identity != self._identity:
            reason = "The folder of the store was removed or replaced"
            raise FileNotFoundError(errno.ENOENT, reason, str(self.folder))
        self._identity = identity

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
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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


HASH_DIGITS = 20
PATTERNS = ("*.jsonl", "*/*.jsonl")


@dataclass(frozen=True)
class PackedFile:
    """A file that :func:`pack` has written.

    Args:
        path: The file.
        records: Number of its records.
        added: Number of records that were not in it before.
        replaced: Number of records that were in it with other values.
    """

    path: Path
    records: int
    added: int
    replaced: int


def is_packed(folder: Path) -> bool:
    """Whether the folder holds packed records; otherwise it may be a store."""
    return any(True for pattern in PATTERNS for _ in folder.glob(pattern))


def pack(records: Iterable[RunRecord], folder: Path) -> list[PackedFile]:
    """Write records to one file for each dataset. Records of other runs in these files stay.

    Args:
        records: Records of finished and diverged runs.
        folder: The folder of a table, for example ``results/table1``.

    Raises:
        FileError: A line of an existing file is damaged; nothing is written to this file.
        ValueError: A run is on a file of the user's own; nothing is written.
    """
    by_dataset: defaultdict[str, dict[str, RunRecord]] = defaultdict(dict)
    for record in records:
        dataset = record.config.dataset
        if Path(dataset).name != dataset:  # a path would lead out of the folder
            raise ValueError(
                f"the run {record.config.key} is on {dataset!r}: only runs on named datasets can be packed"
            )
        by_dataset[dataset][record.config.key] = compact(record)
    return [pack_file(folder / f"{dataset}.jsonl", by_dataset[dataset]) for dataset in sorted(by_dataset)]


def read_packed(folder: Path) -> dict[str, RunRecord]:
    """All records of a packed folder, by the keys of their runs, in the order of the keys.

    Raises:
        FileError: A line is damaged, or two files hold different values of one run.
    """
    records: dict[str, RunRecord] = {}
    for path in sorted(path for pattern in PATTERNS for path in folder.glob(pattern)):
        for line, (key, record) in enumerate(_read_file(path).items(), start=1):
            if records.setdefault(key, record) != record:
                message = f"another file in {folder} holds other values of run {key}: pack both tables from one store"
                raise FileError(message, path, line)
    return dict(sorted(records.items()))


def compact(record: RunRecord) -> RunRecord:
    """The record without task, protocol and origin of the split, which follow from its configuration and dataset.

    Assessment and temperature are left out, too: tables need the scores alone. The coefficients of the filters stay
    only where Figure 3 may show them.
    """
    drawn = record.config.key in _figure_keys(record.config.dataset, record.config.train.max_epochs)
    kept = replace(record, alpha=record.alpha if drawn else ())
    return replace(kept, task={}, protocol="", split_from="", assessment={}, temperature=1.0)


@cache
def _figure_keys(dataset: str, max_epochs: int) -> frozenset[str]:
    """Keys of the runs of a dataset that Figure 3 draws."""
    if dataset not in DRAWN:
        return frozenset()
    figures = [figure3([dataset], max_epochs, place) for place in L2_PLACES]
    return frozenset(panel.config.key for figure in figures for panel in figure.panels)


def pack_file(path: Path, records: dict[str, RunRecord]) -> PackedFile:
    """Write records to one file, by the keys of their runs. Records of other runs in this file stay."""
    before = _read_file(path) if path.exists() else {}
    after = dict(sorted({**before, **records}.items()))
    content = "".join(f"{_to_line(record)}\n" for record in after.values()).encode()
    with atomic_write(path) as file:
        file.write(content)
    added = len(after) - len(before)
    return PackedFile(path, len(after), added, sum(before[key] != after[key] for key in before))


def _to_line(record: RunRecord) -> str:
    plain = record.to_dict()
    values = {name: value for name, value in plain.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}
    line = {"key": record.config.key, "sha256": content_hash(values)[:HASH_DIGITS], "record": values}
    return json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _read_file(path: Path) -> dict[str, RunRecord]:
    """The records of a file by key, in the order of its lines."""
    records: dict[str, RunRecord] = {}
    for number, line in enumerate(read_regular(path, MAX_TABLE_BYTES).splitlines(), start=1):
        try:
            record = _from_line(line)
        except ValueError as error:
            raise FileError(str(error), path, number) from error
        if record.config.key in records:
            raise FileError(f"the file holds run {record.config.key} twice", path, number)
        records[record.config.key] = record
    return records


def _from_line(line: bytes) -> RunRecord:
    try:
        content = parse_json(line)
    except ValueError as error:
        raise ValueError(f"the line is not complete JSON ({error})") from error
    if not isinstance(content, dict) or content.keys() != {"key", "sha256", "record"}:
        raise ValueError("the line is not a packed record: expected key, sha256 and record")
    if content_hash(content["record"])[:HASH_DIGITS] != content["sha256"]:
        raise ValueError(f"the record of run {content['key']} was changed after it was written")
    try:
        record = RunRecord.from_dict(content["record"])
    except ValueError as error:
        raise ValueError(f"the record of run {content['key']} {error}") from error
    if record.config.key != content["key"]:
        raise ValueError(f"the record has the key {content['key']}, but its configuration has {record.config.key}")
    return record


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_DEFAULTS = {field.name: _plain(field.default) for field in fields(RunRecord) if field.default is not MISSING}
_DEFAULTS |= {
    field.name: field.default_factory() for field in fields(RunRecord) if field.default_factory is not MISSING
}
