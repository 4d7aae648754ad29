"""The commands, one row each. Their modules, and PyTorch with them, are loaded when a command is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer

from bankgcn.cli.errors import ReportingGroup
from bankgcn.cli.help_text import HelpCommand, HelpGroup, PlainHelp


class Row(NamedTuple):
    """A command that is not loaded yet.

    Args:
        module: The module of ``bankgcn.cli`` that holds it.
        name: Its function, or a Typer application for a group of commands.
        summary: What ``bankgcn --help`` says of it: the first line of its own help.
    """

    module: str
    name: str
    summary: str


COMMANDS: dict[str, Row] = {
    "train": Row(
        "train", "train", "Train a model, score it once on test graphs it has not seen, and keep it in a folder."
    ),
    "predict": Row(
        "predict",
        "predict",
        "Predict the classes, values or labels of graphs: one row for each row of the input, in its order.",
    ),
    "evaluate": Row(
        "evaluate",
        "evaluate",
        "Score a model on graphs whose targets are known, beside a prediction that does not look at the graphs.",
    ),
    "embed": Row(
        "predict", "embed", "Write the vector by which the network represents each graph, before its last layer."
    ),
    "serve": Row(
        "serve",
        "serve",
        "Answer requests for predictions over HTTP: graphs in JSON or SMILES in, classes or values out.",
    ),
    "export": Row("export", "export", "Write a trained model to an ONNX file, which runs without this package."),
    "tune": Row("tune", "tune", "Search for good settings by validation scores alone; the test graphs are never used."),
    "compare": Row(
        "compare",
        "compare",
        "Compare models on your own graphs: shared splits, values chosen by validation, paired tests.",
    ),
    "report": Row(
        "report",
        "report",
        "Write a page that shows how good a model is, its filters and single graphs: one HTML file that works offline.",
    ),
    "explain": Row("explain", "explain", "Write which nodes and which frequencies decide the predictions for graphs."),
    "data": Row("data", "app", "Datasets: list, describe, fetch."),
    "reproduce": Row(
        "reproduce", "run_experiments", "Run the experiments of a table or figure of the paper, and print the results."
    ),
    "table": Row(
        "reproduce",
        "print_table",
        "Print a table of the paper, or a comparison, from the records in the store; nothing is run.",
    ),
    "figure": Row(
        "figure",
        "draw_figure",
        "Draw the pictures of a run, a picture of one of the paper's tables, or its Figure 3; nothing is trained.",
    ),
    "pack": Row(
        "pack",
        "pack_records",
        "Write the records of a table or figure to one file for each dataset, such as results/table1/NCI1.jsonl.",
    ),
    "verify": Row(
        "verify",
        "verify_records",
        "Draw recorded runs at random, run them again, and compare scores and losses on validation and test graphs.",
    ),
    "bench": Row(
        "bench",
        "bench",
        "Time a training epoch of each model on one thread: ours, plain PyG, and the model's matrix products alone.",
    ),
}


class LazyGroup(PlainHelp, ReportingGroup):
    """A group that loads a command when it is run; the list of commands needs the rows alone."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, and its arguments."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load_command(args[0])
        return super().resolve_command(ctx, args)


def load_command(name: str) -> Any:
    """The command of that name, as the parser takes it."""
    row = COMMANDS[name]
    found = getattr(import_module(f"bankgcn.cli.{row.module}"), row.name)
    if isinstance(found, typer.Typer):
        for command in found.registered_commands:
            command.cls = HelpCommand
        found.info.cls = HelpGroup
        return typer.main.get_command(found)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=HelpCommand)(found)
    return typer.main.get_command(single)
