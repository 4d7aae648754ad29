"""How node features were made. Graphs that are given to a model need the features of its training graphs.

A ``FeatureSpec`` is JSON: its ``kind``, and what was fitted to graphs, such as the range of the labels. A
:class:`GraphSet` stores it, and the file of a trained model stores the one of its training graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet

FeatureSpec = Mapping[str, Any]

_PHRASES: dict[str, Callable[[FeatureSpec], str]] = {
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
    """The feature spec of the graphs with the number of columns: what other graphs must have for the same model."""
    stored = {"attributes": graphs.num_attributes, "label_widths": list(graphs.label_widths)}
    return {**graphs.feature_spec, **stored, **layout(graphs.feature_spec)}


def layout(spec: FeatureSpec) -> dict[str, Any]:
    """Number of attributes, and width of each one-hot block, for the kinds of features that fix them.

    A set may store its one-hot columns as attributes, see :func:`bankgcn.data.features.signals.signal_arrays`. The
    columns are the same, so the description does not change.
    """
    if spec.get("kind") == "tu":
        return {"attributes": spec["columns"], "label_widths": spec["label_widths"]}
    if spec.get("kind") == "named":
        widths = [len(words) for words in spec["words"].values()]
        return {"attributes": sum(spec["numbers"].values()), "label_widths": widths}
    return {}


def check_same_features(graphs: GraphSet, expected: FeatureSpec, name: str) -> None:
    """Raise an error unless the graphs have the expected features.

    If the kind of either is unknown, as for graphs built in Python, only the numbers of columns are compared.

    Args:
        graphs: The graphs.
        expected: :func:`describe_features` of the training graphs.
        name: Name of the graphs in the message.
    """
    own = describe_features(graphs)
    known = "kind" in own and "kind" in expected
    if own != expected and (known or any(own[key] != expected[key] for key in ("attributes", "label_widths"))):
        raise ValueError(
            f"the model was trained on {_phrase(expected)}, but {name} has {_phrase(own)}: "
            "new graphs must have the same node features as the training graphs"
        )


def _phrase(spec: FeatureSpec) -> str:
    """The features in the words of an error message."""
    phrase = _PHRASES.get(spec.get("kind", ""))
    return phrase(spec) if phrase else _columns(spec)


def _columns(spec: FeatureSpec) -> str:
    return f"{spec['attributes']} numbers and {sum(spec['label_widths'])} one-hot columns a node"
