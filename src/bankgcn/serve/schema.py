"""What the OpenAPI document says of requests and answers."""

from __future__ import annotations

from typing import Any

from bankgcn.serve.limits import Limits

NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
IDENTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
GRAPH: dict[str, Any] = {
    "type": "object",
    "description": "A node-link document, as NetworkX's node_link_data makes it. Entries of a node apart from its id "
    "are its signal: those that the graphs of training had; GET /model lists them.",
    "required": ["nodes", "edges"],
    "properties": {
        "nodes": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {"id": IDENTITY}}},
        "edges": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["source", "target"],
                "properties": {"source": IDENTITY, "target": IDENTITY, "weight": {"type": "number", "minimum": 0}},
            },
        },
        "directed": {"type": "boolean", "default": False},
        "multigraph": {"type": "boolean", "default": False},
    },
}
EXAMPLE = {
    "graphs": [{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}],
}
PREDICTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "class": {"type": "string", "description": "The most probable class."},
        "probabilities": {**NUMBERS, "description": "Of each class, or of each yes/no label."},
        "values": {**NUMBERS, "description": "In the units of the training graphs."},
        "spread": {**NUMBERS, "description": "Standard deviation over several models."},
        "embedding": {"type": "array", "items": {"type": "number"}, "description": "The vector of the graph."},
    },
    "additionalProperties": False,
}
ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["index", "message"],
                "properties": {"index": {"type": "integer"}, "message": {"type": "string"}},
            },
        },
    },
}
STATUSES = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    408: "The request took too long to arrive.",
    413: "The body, or a graph, is too large.",
    415: "The body is not declared as application/json.",
    422: "A graph cannot be predicted; the answer says which, and why.",
    503: "Too many requests are waiting; try again after the seconds in the header Retry-After.",
    504: "The answer took too long.",
}


def predict_operation(limits: Limits) -> dict[str, Any]:
    """The part of the document on predictions."""
    graphs = {"type": "array", "minItems": 1, "maxItems": limits.graphs}
    embeddings = {"type": "boolean", "default": False, "description": "Whether to return the vector of each graph."}

    def form(name: str, items: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": [name],
            "properties": {name: {**graphs, "items": items}, "embeddings": embeddings},
            "additionalProperties": False,
        }

    schema = {"oneOf": [form("graphs", GRAPH), form("smiles", {"type": "string"})]}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": EXAMPLE}}},
        "responses": {
            "200": _response("A prediction for each graph, in their order.", _object(predictions=_list(PREDICTION))),
            **errors(*STATUSES),
        },
    }


def errors(*statuses: int) -> dict[str, Any]:
    """The part of the document on errors."""
    return {str(status): _response(STATUSES[status], ERROR) for status in statuses}


def json_answer(description: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """The part of the document on an answer in JSON."""
    return {"responses": {"200": _response(description, schema or {"type": "object"})}}


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
