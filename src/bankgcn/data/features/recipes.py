"""How node signals were made. A model that is applied to other graphs needs theirs to be made in the same way.

A recipe is what JSON can hold: its ``kind``, and whatever was measured on graphs, such as the range of the labels. It
travels with a :class:`GraphSet`, and from there into the file of a trained model.
:mod:`bankgcn.data.features.refit` measures on the training graphs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bankgcn.data.graphs import GraphSet

Recipe = Mapping[str, Any]

_WORDS: dict[str, Callable[[Recipe], str]] = {
    "tu": lambda recipe: f"the node labels and attributes of a TU set, {_columns(recipe)}",
    "structure": lambda recipe: f"clustering coefficients and degrees up to {recipe['max_degree']}",
    "atoms": lambda recipe: f"the nine features of atoms ({recipe['features']})",
    "named": lambda recipe: f"nodes with {', '.join([*recipe['numbers'], *recipe['words']])}, {_columns(recipe)}",
    "superpixels": lambda _: "colour and position of superpixels, cut and joined as in the CIFAR-10 benchmark",
    "images": lambda recipe: (
        f"colour and position of superpixels, at most {recipe['segments']} an image (compactness "
        f"{recipe['compactness']:g}), each joined to the {recipe['neighbors']} nearest"
    ),
    "pixels": lambda _: "intensities of pixels",
    "generated": lambda _: "generated signals",
}


def description(graphs: GraphSet) -> dict[str, Any]:
    """All that graphs must share with these to be given to a model that was trained on these."""
    stored = {"attributes": graphs.num_attributes, "label_widths": list(graphs.label_widths)}
    return {**graphs.recipe, **stored, **layout(graphs.recipe)}


def layout(recipe: Recipe) -> dict[str, Any]:
    """How many numbers a node has, and the width of each one-hot block, where the recipe decides it.

    A set may store its one-hot columns as numbers, see :func:`bankgcn.data.features.signals.signal_arrays`. The
    columns are the same, so their description is.
    """
    if recipe.get("kind") == "tu":
        return {"attributes": recipe["columns"], "label_widths": recipe["label_widths"]}
    if recipe.get("kind") == "named":
        widths = [len(words) for words in recipe["words"].values()]
        return {"attributes": sum(recipe["numbers"].values()), "label_widths": widths}
    return {}


def check_alike(graphs: GraphSet, like: Recipe, name: str) -> None:
    """Raise unless the signals of these graphs were made as those that are described.

    Where nobody knows how one of the two was made, as with graphs that came from a program, the columns must agree.
    """
    own = description(graphs)
    known = "kind" in own and "kind" in like
    if own != like and (known or any(own[key] != like[key] for key in ("attributes", "label_widths"))):
        raise ValueError(
            f"the model was trained on {in_words(like)}, but {name} has {in_words(own)}: "
            "new graphs must be described as the training graphs were"
        )


def in_words(recipe: Recipe) -> str:
    """The signals as a message calls them."""
    words = _WORDS.get(recipe.get("kind", ""))
    return words(recipe) if words else _columns(recipe)


def _columns(recipe: Recipe) -> str:
    return f"{recipe['attributes']} numbers and {sum(recipe['label_widths'])} one-hot columns a node"
