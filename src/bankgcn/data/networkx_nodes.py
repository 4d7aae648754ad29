"""Node data of NetworkX graphs as columns of signals; errors name the graph and the node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.data.errors import GraphError
from bankgcn.data.features.node_schema import NodeError, NodeSchema, as_numbers
from bankgcn.data.target_values import name_of_class

if TYPE_CHECKING:
    import networkx as nx

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


def _check_kinds(graphs: Sequence[nx.Graph], nodes: list[Nodes]) -> None:
    """Raise unless each key has words everywhere, or numbers everywhere."""
    is_word: dict[str, bool] = {}
    for number, each in enumerate(nodes):
        for place, node in enumerate(each):
            for key, value in node.items():
                word = isinstance(value, str)
                if key not in is_word and not word:
                    try:
                        as_numbers(value, f"{key!r} of node {place}")
                    except GraphError as error:
                        raise GraphError(f"graph {number}: {error}{_name(graphs[number], place)}") from error
                if is_word.setdefault(key, word) != word:
                    raise GraphError(
                        f"graph {number}: {key!r} of node {place} is {value!r}, but "
                        f"{'words' if is_word[key] else 'numbers'} came before{_name(graphs[number], place)}; "
                        f"categories=[{key!r}] reads numbers as words"
                    )


def _name(graph: nx.Graph, place: int) -> str:
    """What the graph calls a node, unless it is its place."""
    name = list(graph)[place]
    return "" if name == place else f" (node {place} is {name!r})"
