"""Convert graphs from and to PyG, NetworkX and adjacency matrices; errors name the graph and the node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from bankgcn.data import GraphError
from bankgcn.data.batch import pointers
from bankgcn.data.edge_data import edge_note, unread_notes, with_mean_edge_features
from bankgcn.data.features.node_schema import NodeError, NodeSchema, as_numbers, unreadable_keys
from bankgcn.data.graphs import GraphSet
from bankgcn.data.invariants import as_array, check_edge_index, check_rows
from bankgcn.data.options import EdgeData
from bankgcn.data.target_values import Targets, encode_targets, name_of_class, shown_number
from bankgcn.extras import require
from bankgcn.settings import pick

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

Item = TypeVar("Item")
TargetArray = ArrayLike | Tensor | None

EDGE_COLUMNS = "edge_attr"
"""What PyG calls the features of edges; so do graphs in JSON and NetworkX that come from a set."""

_LARGEST = float(np.finfo(np.float32).max)


def from_pyg(
    data_list: Sequence[Data],
    y: TargetArray = None,
    *,
    has_target: bool = True,
    edge_data: EdgeData = "any",
    name: str = "",
    symmetrise: bool = False,
) -> GraphSet:
    """The graphs of a list of PyG's ``Data``.

    Reads ``x``, ``edge_index``, ``y`` (a word or one integer is a class, several integers or real numbers are targets)
    and weights: ``edge_weight``, or an ``edge_attr`` of real numbers in one dimension. Another ``edge_attr`` has
    features of edges: columns of integers are categories, columns of real numbers are attributes. Ignores everything
    else.

    Args:
        data_list: The graphs.
        y: Class or targets of each graph; by default their ``y``, if they have it.
        has_target: False to read no targets.
        edge_data: ``"none"`` reads no features of edges, and names them in a note; see
            :class:`bankgcn.data.options.Expected`.
        name: Name of the set.
        symmetrise: Whether to add the missing reverses of edges; see :meth:`GraphSet.from_edges`.
    """
    num_nodes = [data.num_nodes for data in data_list]
    if None in num_nodes:
        raise GraphError(f"graph {num_nodes.index(None)} does not say how many nodes it has: set its num_nodes")
    edges = [
        np.zeros((2, 0), np.int64)
        if data.edge_index is None
        else check_edge_index(data.edge_index, f"graph {number}: edge_index")
        for number, data in enumerate(data_list)
    ]
    num_edges = [pairs.shape[1] for pairs in edges]
    unused = any(map(_has_other_attribute, data_list))
    carried = unused and edge_data != "none"
    made = GraphSet.from_edges(
        num_nodes,
        _number_nodes(num_nodes, edges),
        attributes=_join("x", data_list, lambda data: data.x, num_nodes, "node"),
        edge_weight=_join("edge_weight", data_list, _pyg_weight, num_edges, "edge"),
        **(_pyg_edge_features(data_list, num_edges) if carried else {}),
        **_targets(y, has_target, lambda: Targets(_join("y", data_list, _pyg_target, [1] * len(data_list), "graph"))),
        name=name,
        symmetrise=symmetrise,
        notes=edge_note([EDGE_COLUMNS] if unused and not carried else []),
    )
    return with_mean_edge_features(made) if symmetrise and carried else made


def to_pyg(graphs: GraphSet) -> list[Data]:
    """The graphs as a list of PyG's ``Data``.

    They have ``x``, ``edge_index``, ``edge_weight``, ``edge_attr`` (attributes, then labels as one-hot columns) and
    ``y`` as far as known.
    """
    require("torch_geometric", "converting to PyG's graphs")
    from torch_geometric.data import Data

    data_list = []
    for number in range(len(graphs)):
        graph = graphs.batch(number)
        fields: dict[str, Any] = {"x": graph.x} if graphs.num_features else {"num_nodes": graph.num_nodes}
        fields |= {"edge_index": graph.edge_index, "edge_weight": graph.edge_weight, EDGE_COLUMNS: graph.edge_attr}
        fields["y"] = graph.y
        data_list.append(Data(**{key: value for key, value in fields.items() if value is not None}))
    return data_list


def from_networkx(
    graphs: Sequence[nx.Graph],
    y: TargetArray = None,
    *,
    attributes: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
    schema: NodeSchema | None = None,
    has_target: bool = True,
    weight: str | None = "weight",
    edge_data: EdgeData = "any",
    edge_schema: NodeSchema | None = None,
    name: str = "",
    symmetrise: bool = False,
) -> GraphSet:
    """The graphs of a list of NetworkX graphs; numbers of the nodes become attributes, words become labels.

    The set keeps the schema as its ``feature_spec``, so that a model knows which words its columns stand for. The data
    of edges are read in the same way, apart from their weights.

    Args:
        graphs: The graphs; their nodes may be anything and keep their order.
        y: Class or targets of each graph; by default their ``graph["y"]``, if they have it: a word, a number, a list
            of numbers, or a dictionary of them by name, in which ``None`` is unknown.
        attributes: Keys of the nodes whose numbers to read; by default all that have numbers. If ``attributes`` or
            ``categories`` are given, nothing else is read.
        categories: Keys of the nodes whose words to read, by default all that have words. Numbers of these keys count
            as words.
        schema: The columns to make instead. Graphs to predict need the schema of the graphs that the model was trained
            on.
        has_target: False to read no targets.
        weight: Key of the edges' weights; an edge without it has weight 1. ``None`` reads no weights.
        edge_data: What is read of the other data of edges: ``"any"`` leaves out keys that some edges lack, or whose
            values are neither words nor numbers, and names them in a note, ``"all"`` refuses them, and ``"none"`` reads
            nothing.
        edge_schema: The columns of edges to make instead, as ``schema`` for nodes.
        name: Name of the set.
        symmetrise: Whether to make directed graphs undirected; see :meth:`GraphSet.from_edges`.
    """
    num_nodes = [graph.number_of_nodes() for graph in graphs]
    edges = [_networkx_edges(number, graph, weight) for number, graph in enumerate(graphs)]
    signals = node_signals(graphs, schema, attributes, categories)
    features: dict[str, Any] = {"notes": edge_note(_unused_edge_keys(graphs, weight))}
    if edge_data != "none" or edge_schema is not None:
        features = edge_signals(graphs, weight, edge_schema, strict=edge_data == "all")
    notes = (*signals.pop("notes", ()), *features.pop("notes", ()))
    made = GraphSet.from_edges(
        num_nodes,
        _number_nodes(num_nodes, [pairs for pairs, _ in edges]),
        **signals,
        edge_weight=np.concatenate([np.zeros(0), *(weights for _, weights in edges)]),
        **features,
        **_targets(y, has_target, lambda: _networkx_targets(graphs)),
        name=name,
        symmetrise=symmetrise,
        notes=notes,
    )
    return with_mean_edge_features(made) if symmetrise else made


def to_networkx(graphs: GraphSet) -> list[nx.Graph]:
    """The graphs as NetworkX graphs: signals as ``x`` of a node, ``weight`` of an edge, and ``y`` of the graph.

    Features of edges are the list ``edge_attr``; if both directions of an edge differ in them, the graphs are directed.
    Where the targets have names, ``y`` is a dictionary.
    """
    require("networkx", "converting to NetworkX graphs")
    import networkx as nx

    made = []
    for number in range(len(graphs)):
        batch = graphs.batch(number)
        graph = nx.Graph() if graphs.unequal_edge is None else nx.DiGraph()
        if batch.y is not None:
            y = batch.y[0]
            named = dict(zip(graphs.targets, y.reshape(-1).tolist(), strict=True)) if graphs.targets else None
            graph.graph["y"] = named or y.tolist()
        graph.add_nodes_from(range(batch.num_nodes))
        if graphs.num_features:
            nx.set_node_attributes(graph, dict(enumerate(batch.x.tolist())), "x")
        pairs = batch.edge_index.T.tolist()
        if batch.edge_weight is None:
            graph.add_edges_from(pairs)
        else:
            graph.add_weighted_edges_from(
                (i, j, w) for (i, j), w in zip(pairs, batch.edge_weight.tolist(), strict=True)
            )
        if batch.edge_attr is not None:
            carried = zip(map(tuple, pairs), batch.edge_attr.tolist(), strict=True)
            nx.set_edge_attributes(graph, dict(carried), EDGE_COLUMNS)
        made.append(graph)
    return made


def from_adjacency(
    matrices: Sequence[ArrayLike],
    attributes: Sequence[ArrayLike] | None = None,
    y: TargetArray = None,
    *,
    name: str = "",
    symmetrise: bool = False,
) -> GraphSet:
    """The graphs of a list of adjacency matrices, whose entries are the weights of the edges.

    Args:
        matrices: One square matrix per graph.
        attributes: Node signals of each graph, one row per node.
        y: Class or targets of each graph.
        name: Name of the set.
        symmetrise: Whether to make matrices symmetric; see :meth:`GraphSet.from_edges`.
    """
    dense = [np.asarray(matrix) for matrix in matrices]
    for number, matrix in enumerate(dense):
        if matrix.ndim != 2 or len(matrix) != len(matrix.T):
            raise GraphError(f"graph {number}: the matrix has shape {matrix.shape}, expected a square one")
    if attributes is not None and len(attributes) != len(dense):
        raise GraphError(f"there are {len(dense)} matrices, but attributes of {len(attributes)} graphs")
    num_nodes = [len(matrix) for matrix in dense]
    edges = [np.stack(np.nonzero(matrix)) for matrix in dense]
    weights = [matrix[tuple(pairs)] for matrix, pairs in zip(dense, edges, strict=True)]
    return GraphSet.from_edges(
        num_nodes,
        _number_nodes(num_nodes, edges),
        attributes=None if attributes is None else _join("attributes", attributes, as_array, num_nodes, "node"),
        edge_weight=np.concatenate([np.zeros(0), *weights]),
        y=y,
        name=name,
        symmetrise=symmetrise,
    )


def to_adjacency(graphs: GraphSet) -> list[NDArray[np.float32]]:
    """The matrix of edge weights of each graph."""
    matrices = []
    for number in range(len(graphs)):
        batch = graphs.batch(number)
        matrix = np.zeros((batch.num_nodes, batch.num_nodes), np.float32)
        matrix[tuple(batch.edge_index.numpy())] = 1 if batch.edge_weight is None else batch.edge_weight.numpy()
        matrices.append(matrix)
    return matrices


def _number_nodes(num_nodes: Sequence[int], edges: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """One edge list over all graphs, from lists that number the nodes of each graph from 0."""
    for graph, (count, pairs) in enumerate(zip(num_nodes, edges, strict=True)):
        for edge in np.flatnonzero(((pairs < 0) | (pairs >= count)).any(axis=0))[:1]:
            raise GraphError(
                f"graph {graph}: edge {edge} is {tuple(pairs[:, edge].tolist())}, but it has {count} nodes"
            )
    start = pointers(np.asarray(num_nodes, np.int64))[:-1].repeat([pairs.shape[1] for pairs in edges])
    return np.concatenate([np.zeros((2, 0), np.int64), *edges], axis=1).astype(np.int64) + start


def _join(
    what: str, items: Sequence[Item], take: Callable[[Item], Any], rows: Sequence[int], per: str
) -> NDArray | None:
    """Concatenate an array of each graph, which must have its number of rows; ``None`` if no graph has the array."""
    values = [take(item) for item in items]
    missing = [number for number, value in enumerate(values) if value is None]
    if len(missing) == len(values):
        return None
    if missing:
        raise GraphError(f"graph {missing[0]} has no {what}, but others have")
    arrays = [as_array(value) for value in values]
    for number, (array, count) in enumerate(zip(arrays, rows, strict=True)):
        check_rows(f"graph {number}: {what}", array, count, per)
        if array.shape[1:] != arrays[0].shape[1:]:
            raise GraphError(f"graph {number}: {what} has shape {array.shape}, graph 0 has {arrays[0].shape}")
    return np.concatenate(arrays)


def _targets(y: Any, has_target: bool, own: Callable[[], Targets]) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the given targets, or else those that the graphs have."""
    if not has_target:
        return {}
    if y is None:
        return own()._asdict()
    several = isinstance(y, list | tuple) and any(isinstance(value, list | tuple | Mapping) for value in y)
    return encode_targets(y)._asdict() if several else {"y": y}


