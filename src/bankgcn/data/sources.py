"""Where graphs come from: found by a name or a path and read through the cache, or lists of them in Python."""

from __future__ import annotations

import contextlib
import difflib
import glob
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import bankgcn
from bankgcn.data import GraphError
from bankgcn.data.builtin import BUILTIN
from bankgcn.data.catalog import (
    CATALOG,
    USUAL_FOLDERS,
    DataFolders,
    Dataset,
    cache_folder,
    catalog_name,
    find_in_catalog,
)
from bankgcn.data.combine import join, without_weights
from bankgcn.data.convert import from_networkx, from_pyg
from bankgcn.data.edge_data import is_edge_note, with_mean_edge_features
from bankgcn.data.features.atoms import with_atoms
from bankgcn.data.features.descriptors import with_descriptors
from bankgcn.data.features.encodings import fit as fit_encodings
from bankgcn.data.features.encodings import with_encodings
from bankgcn.data.features.graph_features import fit
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.spec import conform, refit, scale_numbers
from bankgcn.data.frames import check_collected, frame_graphs, is_frame, is_missing
from bankgcn.data.graphs import GraphSet, Indices
from bankgcn.data.options import EdgeData, Expected, ReadOptions
from bankgcn.data.readers import (
    SAVED,
    Progress,
    Reader,
    RowBlock,
    benchmark_sets,
    graph_files,
    images,
    json_graphs,
    molecule_tables,
    tu,
)
from bankgcn.data.readers.json_graphs import expected_edge_schema
from bankgcn.data.readers.molecules import atom_kind, from_smiles, is_molecule, standardizes
from bankgcn.data.splits import Split, split_targets
from bankgcn.data.target_values import Targets, class_name_notes
from bankgcn.data.targets import GraphTable
from bankgcn.data.workers import Job
from bankgcn.files.archives import UNSUPPORTED, Archive, check_archive, plain_ending, plain_stem, unpack
from bankgcn.files.checked import SHARED_AGE, FileError, remove_unfinished, visible
from bankgcn.files.downloads import Progress as DownloadProgress
from bankgcn.files.downloads import fetch
from bankgcn.messages import Message, Option
from bankgcn.settings import pick

READERS: dict[str, Reader] = {
    "saved": SAVED,
    "tu": tu.READER,
    "edges": graph_files.EDGE_TABLES,
    "smiles": molecule_tables.SMILES_TABLE,
    "smi": molecule_tables.SMILES_FILE,
    "sdf": molecule_tables.SD_FILE,
    "jsonlines": json_graphs.JSON_LINES,
    "json": json_graphs.JSON_FILES,
    "graphml": graph_files.GRAPH_FILES,
    "images": images.READER,
    "molhiv": benchmark_sets.MOLHIV,
    "cifar10": benchmark_sets.CIFAR10,
}
"""Readers by name. The first one that recognises a path reads it."""
SHOWN = 5  # names of columns in a message
READERS_VERSION = 8  # raise it when a reader gives other graphs for the same file
SETTLED = 2.0  # seconds; on some file systems two writes within this time leave the same time stamp

