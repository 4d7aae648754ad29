"""What the page is put together from: parts of sentences, tables and pictures, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bankgcn.experiments.design import Column, Row
from bankgcn.experiments.paper import AS_PAPER, L2_PLACES, TableSetting, figure3
from bankgcn.report.curves import CURVES, Curve, draw_curve
from bankgcn.report.plots import draw_dots, draw_filters, draw_ranks
from bankgcn.report.results import Results
from bankgcn.report.sheet import counted
from reproduction.evidence import MAIN, Evidence, settings_of

NONE_COMPLETE = "No dataset is complete yet."
NOT_YET = "Not run yet."


def listed(words: Sequence[str]) -> str:
    """Words in a row: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def labels(items: Sequence[Row] | Sequence[Column]) -> str:
    """The labels of rows or columns, in a row."""
    return listed([item.label for item in items])


def on_datasets(columns: Sequence[Column], total: int) -> str:
    """On how many datasets, and which: ``on 1 of 2 complete datasets (NCI1)``."""
    names = f" ({labels(columns)})" if columns and len(columns) < total else ""
    return f"on {len(columns)} of {counted(total, 'complete dataset')}{names}"


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column to the left, the others to the right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Sequence[str]) -> str:
    """Lines as a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


FOLDER = "figures"
"""The folder of the pictures, beside the document."""

FORM = "svg"

FILTER_DATASETS = ("NCI109",)
"""The datasets of Figure 3 whose data are available."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture of a table.

    Args:
        name: Name of the file without its suffix.
        text: What it shows, for readers who cannot see it.
        table: Name of the table.
        setting: Setting of the table.
        paint: Draws the results as an image of a form.
        is_drawn: Whether there is something to draw.
        otherwise: What the reader finds if there is not.
    """

    name: str
    text: str
    table: str
    setting: TableSetting
    paint: Callable[[Results, str], bytes]
    is_drawn: Callable[[Results], bool]
    otherwise: str = NOT_YET


def _two_datasets(results: Results) -> bool:
    return len(results.ranked_columns()) > 1


def _any_score(results: Results) -> bool:
    return bool(results.occupied_columns())


def _of_table_1(setting: TableSetting) -> tuple[Picture, Picture]:
    return (
        Picture(
            name=f"table1-{setting.name}",
            text=f"Test accuracy of all models on each dataset, beside the paper's figures. {setting.label}.",
            table="table1",
            setting=setting,
            paint=draw_dots,
            is_drawn=_any_score,
        ),
        Picture(
            name=f"ranks-{setting.name}",
            text=f"Mean rank of all models over the datasets. {setting.label}.",
            table="table1",
            setting=setting,
            paint=draw_ranks,
            is_drawn=_two_datasets,
            otherwise="It needs two complete datasets.",
        ),
    )


LARGE = Picture(
    name="table4",
    text="Test score of all models on each large dataset, beside the paper's figures.",
    table="table4",
    setting=AS_PAPER,
    paint=draw_dots,
    is_drawn=_any_score,
)


def _of_curve(curve: Curve, setting: TableSetting) -> Picture:
    return Picture(
        name=f"{curve.table}-{curve.name}",
        text=f"Test accuracy of BankGCN over {curve.name}, beside the paper's figures.",
        table=curve.table,
        setting=setting,
        paint=partial(draw_curve, curve),
        is_drawn=lambda results: bool(curve.columns(results)),
    )


PICTURES: tuple[Picture, ...] = (
    *(picture for setting in MAIN for picture in _of_table_1(setting)),
    *(_of_curve(curve, setting) for curve in CURVES.values() for setting in settings_of(curve.table)),
    LARGE,
)


def draw_pictures(evidence: Evidence) -> dict[str, bytes]:
    """The files of the pictures for which there are records, by name."""
    files = {}
    for picture in PICTURES:
        results = evidence.results(picture.table, picture.setting)
        if picture.is_drawn(results):
            files[f"{picture.name}.{FORM}"] = picture.paint(results, FORM)
    for place in L2_PLACES:
        figure = figure3(FILTER_DATASETS, normalize=place)
        if any(evidence.records[c.key].alpha for c in figure.configs() if c.key in evidence.records):
            files[f"figure3-{place}.{FORM}"] = draw_filters(figure, evidence.records, FORM)
    return files


def show(name: str, text: str, files: Mapping[str, bytes], otherwise: str = Picture.otherwise) -> str:
    """The line that shows a picture, or what stands there without it."""
    file = f"{name}.{FORM}"
    return f"![{text}]({FOLDER}/{file})" if file in files else f"{text} {otherwise}"


def show_all(table: str, setting: TableSetting, files: Mapping[str, bytes], start: str = "") -> list[str]:
    """The lines that show all pictures of a table in a setting whose names start in this way."""
    return [
        show(picture.name, picture.text, files, picture.otherwise)
        for picture in PICTURES
        if (picture.table, picture.setting) == (table, setting) and picture.name.startswith(start)
    ]
