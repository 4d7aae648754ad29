"""Listens to clients, until a signal comes."""

from __future__ import annotations

import gc
import math
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from bankgcn.messages import Message, Option
from bankgcn.serve.engine import Engine
from bankgcn.serve.limits import Limits
from bankgcn.serve.metrics import Tally
from bankgcn.serve.protocol import LimitedProtocol
from bankgcn.serve.requests import PredictRequest
from bankgcn.serve.schema import example_graph

SIGNALS = (signal.SIGINT, signal.SIGTERM)
KEEP_ALIVE = 75  # seconds until an idle connection is closed
STOP_SECONDS = 10  # after the last answer, for clients that do not take it
BACKLOG = 2048  # connections that the system accepts before the service does


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


def warm_up(engine: Engine) -> None:
    """Compile the network before the first request, and keep what is there now out of garbage collection."""
    examples = {"graphs": example_graph(engine.schema), "smiles": "C"}
    for form in engine.forms:
        engine.answer([PredictRequest(form, [examples[form]], [1])])
    gc.collect()
    gc.freeze()


def address_of(listening: socket.socket) -> str:
    """The address for clients on this machine."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
