"""Tables through the service: CSV and JSON lines in, the same rows with predictions out."""

from __future__ import annotations

import csv
import io
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankgcn.data.features.graph_features import fit
from bankgcn.data.readers.molecules import from_smiles
from bankgcn.serve.access import Limits, RequestError
from bankgcn.serve.tables import Record, Records
from serve_runs import SMILES, Service, random_graph, running, save_run, wait_until

pytest.importorskip("rdkit")

CSV, JSON_LINES = "text/csv", "application/x-ndjson"
BAD_MOLECULE = "C1CC"


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of molecules that predicts two values."""
    return save_run(tmp_path_factory.mktemp("runs") / "molecules", from_smiles(SMILES), "values")


@pytest.fixture(scope="module")
def service(molecules: Path) -> Iterator[Service]:
    with running(molecules) as started:
        yield started


def ask(service: Service, body: bytes | Iterator[bytes], kind: str = CSV, query: str = "") -> tuple[int, str]:
    """Status and text of the answer to a table."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
    chunked = not isinstance(body, bytes)
    connection.request("POST", f"/predict{query}", body, {"Content-Type": kind}, encode_chunked=chunked)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def values(service: Service, *smiles: str) -> list[dict[str, float]]:
    """The predictions of a request in JSON."""
    return [one["values"] for one in service.predict(smiles=list(smiles))[1]["predictions"]]


def test_csv_comes_back_with_the_columns_of_predictions(service: Service) -> None:
    body = f'id;smiles;note\na;CCO;"two\nlines"\nb; {BAD_MOLECULE} ;""\n\nc;CN;x;;\n'.encode()
    status, text = ask(service, body)
    assert status == 200
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["id", "smiles", "note", "predicted_logp", "predicted_size", "unreadable"]
    assert [(row["id"], row["note"]) for row in rows] == [("a", "two\nlines"), ("b", ""), ("c", "x")]
    assert [row["unreadable"] for row in rows] == ["", "unclosed ring", ""]
    assert rows[1]["predicted_logp"] == ""
    shown = [{name: float(row[f"predicted_{name}"]) for name in ("logp", "size")} for row in (rows[0], rows[2])]
    assert shown == values(service, "CCO", "CN")


def test_json_lines_come_back_with_their_other_keys(service: Service) -> None:
    lines = [{"smiles": "CCO", "id": [1]}, {"smiles": BAD_MOLECULE}, {"smiles": None}, {"name": "none"}]
    for kind in (JSON_LINES, "application/jsonl; charset=utf-8"):
        status, text = ask(service, "\n".join(map(json.dumps, lines)).encode(), kind)
        assert status == 200
        rows = [json.loads(line) for line in text.splitlines()]
        (expected,) = values(service, "CCO")
        predicted = {f"predicted_{name}": value for name, value in expected.items()}
        assert rows[0] == {**lines[0], **predicted, "unreadable": None}
        assert rows[1] == {**lines[1], **dict.fromkeys(predicted), "unreadable": "unclosed ring"}
        assert [row["unreadable"] for row in rows[2:]] == ["is null, expected a text"] * 2


