"""Blocks of text in rows and columns, and how they are written: plain, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True)
class Entry:
    """The text of one field."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """A heading, the names of the columns, and the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Blocks under one title, with what a reader must know of them."""

    title: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()


WIDE = 5
"""Columns that fit on a page; a table with more is shrunk to its width."""


def text(sheet: Sheet) -> str:
    """Plain text: columns aligned, numbers to the right."""
    parts = [
        sheet.title,
        *(f"{block.title}\n{_aligned(block)}" if block.title else _aligned(block) for block in sheet.blocks),
    ]
    return "\n\n".join([*parts, "\n".join(sheet.notes)]).rstrip() + "\n"


def markdown(sheet: Sheet) -> str:
    """Markdown as GitHub reads it."""
    parts = [f"**{_plain(sheet.title)}**"]
    for block in sheet.blocks:
        lines = [block.header, tuple(":--" if n == 0 else "--:" for n in range(len(block.header)))]
        lines += [tuple(f"**{_plain(e.text)}**" if e.bold else _plain(e.text) for e in row) for row in block.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"{block.title}\n\n{table}" if block.title else table)
    return "\n\n".join([*parts, "\n".join(f"- {_plain(note)}" for note in sheet.notes)]).rstrip() + "\n"


def latex(sheet: Sheet) -> str:
    """LaTeX: one table, with the blocks and the notes below each other."""
    parts = ["% needs the packages booktabs and graphicx", r"\begin{table}[tp]", r"\centering"]
    parts += [rf"\caption{{{_tex(sheet.title)}}}"]
    for block in sheet.blocks:
        parts += [rf"\par\medskip {_tex(block.title)}\par" if block.title else r"\par\medskip"]
        wide = len(block.header) > WIDE
        parts += [r"\resizebox{\linewidth}{!}{%"] if wide else []
        parts += [rf"\begin{{tabular}}{{l{'r' * (len(block.header) - 1)}}}", r"\toprule"]
        parts += [f"{' & '.join(map(_tex, block.header))} " r"\\", r"\midrule"]
        for row in block.rows:
            fields = [rf"\textbf{{{_tex(e.text)}}}" if e.bold else _tex(e.text) for e in row]
            parts.append(f"{' & '.join(fields)} " r"\\")
        parts += [r"\bottomrule", r"\end{tabular}" + "}" * wide]
    parts += [rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {_tex(note)}}}" for note in sheet.notes]
    return "\n".join([*parts, r"\end{table}", ""])


def comma_separated(sheet: Sheet) -> str:
    """The first block as CSV; it has no place for notes."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    block = sheet.blocks[0]
    writer.writerow(block.header)
    writer.writerows([entry.text for entry in row] for row in block.rows)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[Sheet], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
}


def _aligned(block: Block) -> str:
    lines = [block.header, *(tuple(entry.text for entry in row) for row in block.rows)]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    return "\n".join(
        "  ".join(
            field.ljust(width) if n == 0 else field.rjust(width)
            for n, (field, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )


_TEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "Ω": r"$\Omega$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(character, character) for character in words)


def _plain(words: str) -> str:
    """Nothing in a name is meant as Markdown."""
    return "".join(f"\\{character}" if character in "\\|*_`<>[]" else character for character in words)
