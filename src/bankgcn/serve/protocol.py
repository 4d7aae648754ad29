"""uvicorn's HTTP protocol with limits that it lacks: on the time and the size of what no handler reads."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_BYTES = 64 << 10


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose client takes too long to send the head of a request, or sends too much of it.

    What is left of a body when the answer is complete has the same limits, together with the next head.
    """

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True  # or in the rest of a body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Pass data on to the parser, unless the head is too long."""
        if self._in_head:
            self._head_bytes += len(data)
            self._start_timer()
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._give_up()

    def on_headers_complete(self) -> None:
        """Stop to wait."""
        self._in_head, self._head_bytes = False, 0
        self._cancel_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limit what is left of the body, if the answer did not need it."""
        if not self.pipeline and self.cycle.more_body:  # a request with another behind it is complete
            self._in_head = True
            self._start_timer()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._cancel_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self, *_: Any) -> None:
        self._cancel_timer()
        if not self.transport.is_closing():
            self.transport.close()
