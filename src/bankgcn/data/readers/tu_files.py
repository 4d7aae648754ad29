"""The text files of a set in the TU format, in a folder or a zip."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from numpy.typing import NDArray

from bankgcn.data.features.tu_signals import TUFeatures
from bankgcn.files.archives import Archive, Files, Folder
from bankgcn.files.checked import FileError
from bankgcn.files.tables import Number, parse_table


class TUFiles:
    """The text files of one set in the TU format.

    Args:
        path: A zip or a folder.
    """

    def __init__(self, path: Path):
        self.files = _open(path)
        found = _edge_files(self.files)
        if len(found) != 1:
            what = "no file NAME_A.txt" if not found else f"several sets: {', '.join(map(str, found))}"
            zipped = "; a zip of one table is read, too" if path.suffix.lower() == ".zip" and not found else ""
            raise FileError(f"{what}; a set in the TU format has one{zipped}", path)
        self.folder = found[0].parent
        self.name = found[0].name.removesuffix("_A.txt")

    def _member(self, part: str) -> str:
        return str(self.folder / f"{self.name}_{part}.txt")

    def has(self, part: str) -> bool:
        """Whether the set has the file of a part, such as ``"node_labels"``."""
        return self._member(part) in self.files.names

    def where(self, part: str) -> Path:
        """Path of the file of a part, for messages."""
        return self.files.where(self._member(part))

    def paths(self) -> list[Path]:
        """The files on disk: the zip, or the text files of the set."""
        if isinstance(self.files, Archive):
            return [self.files.path]
        names = [PurePosixPath(name) for name in self.files.names]
        return [self.files.where(str(name)) for name in names if name.parent == self.folder and name.suffix == ".txt"]

    def features(self) -> TUFeatures:
        """All the signals that the files have."""
        return TUFeatures(attributes="raw" if self.has("node_attributes") else "none", labels=self.has("node_labels"))

    def table(
        self, part: str, dtype: type[Number], *, columns: int | None = None, rows: tuple[int, str] | None = None
    ) -> NDArray[Number]:
        """The numbers of a part, shape ``(rows, columns)``.

        Args:
            part: The part.
            dtype: ``np.int64`` or ``np.float32``.
            columns: Number of columns that the file must have, if that is known.
            rows: Number of lines that the file must have, and what they count.
        """
        if not self.has(part):
            raise FileError("is missing", self.where(part))
        table = parse_table(self.files.read(self._member(part)), self.where(part), dtype, columns=columns)
        if rows is not None and len(table) != rows[0]:
            line = min(len(table), rows[0] + 1)  # the last line if there are too few, else the first too many
            raise FileError(f"{len(table):,} lines for {rows[0]:,} {rows[1]}", self.where(part), line)
        return table


def has_tu_files(path: Path) -> bool:
    """Whether a zip or a folder has the edge file of a set in the TU format."""
    return bool(_edge_files(_open(path)))


def _edge_files(files: Files) -> list[PurePosixPath]:
    found = [PurePosixPath(name) for name in files.names if name.endswith("_A.txt")]
    return [name for name in found if not name.name.startswith(".")]  # macOS adds "._x" to a zip


def _open(path: Path) -> Files:
    if path.is_dir():
        own = path.resolve().name
        return Folder(path, inside=("raw", own, f"{own}/raw"))
    return Archive(path)