def _pyg_weight(data: Data) -> Tensor | None:
    if data.get("edge_weight") is not None:
        return data.edge_weight
    attribute = data.get("edge_attr")
    return attribute if attribute is not None and attribute.dim() == 1 and attribute.is_floating_point() else None


def _has_other_attribute(data: Data) -> bool:
    """Whether edges have an ``edge_attr`` that is not their weight."""
    attribute = data.get(EDGE_COLUMNS)
    return attribute is not None and attribute.numel() > 0 and attribute is not _pyg_weight(data)


def _pyg_edge_features(data_list: Sequence[Data], num_edges: Sequence[int]) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for ``edge_attr``: integers are categories, others are numbers."""
    table = _join(EDGE_COLUMNS, data_list, _pyg_columns, num_edges, "edge")
    assert table is not None
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise GraphError(f"{EDGE_COLUMNS} has shape {table.shape} and dtype {table.dtype}, expected numbers (edges, m)")
    width = table.shape[1]
    if table.dtype.kind == "f":
        return {"edge_attributes": table, "edge_spec": NodeSchema({EDGE_COLUMNS: width}, {}, what="edge").spec}
    names = [EDGE_COLUMNS] if width == 1 else [f"{EDGE_COLUMNS} {column}" for column in range(width)]
    found = [np.unique(column, return_inverse=True) for column in table.astype(np.int64).T]
    words = {name: tuple(map(str, values.tolist())) for name, (values, _) in zip(names, found, strict=True)}
    schema = NodeSchema({}, words, what="edge")
    places = np.stack([place for _, place in found], axis=1)
    return {"edge_labels": places, "edge_label_widths": schema.label_widths, "edge_spec": schema.spec}


def _pyg_columns(data: Data) -> NDArray | None:
    """The features of the edges of a graph as a matrix; without edges, ``None`` and an empty one are the same."""
    attribute = data.get(EDGE_COLUMNS)
    if attribute is None:
        return None
    columns = as_array(attribute)
    return columns[:, None] if columns.ndim == 1 else columns


def _unused_edge_keys(graphs: Sequence[nx.Graph], weight: str | None) -> list[str]:
    keys = {str(key) for graph in graphs for *_, data in graph.edges(data=True) for key in data}
    return [repr(key) for key in sorted(keys - {weight})]


def _pyg_target(data: Data) -> NDArray | None:
    """The target as one row: a number as it is, several numbers as a real vector."""
    if data.y is None:
        return None
    target = as_array(data.y)
    return target.reshape(1) if target.size == 1 else target.reshape(1, -1).astype(np.float32)


def _networkx_targets(graphs: Sequence[nx.Graph]) -> Targets:
    """What the graphs have as ``graph["y"]``."""
    values = [graph.graph.get("y") for graph in graphs]
    if any(isinstance(value, list | tuple | Mapping) for value in values):
        return encode_targets(values, "values")
    array = _join("y", values, lambda value: None if value is None else np.asarray([value]), [1] * len(values), "graph")
    return Targets(array)


def _networkx_edges(
    graph_number: int, graph: nx.Graph, weight: str | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Edges as pairs of node numbers, in both directions unless the graph is directed, and their weights."""
    number = {node: place for place, node in enumerate(graph)}
    triples = [(number[i], number[j], 1 if weight is None else w) for i, j, w in graph.edges(data=weight, default=1)]
    pairs = np.array([triple[:2] for triple in triples], np.int64).reshape(-1, 2).T
    for (i, j), (*_, value) in zip(graph.edges(), triples, strict=True):
        if not isinstance(value, Real) or not 0 <= value <= _LARGEST:  # type: ignore[operator]
            shown = shown_number(value) if isinstance(value, Real) else repr(value)
            raise GraphError(
                f"graph {graph_number}: edge ({i!r}, {j!r}) has {weight} {shown}, expected a finite number that is "
                f"not negative, up to {_LARGEST:.1e} (weight=None reads no weights)"
            )
    weights = np.array([triple[2] for triple in triples], np.float64)
    if graph.is_directed():
        return pairs, weights
    return np.concatenate([pairs, pairs[::-1]], axis=1), np.concatenate([weights, weights])


