"""What the OpenAPI document says of requests and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.serve.limits import Limits
from bankgcn.serve.pictures import MOST

NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
NUMBER = {"type": "number", "minimum": -3.4e38, "maximum": 3.4e38}
IDENTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
PREDICTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "class": {"type": "string", "description": "The most probable class, or what the threshold decides."},
        "labels": {**NUMBERS, "description": "0 or 1 for each label, if the model has thresholds."},
        "probabilities": {**NUMBERS, "description": "Of each class, or of each yes/no label."},
        "values": {**NUMBERS, "description": "In the units of the training graphs."},
        "spread": {**NUMBERS, "description": "Standard deviation over several models."},
        "embedding": {"type": "array", "items": {"type": "number"}, "description": "The vector of the graph."},
        "picture": {"type": ["string", "null"], "description": "The structure as SVG; null if it is too large."},
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
    503: "Too many requests are waiting: try again after the seconds in Retry-After. Or the service is stopping.",
    504: "The answer took too long.",
}


def predict_operation(signals: NodeSchema, forms: Sequence[str], limits: Limits) -> dict[str, Any]:
    """The part of the document on predictions.

    Args:
        signals: Which entries of a node are its signal.
        forms: What the model takes: ``"graphs"``, ``"smiles"``, or both.
        limits: What is accepted.
    """
    items = {"graphs": graph_schema(signals), "smiles": {"type": "string"}}
    examples = {"graphs": example_graph(signals), "smiles": "CCO"}
    schema = {"oneOf": [_form(form, items[form], limits) for form in forms]}
    content = {"schema": schema, "example": {forms[-1]: [examples[forms[-1]]]}}
    return {
        "summary": "Predict graphs or molecules.",
        "operationId": "predict",
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {
            "200": _response("A prediction for each graph, in their order.", _object(predictions=_list(PREDICTION))),
            **errors(*STATUSES),
        },
    }


def graph_schema(signals: NodeSchema) -> dict[str, Any]:
    """What a graph of a request is."""
    entries: dict[str, Any] = {"id": IDENTITY}
    for key, width in signals.attributes.items():
        numbers = {"type": "array", "items": NUMBER, "minItems": width, "maxItems": width}
        entries[key] = numbers if width > 1 else {"anyOf": [NUMBER, numbers]}
    for key, words in words_of(signals).items():
        entries[key] = {"type": "string", "enum": words}
    ends = {"source": IDENTITY, "target": IDENTITY}
    edge = {**_object(**ends), "properties": {**ends, "weight": {**NUMBER, "minimum": 0}}}
    flag = {"type": "boolean", "default": False}
    return {
        "type": "object",
        "description": "A node-link document, as NetworkX's node_link_data makes it.",
        "required": ["nodes", "edges"],
        "properties": {
            "nodes": _list(_object(**entries)),
            "edges": _list(edge),
            "directed": flag,
            "multigraph": flag,
        },
    }


def example_graph(signals: NodeSchema) -> dict[str, Any]:
    """A graph of two nodes."""
    entries: dict[str, Any] = {key: [0.5] * width for key, width in signals.attributes.items()}
    entries |= {key: words[0] for key, words in words_of(signals).items() if words}
    return {
        "nodes": [{"id": number, **entries} for number in range(2)],
        "edges": [{"source": 0, "target": 1}],
    }


def words_of(signals: NodeSchema) -> dict[str, list[str]]:
    """The words that each entry of a node may have."""
    return {key: [*words, *signals.unseen.get(key, ())] for key, words in signals.categories.items()}


def errors(*statuses: int) -> dict[str, Any]:
    """The part of the document on errors."""
    return {str(status): _response(STATUSES[status], ERROR) for status in statuses}


def json_answer(description: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """The part of the document on an answer in JSON."""
    return {"responses": {"200": _response(description, schema or {"type": "object"})}}


def _form(name: str, items: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """A request with a list of graphs."""
    graphs = {"type": "array", "minItems": 1, "maxItems": limits.graphs, "items": items}
    embeddings = {"type": "boolean", "default": False, "description": "Whether to return the vector of each graph."}
    pictures = {
        "type": "boolean",
        "default": False,
        "description": f"Whether to return a picture of each molecule, of {MOST} at most.",
    }
    extra = {"pictures": pictures} if name == "smiles" else {}
    return {
        "type": "object",
        "required": [name],
        "properties": {name: graphs, "embeddings": embeddings, **extra},
        "additionalProperties": False,
    }


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
