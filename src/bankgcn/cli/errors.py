"""From what goes wrong to a message and an exit code."""

from __future__ import annotations

import os
import re
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from bankgcn.cli.source_options import OPTION_OF_KEYWORD

FAILED, INTERRUPTED = 1, 130


class Commands(TyperGroup):
    """Commands whose errors are told in a sentence, not by a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _tell("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # whoever read the output, such as head, has seen enough
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _tell(f"error: {where}{error.strerror or error}")
            raise typer.Exit(FAILED) from error
        except (ValueError, ImportError) as error:
            _tell(f"error: {_with_options_of(self.commands[ctx.invoked_subcommand], str(error))}")
            raise typer.Exit(FAILED) from error


def _tell(message: str) -> None:
    if os.environ.get("RANK", "0") != "0":
        return  # of the processes of torchrun, one speaks for all
    Console(stderr=True).print(Text(message), soft_wrap=True)


def _with_options_of(command: Any, message: str) -> str:
    """The message with options in place of the library's keywords.

    Advice stands in parentheses, its clauses separated by commas. A clause whose option the command does not have is
    left out.
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
    """The options of a command, or of all commands in a group."""
    own = {name for parameter in command.params for name in parameter.opts}
    return own.union(*(_options(inner) for inner in getattr(command, "commands", {}).values()))
