"""The addresses of the service, and the figures on its requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter as Counts
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Literal

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import bankgcn
from bankgcn.data.features.graph_features import example_features
from bankgcn.serve.access import Access, ClientGone, Limits, RequestError
from bankgcn.serve.batcher import Batcher
from bankgcn.serve.engine import Engine
from bankgcn.serve.page import HEADERS, errors, example_graph, form_page, json_answer, page, predict_operation, words_of
from bankgcn.serve.tables import LONGEST_ROW, TABLES, Table, answer_table

PREDICT = "/predict"
CLIENT_GONE = 499  # in the metrics: there is nobody to send a status to

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Outcome = Literal["answered", "gone", "cut off"]
"""A request got an answer, or its client was gone, or the service stopped before the answer."""


def make_app(engine: Engine, limits: Limits | None = None, token: str | None = None) -> FastAPI:
    """The service as an ASGI application; ``app.state.tally`` counts what became of the requests.

    Args:
        engine: Answers the requests.
        limits: What is accepted.
        token: What clients must know; by default nothing.
    """
    limits = limits or Limits()
    batcher = Batcher(engine.answer, limits, lambda requests, graphs: metrics.count_batch(requests, graphs))
    metrics = Metrics(lambda: batcher.waiting)
    access, tally = Access(token), Tally()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        batcher.start()
        with suppress(asyncio.CancelledError):  # a second Ctrl-C does not wait for the answers
            yield {"tally": tally}  # for the protocol, which knows whether clients take their answers
            await batcher.stop()

    app = FastAPI(
        title="bankgcn",
        version=bankgcn.__version__,
        description="Predictions of a trained graph network.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from another server
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the header Host, which anyone can forge
    )
    app.state.tally = tally
    # Not one of FastAPI's own routes: they take a seventh more of a request's time, for what is checked here anyway.
    predict = Predict(access, limits, batcher, metrics, tally, partial(_table, engine))
    app.router.routes.append(Route(PREDICT, predict, methods=["POST"]))

    @app.get("/model", summary="What the model predicts, and what it needs.", openapi_extra=_guarded("The model."))
    async def model(request: Request) -> Response:
        return _protected(access, request, lambda: _json(describe(engine, limits)))

    @app.get("/health", summary="Whether the service works.", openapi_extra=_health_answers())
    async def health() -> Response:
        return _json({"status": "ok"}) if batcher.alive else _json({"detail": "the model's thread has ended"}, 503)

    @app.get("/metrics", summary="Figures for Prometheus.", openapi_extra=_metrics_answers())
    async def figures(request: Request) -> Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return _protected(access, request, lambda: Response(metrics.text(), media_type=kind))

    form, form_headers = form_page(_example(engine), access.needs_token)

    @app.get("/", include_in_schema=False)
    async def start() -> HTMLResponse:
        return HTMLResponse(form, headers=form_headers)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi(), access.needs_token), headers=HEADERS)

    _complete_document(app, predict_operation(engine.schema, engine.forms, limits), access.needs_token)
    return app


def _example(engine: Engine) -> dict[str, Any]:
    """A request; with a token it tells nothing of the model but what the open document tells, too."""
    features = example_features(engine.ensemble.first.graph_spec)
    if "smiles" in engine.forms:
        smiles = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"]
        return {"smiles": smiles, **({"features": [features] * len(smiles)} if features else {})}
    return {"graphs": [{**example_graph(engine.schema), **({"graph": features} if features else {})}]}


def describe(engine: Engine, limits: Limits) -> dict[str, Any]:
    """What the model predicts, and what its graphs need."""
    task = engine.ensemble.task
    nodes = {key: f"{width} numbers" if width > 1 else "a number" for key, width in engine.schema.attributes.items()}
    return {
        "task": task.kind,
        "outputs": list(task.names),
        "models": len(engine.ensemble.members),
        "takes": list(engine.forms),
        "nodes": {**nodes, **words_of(engine.schema)},
        **({"features": engine.ensemble.needed_features} if engine.ensemble.needed_features else {}),
        "intervals": engine.ensemble.has_intervals,
        "domain": engine.ensemble.has_domain,
        "limits": vars(limits),
    }


class Predict:
    """The address of predictions, as an ASGI application: so it knows when an answer is sent.

    Args:
        access: Who may ask.
        limits: What is accepted.
        batcher: Answers.
        metrics: Counts requests.
        tally: Counts what became of them.
        table: From the media type of a table, and the column of its SMILES if the client names it, to how it is read.
    """

    def __init__(
        self,
        access: Access,
        limits: Limits,
        batcher: Batcher,
        metrics: Metrics,
        tally: Tally,
        table: Callable[[str, str | None], Table],
    ):
        self.access, self.limits, self.batcher = access, limits, batcher
        self.metrics, self.tally, self.table = metrics, tally, table
        self.room = Room(max(limits.waiting_body, limits.body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request, reserved, started = Request(scope, receive), Reservation(self.room), None
        if media_type(request) in TABLES:
            await self._answer_table(request, reserved, send)
            return
        outcome: Outcome = "answered"
        self.tally.begin()
        try:
            self.access.check(request.headers.get("authorization"))
            body = await _read_body(request, self.limits, reserved)
            started = time.perf_counter()
            answer = await self.batcher.submit(body, partial(_disconnected, request))
            if isinstance(answer, RequestError):
                raise answer
            status, content, headers = 200, answer, None
        except RequestError as error:
            status, content, headers = error.status, error.content, error.headers
        except (ClientDisconnect, ClientGone):
            status, content, headers, outcome = CLIENT_GONE, {"detail": "the client is gone"}, None, "gone"
        except asyncio.CancelledError:  # the service stops without waiting for the answer
            status, content, headers, outcome = 503, {"detail": "the service is stopping"}, None, "cut off"
        finally:
            reserved.release()
        self.metrics.count_request(status, None if started is None else time.perf_counter() - started)
        try:
            await _json(content, status, headers)(scope, receive, send)
        except asyncio.CancelledError:  # the client does not take the answer, and the service stops
            outcome = "cut off"
        finally:
            self.tally.end(outcome)

    async def _answer_table(self, request: Request, reserved: Reservation, send: Send) -> None:
        """Answer a table while it arrives.

        An error before the first block is answered is an answer with its status. Afterwards the last line has the
        reason, and the connection is closed before the end of the answer, so that no client takes it for complete.
        """
        kind, started, begun, status = media_type(request), time.perf_counter(), False, 200
        outcome: Outcome = "answered"
        table: Table | None = None
        self.tally.begin()
        try:
            self.access.check(request.headers.get("authorization"))
            reserved.add(min(LONGEST_ROW, self.limits.body))
            table = self.table(kind, request.query_params.get("smiles"))
            parts = _read_parts(request, self.limits)
            async for part in answer_table(table, parts, self.batcher.submit, self.limits):
                if not begun:
                    own = [(b"content-type", f"{kind}; charset=utf-8".encode())]
                    await send({"type": "http.response.start", "status": 200, "headers": own})
                    begun = True
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except RequestError as error:
            status = error.status
            if begun and table is not None:
                await send({"type": "http.response.body", "body": table.end(error.detail), "more_body": True})
            else:
                headers = {**error.headers, "connection": "close"}  # the rest of the table is not read
                await _json(error.content, status, headers)(request.scope, request.receive, send)
        except (ClientDisconnect, ClientGone):
            status, outcome = CLIENT_GONE, "gone"
        except asyncio.CancelledError:  # the service stops without waiting for the rest
            status, outcome = 503, "cut off"
            if not begun:
                await _json({"detail": "the service is stopping"}, status)(request.scope, request.receive, send)
        finally:
            reserved.release()
            self.metrics.count_request(status, time.perf_counter() - started)
            self.tally.end(outcome)


def media_type(request: Request) -> str:
    """What the body of a request is declared as."""
    declared: str = request.headers.get("content-type", "")
    return declared.partition(";")[0].strip().lower()


def _table(engine: Engine, kind: str, column: str | None) -> Table:
    """How a table is read and written for the models."""
    return TABLES[kind](engine.forms[-1], column, engine.columns, engine.ensemble.needed_features)


class Room:
    """The bytes that requests may take together while they arrive and wait."""

    def __init__(self, size: int):
        self.size, self.taken = size, 0


class Reservation:
    """The part of the room that one request takes."""

    def __init__(self, room: Room):
        self.room, self.size = room, 0

    def add(self, size: int) -> None:
        """Take more of the room.

        Raises:
            RequestError: There is no more.
        """
        if self.room.taken + size > self.room.size:
            message = "the requests that are waiting are too large together: try again later"
            raise RequestError(503, message, headers={"retry-after": "1", "connection": "close"})
        self.room.taken += size
        self.size += size

    def release(self) -> None:
        """Give the room back."""
        self.room.taken -= self.size
        self.size = 0


async def _disconnected(request: Request) -> None:
    """Wait until the client of a request whose body is read is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _read_parts(request: Request, limits: Limits) -> AsyncIterator[tuple[bytes, bool]]:
    """The body of a table as it arrives, each part with whether it is the last one.

    Raises:
        RequestError: It is too large, or the next part too slow.
    """
    size, last = 0, False
    while not last:
        try:
            async with asyncio.timeout(limits.seconds):
                message = await request.receive()
        except TimeoutError:
            raise RequestError(408, f"the next rows did not arrive within {limits.seconds:g} seconds") from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, last = message.get("body", b""), not message.get("more_body", False)
        size += len(part)
        if size > limits.table:
            raise RequestError(413, f"the table is larger than {limits.table:,} bytes")
        yield part, last


