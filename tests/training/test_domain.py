"""How near new graphs are to the training graphs, against all pairs one by one, and what was never seen there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.DataStructs import TanimotoSimilarity

from bankgcn.data.convert import from_networkx
from bankgcn.data.features.seen import joined_notes, seen_values, unseen_notes
from bankgcn.data.features.signals import with_features
from bankgcn.data.features.spec import conform, describe_features, refit
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import ReadOptions
from bankgcn.data.sources import as_graph_set
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import read_arrays, write_arrays
from bankgcn.training import domain as module
from bankgcn.training.domain import KIND, Domain

TRAIN = ["CCO", "CCN", "c1ccccc1O", "CC(=O)O", "CCCCCC"]
NEW = ["CCO", "CC[Si](C)(C)C", "c1ccccc1N", "C[NH3+]"]


def molecules(smiles: list[str], features: str = "raw") -> GraphSet:
    return as_graph_set(smiles, ReadOptions(features=features))


def never(graphs: GraphSet) -> np.ndarray:
    raise AssertionError("molecules need no network")


def test_molecules_have_the_similarity_to_the_nearest_training_molecule() -> None:
    domain = Domain.of(molecules(TRAIN), never, "split")
    assert domain is not None
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    prints = [[generator.GetFingerprint(MolFromSmiles(one)) for one in part] for part in (NEW, TRAIN)]
    expected = [max(TanimotoSimilarity(new, known) for known in prints[1]) for new in prints[0]]
    np.testing.assert_allclose(domain.nearness(molecules(NEW), never), expected, rtol=1e-12)
    assert expected[0] == 1


@pytest.mark.parametrize("features", ["raw", "onehot"])
def test_elements_and_charges_that_no_training_molecule_has_are_named(features: str) -> None:
    train, new = molecules(TRAIN, features), molecules(NEW, features)
    notes = unseen_notes(new, new, seen_values(train))
    assert [joined_notes(words) for words in notes[:3]] == [None, "element Si", None]
    assert "formal charge 1 of an atom" in notes[3]


def rings(sizes: list[int], word: str = "") -> list:
    import networkx as nx

    graphs = [nx.cycle_graph(size) for size in sizes]
    for graph in graphs if word else ():
        for node in graph:
            graph.nodes[node]["kind"] = "end" if node == 0 else word if node == 1 else "middle"
    return graphs


def test_other_graphs_have_the_percentile_of_their_distance() -> None:
    vectors = np.array([[0.0], [1.0], [3.0], [7.0]], np.float32)
    domain = Domain.of(with_features(from_networkx(rings([3, 4, 5, 6]))), lambda graphs: vectors, "split")
    assert domain is not None
    np.testing.assert_array_equal(domain.own, [1, 1, 2, 4])
    new = np.array([[0.5], [5.5], [7.0], [20.0]], np.float32)
    graphs = with_features(from_networkx(rings([3, 4, 5, 6])))
    np.testing.assert_array_equal(domain.nearness(graphs, lambda graphs: new), [0, 50, 0, 100])


def test_words_and_degrees_that_no_training_graph_has_are_named() -> None:
    import networkx as nx

    both = from_networkx([*rings([4, 5], "middle"), *rings([5], "odd")])
    fitted = refit(both, [0, 1])
    assert unseen_notes(both, fitted, {}) == [[], [], ["kind odd of a node"]]
    star = with_features(from_networkx([nx.star_graph(7)]))
    model = describe_features(with_features(from_networkx(rings([3, 4]))))
    assert unseen_notes(star, conform(star, model, "new"), {}) == [["degree 7 (at most 2 in training)"]]


def test_large_sets_keep_the_same_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOLECULES_KEPT", 3)
    first, second = (Domain.of(molecules(TRAIN), never, "") for _ in range(2))
    assert first is not None
    assert second is not None
    assert len(first.fingerprints) == 3
    np.testing.assert_array_equal(first.fingerprints, second.fingerprints)


def test_a_domain_comes_back_from_its_file_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "domain.safetensors"
    domain = Domain.of(molecules(TRAIN), never, "abc")
    assert domain is not None
    domain.save(path)
    again = Domain.load(path)
    assert (again.split, again.seen) == ("abc", domain.seen)
    np.testing.assert_array_equal(again.nearness(molecules(NEW), never), domain.nearness(molecules(NEW), never))
    fields, arrays = read_arrays(path, KIND)
    write_arrays(path, KIND, fields, {"fingerprints": arrays["fingerprints"][::-1]})
    with pytest.raises(FileError, match="not in the order"):
        Domain.load(path)
    write_arrays(path, KIND, fields, {})
    with pytest.raises(FileError, match="neither fingerprints nor vectors"):
        Domain.load(path)
    replace(domain, fingerprints=None, vectors=np.zeros((2, 1), np.float32), own=np.zeros(3)).save(path)
    with pytest.raises(FileError, match="neither fingerprints nor vectors"):
        Domain.load(path)
