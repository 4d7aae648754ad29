"""The command ``bankgcn``: parses, calls, prints. One module for each group of commands.

Exit codes: 0 for success, 1 for an error in the data or the settings, 2 for a wrong command line, 130 for an interrupt.
"""

import os
import sys
from typing import Annotated

import typer

from bankgcn import __version__
from bankgcn.cli.bench import bench
from bankgcn.cli.data import app as data_commands
from bankgcn.cli.document import write_page
from bankgcn.cli.errors import Commands
from bankgcn.cli.evaluate import evaluate
from bankgcn.cli.figure import draw_figure
from bankgcn.cli.pack import pack_records
from bankgcn.cli.predict import embed, predict
from bankgcn.cli.reproduce import COMMANDS as PAPER_COMMANDS
from bankgcn.cli.train import train
from bankgcn.cli.verify import verify_records

app = typer.Typer(
    name="bankgcn",
    help="Learn a spectral filter bank for your graphs.",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(train)
app.command()(predict)
app.command()(evaluate)
app.command()(embed)
app.add_typer(data_commands, name="data")
for name, command in PAPER_COMMANDS.items():
    app.command(name)(command)
app.command("figure")(draw_figure)
app.command("pack")(pack_records)
app.command("document")(write_page)
app.command("verify")(verify_records)
app.command()(bench)


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
        app()
    except SystemExit as end:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            # A gloo thread that outlives its process group can abort Python during shutdown, after all work is done.
            sys.stdout.flush()
            sys.stderr.flush()
            code = end.code or 0
            os._exit(code if isinstance(code, int) else 1)
        raise


__all__ = ["app", "embed", "main", "predict", "train"]
