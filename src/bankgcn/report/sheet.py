"""Sheets of text in rows and columns: numbers as text, and the formats plain text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import zip_longest

from bankgcn.metrics import Metric
from bankgcn.settings import pick

MISSING = "-"


def unit(metric: Metric) -> str:
    """The unit of a metric after its label: percent for scores in [0, 1], nothing for others."""
    return " in %" if metric.percent else ""


def shown(score: float, metric: Metric) -> float:
    """A score in the unit of tables: in percent where the metric says so."""
    return 100 * score if metric.percent else score


def number(score: float, metric: Metric) -> str:
    """A score: two decimals in percent, otherwise four digits."""
    return f"{score:.2f}" if metric.percent else f"{score:.4g}"


def mean_std(mean: float, std: float, metric: Metric) -> str:
    """A mean with its standard deviation, if there is one."""
    return number(mean, metric) if math.isnan(std) else f"{number(mean, metric)} ± {number(std, metric)}"


def difference(value: float, metric: Metric) -> str:
    """A difference of two scores, with its sign."""
    if math.isnan(value):
        return MISSING
    rounded = float(number(value, metric)) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{rounded:+.2f}" if metric.percent else f"{rounded:+.4g}"


def percentage(value: float) -> str:
    """A relative change in percent, with its sign."""
    return MISSING if math.isnan(value) else f"{round(value, 1) + 0.0:+.1f}%"


def p_value(value: float) -> str:
    """A p-value with three decimals."""
    if math.isnan(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int | None) -> str:
    """A number of things, with separators of thousands."""
    return MISSING if value is None else f"{value:,}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 dataset``, ``2 datasets``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def exact(value: object) -> str:
    """A value in full precision, for programs; empty if unknown."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


TERMINAL_WIDTH = 80
PAGE_COLUMNS = 5
"""Number of columns that fit on a page; LaTeX shrinks a block with more to the width of the page."""

MORE = "Add --notes for chosen values, statistical tests, protocol, data and versions."


@dataclass(frozen=True)
class Entry:
    """The text of one field of a block."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """A title, a header and rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]

    @classmethod
    def of(cls, title: str, header: Iterable[str], lines: Iterable[Iterable[str]]) -> Block:
        """The block with these texts, none of them bold."""
        return cls(title=title, header=tuple(header), rows=tuple(tuple(map(Entry, line)) for line in lines))


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Blocks under one title.

    Args:
        title: Title of the sheet.
        blocks: What every reader sees.
        footer: Short lines below the blocks.
        details: Further blocks for readers who ask for notes.
        notes: Further lines for readers who ask for notes.
    """

    title: str
    blocks: tuple[Block, ...]
    footer: tuple[str, ...] = ()
    details: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


def write_sheet(sheet: Sheet, form: str = "text", notes: bool = False) -> str:
    """Write a sheet.

    Args:
        sheet: The sheet.
        form: ``"text"``, ``"markdown"``, ``"latex"``, or ``"csv"``.
        notes: Whether to include details and notes. Without them, the footer says how to see them.
    """
    write = pick(WRITERS, form, "format")
    if notes:
        lines, blocks = (*sheet.footer, *sheet.notes), (*sheet.blocks, *sheet.details)
    else:
        lines, blocks = (*sheet.footer, *([MORE] if sheet.details or sheet.notes else [])), sheet.blocks
    if form == "csv" and not notes:
        lines = ()  # programs read this format
    return write(replace(sheet, blocks=blocks, footer=lines, details=(), notes=()))


def text(sheet: Sheet) -> str:
    """Plain text: columns aligned, numbers to the right, footer wrapped to the width of a terminal."""
    parts = [
        sheet.title,
        *(f"{block.title}\n{_aligned(block)}" if block.title else _aligned(block) for block in sheet.blocks),
    ]
    return "\n\n".join([*parts, "\n".join(map(_wrapped, sheet.footer))]).rstrip() + "\n"


def markdown(sheet: Sheet) -> str:
    """Markdown as GitHub reads it."""
    parts = [f"**{_escape_markdown(sheet.title)}**"] if sheet.title else []
    for block in sheet.blocks:
        lines = [block.header, tuple(":--" if n == 0 else "--:" for n in range(len(block.header)))]
        lines += [tuple(map(_markdown_cell, row)) for row in block.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"{_escape_markdown(block.title)}\n\n{table}" if block.title else table)
    return "\n\n".join([*parts, "\n".join(f"- {_escape_markdown(line)}" for line in sheet.footer)]).rstrip() + "\n"


def latex(sheet: Sheet) -> str:
    """LaTeX: one table environment with the blocks and the footer below each other."""
    parts = ["% needs the packages booktabs and graphicx", r"\begin{table}[tp]", r"\centering"]
    parts += [rf"\caption{{{_escape_latex(sheet.title)}}}"]
    for block in sheet.blocks:
        parts += [rf"\par\medskip {_escape_latex(block.title)}\par" if block.title else r"\par\medskip"]
        wide = len(block.header) > PAGE_COLUMNS
        parts += [r"\resizebox{\linewidth}{!}{%"] if wide else []
        parts += [rf"\begin{{tabular}}{{l{'r' * (len(block.header) - 1)}}}", r"\toprule"]
        parts += [f"{' & '.join(map(_escape_latex, block.header))} " r"\\", r"\midrule"]
        parts += [f"{' & '.join(map(_latex_cell, row))} " r"\\" for row in block.rows]
        parts += [r"\bottomrule", r"\end{tabular}" + "}" * wide]
    parts += [rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {_escape_latex(line)}}}" for line in sheet.footer]
    return "\n".join([*parts, r"\end{table}", ""])


def comma_separated(sheet: Sheet) -> str:
    """The first block as CSV; lines of the footer follow as comments."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    block = sheet.blocks[0]
    writer.writerow(block.header)
    writer.writerows([cell.text for cell in row] for row in block.rows)
    return buffer.getvalue() + "".join(f"# {line}\n" for line in sheet.footer)


WRITERS: dict[str, Callable[[Sheet], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
}


def _aligned(block: Block) -> str:
    lines = [block.header, *(tuple(cell.text for cell in row) for row in block.rows)]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    return "\n".join(
        "  ".join(
            field.ljust(width) if n == 0 else field.rjust(width)
            for n, (field, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )


def _wrapped(line: str) -> str:
    return textwrap.fill(line, TERMINAL_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "Ω": r"$\Omega$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
}


def _latex_cell(cell: Entry) -> str:
    return rf"\textbf{{{_escape_latex(cell.text)}}}" if cell.bold else _escape_latex(cell.text)


def _escape_latex(words: str) -> str:
    return "".join(_LATEX.get(character, character) for character in words)


def _markdown_cell(cell: Entry) -> str:
    return f"**{_escape_markdown(cell.text)}**" if cell.bold else _escape_markdown(cell.text)


def _escape_markdown(words: str) -> str:
    return "".join(f"\\{character}" if character in "\\|*_`<>[]" else character for character in words)
