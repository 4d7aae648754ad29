"""The error of an invalid file."""

from __future__ import annotations

from os import PathLike, fspath

from bankgcn.messages import Spelling, spelled


class FileError(ValueError):
    """A file that cannot be read, or whose content is invalid.

    Args:
        message: What is wrong; a :class:`~bankgcn.messages.Message` if it names options.
        path: The file.
        line: The line in it, counted from 1, if one line is to blame.

    Example:
        >>> print(FileError("'x' is not a number", "MUTAG_A.txt", 3))
        MUTAG_A.txt:3: 'x' is not a number
    """

    def __init__(self, message: str, path: str | PathLike[str], line: int | None = None):
        self.message = message
        self.path = fspath(path)
        self.line = line
        super().__init__(message, self.path, line)

    def __str__(self) -> str:
        return f"{self._where}: {self.message}"

    def spelled(self, spelling: Spelling) -> str:
        """The message with its place, as a front spells options."""
        return f"{self._where}: {spelled(self.message, spelling)}"

    @property
    def _where(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"
