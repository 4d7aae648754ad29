"""The addresses of the service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.requests import ClientDisconnect

import bankgcn
from bankgcn.serve.access import Access
from bankgcn.serve.batcher import Batcher
from bankgcn.serve.engine import Engine
from bankgcn.serve.errors import RequestError
from bankgcn.serve.limits import Limits
from bankgcn.serve.metrics import Metrics
from bankgcn.serve.page import page
from bankgcn.serve.schema import errors, json_answer, predict_operation, words_of

CLIENT_GONE = 499  # in the metrics: there is nobody to send a status to


def make_app(engine: Engine, limits: Limits | None = None, token: str | None = None) -> FastAPI:
    """The service as an ASGI application; ``app.state.unanswered`` counts the requests that a stop cut off.

    Args:
        engine: Answers the requests.
        limits: What is accepted.
        token: What clients must know; by default nothing.
    """
    limits = limits or Limits()
    batcher = Batcher(engine.answer, limits, lambda requests, graphs: metrics.count_batch(requests, graphs))
    metrics = Metrics(lambda: batcher.waiting)
    access = Access(token)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        with suppress(asyncio.CancelledError):  # a second Ctrl-C does not wait for the answers
            yield
            await batcher.stop()

    app = FastAPI(
        title="bankgcn",
        version=bankgcn.__version__,
        description="Predictions of a trained graph network.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from another server
        redoc_url=None,
    )
    app.state.unanswered = 0

    async def predict(request: Request) -> Response:
        started: float | None = None
        try:
            access.check(request.headers.get("authorization"))
            body = await _read_body(request, limits)
            started = time.perf_counter()
            answer = await batcher.submit(body)
            if isinstance(answer, RequestError):
                raise answer
            status, content, headers = 200, answer, None
        except RequestError as error:
            status, content, headers = error.status, error.content, error.headers
        except ClientDisconnect:
            status, content, headers = CLIENT_GONE, {"detail": "the client is gone"}, None
        except asyncio.CancelledError:  # the service stops without waiting for the answer
            app.state.unanswered += 1
            status, content, headers = 503, {"detail": "the service is stopping"}, None
        metrics.count_request(status, None if started is None else time.perf_counter() - started)
        return _json(content, status, headers)

    # Not one of FastAPI's own routes: they take a seventh more of a request's time, for what is checked here anyway.
    app.add_route("/predict", predict, methods=["POST"])

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

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi(), access.needs_token), headers=PAGE_HEADERS)

    _complete_document(app, predict_operation(engine.schema, engine.forms, limits), access.needs_token)
    return app


PAGE_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


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
        "limits": vars(limits),
    }


async def _read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request.

    Raises:
        RequestError: It is of another kind, too large, or too slow.
    """
    headers = request.headers
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        # A page of another site cannot send this type without being asked for permission by the browser.
        raise RequestError(415, "send the body with 'Content-Type: application/json'", headers={"connection": "close"})
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
