"""Descriptors of molecules: RDKit's own numbers, and counts of environments."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.features.descriptors import MORGAN_SIZE, descriptor_columns, with_descriptors
from bankgcn.data.features.graph_features import fit
from bankgcn.data.options import DESCRIPTOR_NAMES, ReadOptions

pytest.importorskip("rdkit")
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "[Na+].[Cl-]", "CCN"]


def test_rdkit_gives_its_own_list() -> None:
    from rdkit.Chem import Descriptors, MolFromSmiles

    values, spec = descriptor_columns(SMILES, ["rdkit"])
    assert spec["numbers"] == [name for name, _ in Descriptors.descList]
    place = spec["numbers"].index("MolWt")
    expected = [Descriptors.MolWt(MolFromSmiles(one)) for one in SMILES]
    np.testing.assert_allclose(values[:, place], expected, rtol=1e-6)


def test_morgan_counts_every_environment() -> None:
    values, spec = descriptor_columns(SMILES, ["morgan"])
    assert values.shape == (len(SMILES), MORGAN_SIZE)
    assert values.dtype == np.uint8
    assert values[1].sum() == 18  # six atoms with environments of radius 0, 1 and 2
    assert spec["counts"][0] == "morgan 0"


def test_both_stand_side_by_side_behind_features_that_are_given() -> None:
    graphs = GraphSet.from_smiles(SMILES).with_graph_features({"dose": [1, 2, 3, 4, 5]})
    both = with_descriptors(graphs, ReadOptions(descriptors=",".join(DESCRIPTOR_NAMES)))
    assert both.graph_spec["numbers"][:2] == ["dose", "MaxAbsEStateIndex"]
    assert both.graph_spec["descriptors"] == list(DESCRIPTOR_NAMES)
    assert with_descriptors(both, ReadOptions(descriptors="morgan")) is both
    fitted = fit(both, slice(0, 4))
    assert np.isfinite(fitted.graph_features).all()


def test_graphs_that_are_no_molecules_have_none() -> None:
    graphs = GraphSet.from_edges([1], np.zeros((2, 0), int), attributes=[1.0])
    with pytest.raises(GraphError, match='descriptors="rdkit" is for molecules'):
        with_descriptors(graphs, ReadOptions(descriptors="rdkit"))


@pytest.mark.parametrize("given", ["rdkit,morgen", "rdkit,rdkit", ","])
def test_a_family_that_there_is_not_is_named(given: str) -> None:
    with pytest.raises(ValueError, match="rdkit or morgan"):
        ReadOptions(descriptors=given)