FOR_ALL = ("ignore_weights", "scale", "encoding")
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

    def blocks(self, options: ReadOptions) -> Iterator[tuple[RowBlock, float]] | None:
        """The rows of a source in blocks of bounded size, each with the share of the source that was read by then.

        ``None`` for sources that are read as a whole.
        """
        read = None if self.path is None else READERS[self.reader].blocks
        if read is None or self.path is None:
            return None
        self._check_options(options)
        return read(self.path, options)

    def load_block(
        self, block: RowBlock, options: ReadOptions, expected: Expected, run: Callable[[Job], Any] = Job.run
    ) -> GraphSet:
        """The graphs of a block; see :meth:`load`."""
        return self._completed(block.graphs(options, expected, run), options, expected)

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
        run: Callable[[Job], Any] = Job.run,
    ) -> GraphSet:
        """The graphs, from the cache if they were read before.

        Args:
            options: How they are read.
            expected: What a trained model or a task fixes: the features of its training graphs, so that the model can
                be applied, and whether there are targets. Without targets, readers of files for which they may be
                wrong do not read them.
            progress: Called with the numbers of graphs so far and in all, by readers that take long.
            run: What returns the result of the work on many rows: in this process, or in others.

        Raises:
            ValueError: The files cannot be read, the reader has no such option, or the signals cannot be made in that
                way.
        """
        options, expected = options or ReadOptions(), expected or Expected()
        self._check_options(options)
        graphs = (
            BUILTIN[self.reader]() if self.path is None else self._read(self.path, options, expected, progress, run)
        )
        return self._completed(graphs, options, expected)

    def _completed(self, graphs: GraphSet, options: ReadOptions, expected: Expected) -> GraphSet:
        """The graphs of a reader with what follows from options and expectations alone."""
        if not expected.has_target and graphs.y is not None:
            graphs = replace(graphs, y=None, classes=(), targets=())
        if options.symmetrise and expected.edge_data != "none":
            graphs = with_mean_edge_features(graphs)
        if options.ignore_weights:
            graphs = without_weights(graphs)
        graphs = with_encodings(graphs, options.encodings)
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

    def _read(
        self,
        path: Path,
        options: ReadOptions,
        expected: Expected,
        progress: Progress | None,
        run: Callable[[Job], Any],
    ) -> GraphSet:
        reader = READERS[self.reader]
        notes = self._notes(reader, path)
        if self.entry is not None and not isinstance(self.entry.features, str):  # a sentence is for people only
            expected = replace(expected, published=self.entry.features)
        read = partial(reader.read, path, options, expected)
        if reader.reports_progress:
            read = partial(read, progress=progress)
        if reader.blocks is not None:
            read = partial(read, run=run)
        key = {name: getattr(options, name) for name in reader.options}
        key |= {f"expected.{name}": getattr(expected, name) for name in reader.heeds}
        graphs = (
            cached(self.name, read, reader.files(path), {"reader": self.reader, **key}) if reader.cached else read()
        )
        reader_notes = graphs.notes
        if self.entry is not None:  # which is learned as published, and its records keep their notes
            reader_notes = tuple(note for note in reader_notes if not is_edge_note(note))
        elif "ignore_case" in reader.options and expected.classes is None:
            reader_notes += class_name_notes(graphs.classes)
        return replace(graphs, notes=(*notes, *reader_notes)) if (*notes, *reader_notes) != graphs.notes else graphs

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

    def fitted(self, graphs: GraphSet, train: Indices, scale: str | None = None, edges: bool = False) -> GraphSet:
        """The graphs with signals learned from the training graphs alone; see :mod:`bankgcn.data.features.spec`.

        Nodes of a dataset of the catalogue stay as they are: published results use the labels and ranges of all its
        graphs.

        Args:
            graphs: The graphs.
            train: The training graphs.
            scale: How to scale numbers of nodes; see :func:`bankgcn.data.features.spec.scale_numbers`.
            edges: Whether a network uses the features of edges, so that these are learned and scaled, too.
        """
        fitted = fit_encodings(fit(refit(graphs, train, edges) if self.entry is None else graphs, train), train)
        return fitted if scale is None else scale_numbers(fitted, train, scale, edges)


def load_source(
    source: str | Path,
    data_root: str | Path | None = None,
    *,
    task: str | None = None,
    ignore_targets: bool = False,
    edges: bool | None = None,
    **options: Any,
) -> GraphSet:
    """The graphs of a dataset or of a path.

    Args:
        source: Name of a dataset, or path.
        data_root: Where to look for datasets first.
        task: What the targets are: ``"classes"``, ``"values"`` or ``"labels"``; by default what they look like.
        ignore_targets: Whether to read no targets.
        edges: Whether to read what edges carry besides weights; then it is an error if something cannot be a feature
            of edges. By default, paths are read as far as possible, and datasets as they are published.
        **options: How the graphs are read, under the names of the flags of ``bankgcn train``, such as
            ``target="active"`` or ``skip_unreadable=True``; see :class:`bankgcn.data.options.ReadOptions`.

    Raises:
        ValueError: There is no such source, it cannot be read, or an option has no meaning for it.
    """
    names = [item.name for item in fields(ReadOptions) if item.name not in ("scale", "encoding", *IN_LISTS)]
    for name in options:  # these are scaled by training graphs, which are not known yet
        pick(dict.fromkeys(names), name, "option")
    found = find_source(source, DataFolders(data_root))
    default: EdgeData = "any" if found.entry is None else "none"
    edge_data: EdgeData = default if edges is None else "all" if edges else "none"
    expected = Expected(task=task, has_target=not ignore_targets, edges=edge_data)
    return found.load(ReadOptions(**options), expected)


