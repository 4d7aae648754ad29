"""Find graphs by a name or a path, and read them through the cache."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from bankgcn.data.builtin import BUILTIN
from bankgcn.data.cache import cached, data_roots, download_root
from bankgcn.data.catalog import CATALOG, Dataset, catalog_name, find_in_catalog
from bankgcn.data.combine import without_weights
from bankgcn.data.edges import is_edge_note, warn_of_edge_data
from bankgcn.data.features.spec import conform, refit, scale_numbers
from bankgcn.data.graphs import GraphSet, Indices
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers import READERS
from bankgcn.data.readers.reader import Progress, Reader
from bankgcn.data.splits import Split, split_targets
from bankgcn.data.target_values import Targets, class_name_notes
from bankgcn.data.targets import GraphTable
from bankgcn.files.archives import UNSUPPORTED, Archive, check_archive, plain_stem, unpack
from bankgcn.files.checked import FileError
from bankgcn.files.downloads import Progress as DownloadProgress
from bankgcn.files.downloads import fetch
from bankgcn.messages import Message, Option
from bankgcn.settings import pick

FOR_ALL = ("ignore_weights", "scale")
"""Options that no reader heeds: what they change comes after reading."""
IN_LISTS = ("attributes", "categories")
"""Options for graphs in Python alone."""


@dataclass(frozen=True)
class Source:
    """Graphs that are found but not yet read.

    Args:
        name: Name of the set.
        reader: Name of its reader in ``READERS``, or of the set in ``BUILTIN`` if there is no path.
        path: The file or folder; ``None`` if the set comes with the package.
        entry: Their row of the catalogue, if they have one.
    """

    name: str
    reader: str
    path: Path | None = None
    entry: Dataset | None = None

    @property
    def kind(self) -> str:
        """What a message calls the source."""
        return "a set that comes with the package" if self.path is None else READERS[self.reader].kind

    @property
    def holds_molecules(self) -> bool:
        """Whether nodes are atoms, whose features a user can choose."""
        return self.path is not None and READERS[self.reader].holds_molecules

    def table(self, options: ReadOptions) -> GraphTable | None:
        """The rows of a source that is a table; ``None`` for other sources."""
        read = None if self.path is None else READERS[self.reader].table
        return None if read is None or self.path is None else read(self.path, options)

    def target_reader(
        self, options: ReadOptions, expected: Expected, required: bool
    ) -> Callable[[Sequence[int]], tuple[list[int], Targets]] | None:
        """What reads the targets of some rows, apart from the graphs, and tells which rows have one.

        Args:
            options: How they are read.
            expected: What the targets are.
            required: Whether it is an error if no row has the target that the options name.

        Returns:
            From rows to those whose targets are known, and these targets; ``None`` if the source has no such reader.
        """
        path, read = self.path, None if self.path is None else READERS[self.reader].known_targets
        if path is None or read is None:
            return None
        return lambda rows: read(path, rows, options, expected, required)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that change how the source is read."""
        return () if self.path is None else READERS[self.reader].options

    def load(
        self,
        options: ReadOptions | None = None,
        expected: Expected | None = None,
        *,
        progress: Progress | None = None,
    ) -> GraphSet:
        """The graphs, from the cache if they were read before.

        Args:
            options: How they are read.
            expected: What a trained model or a task fixes: the features of its training graphs, so that the model can
                be applied, and whether there are targets. Without targets, readers of files for which they may be
                wrong do not read them.
            progress: Called with the numbers of graphs so far and in all, by readers that take long.

        Raises:
            ValueError: The files cannot be read, the reader has no such option, or the signals cannot be made in that
                way.
        """
        options, expected = options or ReadOptions(), expected or Expected()
        self._check_options(options)
        graphs = BUILTIN[self.reader]() if self.path is None else self._read(self.path, options, expected, progress)
        if not expected.has_target and graphs.y is not None:
            graphs = replace(graphs, y=None, classes=(), targets=())
        if options.ignore_weights:
            graphs = without_weights(graphs)
        return conform(graphs, expected.features, self.name) if expected.features else graphs

    def _check_options(self, options: ReadOptions) -> None:
        """Raise if an option is given that means nothing to this source."""
        for name, value in options.given.items():
            if name == "features" and not self.holds_molecules:
                wrong = "{features} is for molecules, which {name} does not hold"
                raise ValueError(Message(wrong, features=Option("features", value), name=self.name))
            if name not in self.options and name not in FOR_ALL:
                what = self.name if self.path is None else self.kind
                given = Option(name, value)
                raise ValueError(Message("{given} has no meaning for {what}: leave it out", given=given, what=what))

    def _read(self, path: Path, options: ReadOptions, expected: Expected, progress: Progress | None) -> GraphSet:
        reader = READERS[self.reader]
        notes = self._notes(reader, path)
        if self.entry is not None and not isinstance(self.entry.features, str):  # a sentence is for people only
            expected = replace(expected, published=self.entry.features)
        read = partial(reader.read, path, options, expected)
        if reader.reports_progress:
            read = partial(read, progress=progress)
        key = {name: getattr(options, name) for name in reader.options}
        key |= {f"expected.{name}": getattr(expected, name) for name in reader.heeds}
        graphs = (
            cached(self.name, read, reader.files(path), {"reader": self.reader, **key}) if reader.cached else read()
        )
        own = graphs.notes
        if self.entry is not None:  # which is learned as published, and its records keep their notes
            own = tuple(note for note in own if not is_edge_note(note))
        elif "ignore_case" in reader.options and expected.classes is None:
            own += class_name_notes(graphs.classes)
        return replace(graphs, notes=(*notes, *own)) if (*notes, *own) != graphs.notes else graphs

    def _notes(self, reader: Reader, path: Path) -> tuple[str, ...]:
        """What the catalogue notes on a set of this name, and whether the folder could be read in another way.

        Raises:
            FileError: The files hold another set than the dataset that is wanted.
        """
        name = reader.set_name(path)
        if name and self.entry is not None and name != self.entry.name:
            raise FileError(f"holds {name}, not {self.entry.name}", path)
        notes = CATALOG[name].notes if name in CATALOG else ()
        others = [each.kind for each in READERS.values() if path.is_dir() and each is not reader and each.sniff(path)]
        return (*notes, f"read as {reader.kind}, not as {' or '.join(others)}") if others else notes

    def split(self, graphs: GraphSet, seed: int = 0) -> Split:
        """Which of the graphs train, validate and test: as their authors fixed it, else 8:1:1 drawn by the seed.

        The random split is stratified where the targets are classes.
        """
        official = None if self.path is None else READERS[self.reader].official_split
        if official and self.path and self.entry is not None and self.entry.split == "official":
            return official(self.path, len(graphs))
        if graphs.y is None:
            raise ValueError(f"{self.name} has no targets to learn: there is nothing to split")
        return split_targets(graphs.y, seed)

    def fitted(self, graphs: GraphSet, train: Indices, scale: str | None = None) -> GraphSet:
        """The graphs with signals learned from the training graphs alone; see :mod:`bankgcn.data.features.spec`.

        A dataset of the catalogue stays as it is: published results use the labels and ranges of all its graphs.

        Args:
            graphs: The graphs.
            train: The training graphs.
            scale: How to scale numbers of nodes; see :func:`bankgcn.data.features.spec.scale_numbers`.
        """
        fitted = refit(graphs, train) if self.entry is None else graphs
        return fitted if scale is None else scale_numbers(fitted, train, scale)


