"""Listens to clients until a signal comes: each state of a connection has its limits."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httptools
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bankgcn.data.features.atom_arrays import WORTH_LOADING, decodes
from bankgcn.messages import Message, Option
from bankgcn.serve.access import Limits
from bankgcn.serve.app import PREDICT, Tally
from bankgcn.serve.engine import Engine
from bankgcn.serve.page import example_graph
from bankgcn.serve.requests import PredictRequest

UNFINISHED = "ASGI callable returned without completing response."
"""What uvicorn logs of a table whose answer ends early, as a client's mistake makes it: that is no error of ours."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
KEEP_ALIVE = 75  # seconds until an idle connection is closed
STOP_SECONDS = 10  # after the last answer, for clients that do not take it
BACKLOG = 2048  # connections that the system accepts before the service does
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 << 10
SLICE = 8 << 10  # bytes that are parsed at once: they bound the requests that wait behind another
STALLED_SECONDS = 30.0  # until a client that takes nothing of its answer is cut off
GONE_SECONDS = 0.5  # between looks whether a client that sends nothing more is there
CONNECTIONS = 2048  # at a time
DROPPED = (b"upgrade", b"http2-settings")  # headers of an offer that the service does not take


class Server(uvicorn.Server):
    """A server that ends normally after a signal, when all requests that it accepted are answered.

    Args:
        config: Settings of uvicorn.
        tally: Counts what became of the requests that are under way at a stop.
        on_start: Called when clients can connect.
    """

    def __init__(self, config: uvicorn.Config, tally: Tally, on_start: Callable[[], None]):
        super().__init__(config)
        self._tally, self._on_start = tally, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if not self.should_exit:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, and count what became of the requests that were under way."""
        self._tally.restart()
        await super().shutdown(sockets)
        unsent = [each for each in self.server_state.connections if each.transport.get_write_buffer_size()]
        self._tally.lose(len(unsent))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal; a second Ctrl-C does not wait for the answers."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ValueError: The address cannot be used.
    """
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        if listening is not None:
            listening.close()
        reason = error.strerror or error
        cannot = f"cannot listen at {host}, port {port}: {reason}"
        raise ValueError(Message("{cannot}; choose another {port}", cannot=cannot, port=Option("port"))) from error
    return listening


