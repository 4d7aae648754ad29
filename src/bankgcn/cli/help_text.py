"""The help of commands as plain text in two columns, which stays readable in a narrow terminal."""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

FIRST_COLUMN = 24
"""Width of the names of options; the help of a longer name starts on the next line."""
NARROWEST = 30
OTHERS = "Options"
BOUNDS = [
    (re.compile(r"\s*\[((?:default: |required|x[<>]|-?\d+<=?x)[^\[\]]*)\]$"), r" (\1)"),
    (re.compile(r"\(default: \((.*)\)\)$"), r"(default: \1)"),
    (re.compile(r"(-?[\d.]+)<=x<=(-?[\d.]+)\)$"), r"\1 to \2)"),
    (re.compile(r"x>=(-?[\d.]+)\)$"), r"at least \1)"),
]
"""How the parser writes defaults and ranges, and how settings do."""


class PlainHelp:
    """Lists options by group, and commands, with their help beside them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        columns = shutil.get_terminal_size().columns
        formatter.width = min(formatter.width, max(columns - 2, NARROWEST))  # the parser's own minimum is 50
        self.format_usage(ctx, formatter)  # type: ignore[attr-defined]
        self.format_help_text(ctx, formatter)  # type: ignore[attr-defined]
        for title, rows in self._sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows, col_max=FIRST_COLUMN)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; the error of an unknown option names those that are likely meant.

        Raises:
            ValueError: The name of a file or folder is empty, which would be the current folder.
        """
        words = list(args)  # the parser takes them out
        try:
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as error:
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):
                shown = [row for row in self.get_params(ctx) if not getattr(row, "hidden", False)]  # type: ignore[attr-defined]
                names = [name for row in shown for name in (*row.opts, *row.secondary_opts) if name.startswith("--")]
                error.possibilities = likely_options(error.option_name, names)
            raise
        if not ctx.resilient_parsing:  # the shell completes a line
            self._check_paths(ctx, words)
        return rest

    def _check_paths(self, ctx: Any, words: list[str]) -> None:
        """Raise if the name of a file or folder is empty. Its parsed value does not tell it from the current folder."""
        typed, _, _ = self.make_parser(ctx).parse_args(words)  # type: ignore[attr-defined]
        for row in self.get_params(ctx):  # type: ignore[attr-defined]
            if typed.get(row.name) == "" and isinstance(ctx.params.get(row.name), Path):
                name = row.opts[0] if row.param_type_name == "option" else row.name.upper()
                raise ValueError(f"{name} is empty: expected the name of a file or folder; . is the current folder")

    def _sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and help of arguments, options and commands, by the title of their group; those without one first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OTHERS: []}
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            row = parameter.get_help_record(ctx)
            if row is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else OTHERS
                title = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(title, []).append((row[0], _in_one_style(row[1])))
        commands: dict[str, Any] = getattr(self, "commands", {})
        sections["Commands"] = [(name, _summary(command)) for name, command in commands.items()]
        return {title: rows for title, rows in sections.items() if rows}


class HelpCommand(PlainHelp, TyperCommand):
    """A command with such a help."""


class HelpGroup(PlainHelp, TyperGroup):
    """A group of commands with such a help."""


def likely_options(typed: str, names: Sequence[str]) -> list[str]:
    """The options that a word may mean: by their initials, by their beginning, else by their letters.

    Example:
        >>> names = ("--learning-rate", "--layers", "--loss", "--norm", "--epochs")
        >>> likely_options("--lr", names), likely_options("--learn", names), likely_options("--epoch", names)
        (['--learning-rate'], ['--learning-rate'], ['--epochs'])
    """
    word, plain = typed.lstrip("-").replace("_", "-").lower(), [name[2:] for name in names]
    found = [name for name in plain if name == word]
    found = found or [name for name in plain if "-" in name and "".join(part[:1] for part in name.split("-")) == word]
    found = found or [name for name in plain if name.startswith(word) or (len(word) > 2 and f"-{word}" in name)]
    return [f"--{name}" for name in found or difflib.get_close_matches(word, plain)]


def _in_one_style(help: str) -> str:
    for pattern, replacement in BOUNDS:
        help = pattern.sub(replacement, help)
    return help


def _summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())
