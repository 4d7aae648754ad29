"""Graphs from a name or a path: found, read, and kept for the next time."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bankgcn.data.builtin.digits import digits
from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.cache import cached, data_roots, download_root
from bankgcn.data.catalog import CATALOG, Dataset, find_in_catalog
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.refit import conform, refit
from bankgcn.data.features.spec import FeatureSpec
from bankgcn.data.graphs import GraphSet, Indices
from bankgcn.data.readers.gnn_benchmark import read_gnn_benchmark
from bankgcn.data.readers.image_files import has_images, image_files
from bankgcn.data.readers.images import Slicing, read_image_folder
from bankgcn.data.readers.jsonlines import read_jsonlines
from bankgcn.data.readers.molhiv import read_molhiv, scaffold_split
from bankgcn.data.readers.smiles_table import read_smiles_table
from bankgcn.data.readers.superpixels import cifar10_split, read_superpixel_pack
from bankgcn.data.readers.tu import TUFiles, has_tu_files, read_tu
from bankgcn.data.splits import Split, stratified_split
from bankgcn.files.archives import Archive, unpack
from bankgcn.files.arrays import is_array_file
from bankgcn.files.downloads import Progress, fetch
from bankgcn.files.errors import FileError


@dataclass(frozen=True)
class Reader:
    """How one kind of source is read.

    Args:
        kind: What a message calls such a source.
        read: From a path, and options by keyword, to graphs.
        files: The files that it reads, by whose change the cache knows; the path itself by default.
    """

    kind: str
    read: Callable[..., GraphSet]
    files: Callable[[Path], Sequence[Path]] = lambda path: [path]


def _tu_files(path: Path) -> Sequence[Path]:
    return TUFiles(path).paths()


def _read_cifar10(path: Path) -> GraphSet:
    return read_superpixel_pack(path) if path.suffix == ".npz" else read_gnn_benchmark(path)


def _molhiv_files(path: Path) -> Sequence[Path]:
    return sorted((path / "raw").glob("*.csv.gz"))


READERS: dict[str, Reader] = {
    "tu": Reader("a set in the TU format", read_tu, _tu_files),
    "smiles": Reader("a table of SMILES", read_smiles_table),
    "jsonlines": Reader("a file of JSON lines", read_jsonlines),
    "molhiv": Reader("OGB's molhiv", read_molhiv, _molhiv_files),
    "cifar10": Reader("CIFAR-10 as superpixels", _read_cifar10),
    "images": Reader("a folder of images", read_image_folder, image_files),
}
MAKERS: dict[str, Callable[[], GraphSet]] = {
    "mutag": mutag,
    "digits": digits,
    "smooth-or-alternating": smooth_or_alternating,
}
OFFICIAL_SPLITS: dict[str, Callable[[Path, int], Split]] = {
    "molhiv": scaffold_split,
    "cifar10": lambda _, num_graphs: cifar10_split(num_graphs),
}
READER_OF_SUFFIX = {".zip": "tu", ".csv": "smiles", ".tsv": "smiles", ".jsonl": "jsonlines", ".ndjson": "jsonlines"}
EXPECTED = (
    "a dataset's name, a folder or zip in the TU format, a .csv with a column of SMILES, a .jsonl of graphs, "
    "or a folder of images"
)


@dataclass(frozen=True)
class Source:
    """Graphs that were found but not yet read.

    Args:
        name: What to call them.
        reader: How to read them: a name in ``READERS``, or in ``MAKERS`` if there is no path.
        path: Where they are; ``None`` if they come with the package.
        entry: Their row of the catalogue, if they have one.
    """

    name: str
    reader: str
    path: Path | None = None
    entry: Dataset | None = None

    @property
    def kind(self) -> str:
        """What the source was recognised as, for a message."""
        if self.path is None:
            return "a set that comes with the package"
        return "a saved set" if self.reader == "saved" else READERS[self.reader].kind

    def load(
        self, *, expected: FeatureSpec | None = None, progress: Callable[[int, int], None] | None = None, **options: Any
    ) -> GraphSet:
        """The graphs, from the cache if they were read before.

        Args:
            expected: How the node features of the training graphs were made, from
                :func:`bankgcn.data.features.spec.describe_features`. These graphs get the same features, so that the
                trained model can be applied to them.
            progress: Called with what is done and what there is in all, by readers that take long and can tell.
            **options: Passed to the reader, such as ``asymmetric="symmetrise"`` or ``target="active"``.

        Raises:
            ValueError: The files are not as they should be, the reader has no such option, or the signals cannot be
                made in that way.
        """
        if expected is None:
            return self._load(options, progress)
        graphs = self._load({**options, **self._options_for(expected)}, progress)
        return conform(graphs, expected, self.name)

    @property
    def options(self) -> list[str]:
        """Names of the options that :meth:`load` passes to the reader."""
        if self.reader not in READERS:
            return []
        parameters = list(inspect.signature(READERS[self.reader].read).parameters)
        return [name for name in parameters[1:] if name != "progress"]

    def _options_for(self, expected: FeatureSpec) -> dict[str, Any]:
        """What tells the reader to make signals in that way; nothing, if it cannot."""
        kind = expected.get("kind")
        if self.reader == "tu" and kind in ("tu", "structure"):
            return {"expected": expected}
        if self.reader == "jsonlines" and kind == "named":
            return {"schema": NodeSchema.from_spec(expected)}
        if self.reader == kind == "images":
            return {"slicing": Slicing.from_spec(expected)}
        return {"features": expected["features"]} if self.reader in ("smiles", "molhiv") and kind == "atoms" else {}

    def _load(self, options: dict[str, Any], progress: Callable[[int, int], None] | None) -> GraphSet:
        if self.path is None:
            _refuse_unknown(options, [], self.name)
            return MAKERS[self.reader]()
        if self.reader == "saved":
            _refuse_unknown(options, [], self.kind)
            return GraphSet.load(self.path)
        reader = READERS[self.reader]
        _refuse_unknown(options, self.options, self.kind)
        if self.reader == "tu":
            options = self._tu_options(self.path, options)
        read = partial(reader.read, self.path, **options)
        if self.reader == "images":
            read = partial(read, progress=progress)
        return cached(self.name, read, reader.files(self.path), {"reader": self.reader, **options})

    def split(self, graphs: GraphSet, seed: int = 0) -> Split:
        """Which of the graphs train, validate and test: as their authors fixed it, else 8:1:1 drawn by the seed."""
        if self.entry is not None and self.entry.split == "official" and self.path is not None:
            return OFFICIAL_SPLITS[self.reader](self.path, len(graphs))
        if graphs.y is None or not graphs.classes:
            raise ValueError(f"{self.name} has no classes: a stratified split needs them")
        return stratified_split(graphs.y, seed=seed)

    def fitted(self, graphs: GraphSet, train: Indices) -> GraphSet:
        """The graphs with signals learned from the training graphs alone; see :mod:`bankgcn.data.features.refit`.

        A dataset of the catalogue stays as it is: published results use the labels and ranges of all its graphs.
        """
        return refit(graphs, train) if self.entry is None else graphs

    def _tu_options(self, path: Path, options: dict[str, Any]) -> dict[str, Any]:
        """The options, with the catalogue's features by default, and always what it has to say of a set so named."""
        held = TUFiles(path).name
        if self.entry is not None and held != self.entry.name:
            raise FileError(f"holds {held}, not {self.entry.name}", path)
        features = {"features": self.entry.features} if self.entry else {}
        notes = CATALOG[held].notes if held in CATALOG else ()
        if path.is_dir() and has_images(path):
            notes = (*notes, f"read as {self.kind}; the images in its folder are not read")
        return {**features, **options, "notes": (*notes, *options.get("notes", ()))}


