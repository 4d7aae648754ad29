"""A file that grows block by block and appears when it is complete; a kill at any moment costs the last block.

Beside the file ``name`` are ``name.partial``, the rows so far, and ``name.journal``: what they were made from, and a
line for each block that is safely in the other file. What follows the last such block is cut off by whoever goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from bankgcn.files.checked import FileError, atomic_write, content_hash, short_name, with_checksum, without_checksum
from bankgcn.files.locks import Claims
from bankgcn.messages import Message, Option

Finish = Callable[[BinaryIO, BinaryIO], None]
"""From the rows and the file to write: what writes the file."""


class Journal:
    """The rows of a file that is not complete, and what is known of them.

    One process writes at a time.

    Args:
        path: The file.
        made_from: What decides the content of the file, as JSON holds it: who goes on must have the same.
        overwrite: Whether to drop what there is.

    Raises:
        FileError: There are rows that were made from something else, or another process writes them.
    """

    def __init__(self, path: Path, made_from: Mapping[str, Any], overwrite: bool = False):
        self.path = Path(os.path.realpath(path))
        self._name = short_name(self.path.name)
        self.partial = self.path.with_name(f"{self._name}.partial")
        self.journal = self.path.with_name(f"{self._name}.journal")
        self.made_from = json.loads(json.dumps(made_from))
        self.blocks: list[dict[str, Any]] = []
        """What was noted of each block."""
        self._open: list[BinaryIO] = []
        self._bytes = 0
        self._claims = Claims(self.path.parent)
        if self.journal.exists():
            self._claim()
            try:
                if overwrite:
                    self._remove()
                else:
                    self._resume()
            except BaseException:
                self._claims.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._open:
            file.close()
        self._open = []
        self._claims.close()

    def append(self, content: bytes, noted: Mapping[str, Any]) -> None:
        """Add the rows of a block, and what is noted of them. Afterwards no kill can take them away."""
        rows, journal = self._open or self._begin()
        try:
            rows.write(content)
            _to_disk(rows)
            self._bytes += len(content)
            journal.write(_line({"bytes": self._bytes, "noted": dict(noted)}))
            _to_disk(journal)
        except OSError as error:
            error.filename = error.filename or str(self.partial)  # that of a full disk names none
            raise
        self.blocks.append(dict(noted))

    def finish(self, finish: Finish | None) -> None:
        """Let the file appear.

        Args:
            finish: Writes it from the rows; by default the rows are the file.
        """
        for file in self._open:
            file.close()
        self._open = []
        if finish is None:
            if self.path.exists():
                os.chmod(self.partial, self.path.stat().st_mode & 0o7777)
            os.replace(self.partial, self.path)
        else:
            with self.partial.open("rb") as rows, atomic_write(self.path) as file:
                finish(rows, file)
        self._remove()

    def _claim(self) -> None:
        if not self._claims.take(self._name):
            raise FileError("another process writes this file: wait until it ends, or name another file", self.path)

    def _begin(self) -> list[BinaryIO]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.blocks:
            self._claims.close()
            self._claim()
            self._remove()
            self.partial.touch()
            with atomic_write(self.journal) as file:
                file.write(_line({"made_from": self.made_from}))
        self._open = [self.partial.open("ab"), self.journal.open("ab")]
        return self._open

    def _resume(self) -> None:
        """Read what was noted, and cut off what follows the last complete block."""
        lines = _lines(self.journal.read_bytes())
        if not lines or not self.partial.exists():  # killed before the first block, or after the file appeared
            self._remove()
            return
        self._check_same(lines[0][1]["made_from"])
        size, end = self.partial.stat().st_size, lines[0][0]
        for after, line in lines[1:]:
            if line["bytes"] > size:
                break
            self._bytes, end = line["bytes"], after
            self.blocks.append(line["noted"])
        os.truncate(self.partial, self._bytes)
        os.truncate(self.journal, end)

    def _check_same(self, others: Mapping[str, Any]) -> None:
        own = self.made_from
        differing = [name for name in {**others, **own} if others.get(name, ...) != own.get(name, ...)]
        if differing:
            said = "; ".join(f"{name}: {_shown(others.get(name))}, now {_shown(own.get(name))}" for name in differing)
            raise FileError(
                Message(
                    "holds the first rows of another command ({said}): repeat that command to go on, name another "
                    "file, or start again by {overwrite}",
                    said=said,
                    overwrite=Option("overwrite", True),
                ),
                self.partial,
            )

    def _remove(self) -> None:
        self.journal.unlink(missing_ok=True)  # first: rows without a journal mean nothing
        self.partial.unlink(missing_ok=True)


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(with_checksum(values)).encode() + b"\n"


def _lines(content: bytes) -> list[tuple[int, dict[str, Any]]]:
    """The complete lines up to the first that is none, each with where it ends."""
    lines, end = [], 0
    for line in content.splitlines(keepends=True):
        try:
            values = without_checksum(json.loads(line))
        except ValueError:
            break
        if not line.endswith(b"\n"):
            break
        end += len(line)
        lines.append((end, values))
    return lines


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _shown(value: Any) -> str:
    """A value of what the rows were made from, which may be long."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({content_hash(text)[:8]})"
