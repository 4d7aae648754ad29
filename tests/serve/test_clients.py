"""Slow, broken and oversized clients do not hold up others, and a stop answers what was accepted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bankgcn.serve.access import Limits
from bankgcn.serve.app import make_app
from bankgcn.serve.engine import Engine
from bankgcn.serve.server import SLICE, LimitedProtocol, make_server
from bankgcn.training.ensemble import Ensemble
from serve_runs import Service, SlowEngine, random_graph, running, wait_until, waiting

GRAPH = random_graph(4, seed=1)
HEAD = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@contextmanager
def connected(service: Service, *parts: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        for part in parts:
            client.sendall(part)
        yield client


def received(client: socket.socket) -> bytes:
    """All that the service sends until it closes the connection."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def received_until(client: socket.socket, word: bytes) -> bytes:
    """What the service sends up to a word; head and body of an answer may come in parts."""
    answer = b""
    while word not in answer and (part := client.recv(4096)):
        answer += part
    return answer


def test_slow_and_broken_clients_do_not_hold_up_others(service: Service) -> None:
    expected = service.predict(graphs=[GRAPH])
    with ExitStack() as stack:
        for _ in range(100):  # slow: a part of the head, a part of the body
            stack.enter_context(connected(service, b"POST /pre"))
            stack.enter_context(connected(service, HEAD, b'Content-Length: 500\r\n\r\n{"gr'))
        for _ in range(20):
            with connected(service, HEAD, b"Content-Length: 500\r\n\r\n{"):
                pass  # gone in the middle
            with connected(service, b"\x16\x03\x01 this is not HTTP\r\n\r\n") as client:
                assert received(client).startswith(b"HTTP/1.1 400")
        for _ in range(5):
            assert service.predict(graphs=[GRAPH]) == expected
    assert service.predict(graphs=[GRAPH]) == expected