def load_source(
    source: str | Path,
    data_root: str | Path | None = None,
    *,
    task: str | None = None,
    ignore_targets: bool = False,
    **options: Any,
) -> GraphSet:
    """The graphs of a dataset or of a path. Warns if the edges of a path carry data that no network uses.

    Args:
        source: Name of a dataset, or path.
        data_root: Where to look for datasets first.
        task: What the targets are: ``"classes"``, ``"values"`` or ``"labels"``; by default what they look like.
        ignore_targets: Whether to read no targets.
        **options: How the graphs are read, under the names of the flags of ``bankgcn train``, such as
            ``target="active"`` or ``skip_unreadable=True``; see :class:`bankgcn.data.options.ReadOptions`.

    Raises:
        ValueError: There is no such source, it cannot be read, or an option has no meaning for it.
    """
    known = [item.name for item in fields(ReadOptions) if item.name not in ("scale", *IN_LISTS)]
    for name in options:  # numbers of nodes are scaled by those of training graphs, which are not known yet
        pick(dict.fromkeys(known), name, "option")
    expected = Expected(task=task, has_target=not ignore_targets)
    graphs = find_source(source, data_root).load(ReadOptions(**options), expected)
    warn_of_edge_data(graphs, stacklevel=2)
    return graphs


def find_source(source: str | Path, data_root: str | Path | None = None) -> Source:
    """Find a dataset of the catalogue by its name, or else a path.

    A path with the name of a dataset is written ``./NAME``. A ``Path`` is never the name of a dataset.

    Args:
        source: Name or path.
        data_root: Where to look for datasets first.

    Raises:
        ValueError: There is no such dataset or path, or no reader recognises the path.
    """
    if isinstance(source, str) and catalog_name(source) is not None:
        return find_dataset(source, data_root)
    if source == "":  # its path would be the current folder
        raise ValueError(f"the name of the graphs is empty: expected a dataset's name, {_accepted()}")
    path = Path(source).expanduser()
    if path.is_symlink() and not path.exists():
        raise FileError("is a symbolic link that leads to nothing, or to itself", path)
    if not path.exists():
        near = difflib.get_close_matches(str(source).lower(), {name.lower(): name for name in CATALOG}, n=1)
        hint = f"; did you mean {find_in_catalog(near[0]).name}?" if near else ""
        raise ValueError(
            f"{str(source)!r} is neither a dataset nor a file or folder: expected a dataset's name, {_accepted()}{hint}"
        )
    return Source(plain_stem(path.resolve()), _reader_of(path), path)


