"""From what goes wrong to a message and an exit code."""

from __future__ import annotations

import os
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
            _tell(f"error: {error}")
            raise typer.Exit(FAILED) from error


def _tell(message: str) -> None:
    if os.environ.get("RANK", "0") != "0":
        return  # of the processes of torchrun, one speaks for all
    for keyword, option in OPTION_OF_KEYWORD.items():
        message = message.replace(keyword, option)
    Console(stderr=True).print(Text(message), soft_wrap=True)
