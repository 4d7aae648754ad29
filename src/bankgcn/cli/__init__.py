"""The command ``bankgcn``: parses, calls, prints. One module per group of commands.

Exit codes: 0 if all went well, 1 for an error of the user or the data, 2 for a wrong use of the command line, 130 for
an interrupt.
"""

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
    app()


__all__ = ["app", "embed", "main", "predict", "train"]