async def _read_body(request: Request, limits: Limits, reserved: Reservation) -> bytes:
    """The body of a request.

    Raises:
        RequestError: It is of another kind, too large, or too slow.
    """
    headers = request.headers
    if media_type(request) != "application/json":
        # A page of another site cannot send this type, or that of a table, without permission from the browser.
        kinds = f"'Content-Type: application/json', or a table as {', '.join(TABLES)}"
        raise RequestError(415, f"send the body with {kinds}", headers={"connection": "close"})
    too_large = RequestError(413, f"the body is larger than {limits.body:,} bytes", headers={"connection": "close"})
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.body:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    raise too_large
                reserved.add(len(part))
                parts.append(part)
    except TimeoutError:
        message = f"the request did not arrive within {limits.seconds:g} seconds"
        raise RequestError(408, message, headers={"connection": "close"}) from None
    return b"".join(parts)


def _protected(access: Access, request: Request, answer: Callable[[], Response]) -> Response:
    try:
        access.check(request.headers.get("authorization"))
    except RequestError as error:
        return _json(error.content, error.status, error.headers)
    return answer()


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers, "application/json")


def _guarded(description: str) -> dict[str, Any]:
    answers = json_answer(description)
    return {"responses": {**answers["responses"], **errors(401)}}


def _health_answers() -> dict[str, Any]:
    return {
        "responses": {**json_answer("It works.")["responses"], "503": json_answer("It does not.")["responses"]["200"]}
    }