def find_dataset(name: str, data_root: str | Path | None = None) -> Source:
    """Find a dataset of the catalogue, and its files.

    Raises:
        ValueError: There is no such dataset, or its files are missing; the message says how to get them.
    """
    entry = find_in_catalog(name)
    if not entry.places:
        return Source(entry.name, entry.reader, entry=entry)
    path = locate(entry, data_root)
    if path is None:
        raise ValueError(f"{entry.name} is not here: {how_to_get(entry, data_root)}")
    return Source(entry.name, entry.reader, path, entry)


def locate(entry: Dataset, data_root: str | Path | None = None) -> Path | None:
    """Path of a dataset under the first data root that has it; ``None`` if none has it."""
    candidates = (root / place for root in data_roots(data_root) for place in entry.places)
    return next((path for path in candidates if path.exists()), None)


def how_to_get(entry: Dataset, data_root: str | Path | None = None) -> str:
    """How to get a dataset whose files are missing."""
    target = download_root(data_root) / entry.places[0]
    searched = ", ".join(str(root) for root in data_roots(data_root))
    if entry.url is None:
        return f"no {entry.places[0]} under {searched}, and it has no address to download it from"
    by_hand = f"from {entry.url}" if target.suffix else f"unpack {entry.url}, and move its folder"
    return (
        f"no {entry.places[0]} under {searched}; download it by 'bankgcn data fetch {entry.name}', "
        f"or by hand: {by_hand} to {target}"
    )


def fetch_dataset(name: str, data_root: str | Path | None = None, progress: DownloadProgress | None = None) -> Path:
    """Download a dataset from its official address, unless its files are there already.

    Args:
        name: Its name in the catalogue.
        data_root: Where to put it; by default the user's cache folder.
        progress: Called with the number of bytes so far and in all.

    Returns:
        Path of the dataset.

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
        return fetch(entry.url, target, sha256=entry.sha256, check=check_archive, progress=progress)
    packed = fetch(
        entry.url, target.with_name(f"{target.name}.zip"), sha256=entry.sha256, check=check_archive, progress=progress
    )
    unpack(Archive(packed), target)
    packed.unlink()
    return target


def _reader_of(path: Path) -> str:
    """The name of the reader that recognises a path."""
    for name, reader in READERS.items():
        if reader.recognises(path):
            return name
    if path.suffix.lower() in UNSUPPORTED:
        raise FileError("is compressed in a way that is not read (.gz, .bz2, .xz and .zip are): unpack it first", path)
    raise FileError(f"cannot be read: expected {_accepted()}", path)


def _accepted() -> str:
    *accepted, last = (reader.accepts for reader in READERS.values() if reader.accepts)
    return f"{', '.join(accepted)}, or {last}"