def test_a_head_that_takes_too_long_or_is_too_long_ends_the_connection(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bankgcn.serve.server.HEAD_SECONDS", 0.3)
    with running(run) as service:
        with connected(service) as nothing, connected(service, b"GET /health HTT") as part:
            assert received(nothing) == received(part) == b""
        with connected(service, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n") as client:
            received_until(client, b'{"status":"ok"}')
            client.sendall(b"GET /health HT")  # the second request of the connection
            assert received(client) == b""
        with connected(service, b"GET /health HTTP/1.1\r\n") as client:
            try:
                for _ in range(40):
                    client.sendall(b"a: " + b"b" * 8192 + b"\r\n")
                assert received(client) == b""
            except (BrokenPipeError, ConnectionResetError):
                pass
        assert service.request("GET", "/health")[0] == 200


def test_a_body_that_takes_too_long_is_refused(run: Path) -> None:
    with (
        running(run, Limits(seconds=0.3)) as service,
        connected(service, HEAD, b"Content-Length: 500\r\n\r\n{") as client,
    ):
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive within 0.3 seconds" in answer


def test_an_announced_body_that_is_too_large_is_refused_unread(run: Path) -> None:
    with (
        running(run, Limits(body=1000)) as service,
        connected(service, HEAD, b"Content-Length: 99999\r\n\r\n") as client,
    ):
        assert received(client).startswith(b"HTTP/1.1 413")


REFUSED = {
    "401": HEAD,
    "404": b"POST /nothing HTTP/1.1\r\nHost: x\r\n",
    "405": b"PUT /predict HTTP/1.1\r\nHost: x\r\n",
}


@pytest.fixture(scope="module")
def guarded(run: Path) -> Iterator[Service]:
    with running(run, token="0123456789abcdef") as service:
        yield service


def is_cut_off(client: socket.socket, part: bytes, seconds: float = 0.0) -> bool:
    """Whether the service closes the connection while the client sends."""
    try:
        for _ in range(40):
            client.sendall(part)
            time.sleep(seconds)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


@pytest.mark.parametrize("status", REFUSED)
def test_a_body_that_goes_on_after_the_answer_ends_the_connection(
    guarded: Service, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setattr("bankgcn.serve.server.HEAD_SECONDS", 0.5)
    head = REFUSED[status] + b"Content-Length: 99999999999\r\n\r\n"
    with connected(guarded, head) as slow, connected(guarded, head) as large:
        assert slow.recv(4096).startswith(f"HTTP/1.1 {status}".encode())
        assert is_cut_off(slow, b"a", seconds=0.05)
        assert large.recv(4096).startswith(f"HTTP/1.1 {status}".encode())
        assert is_cut_off(large, b"a" * (1 << 20))


def test_a_small_body_that_comes_after_the_answer_does_no_harm(guarded: Service) -> None:
    with connected(guarded, HEAD + b"Content-Length: 2\r\n\r\n") as client:
        received_until(client, b"the token is missing")
        client.sendall(b"{}GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert received(client).startswith(b"HTTP/1.1 200")


def test_a_request_whose_body_comes_while_the_one_before_is_answered_is_not_cut_off(service: Service) -> None:
    body = b'{"graphs": [{"nodes": [], "edges": []}]}'
    head = HEAD + f"Content-Length: {len(body)}\r\n".encode()
    two = head + b"\r\n" + body + head + b"Connection: close\r\n\r\n" + body
    with connected(service, two[:-9]) as client:
        answer = client.recv(4096)
        client.sendall(two[-9:])
        assert (answer + received(client)).count(b"HTTP/1.1 200") == 2


BODY = b'{"graphs": [{"nodes": [], "edges": []}]}'
LENGTH = f"Content-Length: {len(BODY)}\r\n".encode()
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("start_of_body", [b"2\r\n{}\r\n0\r\n", b"2\r\n{}\r\n0\r\nx: ", b"2;x="], ids=str)
@pytest.mark.parametrize("path", [b"/predict", b"/health"])
def test_trailers_and_chunk_extensions_are_bounded(service: Service, start_of_body: bytes, path: bytes) -> None:
    head = HEAD.replace(b"/predict", path)
    with connected(service, head + CHUNKED + start_of_body) as client:
        part = b"a" * 4096 if start_of_body.endswith((b" ", b"=")) else b"name: " + b"a" * 4088 + b"\r\n"
        assert is_cut_off(client, part, seconds=0.01)


def test_short_trailers_and_small_chunks_are_accepted(service: Service) -> None:
    chunks = b"".join(b"1;note=1\r\n%c\r\n" % byte for byte in BODY + b" " * 20_000)
    with connected(service, HEAD + b"Connection: close\r\n" + CHUNKED + chunks + b"0\r\nx: y\r\n\r\n") as client:
        assert received(client).startswith(b"HTTP/1.1 200")


def test_requests_that_wait_behind_another_stay_unparsed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = []
    parse = LimitedProtocol._parse

    def measured(self: LimitedProtocol) -> None:
        parse(self)
        longest.append((len(self.pipeline), len(self._unparsed)))

    monkeypatch.setattr(LimitedProtocol, "_parse", measured)
    request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(service) as client:
        sender = threading.Thread(target=client.sendall, args=(request * 20_000 + CLOSING,))
        sender.start()
        assert received(client).count(b"HTTP/1.1 200") == 20_001
        sender.join()
    assert max(requests for requests, _ in longest) <= SLICE // len(request) + 2
    assert max(unparsed for _, unparsed in longest) <= 512 << 10


CLOSING = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_an_offer_of_http_2_is_answered_as_http_1(service: Service, version: bytes) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    request = HEAD.replace(b"1.1", version) + offer + LENGTH + b"\r\n" + BODY
    with connected(service, request) as client:
        answer = received_until(client, b"predictions")
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"predictions" in answer
    with connected(service, request[:-9]) as client:  # the body comes later
        time.sleep(0.1)
        client.sendall(request[-9:] + (CLOSING if version == b"1.1" else b""))
        assert received(client).count(b"HTTP/1.1 200") == (2 if version == b"1.1" else 1)


@pytest.mark.parametrize("hosts", [b"", b"Host: a\r\nHost: a\r\n", b"Host: a\r\nX: y\r\nhost: b\r\n"])
def test_a_request_has_one_host(service: Service, hosts: bytes) -> None:
    with connected(service, b"GET /health HTTP/1.1\r\n" + hosts + b"\r\n") as client:
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"A request has one header Host" in answer


def test_a_method_for_proxies_is_refused(service: Service) -> None:
    with connected(service, b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n") as client:
        assert received(client).startswith(b"HTTP/1.1 40")


def test_a_host_is_not_repeated(service: Service) -> None:
    with connected(service, b"GET /docs/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n") as client:
        answer = received(client)
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"evil.example" not in answer


@pytest.mark.parametrize("requests", [1, 3])
def test_a_half_closed_client_gets_its_answers(run: Path, requests: int) -> None:
    engine = SlowEngine(run)
    with running(engine) as service, connected(service, (HEAD + LENGTH + b"\r\n" + BODY) * requests) as client:
        client.shutdown(socket.SHUT_WR)
        time.sleep(0.3)
        engine.allowed.set()
        answer = received(client)
    assert answer.count(b"HTTP/1.1 200") == requests


@pytest.mark.parametrize("part", [b"GET /hea", HEAD + b"Content-Length: 9\r\n\r\n{"])
def test_a_half_closed_client_without_a_request_is_closed(service: Service, part: bytes) -> None:
    with connected(service, part) as client:
        client.shutdown(socket.SHUT_WR)
        assert b"HTTP/1.1 200" not in received(client)


def test_the_work_for_a_client_that_is_gone_is_left_out(run: Path) -> None:
    engine = SlowEngine(run)
    with running(engine) as service:
        request = HEAD + LENGTH + b"\r\n" + BODY
        with connected(service, request):  # holds the model up
            wait_until(lambda: len(engine.batches) == 1)
            with connected(service, request):
                wait_until(lambda: waiting(service) == 2)
            wait_until(lambda: waiting(service) == 1)  # it closed the connection
            engine.allowed.set()
            assert service.predict(graphs=[GRAPH])[0] == 200
    assert engine.batches == [1, 1]


def test_a_bad_request_behind_a_good_one_does_not_take_its_answer(run: Path) -> None:
    engine = SlowEngine(run)
    good = HEAD + LENGTH + b"\r\n" + BODY
    with running(engine) as service, connected(service, good + b"GET / HTTP/1.1\r\n\r\n") as client:
        time.sleep(0.2)
        engine.allowed.set()
        assert received(client).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_take_its_answer_is_cut_off(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.serve.server.STALLED_SECONDS", 0.3)
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(run) as service, connected(service) as client:
        client.settimeout(10)
        assert is_cut_off(client, request * 2000, seconds=0.05)


def start(run: Path, program: tuple[str, str] = ("-m", "bankgcn")) -> tuple[subprocess.Popen[str], Service]:
    command = [sys.executable, *program, "serve", str(run), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "500"})
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "http://127.0.0.1:" in line, line + process.stderr.read()
    return process, Service(int(line.split("http://127.0.0.1:")[1].split()[0]))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_service_after_the_last_answer(run: Path, number: signal.Signals) -> None:
    process, service = start(run)
    body = b'{"graphs": [' + b",".join([b'{"nodes": [], "edges": []}'] * 500) + b"]}"
    request = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(service, request[:-1])) for _ in range(8)]
        time.sleep(0.3)  # the service has the heads
        process.send_signal(number)
        time.sleep(0.3)
        for client in clients:
            client.sendall(request[-1:])
        assert all(received(client).startswith(b"HTTP/1.1 200") for client in clients)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err == "stopped: 8 requests were under way, and answered\n"


NEVER_ANSWERS = """
import time
from bankgcn.cli import main
from bankgcn.serve import batcher
batcher.parse_request = lambda body, limits: time.sleep(60)
main()
"""


@pytest.mark.slow
def test_a_second_ctrl_c_does_not_wait_and_says_so(run: Path) -> None:
    process, service = start(run, ("-c", NEVER_ANSWERS))
    with (
        connected(service, HEAD + b"Content-Length: 2\r\n\r\n{}") as complete,
        connected(service, HEAD + b"Content-Length: 2\r\n\r\n{") as incomplete,
    ):
        time.sleep(0.3)  # the service has the requests
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        for answer in received(complete), received(incomplete):
            assert answer.startswith(b"HTTP/1.1 503")
            assert answer.endswith(b'{"detail":"the service is stopping"}')
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err == "stopped early: of 2 requests under way, 0 answered; 2 got no prediction\n"


def test_a_stop_waits_as_long_as_a_request_and_its_answer_may_take(run: Path) -> None:
    limits = Limits(seconds=100)
    config = make_server(make_app(Engine(Ensemble.load(run)), limits), limits).config
    assert config.timeout_graceful_shutdown is not None
    assert config.timeout_graceful_shutdown > 200


@pytest.mark.slow
def test_after_a_kill_it_answers_again_the_same(run: Path) -> None:
    answers = []
    for _ in range(2):
        process, service = start(run)
        answers.append(service.predict(graphs=[GRAPH]))
        process.kill()
        process.communicate()
    assert answers[0] == answers[1]
    assert answers[0][0] == 200