def _metrics_answers() -> dict[str, Any]:
    figures = {"description": "The figures.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"responses": {"200": figures, **errors(401)}}


def _complete_document(app: FastAPI, predict: dict[str, Any], needs_token: bool) -> None:
    """Add predictions, and that requests need a token, to the OpenAPI document."""
    made = app.openapi

    def document() -> dict[str, Any]:
        content = made()
        content["paths"] = {"/predict": {"post": predict}, **content["paths"]}
        if needs_token:
            content.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for operation in (each for path, each in content["paths"].items() if path != "/health"):
                for method in operation.values():
                    method["security"] = [{"token": []}]
        return content

    app.openapi = document  # type: ignore[method-assign]


class Tally:
    """What became of the requests for predictions that were under way when the service was told to stop."""

    def __init__(self) -> None:
        self.open, self.outcomes = 0, Counts[Outcome]()

    def begin(self) -> None:
        """Count a request that has come."""
        self.open += 1

    def end(self, outcome: Outcome) -> None:
        """Count what became of it."""
        self.open -= 1
        self.outcomes[outcome] += 1

    def restart(self) -> None:
        """Forget the requests that are over."""
        self.outcomes.clear()

    def lose(self, count: int) -> None:
        """Take back answers that were written, but that did not reach the system before the end."""
        count = min(count, self.outcomes["answered"])
        self.outcomes["answered"] -= count
        self.outcomes["cut off"] += count

    def summary(self) -> str:
        """A sentence on them."""
        answered, gone = self.outcomes["answered"], self.outcomes["gone"]
        cut = self.outcomes["cut off"] + self.open
        total = answered + gone + cut
        if not total:
            return "stopped: no request was under way"
        if answered == total:
            return f"stopped: {total:,} request{'s were' if total > 1 else ' was'} under way, and answered"
        left = f"; {gone:,} client{'s were' if gone > 1 else ' was'} gone" if gone else ""
        stopped = f"; {cut:,} got no prediction" if cut else ""
        early = " early" if cut else ""
        return (
            f"stopped{early}: of {total:,} request{'s' * (total > 1)} under way, {answered:,} answered{left}{stopped}"
        )


class Metrics:
    """Counts requests, graphs and batches, and measures times.

    Args:
        waiting: Number of requests that wait for an answer.
    """

    def __init__(self, waiting: Callable[[], int]):
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        requests = Counter(
            "bankgcn_requests", "Requests for predictions, by status.", ["status"], registry=self.registry
        )
        self._requests = requests
        self._by_status: dict[int, Counter] = {}
        self._seconds = Histogram(
            "bankgcn_request_seconds", "Time from a complete request to its answer.", buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._batch = Histogram(
            "bankgcn_batch_requests", "Requests that were answered together.", buckets=SIZES, registry=self.registry
        )
        self._graphs = Counter("bankgcn_graphs", "Graphs in valid requests.", registry=self.registry)
        Gauge("bankgcn_waiting_requests", "Requests that wait for an answer.", registry=self.registry).set_function(
            waiting
        )

    def count_request(self, status: int, seconds: float | None = None) -> None:
        """Count a request and, if it was complete, the time to its answer."""
        if status not in self._by_status:
            self._by_status[status] = self._requests.labels(str(status))
        self._by_status[status].inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def count_batch(self, requests: int, graphs: int) -> None:
        """Count requests that are answered together."""
        if requests:
            self._batch.observe(requests)
            self._graphs.inc(graphs)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self.registry)