def find_source(source: str | Path, folders: DataFolders = USUAL_FOLDERS) -> Source:
    """Find a dataset of the catalogue by its name, or else a path.

    A path with the name of a dataset is written ``./NAME``. A ``Path`` is never the name of a dataset.

    Args:
        source: Name or path.
        folders: Where to look for datasets.

    Raises:
        ValueError: There is no such dataset or path, or no reader recognises the path.
    """
    if isinstance(source, str) and catalog_name(source) is not None:
        return find_dataset(source, folders)
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


def find_sources(name: str | Path, folders: DataFolders = USUAL_FOLDERS) -> list[Source]:
    """The source of a name or path, see :func:`find_source`; or the files of a folder or a pattern such as ``*.csv``.

    The files of a folder are those that can be read in blocks of rows: tables of molecules, and JSON lines. They come
    in the order of their names.

    Raises:
        ValueError: There is no such source or file.
    """
    path = Path(name).expanduser()
    if not path.exists() and glob.has_magic(str(name)) and catalog_name(str(name)) is None:
        files = sorted(Path(file) for file in glob.glob(str(path), recursive=True) if Path(file).is_file())
        if not files:
            raise ValueError(f"no file has a name like {str(name)!r}")
        return [find_source(file, folders) for file in files]
    try:
        return [find_source(name, folders)]
    except FileError:
        files = _tables_in(path) if path.is_dir() else []
        if not files:
            raise
        return [find_source(file, folders) for file in files]


def _tables_in(folder: Path) -> list[Path]:
    """The files of a folder that can be read in blocks of rows."""
    endings = [ending for reader in READERS.values() if reader.blocks is not None for ending in reader.suffixes]
    return sorted(path for path in visible(folder) if path.is_file() and plain_ending(path) in endings)


def find_dataset(name: str, folders: DataFolders = USUAL_FOLDERS) -> Source:
    """Find a dataset of the catalogue, and its files.

    Raises:
        ValueError: There is no such dataset, or its files are missing; the message says how to get them.
    """
    entry = find_in_catalog(name)
    if not entry.places:
        return Source(entry.name, entry.reader, entry=entry)
    path = folders.locate(entry)
    if path is None:
        raise ValueError(f"{entry.name} is not here: {folders.how_to_get(entry)}")
    return Source(entry.name, entry.reader, path, entry)


def fetch_dataset(name: str, folders: DataFolders = USUAL_FOLDERS, progress: DownloadProgress | None = None) -> Path:
    """Download a dataset from its official address, unless its files are there already.

    Args:
        name: Its name in the catalogue.
        folders: Where it may be, and where to put it.
        progress: Called with the number of bytes so far and in all.

    Returns:
        Path of the dataset.

    Raises:
        ValueError: It cannot be downloaded.
    """
    entry = find_in_catalog(name)
    if not entry.places:
        raise ValueError(f"{entry.name} comes with the package and needs no download")
    root = folders.downloads
    root.mkdir(parents=True, exist_ok=True)
    present = folders.locate(entry)
    if present is not None:
        return present
    if entry.url is None:
        raise ValueError(f"{entry.name} cannot be downloaded: {folders.how_to_get(entry)}")
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


