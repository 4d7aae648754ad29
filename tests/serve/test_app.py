"""The service as clients see it: addresses, statuses, limits and the token."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bankgcn.serve.access import Limits, RequestError
from bankgcn.serve.app import Outcome, Tally
from bankgcn.serve.engine import Answer
from bankgcn.serve.requests import PredictRequest, parse_request
from serve_runs import Service, SlowEngine, Wanted, random_graph, running, wait_until, waiting

GRAPH = random_graph(4, seed=1)
TOKEN = "a-token-of-many-characters"


def in_background(ask: Callable[[], Any], count: int) -> tuple[list[threading.Thread], list[Any]]:
    """Call a function in several threads, which add what it returns to the list."""
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(ask())) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, answers


def test_predictions_come_in_the_order_of_the_graphs(service: Service) -> None:
    other = random_graph(7, seed=2)
    status, both = service.predict(graphs=[GRAPH, other])
    assert status == 200
    assert service.predict(graphs=[other, GRAPH])[1]["predictions"] == both["predictions"][::-1]
    vectors = [one["embedding"] for one in service.predict(graphs=[GRAPH, other], embeddings=True)[1]["predictions"]]
    assert [len(vector) for vector in vectors] == [2 * 2 * 16] * 2
    assert service.predict(graphs=[other], embeddings=True)[1]["predictions"][0]["embedding"] == vectors[1]


BAD: dict[str, tuple[bytes, int, str]] = {
    "no JSON": (b'{"graphs":', 400, "the body is not JSON"),
    "not UTF-8": (b'{"graphs": ["\xff"]}', 400, "the body is not JSON"),
    "NaN": (b'{"graphs": [{"nodes": [{"id": 0, "charge": NaN}], "edges": []}]}', 400, "the body is not JSON"),
    "too deep": (b"[" * 5000 + b"]" * 5000, 400, "the body is not JSON"),
    "nothing": (b"", 400, "the body is not JSON"),
    "a list": (b"[]", 422, "the body is an empty list, expected an object with 'graphs' or 'smiles'"),
    "no graphs": (b"{}", 422, "the body has no graphs, expected 'graphs' or 'smiles'"),
    "empty": (b'{"graphs": []}', 422, "'graphs' is an empty list, expected a list with at least one entry"),
    "a graph": (b'{"graphs": {"nodes": []}}', 422, "'graphs' is an object, expected a list"),
    "both": (b'{"graphs": [1], "smiles": ["C"]}', 422, "the body has graphs and smiles"),
    "unknown key": (b'{"graphs": [{}], "embedding": true}', 422, "the body has the unknown key 'embedding'; known are"),
    "flag": (b'{"graphs": [{}], "embeddings": 1}', 422, "'embeddings' is a number, expected true or false"),
    "null": (b'{"graphs": [null]}', 422, "graphs[0]: is null, expected an object"),
    "no nodes": (b'{"graphs": [{"edges": []}]}', 422, "graphs[0]: has no list 'nodes'"),
    "no text": (b'{"smiles": ["C", 4]}', 422, "smiles[1]: is a number, expected a text"),
    "no molecules": (b'{"smiles": ["C"]}', 422, "the model takes 'graphs', not 'smiles'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_told_what_is_wrong(service: Service, name: str) -> None:
    body, expected, message = BAD[name]
    status, content, _ = service.request("POST", "/predict", body)
    assert (status, content["detail"][: len(message)]) == (expected, message)


def test_a_bad_graph_among_several_is_named(service: Service) -> None:
    wrong = json.loads(json.dumps(GRAPH))
    wrong["edges"][0]["target"] = -1
    status, content = service.predict(graphs=[GRAPH, wrong, GRAPH, {**GRAPH, "nodes": [{"id": 0}]}])
    assert status == 422
    assert [error["index"] for error in content["errors"]] == [1, 3]
    assert content["errors"][0]["message"] == "graphs[1]: edge 0 has target -1, which is not the id of a node"
    assert content["detail"] == f"{content['errors'][0]['message']} (2 of 4 graphs have errors)"


def test_messages_do_not_repeat_long_values(service: Service) -> None:
    node = {"id": 0, "charge": 0, "place": [0, 0], "element": "C" * 100_000}
    status, content = service.predict(graphs=[{"nodes": [node], "edges": []}] * 50)
    assert status == 422
    assert len(content["errors"]) == 20
    assert content["errors"][0]["message"].endswith("CCC...")
    assert len(json.dumps(content)) < 20_000


def test_other_addresses_and_methods_are_refused(service: Service) -> None:
    assert service.request("GET", "/nothing")[0] == 404
    assert service.request("GET", "/predict")[0] == 405
    assert service.request("POST", "/predict", b"{}", {"Content-Type": "text/plain"})[0] == 415


def test_the_model_the_document_and_the_page_explain_the_service(service: Service) -> None:
    assert service.request("GET", "/health")[:2] == (200, {"status": "ok"})
    model = service.request("GET", "/model")[1]
    assert (model["task"], model["outputs"], model["models"]) == ("classes", ["no", "perhaps", "yes"], 1)
    assert model["nodes"] == {"charge": "a number", "place": "2 numbers", "element": ["C", "N", "O", "Xe"]}
    document = service.request("GET", "/openapi.json")[1]
    assert set(document["paths"]) == {"/predict", "/model", "/health", "/metrics"}
    assert {"200", "400", "401", "408", "413", "415", "422", "503", "504"} == set(
        document["paths"]["/predict"]["post"]["responses"]
    )
    status, page, headers = service.request("GET", "/docs")
    assert status == 200
    assert "POST /predict" in page
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "https://" not in page


def test_the_metrics_count_requests_graphs_and_batches(run: Path) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    with running(run) as service:
        for graphs in ([GRAPH, GRAPH], [GRAPH], [{}]):
            service.predict(graphs=graphs)
        text = service.request("GET", "/metrics")[1]
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["bankgcn_requests_total", "200"] == 2
    assert samples["bankgcn_requests_total", "422"] == 1
    assert samples["bankgcn_graphs_total",] == 4
    assert samples["bankgcn_batch_requests_sum",] == samples["bankgcn_request_seconds_count",] == 3
    assert samples["bankgcn_waiting_requests",] == 0
    assert samples["process_resident_memory_bytes",] > 0


def test_sizes_beyond_the_limits_are_refused(run: Path) -> None:
    with running(run, Limits(nodes=6, edges=9, graphs=2, body=4000)) as service:
        assert service.predict(graphs=[random_graph(6, seed=0)])[0] == 200
        for graphs, message in (
            ([random_graph(7, seed=0)], "graphs[0]: has 7 nodes, and a graph may have 6"),
            ([GRAPH, {**GRAPH, "edges": GRAPH["edges"] * 9}], "graphs[1]: has"),
            ([{**GRAPH, "links": [{}] * 10}], "graphs[0]: has 10 edges, and a graph may have 9"),
            ([{}] * 3, "there are 3 graphs, and a request may have 2"),
        ):
            status, content = service.predict(graphs=graphs)
            assert (status, content["detail"][: len(message)]) == (413, message)
        status, content = service.predict(smiles=["C" * 7])
        assert (status, content["detail"]) == (413, "smiles[0]: has 7 letters, and a graph may have 6")
        status, content, _ = service.request("POST", "/predict", b" " * 4001)
        assert (status, content["detail"]) == (413, "the body is larger than 4,000 bytes")
        chunked = {"Transfer-Encoding": "chunked"}
        assert service.request("POST", "/predict", b"fa1\r\n" + b" " * 4001 + b"\r\n0\r\n\r\n", chunked)[0] == 413


@pytest.mark.parametrize("part", [b"[]", b"{}"])
def test_small_bodies_that_need_much_memory_are_refused(part: bytes) -> None:
    body = b'{"graphs": [{"nodes": [' + b",".join([part] * 5_000_000) + b"]}]}"
    tracemalloc.start()
    with pytest.raises(RequestError, match="objects and lists, and a request may have 1,048,576") as error:
        parse_request(body, Limits())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.value.status == 413
    assert most < 1 << 20


def test_requests_that_arrive_together_are_answered_together(run: Path) -> None:
    engine = SlowEngine(run)
    with running(engine) as service:
        threads, answers = in_background(lambda: service.predict(graphs=[GRAPH]), 6)
        wait_until(lambda: waiting(service) == 6)
        engine.allowed.set()
        for thread in threads:
            thread.join()
    assert [status for status, _ in answers] == [200] * 6
    assert all(content == answers[0][1] for _, content in answers)
    assert sum(engine.batches) == 6
    assert len(engine.batches) <= 3  # the first alone, perhaps, and the others while it was held up


def test_a_batch_is_bounded_by_its_work_and_answered_before_the_next(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = parse_request(json.dumps({"graphs": [GRAPH]}).encode(), Limits()).work
    monkeypatch.setattr("bankgcn.serve.batcher.CALL_NODES", 2 * work)
    engine = SlowEngine(run)
    with running(engine) as service:
        threads, answers = in_background(lambda: service.predict(graphs=[GRAPH]), 7)
        large, one = in_background(lambda: service.predict(graphs=[GRAPH] * 9), 1)
        wait_until(lambda: waiting(service) == 8)
        engine.allowed.set()
        for thread in (*threads, *large):
            thread.join()
    assert [status for status, _ in answers + one] == [200] * 8
    assert sum(engine.batches) == 8
    assert max(engine.batches) <= 2


def test_requests_that_ran_out_of_time_are_left_out(run: Path) -> None:
    engine = SlowEngine(run)
    with running(engine, Limits(seconds=1.0)) as service:
        threads, answers = in_background(lambda: service.predict(graphs=[GRAPH]), 5)
        for thread in threads:
            thread.join()
        assert [status for status, _ in answers] == [504] * 5
        engine.allowed.set()
        assert service.predict(graphs=[GRAPH])[0] == 200
    assert len(engine.batches) == 2  # what the model was held up with, and the last request
    assert engine.batches[1] == 1


def test_a_request_as_a_whole_and_all_requests_together_are_bounded(run: Path) -> None:
    with running(run, Limits(total=30, nodes=10)) as service:
        status, content = service.predict(smiles=["C" * 8] * 4)
        assert (status, content["detail"]) == (413, "there are 32 letters, and a request may have 30: send several")
        assert service.predict(graphs=[GRAPH] * 9)[0] == 413
        assert service.predict(graphs=[GRAPH])[0] == 200
    engine = SlowEngine(run)
    with running(engine, Limits(body=3000, waiting_body=5000)) as service:
        threads, answers = in_background(lambda: service.predict(graphs=[{**GRAPH, "name": "x" * 2000}]), 1)
        wait_until(lambda: waiting(service) == 1)
        status, content, headers = service.request("POST", "/predict", b" " * 2900)
        assert (status, headers["retry-after"]) == (503, "1")
        assert "too large together" in content["detail"]
        engine.allowed.set()
        threads[0].join()
        assert answers[0][0] == 200
        assert service.predict(graphs=[{**GRAPH, "name": "x" * 2000}])[0] == 200


def test_the_last_message_claims_what_was_given() -> None:
    tally = Tally()
    for outcome in ("answered", "gone"):
        tally.begin()
        tally.end(outcome)
    tally.restart()
    assert tally.summary() == "stopped: no request was under way"
    outcomes: list[Outcome] = ["answered"] * 3
    for _ in outcomes:
        tally.begin()
    for outcome in outcomes:
        tally.end(outcome)
    assert tally.summary() == "stopped: 3 requests were under way, and answered"
    tally.lose(1)
    assert tally.summary() == "stopped early: of 3 requests under way, 2 answered; 1 got no prediction"
    tally.begin()
    tally.end("gone")
    tally.begin()  # without an end
    expected = "stopped early: of 5 requests under way, 2 answered; 1 client was gone; 2 got no prediction"
    assert tally.summary() == expected


def test_a_full_queue_refuses_and_a_late_answer_is_given_up(run: Path) -> None:
    engine = SlowEngine(run)
    with running(engine, Limits(waiting=2, seconds=1.0)) as service:
        threads, answers = in_background(lambda: service.predict(graphs=[GRAPH]), 2)
        wait_until(lambda: waiting(service) == 2)
        status, content, headers = service.request("POST", "/predict", {"graphs": [GRAPH]})
        assert (status, headers["retry-after"]) == (503, "1")
        assert "too many requests" in content["detail"]
        assert service.request("GET", "/health")[0] == 200
        for thread in threads:
            thread.join()
        assert [status for status, _ in answers] == [504, 504]
        engine.allowed.set()
        wait_until(lambda: service.predict(graphs=[GRAPH])[0] == 200)


def test_an_unforeseen_error_fails_one_request_alone(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(SlowEngine):
        def answer(self, requests: Sequence[PredictRequest], wanted: Wanted = lambda number: True) -> list[Answer]:
            answers = super().answer(requests, wanted)
            if any(len(request.items) == 2 for request in requests):
                raise RuntimeError("unforeseen")
            return answers

    engine = Faulty(run)
    with running(engine) as service:
        good, fine = in_background(lambda: service.predict(graphs=[GRAPH]), 3)
        bad, failed = in_background(lambda: service.predict(graphs=[GRAPH, GRAPH]), 1)
        wait_until(lambda: waiting(service) == 4)
        engine.allowed.set()
        for thread in (*good, *bad):
            thread.join()
    assert [status for status, _ in fine] == [200] * 3
    assert failed == [(500, {"detail": "the service failed; its log says why"})]
    assert "unforeseen" in caplog.text


def test_a_token_guards_everything_but_the_health(run: Path) -> None:
    with running(run, token=TOKEN) as service:
        body = {"graphs": [GRAPH]}
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer é"}):
            for method, path, sent in (("POST", "/predict", body), ("GET", "/model", None), ("GET", "/metrics", None)):
                status, content, headers = service.request(method, path, sent, header)
                assert (status, headers["www-authenticate"]) == (401, "Bearer")
                assert TOKEN not in json.dumps(content)
        allowed = {"Authorization": f"Bearer {TOKEN}"}
        assert service.request("POST", "/predict", body, allowed)[0] == 200
        assert service.request("GET", "/model", None, allowed)[0] == 200
        assert service.request("GET", "/health")[0] == 200
        document = service.request("GET", "/openapi.json")[1]
        assert document["paths"]["/predict"]["post"]["security"] == [{"token": []}]
        assert "security" not in document["paths"]["/health"]["get"]
        assert "Authorization: Bearer TOKEN" in service.request("GET", "/docs")[1]
