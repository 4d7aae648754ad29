"""A chart as data: a page draws it with Plotly, ``bankgcn figure`` with Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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
        z: Values of a heat map, one list for each row.
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
    own = {name: item for name, item in vars(value).items() if item not in ((), "", None, False) or name == "color"}
    return plain(own)
