"""The pages for people: one with a form, and one that explains the service. They load nothing from another server."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from bankgcn.serve.pictures import MOST

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: 0.7rem; overflow-x: auto; }
td, th { text-align: left; vertical-align: top; padding: 0.1rem 1rem 0.1rem 0; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #eee; } pre { background: #2a2a2a; } }
"""

HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
"""Headers of the page that explains the service."""


def form_page(example: dict[str, Any], needs_token: bool) -> tuple[str, dict[str, str]]:
    """The page with a form, and its headers. It knows nothing of the model: it asks for that, with the token.

    Args:
        example: A request.
        needs_token: Whether requests need a token.
    """
    text = "\n".join(example["smiles"]) if "smiles" in example else json.dumps(example, indent=1)
    script = _asset("form.js")
    for name, value in {"pictures": MOST, "needs_token": needs_token, "example": text}.items():
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
