"""Who may use the service, and how much of it: tokens, limits, and why a request is refused."""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bankgcn.files.checked import FileError
from bankgcn.messages import Message, Option

TOKEN_VARIABLE = "BANKGCN_TOKEN"
BLANKS = " \t"  # around the value of a header
SHORTEST = 16  # characters of a token


SHOWN = 20  # graphs whose errors an answer lists
LONGEST = 500  # characters of a message: values of a client can be long


class ClientGone(Exception):
    """The client has closed the connection: there is nobody to answer."""


class RequestError(Exception):
    """A request that gets no prediction.

    Args:
        status: Status of HTTP.
        detail: What is wrong.
        graphs: What is wrong with single graphs, by their index in the request.
        headers: Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        graphs: Mapping[int, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.graphs, self.headers = dict(graphs or {}), dict(headers or {})

    @property
    def content(self) -> dict[str, Any]:
        """The answer."""
        if not self.graphs:
            return {"detail": self.detail}
        listed = sorted(self.graphs.items())[:SHOWN]
        return {"detail": self.detail, "errors": [{"index": index, "message": message} for index, message in listed]}


def of_graphs(reasons: Mapping[int, str], total: int) -> RequestError:
    """The error of a request with graphs that cannot be predicted.

    Args:
        reasons: What is wrong with them, by their index.
        total: Number of graphs in the request.
    """
    first = min(reasons)
    messages = {index: _shortened(reason) for index, reason in reasons.items()}
    many = "" if len(messages) == 1 else f" ({len(messages):,} of {total:,} graphs have errors)"
    return RequestError(422, f"{messages[first]}{many}", messages)


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST else message[:LONGEST] + "..."


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the service. A request beyond them is refused; others are not affected.

    Args:
        nodes: Nodes of a graph.
        edges: Edges of a graph, as the request lists them.
        graphs: Graphs of a request.
        total: Nodes and edges of all graphs of a request, or the letters of its SMILES.
        body: Bytes of a request.
        waiting: Requests that wait for an answer.
        waiting_body: Bytes of all requests that arrive or wait; at least ``body``.
        rows: Rows of a table, which is read and answered in blocks.
        table: Bytes of a table.
        seconds: Time to send a request, and time to wait for its answer; of a table, each part and each block.
    """

    nodes: int = 10_000
    edges: int = 100_000
    graphs: int = 1_000
    total: int = 1_000_000
    body: int = 16 << 20
    waiting: int = 1_024
    waiting_body: int = 256 << 20
    rows: int = 10_000_000
    table: int = 1 << 30
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}={value}: expected a limit above 0")


def read_token(path: Path | None) -> str | None:
    """The token in a file, or else in the environment variable ``BANKGCN_TOKEN``; ``None`` without both.

    Raises:
        ValueError: The token is too short to be a secret, or has blanks or letters that a header cannot hold.
    """
    if path is None and TOKEN_VARIABLE not in os.environ:
        return None
    if path is None:
        token, where = os.environ[TOKEN_VARIABLE].strip(), f"${TOKEN_VARIABLE}"
    else:
        try:
            token, where = path.read_text(encoding="utf-8").strip(), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot be read as a token: {error}", path) from error
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(
            f"the token in {where} must have at least {SHORTEST} printable ASCII characters and no blanks; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one"
        )
    return token


def check_address(host: str, token: str | None, allow_anyone: bool) -> None:
    """Raise if the service would be open to other machines without a token."""
    if token is None and not allow_anyone and not is_loopback(host):
        raise ValueError(
            Message(
                "{host} lets other machines in: give a token ({file}, or ${variable}), or allow everyone by {anyone}",
                host=Option("host", host),
                file=Option("token_file", "FILE"),
                variable=TOKEN_VARIABLE,
                anyone=Option("allow_anyone", True),
            )
        )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from the same machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Access:
    """Compares the token of a request with that of the service, in constant time.

    Args:
        token: The token; ``None`` lets every request in.
    """

    def __init__(self, token: str | None):
        self._expected = None if token is None else token.encode()

    @property
    def needs_token(self) -> bool:
        """Whether requests need a token."""
        return self._expected is not None

    def check(self, authorization: str | None) -> None:
        """Raise :class:`RequestError` unless the header ``Authorization`` has the token; ``bearer`` in any case."""
        if self._expected is None:
            return
        scheme, _, given = (authorization or "").strip(BLANKS).partition(" ")
        right = hmac.compare_digest(given.strip(BLANKS).encode("latin-1", "replace"), self._expected)
        if not right or scheme.lower() != "bearer":
            raise RequestError(
                401,
                "the token is missing or wrong: send 'Authorization: Bearer TOKEN'",
                headers={"www-authenticate": "Bearer"},
            )
