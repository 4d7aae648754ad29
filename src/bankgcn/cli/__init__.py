"""The command ``bankgcn``: parses, calls, prints. One module per group of commands.

Exit codes: 0 if all went well, 1 for an error of the user or the data, 2 for a wrong use of the command line, 130 for
an interrupt.
"""

import os
import sys

import typer

from bankgcn.cli.bench import bench
from bankgcn.cli.data import app as data_commands
from bankgcn.cli.errors import Commands
from bankgcn.cli.predict import embed, predict
from bankgcn.cli.reproduce import COMMANDS as PAPER_COMMANDS
from bankgcn.cli.train import train

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
app.command()(embed)
app.add_typer(data_commands, name="data")
for name, command in PAPER_COMMANDS.items():
    app.command(name)(command)
app.command()(bench)


@app.callback()
def _root() -> None:
    """Learn a spectral filter bank for your graphs."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except SystemExit as end:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            # A thread of gloo that outlives its group can abort the process while Python shuts down, after all is done.
            sys.stdout.flush()
            sys.stderr.flush()
            code = end.code or 0
            os._exit(code if isinstance(code, int) else 1)
        raise


__all__ = ["app", "embed", "main", "predict", "train"]
