"""Graphs as Python programs hold them, in one form: a row of :data:`FORMS` for each kind of list."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bankgcn.data import GraphError
from bankgcn.data.combine import join
from bankgcn.data.convert import from_networkx, from_pyg
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.molecules import atom_kind, from_smiles
from bankgcn.data.sources import READERS

SHOWN = 5  # names of columns in a message


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
        has_target=expected.has_target,
        symmetrise=options.symmetrise,
    )


def _from_pyg(graphs: Sequence[Any], options: ReadOptions, expected: Expected) -> GraphSet:
    return from_pyg(graphs, has_target=expected.has_target, symmetrise=options.symmetrise)


def _from_smiles(graphs: Sequence[Any], options: ReadOptions, expected: Expected) -> GraphSet:
    return from_smiles(graphs, features=atom_kind(options, expected))


FORMS: Mapping[str, Form] = {
    "a GraphSet": Form(lambda item: isinstance(item, GraphSet), lambda sets, options, expected: join(sets)),
    "a SMILES": Form(lambda item: isinstance(item, str), _from_smiles),
    "a NetworkX graph": Form(lambda item: hasattr(item, "nodes") and hasattr(item, "is_directed"), _from_networkx),
    "a PyG Data": Form(lambda item: hasattr(item, "edge_index") and hasattr(item, "num_nodes"), _from_pyg),
}
"""Each form by the name of an item in messages. NetworkX stands before PyG: only PyG's graphs have an edge index."""


def as_graph_set(graphs: Any, options: ReadOptions | None = None, expected: Expected | None = None) -> GraphSet:
    """One set from a set, or from a list of NetworkX graphs, PyG's ``Data``, SMILES or sets.

    Args:
        graphs: The graphs.
        options: How to read them.
        expected: What a trained model fixes. SMILES and NetworkX graphs get the features of its training graphs.

    Raises:
        GraphError: There are no graphs, or they are of an unknown form, or of several; the message names the graph.

    Example:
        >>> as_graph_set(["CCO", "c1ccccc1"])
        GraphSet(2 graphs, 9 nodes, 8 edges, 9 features)
    """
    if isinstance(graphs, GraphSet):
        return graphs
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
        if form is None:
            raise GraphError(f"graph {number} is of type {type(items[number]).__name__}, expected {' or '.join(FORMS)}")
        if form != forms[0]:
            raise GraphError(f"graph {number} is {form}, but graph 0 is {forms[0]}: expected one kind")
    convert = FORMS[str(forms[0])].convert
    return convert(items, options or ReadOptions(), expected or Expected())


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
