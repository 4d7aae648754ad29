"""Each column of the node features has a name."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.data.builtin import digits, mutag, smooth_or_alternating
from bankgcn.data.features.signals import TUSignals, structural_signals
from bankgcn.data.features.spec import column_names, describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.images import from_images
from bankgcn.data.readers.molecules import from_smiles


def names(graphs: GraphSet) -> list[str]:
    found = column_names(describe_features(graphs), graphs.num_features)
    assert len(set(found)) == len(found) == graphs.num_features
    return found


def test_names_follow_the_order_of_the_signals() -> None:
    assert names(mutag()) == [f"label={label}" for label in range(7)]
    star = GraphSet.from_edges([4], [[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])
    assert names(structural_signals(star)) == [
        "clustering coefficient",
        "degree=0",
        "degree=1",
        "degree=2",
        "degree>=3",
    ]
    assert names(from_images(np.random.default_rng(0).random((1, 16, 16, 3)))) == [
        "red",
        "green",
        "blue",
        "row",
        "column",
    ]
    assert names(digits()[:1])[0] == "intensity"
    assert names(smooth_or_alternating(2)) == ["feature 0"]


@pytest.mark.parametrize(("features", "column", "name"), [("raw", 0, "atomic number (index)"), ("onehot", 5, None)])
def test_atoms(features: str, column: int, name: str | None) -> None:
    graphs = from_smiles(["C"], features=features)
    found = names(graphs)
    assert found[column] == (name or "atomic number=6")
    if features == "onehot":
        assert found[int(graphs.signals()[0].argmax())] == "atomic number=6"


def test_attributes_come_before_labels_and_several_numbers_of_a_key_are_numbered() -> None:
    tu = TUSignals(columns=2, label_low=(3,), label_widths=(2,)).spec
    assert column_names(tu, 4) == ["attribute 0", "attribute 1", "label=3", "label=4"]
    named = {"kind": "named", "numbers": {"pos": 2}, "words": {"is": ["a"]}}
    assert column_names(named, 3) == ["pos 0", "pos 1", "is=a"]


def test_a_description_that_does_not_fit_gives_numbers() -> None:
    assert column_names({"kind": "structure", "max_degree": 3}, 2) == ["feature 0", "feature 1"]
