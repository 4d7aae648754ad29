"""A page as data, and the HTML file that holds it: self-contained, with all text escaped."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bankgcn.extras import require
from bankgcn.report.page.chart import Figure, Table, plain
from bankgcn.report.plots import COLORS

REQUIRED = ("plotly", "jinja2")
"""The libraries that pages need."""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A number that a reader sees first."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Pairs of a name and a value."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Graphs:
    """A browser of single graphs.

    Args:
        caption: What it shows, and how to read it.
        entries: The graphs.
        kind: What was learned: ``"classes"``, ``"values"`` or ``"labels"``.
        outputs: Number and name of each output that can be explained.
        scales: The contribution that has the full colour, for each output of the model.
        label: Number of the output that is explained at first; ``None`` for each graph its own.
    """

    caption: str
    entries: list[Any]
    kind: str = "classes"
    outputs: tuple[tuple[int, str], ...] = ()
    scales: tuple[float, ...] = ()
    label: int | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a page: its name in addresses, title, a sentence, what it shows, and whether a reader must open it."""

    name: str
    title: str
    text: str
    items: tuple[Figure | Table | Facts | Graphs, ...]
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Args:
        title: The title.
        subtitle: A line below it.
        tiles: The numbers that a reader sees first.
        notes: What a reader must know.
        sections: The parts.
        origin: The command that made it.
    """

    title: str
    subtitle: str
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    origin: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures of the page."""
        return tuple(item for section in self.sections for item in section.items if isinstance(item, Figure))


def check_available(purpose: str = "bankgcn report") -> None:
    """Raise if a library that pages need is missing; call it before any work starts.

    Args:
        purpose: What needs the page, for the message.
    """
    for module in REQUIRED:
        require(module, purpose)


def write_html(page: Page) -> bytes:
    """The page as one file, which needs no network and no other file."""
    check_available()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.tests["of_kind"] = lambda item, kind: type(item).__name__ == kind
    template = environment.from_string(_asset("page.html"))
    figures = {figure.name: {"charts": figure.charts, "facts": figure.facts} for figure in page.figures}
    graphs = [
        {"entries": item.entries, "kind": item.kind, "outputs": item.outputs, "scales": item.scales}
        for section in page.sections
        for item in section.items
        if isinstance(item, Graphs)
    ]
    return template.render(
        page=page,
        style=_asset("page.css"),
        script=_asset("page.js"),
        data=embedded({"figures": figures, "graphs": graphs, "colors": COLORS}),
        plotly=_plotly(),
    ).encode()


def embedded(value: Any) -> str:
    """Data as JSON that can stand inside a ``script`` element: nothing in it can end the element."""
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _asset(name: str) -> str:
    return files("bankgcn.report.page").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Plotly's script, compressed: 2 MB instead of 4.8. Browsers decompress it by themselves."""
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(script, 9, mtime=0)).decode()
