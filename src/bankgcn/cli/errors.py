"""Turn exceptions into messages and exit codes."""

from __future__ import annotations

import os
import re
from typing import Any

import typer
from typer.core import TyperGroup

FAILED, INTERRUPTED = 1, 130

OPTION_OF_KEYWORD = {
    'unreadable="skip"': "--skip-unreadable",
    'missing_words="WORD"': "--missing-words WORD",
    'missing="skip"': "--skip-missing",
    'fill_missing="VALUE"': "--fill-missing VALUE",
    'asymmetric="symmetrise"': "--symmetrise",
    'smiles="NAME"': "--smiles NAME",
    'target="NAME"': "--target NAME",
    'task="classes"': "--task classes",
    'task="values"': "--task values",
    'task="labels"': "--task labels",
    "has_target=False": "--ignore-targets",
    'select="loss"': "--select loss",
    "without_weights": "--ignore-weights",
}
"""The option for each keyword that messages of the library advise."""


class ReportingGroup(TyperGroup):
    """Commands that report errors by a sentence instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _print_error("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader of the output, such as head, has closed it
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _print_error(f"error: {where}{error.strerror or error}")
            raise typer.Exit(FAILED) from error
        except RuntimeError as error:
            if not str(error).startswith("Symlink loop"):  # Path.resolve has no error of its own for them
                raise
            _print_error(f"error: {str(error).removeprefix('Symlink loop from ')}: the symbolic link leads to itself")
            raise typer.Exit(FAILED) from error
        except (ValueError, ImportError) as error:
            _print_error(f"error: {_translate_keywords(self.commands[ctx.invoked_subcommand], str(error))}")
            raise typer.Exit(FAILED) from error


def _print_error(message: str) -> None:
    if os.environ.get("RANK", "0") != "0":
        return  # of the processes of torchrun, only the first prints
    from bankgcn.cli.output import say  # --help does not need it

    say(message, stderr=True)


def _translate_keywords(command: Any, message: str) -> str:
    """Replace the library's keywords in a message by the command's options.

    Messages give advice in parentheses, with commas between clauses. Clauses about options that the command does not
    have are left out.
    """
    options = _options(command)
    missing = [keyword for keyword, option in OPTION_OF_KEYWORD.items() if option.split()[0] not in options]

    def without_missing(advice: re.Match[str]) -> str:
        clauses = advice[1].split(", ")
        kept = [clause for clause in clauses if not any(keyword in clause for keyword in missing)]
        return f" ({', '.join(kept)})" if kept else ""

    message = re.sub(r" \(([^()]*)\)", without_missing, message)
    for keyword, option in OPTION_OF_KEYWORD.items():
        message = message.replace(keyword, option)
    return message


def _options(command: Any) -> set[str]:
    """The options that a command lists, or all commands in a group."""
    own = {name for row in command.params if not getattr(row, "hidden", False) for name in row.opts}
    return own.union(*(_options(inner) for inner in getattr(command, "commands", {}).values()))
