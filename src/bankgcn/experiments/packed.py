"""Packed records: one file of JSON lines for each table and dataset, small enough for a repository.

``results/table1/NCI1.jsonl`` holds one record per line, ordered by key. A line leaves out values that equal their
default, and some that :func:`compact` names. The same records always give the same bytes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from bankgcn.experiments.paper.tables import DRAWN, PLACES, figure3
from bankgcn.files.atomic import atomic_write
from bankgcn.files.checked import MAX_TABLE_BYTES, FileError, content_hash, parse_json, read_regular
from bankgcn.training.record import RunRecord

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
    return [_pack_file(folder / f"{dataset}.jsonl", by_dataset[dataset]) for dataset in sorted(by_dataset)]


def read_packed(folder: Path) -> dict[str, RunRecord]:
    """All records of a packed folder, by the keys of their runs, in the order of the keys.

    Raises:
        FileError: A line is damaged, or two files hold different values of one run.
    """
    found: dict[str, RunRecord] = {}
    for path in sorted(path for pattern in PATTERNS for path in folder.glob(pattern)):
        for line, (key, record) in enumerate(_read_file(path).items(), start=1):
            if found.setdefault(key, record) != record:
                message = f"another file in {folder} holds other values of run {key}: pack both tables from one store"
                raise FileError(message, path, line)
    return dict(sorted(found.items()))


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
    figures = [figure3([dataset], max_epochs, place) for place in PLACES]
    return frozenset(panel.config.key for figure in figures for panel in figure.panels)


def _pack_file(path: Path, records: dict[str, RunRecord]) -> PackedFile:
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
