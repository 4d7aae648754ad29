"""Scaffolds of molecules."""

from __future__ import annotations

from bankgcn.data import GraphError
from bankgcn.data.splits import scaffolds
from refusals import refused


def test_molecules_with_the_same_rings_share_a_scaffold() -> None:
    assert scaffolds(["Cc1ccccc1O", "OCCc1ccccc1", "C1CCCCC1"]) == ["c1ccccc1", "c1ccccc1", "C1CCCCC1"]
    assert scaffolds(["c1ccccc1CCc1ccccc1C"]) == ["c1ccc(CCc2ccccc2)cc1"]


def test_molecules_without_rings_have_the_empty_scaffold() -> None:
    assert scaffolds(["CCO", "C"]) == ["", ""]


def test_a_text_that_is_no_molecule_is_named() -> None:
    with refused(GraphError, "graph 1", "'oops'"):
        scaffolds(["C", "oops"])
