"""Small parts of sentences."""

from __future__ import annotations

from collections.abc import Sequence

from bankgcn.experiments.paper.layout import Column, Row

NONE_COMPLETE = "No dataset is complete yet."
NOT_YET = "Not run yet."


def listed(words: Sequence[str]) -> str:
    """Words in a row: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def labels(items: Sequence[Row] | Sequence[Column]) -> str:
    """The labels of rows or columns, in a row."""
    return listed([item.label for item in items])


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 dataset``, ``2 datasets``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