def cached(name: str, read: Callable[[], GraphSet], files: Sequence[Path], options: Mapping[str, object]) -> GraphSet:
    """The graphs that ``read`` returns; from the cache if the same files were read with the same options before.

    The name of a cache file depends on the paths, sizes and modification times of the files, on the options, and on the
    version of the readers. A new cache file replaces older ones of the same files, and the parts of files that killed
    processes left are removed. If the cache cannot be written, the files are read each time.

    Args:
        name: Start of the name of the cache file, for people who look into the folder.
        read: Reads the files.
        files: The files that it reads.
        options: Its options. Different options must have a different ``repr``.
    """
    cache_file = _cache_file(name, files, options)
    if cache_file is None:
        return read()
    with contextlib.suppress(FileError, OSError):
        return GraphSet.load(cache_file, verify=False)  # we wrote it, and large sets are opened often
    graphs = read()
    settled = time.time() - max(file.stat().st_mtime for file in files) > SETTLED
    if settled and _cache_file(name, files, options) == cache_file:  # else a file may have changed while it was read
        _store(graphs, cache_file)
    return graphs


def _cache_file(name: str, files: Sequence[Path], options: Mapping[str, object]) -> Path | None:
    """The cache file for these files in their present state; ``None`` if the state of a file is unknown."""
    try:
        places = [str(file.resolve()) for file in files]
        states = [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    except OSError:
        return None
    source = _hash([places, {option: repr(value) for option, value in sorted(options.items())}])
    state = _hash([states, READERS_VERSION, bankgcn.__version__])
    stem = re.sub(r"[^\w.-]", "_", name)[:40]
    return cache_folder() / "sets" / f"{stem}-{source}-{state}.graphs"


def _store(graphs: GraphSet, cache_file: Path) -> None:
    same_source = cache_file.name.rpartition("-")[0]
    with contextlib.suppress(OSError):
        remove_unfinished(cache_file.parent, SHARED_AGE)
        graphs.save(cache_file)
        for older in cache_file.parent.glob(f"{same_source}-*.graphs"):
            if older != cache_file:
                older.unlink(missing_ok=True)


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


class Form(NamedTuple):
    """One form of a list of graphs.

    Args:
        fits: Whether an item of a list is such a graph. Optional libraries are not imported.
        convert: From the list, the options and what a model expects, to a set.
    """

    fits: Callable[[Any], bool]
    convert: Callable[[Sequence[Any], ReadOptions, Expected], GraphSet]


def _from_networkx(graphs: Sequence[Any], options: ReadOptions, expected: Expected) -> GraphSet:
    return from_networkx(
        graphs,
        attributes=options.attributes,
        categories=options.categories,
        schema=NodeSchema.from_spec(expected.features) if expected.features.get("kind") == "named" else None,
        edge_data=expected.edge_data,
        edge_schema=expected_edge_schema(expected),
        has_target=expected.has_target,
        symmetrise=options.symmetrise,
    )


def _from_pyg(graphs: Sequence[Any], options: ReadOptions, expected: Expected) -> GraphSet:
    return from_pyg(graphs, edge_data=expected.edge_data, has_target=expected.has_target, symmetrise=options.symmetrise)


def _from_smiles(graphs: Sequence[Any], options: ReadOptions, expected: Expected) -> GraphSet:
    return from_smiles(
        graphs,
        features=atom_kind(options, expected),
        with_bonds=expected.edge_data != "none",
        standardize=standardizes(options, expected),
    )


FORMS: Mapping[str, Form] = {
    "a GraphSet": Form(lambda item: isinstance(item, GraphSet), lambda sets, options, expected: join(sets)),
    "a SMILES": Form(lambda item: isinstance(item, str), _from_smiles),
    "an RDKit molecule": Form(is_molecule, _from_smiles),
    "a NetworkX graph": Form(lambda item: hasattr(item, "nodes") and hasattr(item, "is_directed"), _from_networkx),
    "a PyG Data": Form(lambda item: hasattr(item, "edge_index") and hasattr(item, "num_nodes"), _from_pyg),
}
"""Each form by the name of an item in messages. NetworkX stands before PyG: only PyG's graphs have an edge index."""


def as_graph_set(graphs: Any, options: ReadOptions | None = None, expected: Expected | None = None) -> GraphSet:
    """One set from a set, a DataFrame of molecules, or a list of graphs of one of the :data:`FORMS`.

    Args:
        graphs: The graphs. A Series, an array or a generator is a list, too.
        options: How to read them.
        expected: What a trained model fixes. SMILES and NetworkX graphs get the features of its training graphs.

    Raises:
        GraphError: There are no graphs, or they are of an unknown form, or of several; the message names the graph.

    Example:
        >>> as_graph_set(["CCO", "c1ccccc1"])
        GraphSet(2 graphs, 9 nodes, 8 edges, 9 features)
    """
    options = options or ReadOptions()
    if isinstance(graphs, GraphSet):
        return with_descriptors(graphs if options.features is None else with_atoms(graphs, options.atoms), options)
    check_collected(graphs)
    if is_frame(graphs):
        return frame_graphs(graphs, options, expected or Expected())
    _check_list(graphs)
    try:
        items = list(graphs)
    except TypeError as error:
        raise GraphError(f"expected a list of graphs, but this is of type {type(graphs).__name__}") from error
    if not items:
        raise GraphError("there are no graphs")
    if _is_path(items[0]):
        raise GraphError(f"graph 0 is the path of a file: give bankgcn.load({os.fspath(items[0])!r}) instead of a list")
    forms = [_form(item) for item in items]
    for number, form in enumerate(forms):
        if form is None and is_missing(items[number]):
            raise GraphError(f"graph {number} is missing ({items[number]!r}): leave it out")
        if form is None:
            raise GraphError(f"graph {number} is of type {type(items[number]).__name__}, expected {' or '.join(FORMS)}")
        if form != forms[0]:
            raise GraphError(f"graph {number} is {form}, but graph 0 is {forms[0]}: expected one kind")
    convert = FORMS[str(forms[0])].convert
    return with_descriptors(convert(items, options, expected or Expected()), options)


def are_molecules(graphs: Any) -> bool:
    """Whether nodes are atoms: of a set, a DataFrame, or a list of SMILES or molecules of RDKit."""
    if isinstance(graphs, GraphSet):
        return graphs.feature_spec.get("kind") == "atoms"
    if is_frame(graphs):
        return True
    with contextlib.suppress(TypeError):  # which :func:`as_graph_set` says better
        first = next(iter(graphs), None)
        return isinstance(first, str) or is_molecule(first)
    return False


def _check_list(graphs: Any) -> None:
    """Raise an error that says what to give instead of a path, a table or a single graph.

    A table is noticed by its columns: iterating over it gives their names, which are texts, as SMILES are.
    """
    if _is_path(graphs):
        raise GraphError(f"expected graphs, but this is the path of a file: give bankgcn.load({os.fspath(graphs)!r})")
    single = _form(graphs)
    if single is not None:
        advice = "; bankgcn.load(path) reads a file" if isinstance(graphs, str) else ""
        raise GraphError(f"expected a list of graphs, but this is {single}: put it into a list{advice}")
    if isinstance(graphs, Mapping) or hasattr(graphs, "columns"):
        names = [str(name) for name in (graphs if isinstance(graphs, Mapping) else _column_names(graphs))]
        likely = next((name for name in names if "smiles" in name.lower()), "smiles")
        listed = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
        raise GraphError(
            f"expected a list of graphs, but this is a {type(graphs).__name__} with {listed}: give the column of the "
            f"graphs, such as table[{likely!r}]"
        )


def _column_names(table: Any) -> Iterable[Any]:
    """Names of the columns of a table of pandas or Polars; in a table of Arrow, ``columns`` are the columns."""
    return getattr(table, "column_names", None) or table.columns


def _is_path(item: Any) -> bool:
    """Whether this is a path, or a text that names a file: it ends as one, or has folders and exists."""
    if not isinstance(item, str):
        return isinstance(item, os.PathLike)
    ends = tuple(suffix for reader in READERS.values() for suffix in reader.suffixes)
    try:
        return item.lower().endswith(ends) or (os.sep in item and Path(item).exists())
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False


def _form(item: Any) -> str | None:
    return next((name for name, form in FORMS.items() if form.fits(item)), None)