def load(name: str, data_root: str | Path | None = None, **options: Any) -> GraphSet:
    """A dataset of the catalogue; see :func:`find_dataset` and :meth:`Source.load`."""
    return find_dataset(name, data_root).load(**options)


def load_source(source: str | Path, data_root: str | Path | None = None, **options: Any) -> GraphSet:
    """The graphs of whatever the user names; see :func:`find_source` and :meth:`Source.load`."""
    return find_source(source, data_root).load(**options)


def find_source(source: str | Path, data_root: str | Path | None = None) -> Source:
    """What a user names: a dataset of the catalogue, or else a path.

    A file that is called like a dataset is meant by ``./NAME``.

    Args:
        source: Name or path.
        data_root: Where to look for datasets first.

    Raises:
        ValueError: There is neither, or nothing at that path that can be read.
    """
    if str(source).lower() in {name.lower() for name in CATALOG}:
        return find_dataset(str(source), data_root)
    path = Path(source).expanduser()
    if not path.exists():
        near = difflib.get_close_matches(str(source).lower(), {name.lower(): name for name in CATALOG}, n=1)
        hint = f"; did you mean {find_in_catalog(near[0]).name}?" if near else ""
        raise ValueError(f"{str(source)!r} is neither a dataset nor a file or folder: expected {EXPECTED}{hint}")
    return Source(path.resolve().stem, _reader_of(path), path)


