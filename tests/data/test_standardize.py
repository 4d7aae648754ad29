"""Standardised molecules: what changes, and that everything which reads their text again does the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.duplicates import Duplicates
from bankgcn.data.features.atoms import atom_features
from bankgcn.data.features.spec import check_spec, conform, describe_features
from bankgcn.data.options import ReadOptions
from bankgcn.data.sources import as_graph_set, load_source
from bankgcn.data.splits import scaffolds
from bankgcn.data.standardize import Changes, standardized
from bankgcn.report.page.drawing import draw_graph

SALTS = ["CC(=O)[O-].[Na+]", "CC(=O)O", "C[NH3+].[Cl-]", "CCO"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("CC(=O)[O-].[Na+]", "CC(=O)O"),
        ("[Na+].CC(=O)[O-]", "CC(=O)O"),
        ("[NH3+]c1ccccc1.[Cl-]", "Nc1ccccc1"),  # the nitrogen becomes planar
        ("c1cc[nH+]cc1", "c1ccncc1"),
        ("[NH3+]CC(=O)[O-]", "NCC(=O)O"),
        ("[13CH3]C(=O)[O-].[K+]", "[13CH3]C(=O)O"),
        ("C[C@H](N)C(=O)[O-].[Na+]", "C[C@H](N)C(=O)O"),
        ("F/C=C/C(=O)[O-].[Na+]", "F/C=C/C(=O)O"),
        ("CCO.CCCCO", "CCCCO"),
    ],
)
def test_the_atoms_are_those_of_the_standard_molecule(given: str, expected: str) -> None:
    molecule, _ = standardized(Chem.MolFromSmiles(given))
    plain = Chem.MolFromSmiles(expected)
    assert Chem.MolToSmiles(molecule) == Chem.MolToSmiles(plain)
    assert atom_features(molecule) == atom_features(plain)


def test_an_atom_that_stops_being_a_stereocentre_loses_its_hand() -> None:
    molecule, _ = standardized(Chem.MolFromSmiles("C[C@@](F)(C(=O)[O-])C(=O)O.[Na+]"))
    assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles("CC(F)(C(=O)O)C(=O)O")


@pytest.mark.parametrize("unchanged", ["CCO", "C[N+](C)(C)C", "O=[N+]([O-])c1ccccc1", "[O-][n+]1ccccc1"])
def test_charges_that_no_proton_can_balance_stay(unchanged: str) -> None:
    given = Chem.MolFromSmiles(unchanged)
    molecule, changes = standardized(given)
    assert molecule is given
    assert changes == Changes()


def test_notes_count_what_changed_and_names_stay() -> None:
    graphs = GraphSet.from_smiles(SALTS, standardize=True)
    assert graphs.names == tuple(SALTS)
    assert graphs.num_nodes.tolist() == [4, 4, 2, 3]
    note = "2 of 4 molecules changed when they were standardised: 2 lost fragments, 2 have other charges"
    assert graphs.notes[0] == note
    assert (
        "none of 1 molecules changed when they were standardised"
        in GraphSet.from_smiles(["CCO"], standardize=True).notes
    )


def test_a_set_that_is_not_standardised_is_as_it_was() -> None:
    plain = GraphSet.from_smiles(SALTS)
    assert plain.feature_spec == {"kind": "atoms", "features": "raw"}
    assert plain.num_nodes.tolist() == [5, 4, 3, 3]
    assert not any("standardised" in note for note in plain.notes)


def test_salts_of_one_molecule_are_equal_graphs() -> None:
    def repeated(standardize: bool) -> int:
        return Duplicates.of(GraphSet.from_smiles(SALTS, standardize=standardize)).repeated

    assert (repeated(False), repeated(True)) == (0, 1)


def test_salts_of_one_molecule_have_one_scaffold() -> None:
    salts = ["[O-]c1ccccc1.C1CC1", "Oc1ccccc1"]
    assert len(set(scaffolds(salts))) == 2
    assert scaffolds(salts, standardize=True) == ["c1ccccc1"] * 2


def test_a_model_of_standardised_molecules_refuses_others_and_the_other_way_round() -> None:
    plain, standard = (GraphSet.from_smiles(SALTS, standardize=each) for each in (False, True))
    for graphs, of_model in ((plain, standard), (standard, plain)):
        with pytest.raises(ValueError, match="standardised atoms"):
            conform(graphs, describe_features(of_model), "new")


def test_only_true_stands_in_the_file_of_a_model() -> None:
    spec = describe_features(GraphSet.from_smiles(SALTS, standardize=True))
    check_spec(spec, 9)
    for wrong in (False, 1, "yes"):
        with pytest.raises(ValueError, match="standardize of the signals"):
            check_spec({**spec, "standardize": wrong}, 9)


def test_all_files_of_molecules_are_standardised(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\n" + "".join(f"{each},{n}.5\n" for n, each in enumerate(SALTS)))
    (tmp_path / "m.smi").write_text("\n".join(SALTS))
    with Chem.SDWriter(str(tmp_path / "m.sdf")) as writer:
        for each in SALTS:
            writer.write(Chem.MolFromSmiles(each))
    expected = GraphSet.from_smiles(SALTS, standardize=True)
    for name in ("m.csv", "m.smi", "m.sdf"):
        graphs = load_source(tmp_path / name, standardize=True, ignore_targets=True)
        np.testing.assert_array_equal(graphs.labels, expected.labels, name)
        np.testing.assert_array_equal(graphs.attributes, expected.attributes, name)
        assert graphs.feature_spec == expected.feature_spec
        assert load_source(tmp_path / name, ignore_targets=True).num_nodes.tolist() == [5, 4, 3, 3]  # no stale cache


def test_graphs_that_are_no_molecules_cannot_be_standardised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="standardize=True has no meaning for MUTAG"):
        load_source("MUTAG", standardize=True)


def test_lists_of_smiles_are_standardised() -> None:
    graphs = as_graph_set(SALTS, ReadOptions(standardize=True))
    assert graphs.num_nodes.tolist() == [4, 4, 2, 3]
    with pytest.raises(GraphError, match="molecule 0"):
        as_graph_set(["nonsense"], ReadOptions(standardize=True))


def test_the_standard_molecule_is_drawn() -> None:
    drawing = draw_graph(GraphSet.from_smiles(SALTS, standardize=True)[[0]], SALTS[0])
    assert drawing is not None
    assert list(drawing.labels) == ["", "", "O", "OH"]
    assert sorted(drawing.orders) == [1, 1, 2]
