"""Downloads from a server on this machine that misbehaves in every way a real one may."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from bankgcn.files import downloads as module
from bankgcn.files.downloads import FetchError, fetch
from refusals import refused

CONTENT = bytes(range(256)) * 1024  # several chunks
PART = len(CONTENT) // 3
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FAST = {"timeout": 0.3, "wait": 0.001}


class Server(BaseHTTPRequestHandler):
    """Answers each request to ``/<name>/<faults>`` by its next fault, and well when they are used up."""

    requests: ClassVar[dict[str, list[str | None]]] = {}
    etag: ClassVar[bool] = True

    def do_GET(self) -> None:
        seen = self.requests.setdefault(self.path, [])
        faults = self.path.rsplit("/", 1)[-1].split("-")
        fault = faults[len(seen)] if len(seen) < len(faults) else "fine"
        seen.append(self.headers.get("Range"))
        getattr(self, fault)() if hasattr(self, fault) else self.status(int(fault))

    def fine(self, content: bytes = CONTENT, send: int | None = None, length: bool = True) -> None:
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.etag else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.etag:
            self.send_header("ETag", '"one"')
        if length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : None if send is None else start + send])

    def half(self) -> None:  # closes the connection in the middle
        self.fine(send=PART)

    def wrong(self) -> None:
        self.fine(content=CONTENT[::-1])

    def empty(self) -> None:
        self.fine(content=b"")

    def endless(self) -> None:
        self.fine(length=False)

    def drop(self) -> None:  # says nothing at all
        self.close_connection = True

    def hang(self) -> None:
        time.sleep(1)

    def stall(self) -> None:
        self.fine(send=1000)
        self.wfile.flush()
        time.sleep(1)

    def norange(self) -> None:
        self.status(416)

    def status(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str | None]]:
    monkeypatch.setattr(Server, "requests", {})
    return Server.requests


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "deep" / "set.zip"
    yield path
    left = [file.name for file in path.parent.iterdir()] if path.parent.exists() else []
    assert set(left) <= {"set.zip"}, "something half-written was left behind"


def test_a_file_arrives_whole_and_progress_is_told(address: str, requests: dict, target: Path) -> None:
    told: list[tuple[int, int | None]] = []
    fetch(f"{address}/fine", target, sha256=SHA256, progress=lambda done, total: told.append((done, total)), **FAST)
    assert target.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize(
    "faults",
    ["500", "503-500-502", "429", "half", "half-half", "drop", "empty", "wrong", "wrong-half", "hang", "stall"],
)
def test_a_passing_fault_is_survived(address: str, requests: dict, target: Path, faults: str) -> None:
    fetch(f"{address}/{faults}", target, sha256=SHA256, **FAST)
    assert target.read_bytes() == CONTENT
    assert len(requests[f"/{faults}"]) == len(faults.split("-")) + 1


def test_a_broken_connection_is_taken_up_where_it_broke(address: str, requests: dict, target: Path) -> None:
    fetch(f"{address}/half", target, **FAST)
    assert target.read_bytes() == CONTENT
    assert requests["/half"] == [None, f"bytes={PART}-"]


def test_without_a_version_mark_a_download_starts_again(
    address: str, requests: dict, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "etag", False)
    fetch(f"{address}/half", target, sha256=SHA256, **FAST)
    assert requests["/half"] == [None, None]


def test_a_rest_that_is_not_there_is_asked_for_no_more(address: str, requests: dict, target: Path) -> None:
    fetch(f"{address}/half-norange", target, sha256=SHA256, **FAST)
    assert requests["/half-norange"] == [None, f"bytes={PART}-", None]


def test_a_file_of_unsaid_length_arrives(address: str, requests: dict, target: Path) -> None:
    fetch(f"{address}/endless", target, sha256=SHA256, **FAST)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("faults", "message", "tries"),
    [
        ("404", "the server answers 404 Not Found", 1),
        ("403", "the server answers 403 Forbidden", 1),
        ("500-500-500", r"the server answers 500 Internal Server Error \(3 attempts\)", 3),
        ("wrong-wrong-wrong", rf"its SHA-256 is [0-9a-f]{{64}}, expected {SHA256} \(3 attempts\)", 3),
        ("drop-drop-drop", r"the connection broke: .+ \(3 attempts\)", 3),
        ("hang-hang-hang", r"nothing came for 0.3 seconds \(3 attempts\)|timed out \(3 attempts\)", 3),
        ("empty-empty-empty", r"the server sent an empty file \(3 attempts\)", 3),
    ],
)
def test_a_lasting_fault_is_told_with_what_to_do(
    address: str, requests: dict, target: Path, faults: str, message: str, tries: int
) -> None:
    with pytest.raises(FetchError, match=message) as caught:
        fetch(f"{address}/{faults}", target, sha256=SHA256, attempts=3, **FAST)
    assert len(requests[f"/{faults}"]) == tries
    assert str(caught.value).startswith(f"cannot download {address}/{faults}: ")
    assert str(caught.value).endswith(f"; to use a copy from elsewhere, put it at {target} and try again")
    assert not target.exists()


def test_without_a_network_it_says_which_file_to_put_where(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise module.urllib.error.URLError(module.socket.gaierror(-3, "Temporary failure in name resolution"))

    monkeypatch.setattr(module.urllib.request, "urlopen", no_network)
    with pytest.raises(FetchError, match=r"no such server, or no network; to use a copy .* put it at .*set\.zip"):
        fetch("https://example.org/set.zip", target)


def test_nobody_at_that_address_is_told(target: Path) -> None:
    with pytest.raises(FetchError, match="no connection"):
        fetch("http://127.0.0.1:9/x", target, attempts=2, **FAST)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x", "set.zip"])
def test_only_the_web_is_asked(url: str, target: Path) -> None:
    with pytest.raises(FetchError, match="is not an https or http address"):
        fetch(url, target)


def test_a_file_that_is_too_large_is_refused(
    address: str, requests: dict, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with refused(FetchError, "262,144 bytes", "1,000"):
        fetch(f"{address}/fine", target, **FAST)
    with refused(FetchError, "1,000 bytes"):
        fetch(f"{address}/endless", target, **FAST)


def test_a_file_that_is_there_is_not_asked_for_again(address: str, requests: dict, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(CONTENT)
    assert fetch(f"{address}/fine", target, sha256=SHA256) == target
    assert not requests


def test_another_file_in_its_place_is_not_overwritten(address: str, requests: dict, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"mine")
    with pytest.raises(FetchError, match="is not the official file"):
        fetch(f"{address}/fine", target, sha256=SHA256)
    assert target.read_bytes() == b"mine"


def test_others_may_read_the_file_as_the_umask_says(address: str, requests: dict, target: Path) -> None:
    fetch(f"{address}/fine", target, sha256=SHA256, **FAST)
    beside = target.with_name("beside")
    beside.touch()
    expected = beside.stat().st_mode
    beside.unlink()
    assert target.stat().st_mode == expected


def test_an_interrupt_leaves_nothing_behind(address: str, requests: dict, target: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(f"{address}/fine", target, progress=interrupt, **FAST)
    assert not list(target.parent.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match=r"cannot write .*set\.zip"):
        fetch("https://example.org/set.zip", tmp_path / "file" / "set.zip")