def find_dataset(name: str, data_root: str | Path | None = None) -> Source:
    """A dataset of the catalogue, with the place where it lies.

    Raises:
        ValueError: There is no such dataset, or it is in none of the places; the message says how to get it.
    """
    entry = find_in_catalog(name)
    if not entry.places:
        return Source(entry.name, entry.reader, entry=entry)
    path = locate(entry, data_root)
    if path is None:
        raise ValueError(f"{entry.name} is not here: {how_to_get(entry, data_root)}")
    return Source(entry.name, entry.reader, path, entry)


def locate(entry: Dataset, data_root: str | Path | None = None) -> Path | None:
    """Where a dataset lies under the first data root that has it."""
    candidates = (root / place for root in data_roots(data_root) for place in entry.places)
    return next((path for path in candidates if path.exists()), None)


def how_to_get(entry: Dataset, data_root: str | Path | None = None) -> str:
    """What a user can do to have a dataset that is not here."""
    target = download_root(data_root) / entry.places[0]
    searched = ", ".join(str(root) for root in data_roots(data_root))
    if entry.url is None:
        return f"no {entry.places[0]} under {searched}, and it has no address to download it from"
    return (
        f"no {entry.places[0]} under {searched}; download it by 'bankgcn data fetch {entry.name}', "
        f"or by hand from {entry.url} to {target}"
    )


def fetch_dataset(name: str, data_root: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Download a dataset from its official address, unless it is here already.

    Args:
        name: Its name in the catalogue.
        data_root: Where to put it; the user's cache folder if not given.
        progress: Called with the number of bytes so far and in all.

    Returns:
        Where it is.

    Raises:
        ValueError: It cannot be downloaded.
    """
    entry = find_in_catalog(name)
    if not entry.places:
        raise ValueError(f"{entry.name} comes with the package and needs no download")
    root = download_root(data_root)
    root.mkdir(parents=True, exist_ok=True)
    present = locate(entry, data_root)
    if present is not None:
        return present
    if entry.url is None:
        raise ValueError(f"{entry.name} cannot be downloaded: {how_to_get(entry, data_root)}")
    target = root / entry.places[0]
    if target.suffix:
        return fetch(entry.url, target, sha256=entry.sha256, check=Archive, progress=progress)
    packed = fetch(
        entry.url, target.with_name(f"{target.name}.zip"), sha256=entry.sha256, check=Archive, progress=progress
    )
    unpack(Archive(packed), target)
    packed.unlink()
    return target


def _reader_of(path: Path) -> str:
    if path.is_dir():
        return "tu" if has_tu_files(path) or not has_images(path) else "images"
    if is_array_file(path):
        return "saved"
    reader = READER_OF_SUFFIX.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(READER_OF_SUFFIX)
        raise FileError(f"a file of this kind cannot be read: expected one of {known}, or a saved GraphSet", path)
    return reader


def _refuse_unknown(options: dict[str, Any], known: list[str], kind: str) -> None:
    for name in options:
        if name not in known:
            takes = f"its options are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{kind} is read without the option {name!r}; {takes}")
