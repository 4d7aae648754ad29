"""Docstrings as Markdown: the roles and formulas of reStructuredText that ours use, for the page of the API.

Formulas become MathML, which browsers draw by themselves: a script such as MathJax would come from another host.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert

FORMULA = re.compile(r"^\.\. math::[ ]*(.*(?:\n(?:[ ]+.*|(?=\n[ ])))*)", re.MULTILINE)
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")
SHARED = re.compile(r"^ {4}(\w+(?:,\s+\w+)+): (.+)$", re.MULTILINE)
"""Arguments that share their description, such as ``head, dropout: As in ...``; their names may take two lines."""
RULES = [
    (SHARED, lambda found: "\n".join(f"    {name}: {found[2]}" for name in re.split(r",\s+", found[1]))),
    (FORMULA, lambda found: "\n" + convert(_one_line(found[1]), display="block") + "\n"),
    # Without the span, a formula at the start of a line would be a paragraph of its own.
    (re.compile(r":math:`([^`]+)`"), lambda found: f"<span>{convert(found[1])}</span>"),
    (ROLE, lambda found: f"`{_short(found[0], found[1])}`"),
    (re.compile(r"`([^`<]+) <(https?://[^>]+)>`_"), r"[\1](\2)"),
    (re.compile(r"^Example:$", re.MULTILINE), "Examples:"),  # the section that griffe knows
    (re.compile(r"::$", re.MULTILINE), ":"),
]


class DocstringMarkdown(Extension):
    """Translate every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Translate the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """A docstring with Markdown in place of roles and formulas.

    Example:
        >>> to_markdown("A :class:`~bankgcn.spectral.GraphShift`, see :mod:`bankgcn.nn`.")
        'A `GraphShift`, see `bankgcn.nn`.'
        >>> to_markdown("    head, norm: As above.").splitlines()
        ['    head: As above.', '    norm: As above.']
    """
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def _one_line(formula: str) -> str:
    """A formula, which may start on the line of its directive; LaTeX needs no line breaks."""
    return " ".join(line.strip() for line in formula.splitlines())


def _short(role: str, target: str) -> str:
    return target.rpartition(".")[2] if "~" in role else target
