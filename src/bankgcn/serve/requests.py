"""What a client asks, checked against the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from bankgcn.serve.access import Limits, RequestError, of_graphs
from bankgcn.serve.page import MAX_PICTURES

FORMS = ("graphs", "smiles")
"""The lists that a request may have; it has one of them."""
KEYS = (*FORMS, "features", "embeddings", "pictures", "interval", "domain")
CONTAINER = 16  # bytes of the largest body for each object or list: an empty one takes 3 there, and 70 in memory
GRAPH_WORK = 8  # what a graph costs without its nodes, in nodes


@dataclass(frozen=True)
class PredictRequest:
    """What a client asks for.

    Args:
        form: A name in ``FORMS``.
        items: The graphs: node-link documents, or SMILES.
        sizes: Number of nodes and edges of each graph, or of the letters of a SMILES. Its atoms are not more.
        embeddings: Whether the client wants the vector of each graph.
        pictures: Whether the client wants a picture of each molecule.
        features: Features of each molecule by name, such as a temperature; those of graphs are among their keys.
        interval: Level of the intervals or sets that the client wants.
        domain: Whether the client wants to know how near each graph is to the training graphs.
        by_column: Whether the answer has the cells of each row by the names of their columns, and the reasons of rows
            that cannot be predicted.
    """

    form: str
    items: list[Any]
    sizes: list[int]
    embeddings: bool = False
    pictures: bool = False
    features: list[dict[str, Any]] | None = None
    interval: float | None = None
    domain: bool = False
    by_column: bool = False

    @property
    def work(self) -> int:
        """Estimate of the work, in nodes."""
        return sum(self.sizes) + GRAPH_WORK * len(self.items)


def parse_request(body: bytes, limits: Limits) -> PredictRequest:
    """The request in a body.

    Raises:
        RequestError: It is not a request, or it is too large.
    """
    _check_containers(body, limits.body // CONTAINER)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise RequestError(422, f"the body is {_kind(content)}, expected an object with 'graphs' or 'smiles'")
    for key in content:
        if key not in KEYS:
            raise RequestError(422, f"the body has the unknown key {key[:40]!r}; known are {', '.join(KEYS)}")
    forms = [form for form in FORMS if form in content]
    if len(forms) != 1:
        raise RequestError(422, f"the body has {' and '.join(forms) or 'no graphs'}, expected 'graphs' or 'smiles'")
    items = content[forms[0]]
    for flag in ("embeddings", "pictures", "domain"):
        if not isinstance(content.get(flag, False), bool):
            raise RequestError(422, f"{flag!r} is {_kind(content[flag])}, expected true or false")
    if not isinstance(items, list) or not items:
        raise RequestError(422, f"{forms[0]!r} is {_kind(items)}, expected a list with at least one entry")
    if len(items) > limits.graphs:
        raise RequestError(413, f"there are {len(items):,} graphs, and a request may have {limits.graphs:,}")
    sizes = sizes_of(forms[0], items, limits)
    if sum(sizes) > limits.total:
        what = "nodes and edges" if forms[0] == "graphs" else "letters"
        raise RequestError(
            413, f"there are {sum(sizes):,} {what}, and a request may have {limits.total:,}: send several"
        )
    pictures = content.get("pictures", False)
    if pictures and forms[0] != "smiles":
        raise RequestError(422, "'pictures' needs 'smiles': graphs have no structural formula")
    if pictures and len(items) > MAX_PICTURES:
        raise RequestError(
            413, f"there are {len(items):,} molecules, and a request with pictures may have {MAX_PICTURES}"
        )
    features = _features(content, forms[0], len(items))
    embeddings, domain = content.get("embeddings", False), content.get("domain", False)
    return PredictRequest(forms[0], items, sizes, embeddings, pictures, features, _interval(content), domain)


def _interval(content: dict[str, Any]) -> float | None:
    """The level of the intervals that a client wants."""
    level = content.get("interval")
    if level is None:
        return None
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        shown = f"{level:g}" if isinstance(level, int | float) and not isinstance(level, bool) else _kind(level)
        raise RequestError(422, f"'interval' is {shown}, expected a share between 0 and 1, such as 0.9")
    return float(level)


def _features(content: dict[str, Any], form: str, count: int) -> list[dict[str, Any]] | None:
    """The features of molecules: an object with numbers and words for each, or ``None``."""
    features = content.get("features")
    if features is None:
        return None
    if form != "smiles":
        raise RequestError(422, "'features' stands beside 'smiles': those of graphs are keys of 'graph'")
    if not isinstance(features, list) or len(features) != count:
        found = f"{len(features)} entries" if isinstance(features, list) else _kind(features)
        raise RequestError(422, f"'features' has {found}, expected a list with an object for each of {count} molecules")
    for index, one in enumerate(features):
        if not isinstance(one, dict):
            raise RequestError(422, f"features[{index}] is {_kind(one)}, expected an object with numbers and words")
        for key, value in one.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float | str)):
                raise RequestError(
                    422, f"{key[:40]!r} of features[{index}] is {_kind(value)}, expected a number or a word"
                )
    return features


def _check_containers(body: bytes, limit: int) -> None:
    """Raise if a body would take much more memory than it has bytes; brackets in texts count, too."""
    if len(body) > limit and (count := body.count(b"{") + body.count(b"[")) > limit:
        raise RequestError(413, f"there are {count:,} objects and lists, and a request may have {limit:,}")


def sizes_of(form: str, items: list[Any], limits: Limits) -> list[int]:
    """Number of nodes and edges of each graph, or of the letters of each SMILES.

    Raises:
        RequestError: One is none, or too large.
    """
    return _SIZES[form](items, limits)


def _graph_sizes(graphs: list[Any], limits: Limits) -> list[int]:
    sizes = []
    for index, graph in enumerate(graphs):
        if not isinstance(graph, dict):
            raise of_graphs({index: f"graphs[{index}]: is {_kind(graph)}, expected an object"}, len(graphs))
        nodes, edges = (_length(graph, key) for key in ("nodes", "links" if "links" in graph else "edges"))
        _check_size(f"graphs[{index}]", nodes, edges, limits)
        sizes.append(nodes + edges)
    return sizes


def _smiles_sizes(smiles: list[Any], limits: Limits) -> list[int]:
    """Bounds of the numbers of atoms: each has at least one letter."""
    wrong = {
        index: f"smiles[{index}]: is {_kind(each)}, expected a text"
        for index, each in enumerate(smiles)
        if not isinstance(each, str)
    }
    if wrong:
        raise of_graphs(wrong, len(smiles))
    for index, each in enumerate(smiles):
        _check_size(f"smiles[{index}]", len(each), 0, limits, what="letters")
    return [len(each) for each in smiles]


def _check_size(where: str, nodes: int, edges: int, limits: Limits, what: str = "nodes") -> None:
    for count, limit, name in ((nodes, limits.nodes, what), (edges, limits.edges, "edges")):
        if count > limit:
            raise RequestError(413, f"{where}: has {count:,} {name}, and a graph may have {limit:,}")


_SIZES = {"graphs": _graph_sizes, "smiles": _smiles_sizes}


def _length(graph: dict[str, Any], key: str) -> int:
    value = graph.get(key)
    return len(value) if isinstance(value, list) else 0


def _kind(value: Any) -> str:
    """What a value is, in the words of JSON."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    names = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return "an empty list" if value == [] else names[type(value)]
