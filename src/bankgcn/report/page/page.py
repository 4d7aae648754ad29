"""A page as data: charts, tables and sections. Plotly draws it in one HTML file, Matplotlib its figures as pictures."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from bankgcn.extras import require
from bankgcn.report.plots import COLORS, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


Kind = Literal["line", "points", "bars", "heat"]
Values = Sequence[float | str | None]

DIGITS = 5  # that a page keeps of a number


@dataclass(frozen=True, kw_only=True)
class Series:
    """Values that are drawn together.

    Args:
        kind: How they are drawn.
        name: Name in the legend; nothing if empty.
        x: Horizontal positions, or words; of a heat map, the columns.
        y: Vertical positions, or words; of a heat map, the rows.
        z: Values of a heat map, one list for each row, from 0 to 1.
        neutral: The value of a heat map that has no colour, if it has two colours: smaller and larger ones.
        text: What a reader sees at each value on pointing at it; of a heat map, what its cells show.
        error: Half of the interval around each value.
        color: Number of the colour; ``None`` for grey. Colour and dash together can be told apart without colours.
        dash: Number of the pattern of the line.
        axis: Which vertical axis: ``"y"``, or ``"y2"`` on the right.
        hidden: Whether the legend must switch it on.
    """

    kind: Kind = "line"
    name: str = ""
    x: Values = ()
    y: Values = ()
    z: Sequence[Values] = ()
    neutral: float = 0.0
    text: Sequence[Any] = ()
    error: Values = ()
    color: int | None = 0
    dash: int = 0
    axis: Literal["y", "y2"] = "y"
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis: its title, its words in their order if several series may have others, its limits if they are fixed.

    It may be logarithmic or reversed.
    """

    title: str = ""
    words: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    log: bool = False
    reverse: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart.

    Args:
        x: The horizontal axis.
        y: The vertical axis.
        series: What is drawn.
        y2: A second vertical axis, on the right.
        marks: Vertical lines with a word each.
        height: In pixels.
        square: Whether one step is as long on both axes.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    y2: Axis | None = None
    marks: tuple[tuple[float, str], ...] = ()
    height: int = 340
    square: bool = False


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Something that a reader chooses above a figure, such as the layer; the first label is shown at first."""

    name: str
    labels: tuple[str, ...]


def choice_of(name: str, labels: Sequence[str]) -> tuple[Choice, ...]:
    """The choice among several labels; none where there is one."""
    return (Choice(name=name, labels=tuple(labels)),) if len(labels) > 1 else ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart, or one for each combination of choices, with a line that says what it shows and how to read it.

    Args:
        name: Name in addresses and of files.
        title: The title.
        caption: What it shows, and how to read it.
        charts: The charts, in the order of the choices; the last choice varies fastest.
        choices: What a reader chooses.
        facts: A line for each chart, such as Omega of the layer.
        wide: Whether it takes the whole width of a page.
    """

    name: str
    title: str
    caption: str
    charts: tuple[Chart, ...]
    choices: tuple[Choice, ...] = ()
    facts: tuple[str, ...] = ()
    wide: bool = False

    def __post_init__(self) -> None:
        number = math.prod(len(choice.labels) for choice in self.choices)
        if len(self.charts) != number:
            raise ValueError(f"figure {self.name!r} has {len(self.charts)} charts for {number} choices")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a page.

    Args:
        caption: What it shows, and how to read it.
        header: Names of the columns.
        rows: The cells, as text.
        marks: Cells that are marked, by row and column: ``"best"``, ``"ahead"`` or ``"behind"``.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: dict[tuple[int, int], str] = field(default_factory=dict)


def plain(value: Any) -> Any:
    """Charts and other data as JSON holds them: short, with rounded numbers, and ``None`` for what is not finite."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    fields = {name: item for name, item in vars(value).items() if item not in ((), "", None, False) or name == "color"}
    return plain(fields)


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
        edge_scales: The same for contributions of edges.
        label: Number of the output that is explained at first; ``None`` for each graph its own.
    """

    caption: str
    entries: list[Any]
    kind: str = "classes"
    outputs: tuple[tuple[int, str], ...] = ()
    scales: tuple[float, ...] = ()
    edge_scales: tuple[float, ...] = ()
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
        {
            "entries": item.entries,
            "kind": item.kind,
            "outputs": item.outputs,
            "scales": item.scales,
            "edge_scales": item.edge_scales,
        }
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