def edge_signals(
    graphs: Sequence[nx.Graph], weight: str | None, schema: NodeSchema | None = None, strict: bool = False
) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the data of edges, in the order of :func:`_networkx_edges`.

    Args:
        graphs: The graphs.
        weight: Key of the weights, which are no features.
        schema: Which columns to make; by default those of these edges.
        strict: Whether a key that cannot be a feature is an error; else it is left out, with a note.

    Raises:
        GraphError: The message names the graph, the edge and the value.
    """
    edges = [
        [{str(key): value for key, value in data.items() if key != weight} for *_, data in graph.edges(data=True)]
        for graph in graphs
    ]
    notes: tuple[str, ...] = ()
    if schema is not None:
        edges = [_with_words(each, schema.categories) for each in edges]
    else:
        if strict:
            _check_kinds(graphs, edges, "edge")
        else:
            reasons = unreadable_keys(item for each in edges for item in each)
            notes = unread_notes(reasons)
            edges = [[{key: item[key] for key in item if key not in reasons} for item in each] for each in edges]
        schema = NodeSchema.infer((item for each in edges for item in each), "edge")
    attribute_rows, label_rows, copies, start = [schema.matrix([])], [schema.labels([])], [np.zeros(0, np.int64)], 0
    for number, (graph, each) in enumerate(zip(graphs, edges, strict=True)):
        try:
            attribute_rows.append(schema.matrix(each))
            label_rows.append(schema.labels(each))
        except NodeError as error:
            raise GraphError(f"graph {number}: {error}{_name(graph, error.node, 'edge')}") from error
        copies.append(np.tile(np.arange(start, start + len(each)), 1 if graph.is_directed() else 2))
        start += len(each)
    signals = schema.edge_signals(_stacked(attribute_rows), _stacked(label_rows), np.concatenate(copies))
    return {**signals, "notes": (*notes, *signals.get("notes", ()))}


Nodes = list[dict[str, Any]]  # data of the nodes of one graph, in their order


def node_signals(
    graphs: Sequence[nx.Graph],
    schema: NodeSchema | None = None,
    attributes: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Keyword arguments of ``GraphSet.from_edges`` for the node data of graphs.

    Args:
        graphs: The graphs.
        schema: Which columns to make; by default those of these nodes.
        attributes: Keys with numbers to read. If they or the categories are given, nothing else is read.
        categories: Keys with words to read; numbers count as words.

    Raises:
        GraphError: The message names the graph, the node and the value.
    """
    nodes = [
        [{str(key): value for key, value in data.items()} for _, data in graph.nodes(data=True)] for graph in graphs
    ]
    if schema is None:
        nodes = _chosen(nodes, attributes, categories)
        _check_kinds(graphs, nodes)
        schema = NodeSchema.infer(node for each in nodes for node in each)
    else:
        nodes = [_with_words(each, schema.categories) for each in nodes]
    attribute_rows, label_rows = [schema.matrix([])], [schema.labels([])]
    for number, each in enumerate(nodes):
        try:
            attribute_rows.append(schema.matrix(each))
            label_rows.append(schema.labels(each))
        except NodeError as error:
            raise GraphError(f"graph {number}: {error}{_name(graphs[number], error.node)}") from error
    return schema.signals(_stacked(attribute_rows), _stacked(label_rows))