def test_features_of_molecules_are_columns_of_the_table(tmp_path: Path) -> None:
    features = {"temperature": [10.0 + k for k in range(len(SMILES))], "kind": ["a", "b"] * (len(SMILES) // 2)}
    graphs = fit(from_smiles(SMILES).with_graph_features(features), np.arange(len(SMILES)))
    with running(save_run(tmp_path / "run", graphs, "value")) as service:
        rows = list(csv.DictReader(io.StringIO(ask(service, b"kind,smiles,temperature\na,CCO,12\nb,CN,\n")[1])))
        lines = ask(service, b'{"smiles": "CCO", "temperature": 12, "kind": "a"}', JSON_LINES)[1]
        asked = {"smiles": ["CCO"], "features": [{"temperature": 12, "kind": "a"}]}
        expected = service.predict(**asked)[1]["predictions"][0]["values"]["size"]
        status, text = ask(service, b"smiles,kind\nCCO,a\n")
    assert float(rows[0]["predicted_size"]) == json.loads(lines)["predicted_size"] == expected
    assert "'temperature'" in rows[1]["unreadable"]
    assert status == 422
    assert "the model needs the feature 'temperature', and the table has no such column" in text


def test_graphs_come_as_json_lines_too(run: Path) -> None:
    graphs = [{**random_graph(4, seed), "id": seed} for seed in range(3)]
    body = "".join(json.dumps(graph) + "\n" for graph in [*graphs, {"nodes": 3}]).encode()
    with running(run) as service:
        status, text = ask(service, body, JSON_LINES)
        expected = service.predict(graphs=graphs)[1]["predictions"]
        assert ask(service, body)[0] == 415
    rows = [json.loads(line) for line in text.splitlines()]
    assert status == 200
    assert [row.get("id") for row in rows] == [0, 1, 2, None]
    assert [row["predicted"] for row in rows[:3]] == [one["class"] for one in expected]
    assert [row["p_yes"] for row in rows[:3]] == [one["probabilities"]["yes"] for one in expected]
    assert rows[3]["unreadable"] == "'nodes' is 3, not a list"
    assert "nodes" not in rows[0]


def test_the_rows_do_not_depend_on_the_parts_in_which_they_arrive(service: Service) -> None:
    body = b"smiles,id\n" + b"".join(f"{SMILES[k % len(SMILES)]},{k}\n".encode() for k in range(700))
    whole = ask(service, body)
    assert whole[0] == 200
    assert whole[1].count("\n") == 701
    for size in (977, 20_000):
        assert ask(service, (body[start : start + size] for start in range(0, len(body), size))) == whole


def test_rows_are_answered_before_the_table_has_ended(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as client:
        head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.sendall(head + chunk(b"smiles\nCCO\n"))
        answer = b""
        while b"\nCCO," not in answer:
            answer += client.recv(4096)
        client.sendall(chunk(b"CN\n") + b"0\r\n\r\n")
        while not answer.endswith(b"0\r\n\r\n"):
            answer += client.recv(4096)
    assert b"\nCN," in answer


def chunk(content: bytes) -> bytes:
    """A part of a body without a length."""
    return b"%x\r\n%b\r\n" % (len(content), content)


REFUSED: dict[str, tuple[bytes, str, int, str]] = {
    "empty": (b"", CSV, 400, "the body is empty: the first line must name the columns"),
    "no molecules": (b"id,name\n1,2\n", CSV, 422, "which column holds the molecules is not clear: name one by"),
    "two columns": (b"smiles,smiles\nC,C\n", CSV, 400, "more than one column 'smiles'"),
    "own column": (b"smiles,predicted_logp\nC,1\n", CSV, 422, "the answer would have two columns 'predicted_logp'"),
    "short row": (b"smiles,id\nC\nCC,2\n", CSV, 400, "line 2 has 1 cell(s) where the header has 2"),
    "long row": (b"smiles,id\nC,1,2\n", CSV, 400, "line 2 has 3 cell(s) where the header has 2"),
    "end in a row": (b"smiles,id\nC,1\nCC", CSV, 400, "the body ends in the middle of a row: line 3 has 1 cell(s)"),
    "end in a cell": (b'smiles\nC\n"CC', CSV, 400, "ends in the middle of a row: a quoted cell of line 3 has no end"),
    "Latin-1": (b"smiles,name\nC,\xe9\n", CSV, 400, "line 2 cannot be read as CSV in UTF-8"),
    "quotes": (b'smiles,id\n"C"x,1\n', CSV, 400, "line 2 cannot be read as CSV"),
    "no JSON": (b'{"smiles": "C"}\nC\n', JSON_LINES, 400, "line 2 is not JSON"),
    "end in JSON": (b'{"smiles": "C"}\n{"smi', JSON_LINES, 400, "ends in the middle of a row, or line 2 is not JSON"),
    "no object": (b"[1]\n", JSON_LINES, 400, "line 1 is no object"),
    "own key": (b'{"smiles": "C", "unreadable": 1}', JSON_LINES, 422, "two columns 'unreadable'"),
}


@pytest.mark.parametrize(("body", "kind", "status", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_table_is_refused_with_its_line(
    service: Service, body: bytes, kind: str, status: int, reason: str
) -> None:
    found, text = ask(service, body, kind)
    assert found == status
    assert reason in json.loads(text)["detail"]


def test_the_address_may_name_the_column_of_the_molecules(service: Service) -> None:
    assert ask(service, b"a,b\nCCO,CN\n", query="?smiles=b")[1].splitlines()[1].startswith("CCO,CN,")
    assert ask(service, b'{"b": "CN"}', JSON_LINES, "?smiles=b")[0] == 200
    status, text = ask(service, b"a,b\nCCO,CN\n", query="?smiles=c")
    assert status == 422
    assert "no column is called 'c'" in text
    assert "there are 'a', 'b'" in text


def test_an_answer_that_has_begun_ends_with_the_reason_and_without_its_end(service: Service) -> None:
    def parts() -> Iterator[bytes]:
        yield b"smiles,id\n" + b"CCO,1\n" * 3000
        yield b"CN\n"

    with closing(HTTPConnection("127.0.0.1", service.port, timeout=30)) as connection:
        connection.request("POST", "/predict", parts(), {"Content-Type": CSV}, encode_chunked=True)
        with connection.getresponse() as answer:
            assert answer.status == 200
            with pytest.raises(IncompleteRead) as caught:
                answer.read()
    last = caught.value.partial.decode().splitlines()[-1]
    assert last == ",,,,the answer ends here: line 3002 has 1 cell(s) where the header has 2"
    assert values(service, "C")


LIMITED: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "rows": ({"rows": 2}, b"smiles\nC\nC\nC\n", "a table may have 2 rows, and line 4 is one more"),
    "bytes": ({"table": 20}, b"smiles\n" + b"C\n" * 9, "the table is larger than 20 bytes"),
    "row": ({"body": 50}, b"smiles\n" + b"C" * 60 + b"\n", "the row of line 2 is longer than 50 bytes"),
}


@pytest.mark.parametrize(("limits", "body", "reason"), LIMITED.values(), ids=LIMITED)
def test_a_table_beyond_a_limit_is_refused(molecules: Path, limits: dict[str, Any], body: bytes, reason: str) -> None:
    with running(molecules, Limits(**limits)) as service:
        status, text = ask(service, body)
        assert status == 413
        assert reason in text


def test_a_row_beyond_a_limit_has_no_prediction(molecules: Path) -> None:
    with running(molecules, Limits(nodes=5)) as service:
        rows = list(csv.DictReader(io.StringIO(ask(service, b"smiles\nCCCCCC\nCC\n")[1])))
    assert [row["unreadable"] for row in rows] == ["has 6 letters, and a graph may have 5", ""]


def test_a_client_that_sends_too_slowly_is_answered(molecules: Path) -> None:
    with (
        running(molecules, Limits(seconds=0.3)) as service,
        socket.create_connection(("127.0.0.1", service.port), timeout=30) as client,
    ):
        client.sendall(b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\nContent-Length: 99\r\n\r\n")
        assert b"408" in client.recv(4096)


def test_a_client_that_leaves_within_its_table_does_no_harm(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as client:
        head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\nContent-Length: 99\r\n\r\n"
        client.sendall(head + b"smiles\nCCO\n")
        client.recv(4096)
    wait_until(lambda: 'bankgcn_requests_total{status="499"}' in service.request("GET", "/metrics")[1])
    assert values(service, "C")


def test_a_table_needs_the_token_too(molecules: Path) -> None:
    with running(molecules, token="a-token-of-many-characters") as service:
        assert ask(service, b"smiles\nC\n")[0] == 401


def test_the_document_names_the_forms_of_tables(service: Service) -> None:
    operation = service.request("GET", "/openapi.json")[1]["paths"]["/predict"]["post"]
    for content in (operation["requestBody"]["content"], operation["responses"]["200"]["content"]):
        assert {CSV, JSON_LINES, "application/jsonl"} < set(content)
    assert operation["parameters"][0]["name"] == "smiles"


def test_rows_are_cut_at_line_ends_outside_quotes() -> None:
    body = b'a,"b\nc""\n"\n\nd,e\r\nf'
    expected = [Record(1, b'a,"b\nc""\n"\n'), Record(5, b"d,e\r\n"), Record(6, b"f")]
    for size in (1, 3, 100):
        records = Records(quoted=True, longest=50)
        found = [one for start in range(0, len(body), size) for one in records.feed(body[start : start + size])]
        assert [*found, *records.end()] == expected
    with pytest.raises(RequestError, match="line 1 is longer than 4 bytes"):
        Records(quoted=False, longest=4).feed(b"abcde")
