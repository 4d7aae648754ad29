"""What the nodes of a graph carry, for a reader: a category with its name, a colour, or a level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.builtin.mutag import ATOMS
from bankgcn.data.graphs import GraphSet

ATOMIC_NUMBERS = {
    1: "H", 3: "Li", 5: "B", 6: "C", 7: "N", 8: "O", 9: "F", 11: "Na", 12: "Mg", 13: "Al", 14: "Si", 15: "P", 16: "S",
    17: "Cl", 19: "K", 20: "Ca", 26: "Fe", 29: "Cu", 30: "Zn", 32: "Ge", 33: "As", 34: "Se", 35: "Br", 50: "Sn",
    52: "Te", 53: "I", 80: "Hg",
}  # fmt: skip
"""Symbols of elements that molecules of datasets have; others are shown by their numbers."""


def node_signal(conformed: GraphSet, graph: GraphSet) -> dict[str, Any]:
    """What each node carries: categories with words, colours of superpixels, or else the length of the signal.

    Args:
        conformed: The graph with the features that the network takes.
        graph: The graph as it was read.
    """
    kind = graph.feature_spec.get("kind", "")
    if kind in ("superpixels", "images") and graph.attributes is not None:
        return {"colors": _hex(graph.attributes[:, :-2])}
    if kind == "pixels" and graph.attributes is not None and graph.attributes.shape[1] == 1:
        return {"colors": _hex(1 - graph.attributes)}
    words = node_words(graph)
    if words is not None:
        return {"words": words}
    x = np.linalg.norm(conformed.signals().astype(float), axis=1)
    return {"levels": x.tolist()}


def node_words(graph: GraphSet) -> list[str] | None:
    """The category of each node in words; ``None`` if nodes have no single category."""
    spec = graph.feature_spec
    if spec.get("kind") == "atoms":
        first = graph.attributes if graph.labels is None else graph.labels
        assert first is not None
        numbers = (first[:, 0].astype(int) + 1).tolist()
        return [ATOMIC_NUMBERS.get(number, str(number)) for number in numbers]
    if graph.labels is None or graph.labels.shape[1] < 1:
        return None
    values = graph.labels[:, 0].tolist()
    if graph.name == "MUTAG" and graph.label_widths == (len(ATOMS),):
        return [ATOMS[value] for value in values]
    if spec.get("kind") == "named" and spec.get("words"):
        known = list(next(iter(spec["words"].values())))
        return [str(known[value]) if value < len(known) else str(value) for value in values]
    low = (spec.get("label_low") or [0])[0] if spec.get("kind") == "tu" else 0
    return [str(value + low) for value in values]


def _hex(colors: NDArray) -> list[str]:
    """Colours in [0, 1], one or three numbers each, as a page writes them."""
    three = np.clip(np.broadcast_to(colors, (len(colors), 3)) * 255, 0, 255).round().astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in three.tolist()]