def _stacked(parts: Sequence[NDArray | None]) -> Any:
    """The rows of all graphs; ``None`` where the schema has no such columns."""
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if present else None


def _chosen(nodes: list[Nodes], attributes: Sequence[str] | None, categories: Sequence[str] | None) -> list[Nodes]:
    """The nodes with the chosen data alone; all of it if nothing is chosen."""
    if attributes is None and categories is None:
        return nodes
    words = tuple(categories or ())
    wanted = (*(attributes or ()), *words)
    present = {key: None for each in nodes for node in each for key in node}
    for key in wanted:
        pick(present, key, "node data")
    kept = [[{key: node[key] for key in wanted if key in node} for node in each] for each in nodes]
    return [_with_words(each, words) for each in kept]


def _with_words(nodes: Nodes, keys: Iterable[str]) -> Nodes:
    """The nodes with words for the numbers of categories: ``1``, ``1.0`` and ``"1"`` are the same word."""
    number_keys = [key for key in keys if any(isinstance(node.get(key), Real | np.bool_) for node in nodes)]
    if not number_keys:
        return nodes
    return [{**node, **{key: _word(node[key]) for key in number_keys if key in node}} for node in nodes]


def _word(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return name_of_class(plain) if isinstance(plain, int | float) else value


def _check_kinds(graphs: Sequence[nx.Graph], nodes: list[Nodes], what: str = "node") -> None:
    """Raise unless each key has words everywhere, or numbers everywhere."""
    is_word: dict[str, bool] = {}
    for number, each in enumerate(nodes):
        for place, node in enumerate(each):
            for key, value in node.items():
                word = isinstance(value, str)
                if key not in is_word and not word:
                    try:
                        as_numbers(value, f"{key!r} of {what} {place}")
                    except GraphError as error:
                        raise GraphError(f"graph {number}: {error}{_name(graphs[number], place, what)}") from error
                if is_word.setdefault(key, word) != word:
                    before = "words" if is_word[key] else "numbers"
                    advice = f"; categories=[{key!r}] reads numbers as words" if what == "node" else ""
                    raise GraphError(
                        f"graph {number}: {key!r} of {what} {place} is {value!r}, but {before} came before"
                        f"{_name(graphs[number], place, what)}{advice}"
                    )


def _name(graph: nx.Graph, place: int, what: str = "node") -> str:
    """What the graph calls a node, unless it is its place; or the ends of an edge."""
    name = tuple(list(graph.edges())[place]) if what == "edge" else list(graph)[place]
    return "" if name == place else f" ({what} {place} is {name!r})"
