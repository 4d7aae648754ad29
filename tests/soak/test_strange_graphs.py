"""Strange graphs through train, predict and embed: a result or a clear error, and never NaN in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.data.graphs import GraphSet
from strange import CASES, LARGE, apply_model, ring, rings, run_pipeline

SHORT = (
    "no graphs",
    "graphs without nodes",
    "one node each",
    "huge features",
    "weights from 1e-30 to 1e30",
    "a class with one graph",
    "all graphs identical",
    "huge values",
    "names with commas, quotes and line ends",
)
ERRORS = {"no graphs": "0 training graphs", "huge features": "the training diverged"}


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", SHORT)
def test_a_strange_set_is_trained_or_refused(name: str, tmp_path: Path) -> None:
    outcome = run_pipeline(CASES[name], tmp_path)
    assert ERRORS.get(name, "trained") in outcome


IN_SOAK_ALONE = "1,000,000 nodes"  # which takes a minute


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in (*CASES, *LARGE) if name not in (*SHORT, IN_SOAK_ALONE)])
def test_any_strange_set_is_trained_or_refused(name: str, tmp_path: Path) -> None:
    outcome = run_pipeline((CASES | LARGE)[name], tmp_path)
    assert outcome == "trained" or outcome.startswith("error: ")


def test_a_model_is_applied_to_strange_graphs_or_names_the_first_that_it_cannot(tmp_path: Path) -> None:
    assert run_pipeline(rings, tmp_path) == "trained"
    for name in ("one graph", "zero features", "tiny features", "weights of zero"):
        assert apply_model(tmp_path / "run", CASES[name], tmp_path) == "applied"
    refused = apply_model(tmp_path / "run", CASES["huge features"], tmp_path)
    assert "the network computes no finite numbers for graph" in refused
    assert "whose largest feature is" in refused


@st.composite
def strange_sets(draw: st.DrawFn) -> GraphSet:
    """Sets of a few rings, paths of one node and empty graphs, with features and weights of any size."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=10, max_size=16))
    starts = np.cumsum([0, *sizes])
    edges = [ring(size, start) for size, start in zip(sizes, starts[:-1], strict=True) if size > 2]
    edge_index = np.concatenate([np.zeros((2, 0), np.int64), *edges], axis=1)
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    nodes = int(starts[-1])
    attributes = draw(st.lists(numbers, min_size=nodes, max_size=nodes))
    exponent = draw(st.integers(-44, 37))
    weights = np.full(edge_index.shape[1], 10.0**exponent) if draw(st.booleans()) else None
    targets = st.one_of(
        st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)).map(np.array),
        st.lists(numbers, min_size=len(sizes), max_size=len(sizes)).map(lambda y: np.array(y, np.float64)),
    )
    features = np.array(attributes, np.float64).reshape(nodes, 1)
    return GraphSet.from_edges(sizes, edge_index, attributes=features, edge_weight=weights, y=draw(targets))


@settings(max_examples=12)
@given(graphs=strange_sets(), model=st.sampled_from(["bank", "gcn", "mlp"]))
def test_any_set_is_trained_or_refused(graphs: GraphSet, model: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = run_pipeline(lambda: graphs, tmp_path_factory.mktemp("strange"), "--model", model)
    assert outcome == "trained" or outcome.startswith("error: ")
