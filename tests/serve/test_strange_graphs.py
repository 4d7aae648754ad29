"""Strange graphs get a result or an error of the client, and no answer has NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve_runs import Service, running, save_run, training_graphs

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, -1, 1e-45, 1e30, 3e38, -3e38, 1e300, 10**400, True]),
    st.integers(-(2**70), 2**70),
)
WEIGHTS = st.one_of(st.floats(-30, 30).map(lambda power: 10**power), NUMBERS)
IDS = st.one_of(st.integers(-2, 6), st.sampled_from(["a", "", 1.0, None, True, -1, 2**64]))
VALUES = st.one_of(NUMBERS, st.none(), st.text(max_size=3), st.lists(NUMBERS, max_size=3), st.just({}))
NODES = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "charge": st.one_of(NUMBERS, VALUES),
        "place": st.one_of(st.lists(NUMBERS, min_size=2, max_size=2), VALUES),
        "element": st.one_of(st.sampled_from(["C", "N", "O", "Xe"]), VALUES),
    },
)
EDGES = st.fixed_dictionaries({"source": IDS, "target": IDS}, optional={"weight": WEIGHTS})
FLAGS = {"directed": st.booleans(), "multigraph": st.booleans(), "graph": VALUES}
ANY = st.fixed_dictionaries(
    {"nodes": st.lists(NODES, max_size=5), "edges": st.lists(EDGES, max_size=6)}, optional=FLAGS
)


@st.composite
def valid(draw: st.DrawFn) -> dict[str, Any]:
    """Graphs of the right form, with extreme numbers, loops and edges that are listed twice."""
    count = draw(st.integers(0, 6))
    finite = st.floats(-3e38, 3e38)
    nodes = [
        {
            "id": n,
            "charge": draw(finite),
            "place": [draw(finite), draw(finite)],
            "element": draw(st.sampled_from("CNO")),
        }
        for n in range(count)
    ]
    ends = st.integers(0, max(count - 1, 0))
    powers = st.floats(-30, 30).map(lambda power: 10**power)
    edges = draw(st.lists(st.fixed_dictionaries({"source": ends, "target": ends, "weight": powers}), max_size=8))
    return {"nodes": nodes, "edges": edges if count else [], "multigraph": True}


@pytest.fixture(scope="module", params=["classes", "values"])
def any_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    options: dict[str, Any] = {"normalize": "none"} if request.param == "values" else {}
    folder: Path = tmp_path_factory.mktemp("runs")
    with running(save_run(folder / "run", training_graphs(), request.param, **options)) as started:
        yield started


def check(service: Service, graphs: list[Any]) -> int:
    body = json.dumps({"graphs": graphs, "embeddings": True}).encode()
    status, content, _ = service.request("POST", "/predict", body)
    if status == 200:
        for shown in content["predictions"]:
            numbers = [*shown["embedding"], *(shown.get("values") or shown["probabilities"]).values()]
            assert all(isinstance(number, float | int) and math.isfinite(number) for number in numbers)
    else:
        assert status in (400, 422), content
        assert content["detail"]
    return status


@given(st.lists(st.one_of(ANY, VALUES), min_size=1, max_size=3))
@example([{"nodes": [], "edges": []}])
@example([{"nodes": [{"id": 0, "charge": 1e39, "place": [0, 0], "element": "C"}], "edges": []}])
def test_anything_gets_a_result_or_a_reason(any_service: Service, graphs: list[Any]) -> None:
    check(any_service, graphs)


@given(st.lists(valid(), min_size=1, max_size=3))
def test_extreme_numbers_give_finite_answers_or_a_reason(any_service: Service, graphs: list[Any]) -> None:
    check(any_service, graphs)


def test_small_graphs_have_predictions(any_service: Service) -> None:
    node = {"charge": 0.5, "place": [1, -1], "element": "Xe"}
    loop = {"source": 0, "target": 0}
    for graph in (
        {"nodes": [], "edges": []},
        {"nodes": [{"id": 0, **node}], "edges": []},
        {"nodes": [{"id": 0, **node}], "edges": [loop]},
        {"nodes": [{"id": 0, **node}, {"id": 1, **node}], "edges": []},
        {"nodes": [{"id": 0, **node}, {"id": 1, **node}], "edges": [{"source": 0, "target": 1, "weight": 0}]},
        {"nodes": [{"id": 0, **node}, {"id": 1, **node}], "edges": [{"source": 0, "target": 1, "weight": 1e-30}] * 3},
    ):
        assert check(any_service, [graph]) == 200
