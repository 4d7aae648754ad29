"""How node signals were made. A model that is applied to other graphs needs theirs to be made in the same way.

A spec is what JSON can hold: its ``kind``, and whatever was measured on graphs, such as the range of the labels. It
travels with a :class:`GraphSet`, and from there into the file of a trained model.
:mod:`bankgcn.data.features.refit` measures on the training graphs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

FeatureSpec = Mapping[str, Any]

_WORDS: dict[str, Callable[[FeatureSpec], str]] = {
    "tu": lambda spec: f"the node labels and attributes of a TU set, {_columns(spec)}",
    "structure": lambda spec: f"clustering coefficients and degrees up to {spec['max_degree']}",
    "atoms": lambda spec: f"the nine features of atoms ({spec['features']})",
    "named": lambda spec: f"nodes with {', '.join([*spec['numbers'], *spec['words']])}, {_columns(spec)}",
    "superpixels": lambda _: "colour and position of superpixels, cut and joined as in the CIFAR-10 benchmark",
    "images": lambda spec: (
        f"colour and position of superpixels, at most {spec['segments']} an image (compactness "
        f"{spec['compactness']:g}), each joined to the {spec['neighbors']} nearest"
    ),
    "pixels": lambda _: "intensities of pixels",
    "generated": lambda _: "generated signals",
}


def describe_features(graphs: GraphSet) -> dict[str, Any]:
    """All that graphs must share with these to be given to a model that was trained on these."""
    stored = {"attributes": graphs.num_attributes, "label_widths": list(graphs.label_widths)}
    return {**graphs.feature_spec, **stored, **layout(graphs.feature_spec)}


def layout(spec: FeatureSpec) -> dict[str, Any]:
    """How many numbers a node has, and the width of each one-hot block, where the spec decides it.

    A set may store its one-hot columns as numbers, see :func:`bankgcn.data.features.signals.signal_arrays`. The
    columns are the same, so their description is.
    """
    if spec.get("kind") == "tu":
        return {"attributes": spec["columns"], "label_widths": spec["label_widths"]}
    if spec.get("kind") == "named":
        widths = [len(words) for words in spec["words"].values()]
        return {"attributes": sum(spec["numbers"].values()), "label_widths": widths}
    return {}


def check_same_features(graphs: GraphSet, expected: FeatureSpec, name: str) -> None:
    """Raise unless the signals of these graphs were made as those that are described.

    Where nobody knows how one of the two was made, as with graphs that came from a program, the columns must agree.
    """
    own = describe_features(graphs)
    known = "kind" in own and "kind" in expected
    if own != expected and (known or any(own[key] != expected[key] for key in ("attributes", "label_widths"))):
        raise ValueError(
            f"the model was trained on {_phrase(expected)}, but {name} has {_phrase(own)}: "
            "new graphs must be described as the training graphs were"
        )


def _phrase(spec: FeatureSpec) -> str:
    """The signals as a message calls them."""
    words = _WORDS.get(spec.get("kind", ""))
    return words(spec) if words else _columns(spec)


def _columns(spec: FeatureSpec) -> str:
    return f"{spec['attributes']} numbers and {sum(spec['label_widths'])} one-hot columns a node"
