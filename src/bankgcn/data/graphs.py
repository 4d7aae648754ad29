"""Many graphs as one flat array per field; a batch of them is index arithmetic."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bankgcn.data import GraphError
from bankgcn.data.batch import GraphBatch, pointers, spans
from bankgcn.data.edges import flatten_edges
from bankgcn.data.features import encodings
from bankgcn.data.features.graph_features import (
    Columns,
    is_fitted,
    matrix_columns,
    network_columns,
    num_columns,
    table_columns,
)
from bankgcn.data.invariants import (
    as_array,
    check_attributes,
    check_edge_attributes,
    check_edge_index,
    check_invariants,
    check_labels,
    check_num_nodes,
    check_targets,
    check_texts,
    check_values,
    check_weights,
    check_widths,
)
from bankgcn.files.checked import FileError

if TYPE_CHECKING:  # processes that only read graphs do without PyTorch
    import torch
    from torch import Tensor

    from bankgcn.data.edge_data import UnequalEdge
    from bankgcn.data.features.encodings import EncodingSpec
    from bankgcn.data.features.graph_features import GraphSpec
    from bankgcn.data.features.spec import FeatureSpec
    from bankgcn.kernels.network.flat_arrays import FlatArrays, NodeColors
    from bankgcn.kernels.network.program import Operator

KIND = "set of graphs"
"""What a file of one says it holds."""
Indices: TypeAlias = "int | slice | Sequence[int] | Sequence[bool] | NDArray[np.integer] | NDArray[np.bool_] | Tensor"


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet:
    r"""Many graphs, flat: :math:`N` nodes and :math:`E` directed edges of :math:`G` graphs, one after another.

    Build one with :meth:`from_edges`, read one with :meth:`load`. The constructor takes arrays that are already sorted
    and normalised; it checks their sizes, and that all edges, labels and classes are in range. The shift
    :math:`\tilde L` is normalised once, when the set is built. Arrays are numpy's, so that they may lie in a file;
    integers are kept in the smallest type that holds them.
    """

    node_ptr: NDArray[np.int64]  # (G + 1,): where the nodes of each graph start
    edge_ptr: NDArray[np.int64]  # (G + 1,): where the edges of each graph start
    degree: NDArray[np.unsignedinteger]  # (N,): number of neighbours
    neighbor: NDArray[np.unsignedinteger]  # (E,): neighbours of each node, numbered within their graph
    shift: NDArray[np.float32]  # (E,): entries of L~
    edge_weight: NDArray[np.float32] | None = None  # (E,): None means 1
    edge_labels: NDArray[np.unsignedinteger] | None = None  # (E, columns): columns of one-hot blocks that are 1
    edge_label_widths: tuple[int, ...] = ()  # width of each of these blocks; by default as wide as the labels need
    edge_attributes: NDArray[np.float32] | None = None  # (E, columns)
    graph_features: NDArray[np.float32] | NDArray[np.unsignedinteger] | None = None  # (G, columns); see features
    graph_spec: GraphSpec = field(default_factory=dict)  # what these columns are; see features.graph_features
    edge_spec: FeatureSpec = field(default_factory=dict)  # how the features of edges were made; see features.spec
    attributes: NDArray[np.float32] | None = None  # (N, columns)
    labels: NDArray[np.unsignedinteger] | None = None  # (N, columns): the column of a one-hot block that is 1
    label_widths: tuple[int, ...] = ()  # width of each one-hot block
    encodings: NDArray[np.float32] | None = None  # (N, columns): where nodes are in their graph; see features.encodings
    encoding_spec: EncodingSpec = field(default_factory=dict)  # which encodings these are, and their scale
    y: NDArray[np.int64] | NDArray[np.float32] | None = None  # (G,) classes, or (G,) or (G, targets) numbers
    classes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()  # names of the columns of y, where the targets are numbers
    names: tuple[str, ...] | None = None
    name: str = ""
    notes: tuple[str, ...] = ()
    feature_spec: FeatureSpec = field(default_factory=dict)  # how the node features were made; see features.spec
    skipped: tuple[tuple[int, str], ...] = ()  # rows of the source that have no graph, counted from 0, and why
    ids: tuple[str, ...] | None = None  # by which a user knows the graphs, where their names are something else: SMILES

    def __post_init__(self) -> None:
        if self.edge_labels is not None and not self.edge_label_widths:
            object.__setattr__(self, "edge_label_widths", check_widths(self.edge_labels, None))
        check_invariants(self)

    @classmethod
    def from_edges(
        cls,
        num_nodes: ArrayLike | Tensor,
        edge_index: ArrayLike | Tensor,
        *,
        attributes: ArrayLike | Tensor | None = None,
        labels: ArrayLike | Tensor | None = None,
        label_widths: int | Sequence[int] | None = None,
        edge_weight: ArrayLike | Tensor | None = None,
        edge_labels: ArrayLike | Tensor | None = None,
        edge_label_widths: int | Sequence[int] | None = None,
        edge_attributes: ArrayLike | Tensor | None = None,
        graph_features: ArrayLike | Tensor | None = None,
        edge_spec: FeatureSpec | None = None,
        y: ArrayLike | Tensor | None = None,
        classes: Sequence[str] | None = None,
        targets: Sequence[str] = (),
        names: Sequence[str] | None = None,
        name: str = "",
        symmetrise: bool = False,
        notes: Sequence[str] = (),
        feature_spec: FeatureSpec | None = None,
        skipped: Sequence[tuple[int, str]] = (),
    ) -> GraphSet:
        """A set of graphs from an edge list; all readers use it.

        Self-loops are removed, and duplicate edges are merged by adding their weights, as in ``GraphShift``; the notes
        of the set count both. Arrays of the right type are not copied.

        Args:
            num_nodes: Number of nodes of each graph, shape ``(G,)``.
            edge_index: Shape ``(2, E)``, each edge in both directions. Nodes are numbered over the whole set: those of
                a graph follow those of the graph before it.
            attributes: Numbers of each node, shape ``(N, d)`` or ``(N,)``.
            labels: Categories of each node as integers from 0, shape ``(N, c)`` or ``(N,)``.
            label_widths: Number of categories, for each column of labels, or one for all; by default one more than the
                largest label.
            edge_weight: Weight of each edge, shape ``(E,)``.
            edge_labels: Categories of each edge as integers from 0, shape ``(E, c)`` or ``(E,)``.
            edge_label_widths: Number of categories, as ``label_widths``.
            edge_attributes: Numbers of each edge, shape ``(E, m)`` or ``(E,)``.
            graph_features: Numbers of each graph, shape ``(G, f)`` or ``(G,)``; see :meth:`with_graph_features`.
            edge_spec: How labels and attributes of edges were made, if known; see :mod:`bankgcn.data.features.spec`.
            y: Class of each graph as a word or an integer from 0, shape ``(G,)``; or numbers (values, or labels 0 and
                1), shape ``(G,)`` or ``(G, T)``, in which NaN means unknown.
            classes: Names of the classes, in order of their numbers.
            targets: Names of the columns of ``y``; then integers are numbers, too, not classes.
            names: Names of the graphs.
            name: Name of the set.
            symmetrise: Whether to give both directions of an edge the larger weight of the two and the mean of their
                attributes, which the notes count; else an edge whose reverse is missing or differs in weight is an
                error. Labels stay as they are; :func:`bankgcn.data.edge_data.with_mean_edge_features` takes their mean.
            notes: What a user of these graphs must know.
            feature_spec: How the signals were made, if known; see :mod:`bankgcn.data.features.spec`.
            skipped: Rows of the source that have no graph, counted from 0, each with the reason.

        Raises:
            GraphError: The arrays contradict each other; the message names the value and where it stands.

        Example:
            >>> graphs = GraphSet.from_edges([2, 1], [[0, 1], [1, 0]], labels=[0, 1, 1], y=[0, 1])
            >>> graphs
            GraphSet(2 graphs, 3 nodes, 1 edges, 2 features, 2 classes)
            >>> next(graphs.batches(2)).x
            tensor([[1., 0.],
                    [0., 1.],
                    [0., 1.]])
        """
        node_ptr = pointers(check_num_nodes(num_nodes))
        edges = check_edge_index(edge_index)
        weight = None if edge_weight is None else check_weights(edge_weight, edges)
        kinds = None if edge_labels is None else check_labels("edge_labels", edge_labels, edges.shape[1], "edge")
        lengths = None if edge_attributes is None else check_edge_attributes(edge_attributes, edges)
        target_array, class_names = check_targets(y, classes, len(node_ptr) - 1, targets)
        beside = Columns(None, {})
        if graph_features is not None:
            beside = matrix_columns(as_array(graph_features))
        flat = flatten_edges(node_ptr, edges, weight, kinds, lengths, symmetrise)
        return cls(
            node_ptr=node_ptr,
            edge_ptr=flat.edge_ptr,
            degree=flat.degree,
            neighbor=flat.neighbor,
            shift=flat.shift,
            edge_weight=flat.weight,
            edge_labels=flat.labels,
            edge_label_widths=() if kinds is None else check_widths(kinds, edge_label_widths, "edge_labels", "edge"),
            edge_attributes=flat.attributes,
            graph_features=beside.values,
            graph_spec=beside.spec,
            edge_spec=dict(edge_spec or {}),
            y=target_array,
            classes=class_names,
            targets=tuple(map(str, targets)),
            names=None if names is None else tuple(map(str, names)),
            name=name,
            notes=(*notes, *flat.notes),
            **_check_signals(node_ptr, attributes, labels, label_widths),
            feature_spec=dict(feature_spec or {}),
            skipped=tuple(skipped),
        )

    @classmethod
    def from_networkx(cls, graphs: Sequence[Any], y: Any = None, **options: Any) -> GraphSet:
        """The graphs of a list of NetworkX graphs; see :func:`bankgcn.data.convert.from_networkx`."""
        from bankgcn.data.convert import from_networkx  # which imports this module

        return from_networkx(graphs, y, **options)

    @classmethod
    def from_pyg(cls, data_list: Sequence[Any], y: Any = None, **options: Any) -> GraphSet:
        """The graphs of a list of PyG's ``Data``; see :func:`bankgcn.data.convert.from_pyg`."""
        from bankgcn.data.convert import from_pyg

        return from_pyg(data_list, y, **options)

    @classmethod
    def from_adjacency(cls, matrices: Sequence[ArrayLike], y: Any = None, **options: Any) -> GraphSet:
        """The graphs of a list of adjacency matrices; see :func:`bankgcn.data.convert.from_adjacency`."""
        from bankgcn.data.convert import from_adjacency

        return from_adjacency(matrices, y=y, **options)

    @classmethod
    def from_smiles(cls, smiles: Sequence[str], y: Any = None, **options: Any) -> GraphSet:
        """One graph for each molecule; see :func:`bankgcn.data.readers.molecules.from_smiles`."""
        from bankgcn.data.readers.molecules import from_smiles

        return from_smiles(smiles, y, **options)

    def with_signals(
        self,
        *,
        attributes: ArrayLike | Tensor | None = None,
        labels: ArrayLike | Tensor | None = None,
        label_widths: int | Sequence[int] | None = None,
        notes: Sequence[str] = (),
        feature_spec: FeatureSpec | None = None,
    ) -> GraphSet:
        """The same graphs with these node signals instead of their own, and further notes; see :meth:`from_edges`."""
        return replace(
            self,
            **_check_signals(self.node_ptr, attributes, labels, label_widths),
            notes=(*self.notes, *notes),
            feature_spec=dict(feature_spec or {}),
        )

    def with_graph_features(self, values: Any, names: Sequence[str] = (), *, fill: bool = False) -> GraphSet:
        """The same graphs with these features of each graph, which a network takes beside the graph.

        Args:
            values: Numbers, shape ``(G, f)`` or ``(G,)``; or columns by name, such as a table of pandas or Polars or a
                dictionary of lists, in which words become one-hot columns. NaN is missing; unsigned integers are
                counts, which are not scaled. ``None`` takes the features away.
            names: Names of the columns of a matrix.
            fill: Whether the mean of the training graphs stands for a missing number.

        Raises:
            GraphError: The values are no such matrix, or have other rows.
        """
        if values is None:
            return replace(self, graph_features=None, graph_spec={})
        by_name = isinstance(values, Mapping) or hasattr(values, "columns")
        array, spec = table_columns(values, fill) if by_name else matrix_columns(as_array(values), names, fill)
        if len(array) != len(self):
            raise GraphError(f"graph_features has {len(array)} rows, but there are {len(self)} graphs")
        return replace(self, graph_features=array, graph_spec=spec)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to one safetensors file, atomically; see :mod:`bankgcn.files.tensors` for the layout."""
        from bankgcn.files.tensors import write_arrays  # loads safetensors, which a layer alone does not need

        members = {member.name: getattr(self, member.name) for member in fields(self)}
        arrays = {name: value for name, value in members.items() if isinstance(value, np.ndarray)}
        rest = {name: value for name, value in members.items() if name not in arrays}
        write_arrays(path, KIND, {**rest, "fingerprint": self.fingerprint}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = True) -> GraphSet:
        """A saved set. Its arrays are mapped into memory: read when they are used, and shared by all processes.

        Degrees, neighbours, labels and targets are read now, to check that they are in range.

        Args:
            path: The file.
            verify: Whether to read all arrays now, to compare their checksums and to check that all numbers are
                finite. Without it, a changed attribute or edge weight is not noticed.

        Raises:
            FileError: The file is of another kind, of another format, cut short or damaged, or its arrays contradict
                each other.
        """
        from bankgcn.files.tensors import read_arrays

        rest, arrays = read_arrays(path, KIND, verify)
        stored_fingerprint = rest.pop("fingerprint", None)
        members: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in rest.items()
        }
        members |= arrays
        try:
            members["skipped"] = tuple(map(tuple, members.get("skipped", ())))
            loaded = cls(**members)
            check_texts(loaded)
            if verify:
                check_values(loaded)
        except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            raise FileError(f"holds no set of graphs ({error})", path) from error
        if isinstance(stored_fingerprint, str):
            loaded.__dict__["fingerprint"] = stored_fingerprint
        return loaded

    @cached_property
    def fingerprint(self) -> str:
        """Counts and a hash of the content; see :func:`fingerprint`."""
        return fingerprint(self)

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @cached_property
    def num_nodes(self) -> NDArray[np.int64]:
        """Number of nodes of each graph, shape ``(G,)``."""
        return np.diff(self.node_ptr)

    @cached_property
    def num_directed_edges(self) -> NDArray[np.int64]:
        """Number of directed edges of each graph, shape ``(G,)``."""
        return np.diff(self.edge_ptr)

    @cached_property
    def quotient(self) -> FlatArrays:
        """The quotient graphs: nodes that colour refinement cannot distinguish are merged.

        A small set, or a part of one, stays as it is: compiling the refinement would take longer than it saves.
        """
        return _merged(self.flat, self.node_colors)

    @cached_property
    def featured_quotient(self) -> FlatArrays:
        """The quotient graphs where nodes differ if their edges have different features."""
        return _merged(self.featured, self.featured_colors)

    def arrays(self, operator: Operator, merged: bool = True) -> FlatArrays:
        """The graphs as a network with this operator takes them, by default their quotients."""
        if operator.edges:
            return self.featured_quotient if merged else self.featured
        return self.quotient if merged else self.flat

    def kinds(self, operator: Operator) -> NDArray[np.int64] | None:
        """The kinds of the nodes of the quotient graphs; ``None`` where computing with them would not be faster.

        See :mod:`bankgcn.kernels.network.kinds`.
        """
        from bankgcn.kernels.network.collate import collate
        from bankgcn.kernels.network.kinds import MIN_NODES, number_kinds

        if operator not in self._kinds:
            large = len(self.degree) >= MIN_NODES
            graphs = collate(self.arrays(operator), np.arange(len(self)), operator) if large else None
            self._kinds[operator] = None if graphs is None else number_kinds(graphs)
        return self._kinds[operator]

    @cached_property
    def _kinds(self) -> dict[Operator, NDArray[np.int64] | None]:
        return {}

    @cached_property
    def node_colors(self) -> NodeColors:
        """Colours of the nodes by colour refinement; subsets share them."""
        from bankgcn.kernels.network.flat_arrays import NodeColors

        return NodeColors.unknown(self.node_ptr)

    @cached_property
    def featured_colors(self) -> NodeColors:
        """Colours of the nodes that differ with the features of the edges; subsets share them."""
        from bankgcn.kernels.network.flat_arrays import NodeColors

        return NodeColors.unknown(self.node_ptr)

    @cached_property
    def featured(self) -> FlatArrays:
        """The fields that a network needs, with the features of the edges."""
        from bankgcn.kernels.network.flat_arrays import read_only

        key = np.zeros(len(self.neighbor), np.int64)  # a number for each row of features
        if self.edge_attributes is not None:
            key = np.unique(self.edge_attributes, axis=0, return_inverse=True)[1].reshape(-1)
        if self.edge_labels is not None:
            for column, width in enumerate(self.edge_label_widths):
                key = _numbered(key * width + self.edge_labels[:, column])[1]
        example, kind = _numbered(key)
        rows = self.edge_signals(example)
        return self.flat._replace(edge_kind=read_only(kind.astype(np.int32)), edge_features=read_only(rows))

    @cached_property
    def flat(self) -> FlatArrays:
        """The fields that a network needs, without features of edges, as arrays for the kernels."""
        from bankgcn.kernels.network.flat_arrays import FlatArrays, read_only

        nodes = len(self.degree)
        empty = np.empty(0, np.float32)
        fields: tuple[NDArray, ...] = (
            self.node_ptr,
            self.edge_ptr,
            self.degree.astype(np.int32),
            self.neighbor.astype(np.int32),
            empty if self.edge_weight is None else self.edge_weight,
            self._numbers_of_nodes(),
            np.empty((nodes, 0), np.int32) if self.labels is None else self.labels.astype(np.int32),
            self.num_encodings + self.num_attributes + pointers(np.array(self.label_widths, np.int64)),
            empty,
            np.empty(0, np.int32),
            np.empty((0, 0), np.float32),
        )
        return FlatArrays(*(read_only(array) for array in fields))

    @cached_property
    def unequal_edge(self) -> UnequalEdge | None:
        """The first edge whose two directions have different features, if there is one."""
        from bankgcn.data.edge_data import first_unequal_edge  # which imports this module

        return first_unequal_edge(self)

    @cached_property
    def largest(self) -> int:
        """Number of nodes of the largest graph."""
        return int(self.num_nodes.max(initial=0))

    @property
    def num_edges(self) -> NDArray[np.int64]:
        """Number of undirected edges of each graph, shape ``(G,)``."""
        return self.num_directed_edges // 2

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of the source that each graph comes from, counted from 0, shape ``(G,)``."""
        skipped = [row for row, _ in self.skipped]
        return np.setdiff1d(np.arange(len(self) + len(skipped)), skipped)

    @property
    def num_attributes(self) -> int:
        """Number of real-valued columns of the signals."""
        return 0 if self.attributes is None else self.attributes.shape[1]

    @property
    def num_features(self) -> int:
        """Width of the node signals: encodings, attributes and one-hot labels."""
        return self.num_encodings + self.num_attributes + sum(self.label_widths)

    @property
    def num_encodings(self) -> int:
        """Number of columns that say where a node is in its graph."""
        return 0 if self.encodings is None else self.encodings.shape[1]

    @property
    def num_edge_attributes(self) -> int:
        """Number of real-valued columns of the features of edges."""
        return 0 if self.edge_attributes is None else self.edge_attributes.shape[1]

    @property
    def num_edge_features(self) -> int:
        """Width of the features of edges: attributes and one-hot labels."""
        return self.num_edge_attributes + sum(self.edge_label_widths)

    @property
    def num_graph_features(self) -> int:
        """Number of features of each graph, as a network takes them: words have one-hot columns."""
        return num_columns(self.graph_spec)

    def graph_signals(self, graphs: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.float32]:
        """Features of these graphs, as a network takes them, shape ``(G, num_graph_features)``."""
        if self.graph_features is None:
            return np.empty((len(self.num_nodes[graphs]), 0), np.float32)
        rows = self.graph_features[graphs]
        rows = rows if is_fitted(self.graph_spec) else network_columns(rows, self.graph_spec)
        return np.ascontiguousarray(rows, np.float32)

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 where the targets are numbers or unknown."""
        return len(self.classes)

    def __getitem__(self, indices: Indices) -> GraphSet:
        """The graphs with these numbers, in this order: an integer, a slice, a list, an array or a mask.

        Consecutive graphs are not copied: a range of a mapped set stays in its file.
        """
        chosen = self._numbers(indices)
        nodes, edges = _members(self.node_ptr, chosen), _members(self.edge_ptr, chosen)
        subset = replace(
            self,
            node_ptr=pointers(self.num_nodes[chosen]),
            edge_ptr=pointers(self.num_directed_edges[chosen]),
            degree=self.degree[nodes],
            neighbor=self.neighbor[edges],
            shift=self.shift[edges],
            edge_weight=None if self.edge_weight is None else self.edge_weight[edges],
            edge_labels=None if self.edge_labels is None else self.edge_labels[edges],
            edge_attributes=None if self.edge_attributes is None else self.edge_attributes[edges],
            attributes=None if self.attributes is None else self.attributes[nodes],
            labels=None if self.labels is None else self.labels[nodes],
            encodings=None if self.encodings is None else self.encodings[nodes],
            graph_features=None if self.graph_features is None else self.graph_features[chosen],
            y=None if self.y is None else self.y[chosen],
            names=None if self.names is None else tuple(self.names[i] for i in chosen),
            ids=None if self.ids is None else tuple(self.ids[i] for i in chosen),
            skipped=(),
        )
        subset.__dict__["node_colors"] = self.node_colors.of(chosen)
        subset.__dict__["featured_colors"] = self.featured_colors.of(chosen)
        return subset

    def batch(self, indices: Indices = slice(None)) -> GraphBatch:
        """The graphs with these numbers as one batch; all of them by default."""
        return GraphBatch(self, self._numbers(indices))

    def batches(
        self, batch_size: int, shuffle: bool = False, generator: torch.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """All graphs once, in batches; the last one may be smaller.

        Args:
            batch_size: Number of graphs in a batch.
            shuffle: Whether to draw a new random order.
            generator: Source of the random order; torch's global one by default.
        """
        if not hasattr(batch_size, "__index__") or batch_size < 1:
            raise ValueError(f"batch_size={batch_size!r}: expected a whole number, at least 1")
        order = np.arange(len(self))
        if shuffle:
            import torch

            order = torch.randperm(len(self), generator=generator).numpy()
        starts = range(0, len(self), batch_size)
        return (GraphBatch(self, order[start : start + batch_size]) for start in starts)

    def signals(self, nodes: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.float32]:
        """Signals of these nodes, numbered over the whole set: encodings, attributes, labels as one-hot columns."""
        own = _expand(len(self.degree[nodes]), self.attributes, self.labels, self.label_widths, nodes)
        if self.encodings is None:
            return own
        return np.concatenate([encodings.scaled(self.encodings[nodes], self.encoding_spec), own], axis=1)

    def edge_signals(self, edges: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.float32]:
        """Features of these directed edges: attributes, then labels expanded to one-hot columns."""
        count = len(self.neighbor[edges])
        return _expand(count, self.edge_attributes, self.edge_labels, self.edge_label_widths, edges)

    def __getstate__(self) -> dict[str, Any]:
        # A copy does without what can be derived: the colours of a subset are as large as those of the whole set.
        derived = ("node_colors", "featured_colors", "flat", "featured")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __repr__(self) -> str:
        parts = [self.name] if self.name else []
        parts += [f"{len(self):,} graphs", f"{len(self.degree):,} nodes", f"{len(self.neighbor) // 2:,} edges"]
        parts += [f"{self.num_features:,} features"]
        parts += [f"{self.num_graph_features:,} features of graphs"] if self.graph_spec else []
        parts += [f"{self.num_classes} classes"] if self.classes else []
        return f"GraphSet({', '.join(parts)})"

    def _numbers_of_nodes(self) -> NDArray[np.float32]:
        """The columns of the signals that are not one-hot."""
        own = np.empty((len(self.degree), 0), np.float32) if self.attributes is None else self.attributes
        if self.encodings is None:
            return own
        return np.concatenate([encodings.scaled(self.encodings, self.encoding_spec), own], axis=1)

    def _numbers(self, indices: Indices) -> NDArray[np.int64]:
        from torch import Tensor

        index = indices.numpy() if isinstance(indices, Tensor) else indices
        return np.atleast_1d(np.arange(len(self))[index])


def _check_signals(
    node_ptr: NDArray[np.int64],
    attributes: ArrayLike | Tensor | None,
    labels: ArrayLike | Tensor | None,
    label_widths: int | Sequence[int] | None,
) -> dict[str, Any]:
    """The fields of a set that hold the signals of its nodes."""
    checked = None if labels is None else check_labels("labels", labels, int(node_ptr[-1]), "node")
    return {
        "attributes": None if attributes is None else check_attributes(attributes, node_ptr),
        "labels": checked,
        "label_widths": () if checked is None else check_widths(checked, label_widths),
    }


def _merged(arrays: FlatArrays, colors: NodeColors) -> FlatArrays:
    """The quotient graphs; small sets stay as they are."""
    from bankgcn.kernels.network.quotient import MIN_NODES, quotient

    return arrays if len(colors.color) < MIN_NODES else quotient(arrays, colors)


FEW_VALUES = 1 << 16


def _numbered(key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each different value first occurs, smallest value first, and the number of each key's value among them."""
    values = int(key.max(initial=-1)) + 1
    if values > FEW_VALUES:
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return first, number
    places = np.full(values, -1)  # counting takes a tenth of the time of sorting
    places[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    found = places >= 0
    return places[found], (np.cumsum(found) - 1)[key]


def _expand(
    count: int,
    attributes: NDArray[np.float32] | None,
    labels: NDArray[np.unsignedinteger] | None,
    widths: tuple[int, ...],
    rows: NDArray[np.integer] | slice,
) -> NDArray[np.float32]:
    """Some rows of attributes, then labels expanded to one-hot columns of these widths."""
    if labels is None and attributes is not None:
        return attributes[rows]
    start = 0 if attributes is None else attributes.shape[1]
    width = start + sum(widths)
    x = np.zeros((count, width), np.float32)
    if attributes is not None:
        x[:, :start] = attributes[rows]
    if labels is not None and widths:
        chosen = labels[rows]
        row = np.arange(0, x.size, width)  # where each row starts in the flat array: half the cost of two indices
        for column, label_width in enumerate(widths):
            x.reshape(-1)[row + start + chosen[:, column]] = 1
            start += label_width
    return x


def _members(ptr: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Positions of the chosen graphs' values in a flat array, given where each graph starts."""
    if len(chosen) and (np.diff(chosen) == 1).all():
        return slice(int(ptr[chosen[0]]), int(ptr[chosen[-1] + 1]))
    counts = ptr[chosen + 1] - ptr[chosen]
    return spans(ptr[chosen], counts, pointers(counts))


VALUES_AT_ONCE = 1 << 20


def fingerprint(graphs: GraphSet) -> str:
    """Counts of graphs, nodes and edges, and the SHA-256 of structure, signals, targets and names of classes.

    It ignores the shift and encodings, which follow from the rest and are rounded differently by different processors,
    and names and notes, which do not affect training.
    """
    digest = hashlib.sha256(json.dumps([graphs.label_widths, graphs.classes]).encode())
    content = {
        "num_nodes": graphs.num_nodes,
        "degree": graphs.degree,
        "neighbor": graphs.neighbor,
        "edge_weight": graphs.edge_weight,
        "edge_labels": graphs.edge_labels,
        "edge_attributes": graphs.edge_attributes,
        "attributes": graphs.attributes,
        "labels": graphs.labels,
        "y": graphs.y,
    }
    if graphs.edge_labels is not None and graphs.edge_label_widths != check_widths(graphs.edge_labels, None):
        digest.update(f"edge_label_widths{graphs.edge_label_widths}".encode())
    if graphs.graph_features is not None:
        digest.update(f"graph_features{json.dumps(dict(graphs.graph_spec), sort_keys=True)}".encode())
        content["graph_features"] = graphs.graph_features
    for name, array in content.items():
        if array is not None:
            digest.update(f"{name}{array.shape}{array.dtype.kind}".encode())
            _update(digest, array)
    return f"{len(graphs)}-{len(graphs.degree)}-{len(graphs.neighbor) // 2}-{digest.hexdigest()}"


def _update(digest: hashlib._Hash, array: NDArray) -> None:
    """Hash values, not bytes: integers may be stored in several widths."""
    flat = array.reshape(-1)
    dtype = "<f4" if flat.dtype.kind == "f" else "<i8"
    for start in range(0, len(flat), VALUES_AT_ONCE):
        digest.update(np.ascontiguousarray(flat[start : start + VALUES_AT_ONCE], dtype=dtype).data)
