"""Why a request is refused, as a status and a JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    told = {index: _shortened(reason) for index, reason in reasons.items()}
    many = "" if len(told) == 1 else f" ({len(told):,} of {total:,} graphs have errors)"
    return RequestError(422, f"{told[first]}{many}", told)


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST else message[:LONGEST] + "..."
