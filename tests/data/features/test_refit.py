"""Signals are learned from the training graphs alone, and other graphs are described by what was learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.builtin import mutag, smooth_or_alternating
from bankgcn.data.catalog import TUFeatures
from bankgcn.data.convert import from_networkx
from bankgcn.data.features.signals import structural_signals
from bankgcn.data.features.spec import conform, describe_features, refit, same_before_fit, widened
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected
from bankgcn.data.readers.tu import read_tu
from bankgcn.data.sources import find_source
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))


def molecules(*formulas: str) -> GraphSet:
    """Chains of atoms, one letter each, numbered by their charge."""
    chains = []
    for formula in formulas:
        chain = nx.path_graph(len(formula))
        for node, element in enumerate(formula):
            chain.add_node(node, element=element, charge=node)
        chains.append(chain)
    return from_networkx(chains, name="chains")


def write_tu(folder: Path, **parts: str) -> Path:
    """Three graphs, each of one node."""
    folder.mkdir()
    files = {"A": "1, 1\n", "graph_indicator": "1\n2\n3\n", **parts}
    for part, text in files.items():
        (folder / f"X_{part}.txt").write_text(text)
    return folder


def through_json(graphs: GraphSet) -> dict[str, Any]:
    return json.loads(json.dumps(describe_features(graphs)))


def test_words_of_the_training_graphs_alone_have_columns() -> None:
    fitted = refit(molecules("CO", "NC", "S"), [1])
    assert fitted.signals().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]]  # charge, C, N
    assert "2 nodes have a category that no training graph has" in fitted.notes[-1]
    assert (fitted.feature_spec["words"], fitted.feature_spec["unseen"]) == (
        {"element": ["C", "N"]},
        {"element": ["O", "S"]},
    )
    assert fitted[[1]].signals().tolist() == [[0, 0, 1], [1, 1, 0]]


def test_other_graphs_change_nothing_for_the_training_graphs() -> None:
    few, more = (refit(molecules("CN", *others), [0]) for others in (("O",), ("SSSP", "N")))
    np.testing.assert_array_equal(few[0].signals(), more[0].signals())
    assert few.num_features == more.num_features == 3


def test_a_set_is_the_same_if_the_training_graphs_have_every_word() -> None:
    graphs = molecules("CN", "C", "N")
    assert refit(graphs, [0]) is graphs


def test_the_fitted_set_has_one_description_however_it_is_stored() -> None:
    fitted = refit(molecules("CO", "NC"), [1])
    assert fitted.labels is None  # a row of zeros has no label
    plain = conform(molecules("CN"), through_json(fitted), "new")
    assert plain.labels is not None
    assert describe_features(plain) == describe_features(fitted)
    assert plain.num_features == fitted.num_features
    assert refit(fitted, [0]) is fitted  # nobody knows which words its zeros were


def test_a_model_gets_its_own_columns_for_the_words_of_other_graphs() -> None:
    train = molecules("CNO")
    new = conform(molecules("O"), through_json(train), "new")
    assert new.signals().tolist() == [[0, 0, 0, 1]]
    with refused(GraphError, "new", "element", "node 1", "graph 1", "'P'"):
        conform(molecules("O", "CPS"), through_json(train), "new")


def test_saved_graphs_with_other_words_are_refused(tmp_path: Path) -> None:
    molecules("P", "S", "X").save(tmp_path / "new.graphs")
    with refused(GraphError, "new", "element", "node 0", "graph 0", "'P'"):
        find_source(tmp_path / "new.graphs").load(expected=Expected(features=through_json(molecules("CNO"))))


def test_other_keys_are_refused() -> None:
    sizes = from_networkx([nx.Graph()]).with_signals(
        attributes=np.zeros((0, 1)), feature_spec={"kind": "named", "numbers": {"size": 1}, "words": {}}
    )
    with refused(ValueError, "charge, element", "new", "size"):
        conform(sizes, describe_features(molecules("C")), "new")


def test_graphs_that_nobody_knows_how_were_described_get_a_note() -> None:
    unknown = GraphSet.from_edges([1], np.zeros((2, 0), int), labels=[0], label_widths=7)
    noted = conform(unknown, describe_features(mutag()), "mine")
    assert "only the number of columns was compared" in noted.notes[-1]
    assert conform(noted, describe_features(mutag()), "mine") is noted


def test_a_file_read_for_a_model_is_the_set_it_was_trained_on(tmp_path: Path) -> None:
    line = '{"nodes": [{"id": 0, "element": "%s"}, {"id": 1, "element": "C"}], "edges": []}\n'
    file = tmp_path / "own.jsonl"
    file.write_text("".join(line % element for element in "CNOS"))
    fitted = refit(find_source(file).load(), [0, 2])
    again = find_source(file).load(expected=Expected(features=through_json(fitted)))
    assert again.fingerprint == fitted.fingerprint
    assert again.notes == fitted.notes
    file.write_text(line % "N" + line % "P")
    with refused(FileError, "'element'", "node 0", "'P'", "C, O, N, S", at="own.jsonl:2"):
        find_source(file).load(expected=Expected(features=through_json(fitted)))


def test_labels_of_a_tu_set_have_the_range_of_the_training_graphs(tmp_path: Path) -> None:
    source = find_source(write_tu(tmp_path / "own", node_labels="3\n7\n5\n"))
    fitted = source.fitted(source.load(), [1, 2])
    assert fitted.signals().tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]  # for 5, 6 and 7
    assert fitted.feature_spec["unseen"] == [[3, 4, 6]]
    again = source.load(expected=Expected(features=through_json(fitted)))
    assert again.fingerprint == fitted.fingerprint
    assert conform(source.load(), through_json(fitted), "own").fingerprint == fitted.fingerprint
    new = find_source(write_tu(tmp_path / "new", node_labels="5\n6\n8\n"))
    with refused(FileError, 8, "3 to 7", at="X_node_labels.txt:3"):
        new.load(expected=Expected(features=through_json(fitted)))
    (tmp_path / "new" / "X_node_labels.txt").write_text("5\n6\n4\n")
    assert new.load(expected=Expected(features=through_json(fitted))).signals().tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]


def test_attributes_are_scaled_by_the_range_of_the_training_graphs(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "own", node_attributes="0, 1\n10, 1\n30, 3\n")
    graphs = read_tu(folder, expected=Expected(published=TUFeatures(attributes="unit_range")))
    fitted = refit(graphs, [0, 1])
    np.testing.assert_array_equal(fitted.attributes, np.float32([[0, 0], [1, 0], [3, 2]]))
    assert fitted.notes[-1] == "1 nodes have attributes outside the range of the training graphs"
    assert (fitted.feature_spec["low"], fitted.feature_spec["high"]) == ([0, 1], [10, 1])
    assert conform(graphs, through_json(fitted), "own").fingerprint == fitted.fingerprint
    np.testing.assert_array_equal(refit(fitted, [0, 2]).attributes, graphs.attributes)
    again = read_tu(folder, expected=Expected(features=through_json(fitted)))
    np.testing.assert_allclose(again.attributes, fitted.attributes, rtol=1e-6)


def test_degrees_go_up_to_the_largest_one_of_the_training_graphs() -> None:
    star_and_edge = GraphSet.from_edges([4, 2], [[0, 1, 0, 2, 0, 3, 4, 5], [1, 0, 2, 0, 3, 0, 5, 4]])
    graphs = structural_signals(star_and_edge)
    fitted = refit(graphs, [1])
    assert fitted.feature_spec == {"kind": "structure", "max_degree": 1}
    assert fitted.fingerprint == structural_signals(star_and_edge, max_degree=1).fingerprint
    assert fitted.notes == structural_signals(star_and_edge, max_degree=1).notes
    assert refit(graphs, [0, 1]) is graphs


@pytest.mark.parametrize(("name", "make"), [("MUTAG", mutag), ("smooth-or-alternating", smooth_or_alternating)])
def test_datasets_of_the_catalogue_keep_the_labels_and_ranges_of_all_graphs(name: str, make: Any) -> None:
    graphs = find_source(name).load()
    assert find_source(name).fitted(graphs, [0]) is graphs
    assert graphs.fingerprint == make().fingerprint


def test_graphs_without_nodes_or_without_a_feature_spec_stay_as_they_are() -> None:
    unknown = GraphSet.from_edges([1, 0], np.zeros((2, 0), int), labels=[3])
    assert refit(unknown, [1]) is unknown
    graphs = molecules("CN", "")
    assert refit(graphs, [1]) is graphs


def test_models_of_several_splits_have_one_description_before_the_fit(tmp_path: Path) -> None:
    one, other = (through_json(refit(molecules("CO", "NC", "S"), train)) for train in ([0, 2], [1]))
    assert one != other
    assert same_before_fit(one, other)
    assert widened(one) == widened(other) == describe_features(molecules("CO", "NC", "S"))
    assert not same_before_fit(one, describe_features(molecules("CO")))
    labels = read_tu(write_tu(tmp_path / "own", node_labels="3\n7\n5\n"))
    assert widened(describe_features(refit(labels, [1]))) == describe_features(labels)
    assert same_before_fit({}, {})
    assert not same_before_fit({}, one)
