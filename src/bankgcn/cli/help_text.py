"""The help of a command as plain text in two columns, which stays readable in a narrow terminal."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

FIRST_COLUMN = 24
"""Width of the names of options; the help of a longer name starts on the next line."""
OTHERS = "Options"


class HelpCommand(TyperCommand):
    """A command that lists its options by group, with their help beside them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for title, rows in self._sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows, col_max=FIRST_COLUMN)

    def _sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and help of arguments and options, by the title of their group; those without a group come first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OTHERS: []}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else OTHERS
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(row)
        return {title: rows for title, rows in sections.items() if rows}
