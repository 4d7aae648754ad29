"""What the service accepts at most."""

from __future__ import annotations

from dataclasses import dataclass, fields


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
        seconds: Time to send a request, and time to wait for its answer.
    """

    nodes: int = 10_000
    edges: int = 100_000
    graphs: int = 1_000
    total: int = 1_000_000
    body: int = 16 << 20
    waiting: int = 1_024
    waiting_body: int = 256 << 20
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ValueError(f"{item.name}={value}: expected a limit above 0")
