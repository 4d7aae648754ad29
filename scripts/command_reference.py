"""Every command with its options as Markdown, from the parsers themselves.

python scripts/command_reference.py
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from bankgcn.cli.commands import load_commands


def command_reference() -> str:
    """A section for each command: its help, then a table of its options for each panel."""
    return "\n".join(_section(f"bankgcn {words}", command) for words, command in load_commands())


def _section(title: str, command: Any) -> str:
    shown = [row for row in command.params if not row.hidden and row.name != "help"]
    arguments = " ".join(_argument(row) for row in shown if row.param_type_name == "argument")
    parts = [f"## {title}\n", _plain(command.help), f"\n```text\n{title} [OPTIONS] {arguments}".rstrip() + "\n```\n"]
    rows = sorted(
        shown, key=lambda row: _panels(shown).index(_panel(row))
    )  # a stable sort: the order within a panel stays
    for panel, group in groupby(rows, key=_panel):
        parts += [f"**{panel}**\n", "| name | meaning | default |\n|---|---|---|", *map(_row, group), ""]
    return "\n".join(parts)


def _argument(row: Any) -> str:
    return row.name.upper() if row.required else f"[{row.name.upper()}]"


def _panels(rows: list[Any]) -> list[str]:
    return list(dict.fromkeys(_panel(row) for row in rows))


def _panel(row: Any) -> str:
    return row.rich_help_panel or ("Arguments" if row.param_type_name == "argument" else "Options")


def _row(row: Any) -> str:
    is_argument = row.param_type_name == "argument"
    names = [row.name.upper()] if is_argument else [*row.opts, *row.secondary_opts]
    text, _, inside = _plain(row.help or "").rpartition(" (default: ")
    text, default = (text, inside.removesuffix(")")) if text else (inside, _default(row))
    cells = ", ".join(f"`{name}`" for name in names), text, default
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(row: Any) -> str:
    if isinstance(row.show_default, str):
        return row.show_default
    if row.show_default and row.default not in (None, False, ()) and not callable(row.default):
        return str(row.default).lower() if isinstance(row.default, bool) else str(row.default)
    return ""


def _plain(text: str) -> str:
    """Help texts on a line for each paragraph, without the marks of typer's own formats."""
    return "\n\n".join(" ".join(part.split()) for part in text.replace("\b", "").replace("\f", "").split("\n\n"))


if __name__ == "__main__":
    print(command_reference())
