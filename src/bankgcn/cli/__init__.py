"""The command ``bankgcn``: parses, calls, prints. One module for each group of commands.

Exit codes: 0 for success, 1 for an error in the data or the settings, 2 for a wrong command line, 130 for an interrupt.
"""

import os
import sys
from typing import Annotated

import typer

from bankgcn import __version__
from bankgcn.cli.commands import COMMANDS, lazy_group

PROGRAM = "bankgcn"
"""What messages call the program, also if it was started by ``python -m bankgcn``."""

app = lazy_group(
    COMMANDS,
    name=PROGRAM,
    help="Learn a spectral filter bank for your graphs.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # errors as plain text, as the help is
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"bankgcn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn a spectral filter bank for your graphs."""


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name=PROGRAM)
    except SystemExit as end:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            # A gloo thread that outlives its process group can abort Python during shutdown, after all work is done.
            sys.stdout.flush()
            sys.stderr.flush()
            code = end.code or 0
            os._exit(code if isinstance(code, int) else 1)
        raise


__all__ = ["app", "main"]
