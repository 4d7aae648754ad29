"""Features of graphs: what is fitted to training graphs, how other graphs get the same columns, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphError, GraphSet
from bankgcn.data.combine import join
from bankgcn.data.duplicates import Duplicates, merge_duplicates
from bankgcn.data.features.graph_features import (
    LIMIT,
    Columns,
    check_graph_spec,
    column_names,
    computed_columns,
    conform,
    fit,
    joined,
    needed,
    value_columns,
)
from bankgcn.files.checked import FileError

WORDS = ["b", "a", "b", "c", "a", "b"]
TEMPERATURES = [10.0, 20.0, 30.0, 40.0, 50.0, 90.0]


def single_nodes(count: int, **options) -> GraphSet:
    return GraphSet.from_edges([1] * count, np.zeros((2, 0), int), attributes=np.arange(float(count)), **options)


def measured() -> GraphSet:
    """Graphs with a temperature, an assay, and a column that is the same for all."""
    table = {"temperature": TEMPERATURES, "assay": WORDS, "plate": [7] * 6}
    return single_nodes(6).with_graph_features(table)


def with_columns(columns: Columns) -> GraphSet:
    return replace(single_nodes(len(columns.values)), graph_features=columns.values, graph_spec=columns.spec)


def test_numbers_are_scaled_by_the_training_graphs_and_words_become_columns() -> None:
    fitted = fit(measured(), slice(0, 3))
    assert column_names(fitted.graph_spec) == ["temperature", "assay=a", "assay=b"]
    drawn = np.clip(TEMPERATURES[:3], *np.quantile(TEMPERATURES[:3], (0.01, 0.99)))
    scaled = (np.array(TEMPERATURES) - drawn.mean()) / drawn.std()
    np.testing.assert_allclose(fitted.graph_features[:, 0], np.clip(scaled, -LIMIT, LIMIT), rtol=1e-6)
    np.testing.assert_array_equal(fitted.graph_features[:, 1:], [[0, 1], [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]])
    assert fitted.graph_spec["unseen"] == {"assay": ["c"]}
    (note,) = fitted.notes
    assert note == "of 3 features of the graphs, 1 is constant (plate) in the training graphs and left out"


@given(values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=30), outlier=st.floats(1e8, 1e30))
def test_values_far_from_the_mean_are_clipped(values: list[float], outlier: float) -> None:
    graphs = single_nodes(len(values) + 1).with_graph_features(np.array([*values, outlier]))
    if len({np.float32(value) for value in values}) < 2:
        return
    fitted = fit(graphs, slice(0, len(values)))
    assert np.isfinite(fitted.graph_features).all()
    assert np.abs(fitted.graph_features).max() <= LIMIT


def test_an_outlier_does_not_decide_the_scale() -> None:
    values = np.append(np.linspace(0, 1, 200), 1e6)
    fitted = fit(single_nodes(201).with_graph_features(values), slice(None))
    assert 0.2 < fitted.graph_spec["width"][0] < 0.4


def test_a_column_with_few_other_values_keeps_a_scale() -> None:
    values = np.zeros(1000)
    values[0] = 5
    fitted = fit(single_nodes(1000).with_graph_features(values), slice(None))
    assert fitted.graph_spec["width"][0] == pytest.approx(values.std())


def test_other_graphs_get_the_same_columns_whatever_the_order_of_theirs() -> None:
    fitted = fit(measured(), slice(0, 3))
    others = single_nodes(2).with_graph_features({"assay": ["c", "b"], "extra": [1, 2], "temperature": [20, 10]})
    found = conform(others, fitted.graph_spec, "new")
    np.testing.assert_array_equal(found.graph_features[:, 1:], [[0, 0], [0, 1]])
    np.testing.assert_array_equal(found.graph_features[:, 0], fitted.graph_features[[1, 0], 0])
    assert found.graph_spec == fitted.graph_spec
    assert conform(fitted, fitted.graph_spec, "same") is fitted


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"temperature": [1.0, 2.0]}, ["'assay'"]),
        ({}, ["'temperature'", "'assay'"]),
        ({"temperature": [1.0, None], "assay": ["a", "b"]}, ["'temperature'", "graph 1", "fill_features"]),
        ({"temperature": [1.0, float("inf")], "assay": ["a", "b"]}, ["'temperature'", "graph 1"]),
        ({"temperature": [1.0, 2.0], "assay": ["a", None]}, ["'assay'", "graph 1", "fill_features"]),
        ({"temperature": [1.0, 2.0], "assay": ["zz", "b"]}, ["'assay'", "graph 0", "'zz'", "(a, b)"]),
        ({"temperature": ["warm", "b"], "assay": ["a", "b"]}, ["'temperature'", "'b'", "number"]),
    ],
)
def test_what_graphs_lack_is_named(table: dict, named: list[str]) -> None:
    fitted = fit(measured(), slice(0, 3))
    graphs = single_nodes(2)
    graphs = graphs.with_graph_features(table) if table else graphs
    with pytest.raises(GraphError) as error:
        conform(graphs, fitted.graph_spec, "new")
    for part in named:
        assert part in str(error.value)


def test_missing_values_can_be_the_mean_of_the_training_graphs() -> None:
    fitted = fit(measured(), slice(0, 3))
    table = {"temperature": [None, 10.0, 10.0], "assay": ["a", None, "zz"]}
    found = conform(single_nodes(3).with_graph_features(table, fill=True), fitted.graph_spec, "new")
    assert found.graph_features[0].tolist() == [0, 1, 0]
    assert found.graph_features[1:, 1:].tolist() == [[0, 0], [0, 0]]
    assert "temperature" in found.notes[-1]


def test_descriptors_that_are_not_finite_for_training_graphs_are_left_out_and_else_filled() -> None:
    values = np.array([[1.0, np.nan, 1.0], [2.0, 1.0, 2.0], [3.0, 2.0, np.nan]])
    graphs = with_columns(computed_columns(["MolWt", "charge", "Ipc"], values, "rdkit"))
    fitted = fit(graphs, [0, 1])
    assert fitted.graph_spec["numbers"] == ["MolWt", "Ipc"]
    assert fitted.graph_features[2, 1] == 0
    assert any("not finite (charge)" in note for note in fitted.notes)
    assert needed(fitted.graph_spec) == []


def test_counts_stay_counts_and_constant_ones_are_left_out() -> None:
    counts = np.array([[0, 3, 1], [2, 3, 0], [300, 3, 5]], np.uint32)
    graphs = with_columns(computed_columns(["m0", "m1", "m2"], counts, "morgan"))
    fitted = fit(graphs, slice(None))
    assert fitted.graph_features.dtype == np.uint16
    assert fitted.graph_features.tolist() == [[0, 1], [2, 0], [300, 5]]
    assert fitted.batch().graph_attr.tolist() == [[0, 1], [2, 0], [300, 5]]


def test_parts_are_joined_kind_by_kind() -> None:
    given_columns = value_columns({"assay": ["a", "b"], "dose": [1, 2]})
    rdkit = computed_columns(["MolWt"], np.array([[5.0], [6.0]]), "rdkit")
    morgan = computed_columns(["m0"], np.array([[1], [0]], np.uint32), "morgan")
    values, spec = joined([given_columns, rdkit, morgan])
    assert spec["numbers"] == ["dose", "MolWt"]
    assert (spec["computed"], spec["descriptors"]) == (1, ["rdkit", "morgan"])
    assert values.tolist() == [[1, 5, 0, 1], [2, 6, 1, 0]]
    assert needed(spec) == ["dose", "assay"]


def test_no_column_that_varies_is_an_error() -> None:
    with pytest.raises(GraphError, match="no feature of the graphs differs"):
        fit(single_nodes(3).with_graph_features([1.0, 1.0, 2.0]), [0, 1])


def test_sets_are_joined_with_one_list_of_words() -> None:
    one = single_nodes(2).with_graph_features({"assay": ["b", "c"]})
    two = single_nodes(2).with_graph_features({"assay": ["a", "b"]})
    both = join([one, two])
    assert both.graph_spec["words"] == {"assay": ["a", "b", "c"]}
    assert both.graph_signals().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    with pytest.raises(GraphError, match="set 1"):
        join([one, single_nodes(2)])


def test_a_set_keeps_its_features_in_files_subsets_and_fingerprints(tmp_path) -> None:
    graphs = measured()
    graphs.save(tmp_path / "set")
    loaded = GraphSet.load(tmp_path / "set")
    np.testing.assert_array_equal(loaded.graph_features, graphs.graph_features)
    assert loaded.graph_spec == graphs.graph_spec
    assert loaded.fingerprint == graphs.fingerprint
    assert graphs[[4, 1]].graph_signals().tolist() == graphs.graph_signals()[[4, 1]].tolist()
    plain = graphs.with_graph_features(None)
    assert plain.fingerprint == single_nodes(6).fingerprint != graphs.fingerprint
    changed = graphs.with_graph_features({"temperature": [*TEMPERATURES[:5], 91], "assay": WORDS, "plate": [7] * 6})
    assert changed.fingerprint != graphs.fingerprint


def test_a_damaged_set_is_refused(tmp_path) -> None:
    graphs = measured()
    for values, spec in [
        (graphs.graph_features[:, :2], graphs.graph_spec),
        (graphs.graph_features[:5], graphs.graph_spec),
        (graphs.graph_features + 5, graphs.graph_spec),
        (None, graphs.graph_spec),
        (graphs.graph_features, {}),
    ]:
        with pytest.raises((GraphError, FileError)):
            replace(graphs, graph_features=values, graph_spec=spec)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"center": [0.0, 1.0]}, "center"),
        ({"center": [float("nan")]}, "center"),
        ({"width": [0.0]}, "width"),
        ({"width": ["a"]}, "width"),
        ({"numbers": "temperature"}, "numbers"),
        ({"numbers": ["assay"]}, "twice"),
        ({"words": {"assay": ["a", "a"]}}, "assay"),
        ({"words": ["a"]}, "words"),
        ({"unseen": None}, "unseen"),
        ({"counts": [1]}, "counts"),
        ({"computed": 2}, "computed"),
        ({"computed": True}, "computed"),
        ({"descriptors": "rdkit"}, "descriptors"),
        ({"fill": 1}, "fill"),
    ],
)
def test_a_wrong_spec_is_refused_by_its_entry(changes: dict, named: str) -> None:
    spec = fit(measured(), slice(0, 3)).graph_spec
    check_graph_spec(spec)
    with pytest.raises(GraphError, match=named):
        check_graph_spec({**spec, **changes})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (np.zeros((5, 2)), "5 rows"),
        (np.zeros((6, 2, 2)), r"\(6, 2, 2\)"),
        (np.array(["a"] * 6), "dtype"),
        ({"a": [1, 2]}, "2 rows"),
        ({"a": [1] * 6, "b": [1] * 5}, r"\[5, 6\]"),
        ({"a": [[1]] * 6}, "'a' of graph 0"),
    ],
)
def test_features_that_are_no_matrix_are_refused(values: object, named: str) -> None:
    with pytest.raises(GraphError, match=named):
        single_nodes(6).with_graph_features(values)


def test_equal_graphs_at_other_temperatures_stay_in_one_part_but_are_not_merged() -> None:
    graphs = GraphSet.from_edges(
        [1] * 4, np.zeros((2, 0), int), labels=[0, 0, 0, 1], y=[1.0, 2.0, 3.0, 4.0], targets=["y"]
    )
    graphs = graphs.with_graph_features([10.0, 20.0, 20.0, 20.0])
    duplicates = Duplicates.of(graphs)
    assert duplicates.first.tolist() == [0, 0, 0, 3]
    assert duplicates.contradictory == 1  # the temperature does not explain 2 and 3
    merged = merge_duplicates(graphs)
    assert merged.y.tolist() == [1.0, 2.5, 4.0]
    assert merged.graph_features[:, 0].tolist() == [10, 20, 20]


def test_two_sets_with_and_without_features_have_networks_inputs_of_their_own() -> None:
    assert single_nodes(3).batch().graph_attr is None
    assert single_nodes(3).num_graph_features == 0
    assert measured().num_graph_features == 2 + 3
