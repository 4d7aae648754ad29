"""New graphs are described as the training graphs were, whatever their own files happen to hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.builtin import mutag
from bankgcn.data.catalog import TUFeatures
from bankgcn.data.features.signals import structural_signals
from bankgcn.data.features.spec import check_same_features, describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected
from bankgcn.data.readers.images import Slicing, from_images
from bankgcn.data.readers.molecules import from_smiles
from bankgcn.data.readers.tu import read_tu
from bankgcn.data.sources import find_source
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))


def write_tu(folder: Path, **parts: str) -> Path:
    """A set of one edge, and of one node alone."""
    folder.mkdir()
    files = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", **parts}
    for part, text in files.items():
        (folder / f"X_{part}.txt").write_text(text)
    return folder


def through_json(graphs: GraphSet) -> dict:
    return json.loads(json.dumps(describe_features(graphs)))


def test_labels_keep_the_columns_of_training(tmp_path: Path) -> None:
    train = find_source(write_tu(tmp_path / "train", node_labels="3\n5\n7\n")).load()
    new = find_source(write_tu(tmp_path / "new", node_labels="5\n5\n7\n"))
    assert new.load().num_features == 3  # its own range: 5 would stand where 3 stood in training
    alike = new.load(expected=Expected(features=through_json(train)))
    assert alike.signals().tolist() == [[0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    assert describe_features(alike) == describe_features(train)


@pytest.mark.parametrize(("labels", "line"), [("2\n5\n7\n", 1), ("3\n5\n8\n", 3)])
def test_a_label_that_training_never_saw_is_named_with_its_line(tmp_path: Path, labels: str, line: int) -> None:
    train = find_source(write_tu(tmp_path / "train", node_labels="3\n5\n7\n")).load()
    new = find_source(write_tu(tmp_path / "new", node_labels=labels))
    with refused(FileError, "3 to 7", at=f"X_node_labels.txt:{line}"):
        new.load(expected=Expected(features=describe_features(train)))


def test_attributes_are_scaled_as_in_training(tmp_path: Path) -> None:
    features = TUFeatures(attributes="unit_range")
    train = read_tu(write_tu(tmp_path / "train", node_attributes="0\n10\n4\n"), expected=Expected(published=features))
    new = read_tu(
        write_tu(tmp_path / "new", node_attributes="5\n6\n20\n"), expected=Expected(features=through_json(train))
    )
    np.testing.assert_array_equal(new.attributes, np.float32([[0.5], [0.6], [2.0]]))
    assert any("1 nodes have attributes outside" in note for note in new.notes)
    again = read_tu(tmp_path / "train", expected=Expected(features=through_json(train)))
    np.testing.assert_array_equal(again.attributes, train.attributes)
    assert again.fingerprint == train.fingerprint


def test_other_numbers_of_columns_are_refused(tmp_path: Path) -> None:
    train = read_tu(write_tu(tmp_path / "train", node_attributes="0\n10\n4\n", node_labels="1\n2\n1\n"))
    two = write_tu(tmp_path / "two", node_attributes="0, 1\n1, 1\n1, 4\n", node_labels="1\n2\n1\n")
    with refused(FileError, "2 attributes", 1):
        read_tu(two, expected=Expected(features=describe_features(train)))
    with pytest.raises(FileError, match="X_node_attributes.txt: is missing"):
        read_tu(
            write_tu(tmp_path / "none", node_labels="1\n2\n1\n"), expected=Expected(features=describe_features(train))
        )


def test_degrees_have_the_range_of_training(tmp_path: Path) -> None:
    train = structural_signals(GraphSet.from_edges([4], [[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]]))
    new = find_source(write_tu(tmp_path / "new")).load(expected=Expected(features=through_json(train)))
    assert new.label_widths == (4,)
    pair = structural_signals(GraphSet.from_edges([2], [[0, 1], [1, 0]]), max_degree=0)
    assert any("2 nodes have more than 0 neighbours" in note for note in pair.notes)


def test_the_set_in_the_package_is_described_as_its_official_files(tmp_path: Path) -> None:
    carbon_alone = find_source(write_tu(tmp_path / "new", node_labels="0\n0\n0\n")).load(
        expected=Expected(features=describe_features(mutag()))
    )
    assert carbon_alone.label_widths == (7,)


def test_molecules_from_a_table_fit_a_model_of_molhiv(tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("smiles\nCCO\n")
    onehot = describe_features(from_smiles(["CC"], features="onehot"))
    assert find_source(table).load(expected=Expected(features=onehot)).num_features == 174


def test_signals_of_another_kind_are_refused_in_words(tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("smiles\nCCO\n")
    with pytest.raises(ValueError, match="trained on the node labels .* 7 one-hot .* but new has the nine features"):
        find_source(table).load(expected=Expected(features=describe_features(mutag())))


def test_graphs_of_unknown_origin_need_the_same_columns() -> None:
    unknown = GraphSet.from_edges([1], np.zeros((2, 0), int), labels=[0], label_widths=7)
    check_same_features(unknown, describe_features(mutag()), "mine")
    with refused(ValueError, "mine", "0 numbers", "1 one-hot"):
        check_same_features(
            GraphSet.from_edges([1], np.zeros((2, 0), int), labels=[0]), describe_features(mutag()), "mine"
        )


def test_the_feature_spec_is_kept_with_the_set(tmp_path: Path) -> None:
    mutag()[:5].save(tmp_path / "some.graphs")
    assert describe_features(GraphSet.load(tmp_path / "some.graphs")) == describe_features(mutag())


def test_words_of_nodes_keep_the_columns_of_training(tmp_path: Path) -> None:
    line = '{"nodes": [{"id": 0, "element": "%s", "charge": %s}], "edges": []}\n'
    (tmp_path / "train.jsonl").write_text(line % ("C", 1) + line % ("N", 2) + line % ("O", 3))
    (tmp_path / "new.jsonl").write_text(line % ("O", 4))
    train = find_source(tmp_path / "train.jsonl").load()
    new = find_source(tmp_path / "new.jsonl").load(expected=Expected(features=through_json(train)))
    assert new.signals().tolist() == [[4, 0, 0, 1]]
    (tmp_path / "new.jsonl").write_text(line % ("S", 4))
    with refused(FileError, "'element'", "node 0", "'S'", "C, N, O", at="new.jsonl:1"):
        find_source(tmp_path / "new.jsonl").load(expected=Expected(features=through_json(train)))


def test_any_graphs_can_be_described_by_their_structure(tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text('{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}\n')
    train = structural_signals(GraphSet.from_edges([4], [[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]]))
    assert find_source(tmp_path / "new.jsonl").load(expected=Expected(features=through_json(train))).label_widths == (
        4,
    )


def test_superpixels_of_the_benchmark_are_not_those_of_a_folder_of_images(tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    ours = from_images(np.zeros((1, 8, 8, 3), np.uint8))
    benchmark = ours.with_signals(attributes=ours.attributes, feature_spec={"kind": "superpixels"})
    for graphs, other in ((ours, benchmark), (benchmark, ours)):
        with pytest.raises(ValueError, match="trained on colour and position of superpixels"):
            check_same_features(graphs, describe_features(other), "mine")
    (tmp_path / "five.jsonl").write_text('{"nodes": [{"id": 0, "x": [1, 2, 3, 4, 5]}], "edges": []}\n')
    with refused(ValueError, "five", "x", "5 numbers"):
        find_source(tmp_path / "five.jsonl").load(expected=Expected(features=through_json(ours)))


def test_new_images_are_cut_as_those_of_training(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")
    noise = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    image.fromarray(noise).save(tmp_path / "one.png")
    train = from_images([noise], slicing=Slicing(segments=9, neighbors=2))
    new = find_source(tmp_path).load(expected=Expected(features=through_json(train)))
    assert new.fingerprint == train.fingerprint
    with refused(ValueError, 9, "mine", 150):
        check_same_features(from_images([noise]), describe_features(train), "mine")
