"""What the service tells about itself: the OpenAPI document, the page that explains it, and the page with a form.

The pages load nothing from another server.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.serve.access import Limits

MAX_PICTURES = 20  # pictures of a request
MAX_LETTERS = 400  # of a SMILES that is drawn: the time grows with the square of its length
PICTURE_SIZE = (340, 240)
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
        "intervals": {
            "type": "object",
            "additionalProperties": {"type": ["array", "null"], "items": {"type": "number"}},
            "description": "Lower and upper bound of each value; null where too few validation graphs have it.",
        },
        "set": {"type": "array", "items": {"type": "string"}, "description": "The classes in the set."},
        "sets": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"enum": [0, 1]}},
            "description": "The answers in the set of each label.",
        },
        "similarity": {"type": "number", "description": "Of a molecule to the nearest training molecule (Tanimoto)."},
        "distance_percentile": {"type": "number", "description": "Of the distance from the nearest training graph."},
        "unseen": {"type": ["string", "null"], "description": "Values that no training graph has."},
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
    400: "The body is not JSON, or a row of a table cannot be read.",
    401: "The token is missing or wrong.",
    408: "The request took too long to arrive.",
    413: "The body, a row or a graph is too large.",
    415: "The body is not declared as application/json or as a table that the model takes.",
    422: "A graph cannot be predicted; the answer says which, and why.",
    503: "Too many requests are waiting: try again after the seconds in Retry-After. Or the service is stopping.",
    504: "The answer took too long.",
}

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: 0.7rem; overflow-x: auto; }
td, th { text-align: left; vertical-align: top; padding: 0.1rem 1rem 0.1rem 0; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #eee; } pre { background: #2a2a2a; } }
"""

HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
"""Headers of the page that explains the service."""


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
    tables = _tables(forms[-1])
    answer = _response("A prediction for each graph, in their order.", _object(predictions=_list(PREDICTION)))
    answer["content"] |= tables
    column = "The column, or key, of the SMILES in a table; by default the one with a usual name, or the key smiles."
    return {
        "summary": "Predict graphs or molecules, in a list or in the rows of a table.",
        "operationId": "predict",
        "parameters": [{"name": "smiles", "in": "query", "description": column, "schema": {"type": "string"}}],
        "requestBody": {"required": True, "content": {"application/json": content, **tables}},
        "responses": {"200": answer, **errors(*STATUSES)},
    }


def _tables(form: str) -> dict[str, Any]:
    """The forms of tables, in a request and in its answer."""
    words = "with its predictions and the reason why it has none in the answer"
    lines = f"An object on each line: a {'SMILES and anything else' if form == 'smiles' else 'graph'}, {words}."
    kinds = {"application/x-ndjson": lines, "application/jsonl": lines}
    if form == "smiles":
        kinds = {"text/csv": f"A line of names, then a molecule in each row, {words}.", **kinds}
    return {kind: {"schema": {"type": "string", "description": text}} for kind, text in kinds.items()}


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
        "properties": {"nodes": _list(_object(**entries)), "edges": _list(edge), "directed": flag, "multigraph": flag},
    }


def example_graph(signals: NodeSchema) -> dict[str, Any]:
    """A graph of two nodes."""
    entries: dict[str, Any] = {key: [0.5] * width for key, width in signals.attributes.items()}
    entries |= {key: words[0] for key, words in words_of(signals).items() if words}
    return {"nodes": [{"id": number, **entries} for number in range(2)], "edges": [{"source": 0, "target": 1}]}


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
        "description": f"Whether to return a picture of each molecule, of {MAX_PICTURES} at most.",
    }
    interval = {
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
        "description": "Probability with which intervals or sets shall hold the truth, such as 0.9.",
    }
    domain = {
        "type": "boolean",
        "default": False,
        "description": "Whether to return how near each graph is to the training graphs.",
    }
    extra = {"pictures": pictures} if name == "smiles" else {}
    return {
        "type": "object",
        "required": [name],
        "properties": {name: graphs, "embeddings": embeddings, "interval": interval, "domain": domain, **extra},
        "additionalProperties": False,
    }


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def form_page(example: dict[str, Any], needs_token: bool) -> tuple[str, dict[str, str]]:
    """The page with a form, and its headers. It knows nothing of the model: it asks for that, with the token.

    Args:
        example: A request.
        needs_token: Whether requests need a token.
    """
    text = "\n".join(example["smiles"]) if "smiles" in example else json.dumps(example, indent=1)
    script = _asset("form.js")
    for name, value in {"pictures": MAX_PICTURES, "needs_token": needs_token, "example": text}.items():
        script = script.replace("{{" + name + "}}", json.dumps(value).replace("<", "\\u003c"))
    content = _asset("form.html").replace("{{style}}", _asset("form.css")).replace("{{script}}", script)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return content, {"content-security-policy": policy}


def _asset(name: str) -> str:
    return files("bankgcn.serve").joinpath("assets", name).read_text(encoding="utf-8")


def page(document: dict[str, Any], needs_token: bool) -> str:
    """The page for an OpenAPI document.

    Args:
        document: The document.
        needs_token: Whether requests need a token.
    """
    token = "<p>Requests need the header <code>Authorization: Bearer TOKEN</code>.</p>" if needs_token else ""
    parts = [
        _operation(path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    title = f"{escape(document['info']['title'])} {escape(document['info']['version'])}"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
        f"<h1>{title}</h1><p>{escape(document['info']['description'])} "
        f"<a href=openapi.json>The same as an OpenAPI document.</a></p>{token}{''.join(parts)}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    statuses = "".join(
        f"<tr><th>{status}<td>{escape(answer['description'])}" for status, answer in operation["responses"].items()
    )
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"
        f"{_body(operation)}<table>{statuses}</table>"
    )


def _body(operation: dict[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"]["application/json"]
    example, schema = (json.dumps(content[key], indent=2) for key in ("example", "schema"))
    return (
        f"<p>Body, for example:</p><pre>{escape(example)}</pre>"
        f"<details><summary>Schema of the body</summary><pre>{escape(schema)}</pre></details>"
    )


def draw_smiles(smiles: str) -> str | None:
    """The structure of a molecule that RDKit can read; ``None`` if it is too large, or if RDKit cannot draw here."""
    if len(smiles) > MAX_LETTERS:
        return None
    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError:  # RDKit draws only where the libraries Xrender and Xext are
        return None
    from rdkit.Chem import MolFromSmiles
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        molecule = MolFromSmiles(smiles)
        drawing = rdMolDraw2D.MolDraw2DSVG(*PICTURE_SIZE)
        options: Any = drawing.drawOptions()
        options.clearBackground, options.maxFontSize, options.fixedBondLength = False, 18, 32
        try:
            rdMolDraw2D.PrepareAndDrawMolecule(drawing, molecule)
        except (ValueError, RuntimeError):  # such as bonds that have no form with double bonds
            return None
        drawing.FinishDrawing()
    return drawing.GetDrawingText().replace("iso-8859-1", "utf-8", 1)
