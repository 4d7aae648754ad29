"""The files in the folder of a run, to compare two runs."""

from __future__ import annotations

import json
from pathlib import Path

FILES = {
    "config.toml", "history.csv", "model.safetensors", "record.json", "split.json", "test_predictions.csv",
    "validation.safetensors",
}  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    """The files of a run, without the times in its record."""
    found = {file.name: file.read_bytes() for file in folder.iterdir()}
    record = json.loads(found["record.json"])
    del record["seconds"], record["sha256"]  # which covers the time, too
    return found | {"record.json": json.dumps(record).encode()}