GREY = "#777777"
DASHES: tuple[Any, ...] = (
    "-", "--", ":", "-.", (0, (8, 2)), (0, (8, 2, 2, 2)), (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (7, 1.5)),
    (0, (2, 1)), (0, (8, 2, 2, 2, 2, 2)), (0, (1, 1.5, 3, 1.5)), (0, (5, 4)), (0, (10, 1.5, 1, 1.5)),
    (0, (3, 1, 1, 3)), (0, (1.5, 1.5, 4.5, 1.5)),
)  # fmt: skip
MARKERS = "osD^Xp*v<>hHPd8x"
MAX_LEGEND = 13  # names


def paint_figure(figure: Figure, form: str) -> bytes:
    """A figure as the bytes of an image file.

    Args:
        figure: The figure.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.
    """
    labels = [choice.labels for choice in figure.choices]
    across = len(labels[0]) if labels else 1
    down = len(figure.charts) // across
    titles = [", ".join(words) for words in _titles(figure)]

    def paint(canvas: Canvas) -> None:
        axes = canvas.subplots(down, across, squeeze=False)
        for place, chart in enumerate(figure.charts):
            axis = axes[place % down, place // down]
            _paint_chart(chart, axis)
            axis.set_title(titles[place], fontsize=9)
        first = [axes[0, 0], *(twin for twin in canvas.axes if figure.charts[0].y2 and twin not in axes)]
        legends = [one.get_legend_handles_labels() for one in first]
        handles = [handle for entries, _ in legends for handle in entries][:MAX_LEGEND]
        names = [name for _, entries in legends for name in entries][:MAX_LEGEND]
        if handles:
            canvas.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)), frameon=False)
        canvas.suptitle(figure.title, fontsize=11)

    return render(figure.name, (1.2 + 3.6 * across, 1.2 + 2.8 * down), paint, form)


def _titles(figure: Figure) -> list[tuple[str, ...]]:
    """The choices of each chart, in words."""
    named = [[f"{c.name} {label}" if c.name not in label else label for label in c.labels] for c in figure.choices]
    return list(product(*named))


def _paint_chart(chart: Chart, axis: Axes) -> None:
    right = axis.twinx() if chart.y2 is not None else axis
    bars = [series for series in chart.series if series.kind == "bars"]
    for series in chart.series:
        _paint_series(series, right if series.axis == "y2" else axis, bars)
    for x, word in chart.marks:
        axis.axvline(x, color=GREY, linestyle=":")
        axis.annotate(word, (x, 1), xycoords=("data", "axes fraction"), va="top", fontsize=8)
    axis.set_xlabel(chart.x.title.split(" (")[0])
    axis.set_ylabel(chart.y.title)
    if chart.y2 is not None:
        right.set_ylabel(chart.y2.title)
    if chart.x.limits:
        axis.set_xlim(*chart.x.limits)
    if chart.y.limits:
        axis.set_ylim(*chart.y.limits)
    if chart.square:
        axis.set_aspect("equal", adjustable="box")
    axis.spines[["top"]].set_visible(False)


def styled(styles: Sequence[Any], number: int) -> Any:
    """The style of a number; after the last one, each colour meets another style."""
    return styles[(number + number // len(styles)) % len(styles)]


def _paint_series(series: Series, axis: Axes, bars: list[Series]) -> None:
    color = GREY if series.color is None else COLORS[series.color % len(COLORS)]
    name: dict[str, Any] = {"label": series.name} if series.name else {}
    x: Any = series.x
    y: Any = series.y
    if series.kind == "heat":
        z: Any = series.z
        axis.imshow(z, cmap="RdBu_r" if series.neutral else "Blues", vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(x)), x, rotation=90 if len(x) > 4 else 0)
        axis.set_yticks(range(len(y)), y)
        for row, words in enumerate(series.text):
            for column, word in enumerate(words):
                value = float(z[row][column])
                dark = abs(value - 0.5) > 0.3 if series.neutral else value > 0.5
                axis.text(column, row, word, ha="center", va="center", color="white" if dark else "black", fontsize=7)
    elif series.kind == "bars":
        width, place = 0.8 / len(bars), bars.index(series)
        at = [number + (place - (len(bars) - 1) / 2) * width for number in range(len(x))]
        axis.bar(at, y, width, color=color, hatch="//" if series.dash else "", edgecolor="white", **name)
        axis.set_xticks(range(len(x)), x, rotation=45)
    elif series.kind == "points":
        axis.scatter(x, y, color=color, s=14, marker=styled(MARKERS, series.dash), alpha=0.7, **name)
    else:
        axis.plot(x, y, color=color, linestyle=styled(DASHES, series.dash), **name)
    if series.error and series.kind != "heat":
        axis.errorbar(x, y, series.error, fmt="none", color=color, capsize=2)  # type: ignore[arg-type]