def make_server(app: FastAPI, limits: Limits, on_start: Callable[[], None] = lambda: None) -> Server:
    """The server of an application.

    Args:
        app: The application.
        limits: Its limits; after a signal, the server waits for all answers that they allow.
        on_start: Called when clients can connect.
    """
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        proxy_headers=False,  # nothing depends on the client's address
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(2 * limits.seconds) + STOP_SECONDS,  # to send a request and to answer it
    )
    return Server(config, app.state.tally, on_start)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an entry of the log is about the service, and not about a client."""
    return record.msg != UNFINISHED


def warm_up(engine: Engine) -> None:
    """Compile what requests need before the first one, and keep what is there now out of garbage collection."""
    examples = {"graphs": example_graph(engine.schema), "smiles": "C"}
    for form in engine.forms:
        if form == "smiles":
            decodes(WORTH_LOADING)
        engine.answer([PredictRequest(form, [examples[form]], [1])])
    gc.collect()
    gc.freeze()


def address_of(listening: socket.socket) -> str:
    """The address for clients on this machine."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose client takes too long to send the head of a request, or sends too much of it.

    What is left of a body when the answer is complete has the same limits, together with the next head. Within a body,
    what is no content (trailers, the lines between chunks) has the same limit in bytes. Requests that follow before
    the answer stay unparsed. A client that takes nothing of its answer for some time is cut off.
    """

    _timer: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    _bytes = 0  # since the last content of a body, or since the begin of the head
    _in_head = True  # or in the rest of a body
    _offers_upgrade = False
    _unparsed = b""  # what came behind a request that waits behind another
    _ended = False  # nothing more is read
    _half_closed = False  # the client sends nothing more

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self.transport.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()
            return
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Parse data, unless requests wait or too much came that is no content."""
        if not self._ended:
            self._unset_keepalive_if_required()
            self._unparsed += data
            self._parse()

    def _parse(self) -> None:
        while self._unparsed and not self.pipeline and not self._ended and not self.transport.is_closing():
            data, self._unparsed = self._unparsed[:SLICE], self._unparsed[SLICE:]
            self._bytes += len(data)
            if self._in_head:
                self._start_timer()
            self._feed(data)
            if self._bytes > HEAD_BYTES:
                self._give_up()
        if self._unparsed:
            self.flow.pause_reading()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            if self._offers_upgrade:
                self._decline(data[offer.args[0] :])
            else:  # CONNECT
                self.refuse("Invalid HTTP request received.")
        except httptools.HttpParserError as error:
            self.refuse(str(error.__context__ or "") if isinstance(error.__context__, HeadError) else "")

    @property
    def _answering(self) -> bool:
        """Whether a complete request waits for its answer."""
        return bool(self.pipeline) or not (self.cycle is None or self.cycle.response_complete or self.cycle.more_body)

    def refuse(self, reason: str) -> None:
        """Answer a request that is no HTTP by 400, and close the connection."""
        if self._answering:
            self._give_up()
        elif not self.transport.is_closing():
            self._ended, self._unparsed = True, b""
            self._cancel_timer()
            self.send_400_response(reason or "Invalid HTTP request received.")

    def _decline(self, rest: bytes) -> None:
        """Parse a head again without its offer of another protocol, such as HTTP/2: the answer is HTTP/1.1."""
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                kept = [word for word in value.split(b",") if word.strip().lower() not in DROPPED]
                value = b",".join(kept)
            if name not in DROPPED and (name != b"connection" or value):
                lines.append(name + b": " + value)
        self._offers_upgrade = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(b"\r\n".join(lines) + b"\r\n\r\n")
        self._unparsed = rest + self._unparsed

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; nobody reads what comes after the body."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop waiting, check the head, and start to answer."""
        self._offers_upgrade = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self._offers_upgrade:
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise HeadError(f"A request has one header Host, not {hosts}.")
        self._in_head, self._bytes = False, 0
        self._cancel_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep content, which the application limits."""
        if not self._in_head:
            self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        if self._offers_upgrade:
            return
        self._in_head, self._bytes = True, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limit what is left of the body, if the answer did not need it, and go on with what came meanwhile."""
        if not self.pipeline and self.cycle.more_body:  # a request with another behind it is complete
            self._in_head, self._bytes = True, 0
            self._start_timer()
        super().on_response_complete()
        if self._unparsed and not self.transport.is_closing():
            self._unset_keepalive_if_required()
            self._parse()
        if self._half_closed and not self._answering:
            self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection of a client that sends nothing more, but waits for an answer."""
        if not self._answering or self._half_closed:
            return self._answering
        self._half_closed = True
        self._cancel_timer()
        if not self.pipeline and not self.cycle.response_started and self.scope["http_version"] == "1.1":
            # The system of a client that is gone objects to any data. All others know this line, and wait on.
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._look()
        return True

    def _look(self) -> None:
        """Close the connection if the client has objected; else look again later."""
        if self.transport.is_closing():
            return
        connected: Any = self.transport.get_extra_info("socket")
        if connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.transport.abort()
        else:
            self._looking = self.loop.call_later(GONE_SECONDS, self._look)

    def pause_writing(self) -> None:
        """Start waiting for a client that does not take its answer."""
        super().pause_writing()
        self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop waiting."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _watch_writing(self, size: int) -> None:
        self._writing = self.loop.call_later(STALLED_SECONDS, self._check_writing, size)

    def _check_writing(self, before: int) -> None:
        """Cut a client off that took nothing since the last look."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._watch_writing(left)
        else:
            if self.cycle.response_complete and self.cycle.scope["path"] == PREDICT:
                self.app_state["tally"].lose(1)
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._cancel_timer()
        self._unparsed = b""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """Close the connection; an answer that is under way is sent before."""
        self._cancel_timer()
        self._ended, self._unparsed = True, b""
        if self._answering:
            self.cycle.keep_alive = False
        else:
            self.transport.close()


class HeadError(Exception):
    """A head that the parser accepts and the service does not."""
