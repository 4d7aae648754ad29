"""The commands, one row each, and their help: plain text in two columns, which stays readable in a narrow terminal.

Their modules, and PyTorch with them, are loaded when a command is run.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from bankgcn.cli.errors import WRONG_COMMAND, ReportingGroup, print_error

FIRST_COLUMN = 24
"""Width of the names of options; the help of a longer name starts on the next line."""
NARROWEST = 30
OTHERS = "Options"
PATH = "PATH"  # the metavar of an option that stands for a folder, whatever its value becomes
HELP_ALL = "--help-all"
BOUNDS = [
    (re.compile(r"\s*\[((?:default: |required|x[<>]|-?\d+<=?x)[^\[\]]*)\]$"), r" (\1)"),
    (re.compile(r"\(default: \((.*)\)\)$"), r"(default: \1)"),
    (re.compile(r"(-?[\d.]+)<=x<=(-?[\d.]+)\)$"), r"\1 to \2)"),
    (re.compile(r"x>=(-?[\d.]+)\)$"), r"at least \1)"),
]
"""How the parser writes defaults and ranges, and how settings do."""


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


class Group(NamedTuple):
    """Commands that start with the same word.

    Args:
        rows: The commands by their second word.
        summary: What ``bankgcn --help`` says of them.
    """

    rows: Mapping[str, Row]
    summary: str


PAPER = {
    "reproduce": Row(
        "paper", "run_experiments", "Run the experiments of a table or figure of the paper, and print the results."
    ),
    "table": Row(
        "paper",
        "print_table",
        "Print a table of the paper, or a comparison, from the records in the store; nothing is run.",
    ),
    "figure": Row(
        "paper",
        "draw_figure",
        "Draw the pictures of a run, a picture of one of the paper's tables, or its Figure 3; nothing is trained.",
    ),
    "pack": Row(
        "paper",
        "pack_records",
        "Write the records of a table or figure to one file for each dataset, such as results/table1/NCI1.jsonl.",
    ),
    "verify": Row(
        "verify",
        "verify_records",
        "Draw recorded runs at random, run them again, and compare scores and losses on validation and test graphs.",
    ),
}


COMMANDS: dict[str, Row | Group] = {
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
    "explain": Row("explain", "explain", "Write which nodes, edges and frequencies decide the predictions for graphs."),
    "data": Row("data", "app", "Datasets: list, describe, fetch."),
    "paper": Group(PAPER, "The paper: run its experiments, print tables, draw figures, pack and verify records."),
    "bench": Row(
        "bench",
        "bench",
        "Time a training epoch of each model on one thread: ours, plain PyG, and the model's matrix products alone.",
    ),
}


class PlainHelp:
    """Lists options by group, and commands, with their help beside them.

    Options that few people change are on a second page, which ``--help-all`` shows.
    """

    advanced: Collection[str] = ()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        columns = shutil.get_terminal_size().columns
        formatter.width = min(formatter.width, max(columns - 2, NARROWEST))  # the parser's own minimum is 50
        self.format_usage(ctx, formatter)  # type: ignore[attr-defined]
        self.format_help_text(ctx, formatter)  # type: ignore[attr-defined]
        for title, rows in self._sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows, col_max=FIRST_COLUMN)
        if self.advanced and not ctx.meta.get(HELP_ALL):
            formatter.write_paragraph()
            formatter.write_text(f"Options that few people change: {ctx.command_path} {HELP_ALL}")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; the error of an unknown option names those that are likely meant.

        Raises:
            ValueError: The name of a file or folder is empty, which would be the current folder.
        """
        arguments = list(args)  # the parser takes them out
        try:
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as error:
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):
                shown = [row for row in self.get_params(ctx) if not getattr(row, "hidden", False)]  # type: ignore[attr-defined]
                names = [name for row in shown for name in (*row.opts, *row.secondary_opts) if name.startswith("--")]
                error.possibilities = likely_options(error.option_name, names)
            raise
        if not ctx.resilient_parsing:  # the shell completes a line
            self._check_paths(ctx, arguments)
        return rest

    def _check_paths(self, ctx: Any, arguments: list[str]) -> None:
        """Raise if the name of a file or folder is empty. Its parsed value does not tell it from the current folder."""
        typed, _, _ = self.make_parser(ctx).parse_args(arguments)  # type: ignore[attr-defined]
        for row in self.get_params(ctx):  # type: ignore[attr-defined]
            if typed.get(row.name) == "" and (row.metavar == PATH or isinstance(ctx.params.get(row.name), Path)):
                name = row.opts[0] if row.param_type_name == "option" else row.name.upper()
                raise ValueError(f"{name} is empty: expected the name of a file or folder; . is the current folder")

    def _sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and help of arguments, options and commands, by the title of their group; those without one first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OTHERS: []}
        left_out = () if ctx.meta.get(HELP_ALL) else self.advanced
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            row = parameter.get_help_record(ctx)
            if row is not None and parameter.name not in left_out:
                usual = "Arguments" if parameter.param_type_name == "argument" else OTHERS
                title = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(title, []).append((row[0], _in_one_style(row[1])))
        commands: dict[str, Any] = getattr(self, "commands", {})
        sections["Commands"] = [(name, _summary(command)) for name, command in commands.items()]
        return {title: rows for title, rows in sections.items() if rows}


def _show_all(ctx: typer.Context, requested: bool) -> None:
    if requested:
        ctx.meta[HELP_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[bool, typer.Option(HELP_ALL, help="Show all options and exit.", callback=_show_all, is_eager=True)]


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
    matches = [name for name in plain if name == word]
    matches = matches or [name for name in plain if "-" in name and "".join(w[:1] for w in name.split("-")) == word]
    matches = matches or [name for name in plain if name.startswith(word) or (len(word) > 2 and f"-{word}" in name)]
    return [f"--{name}" for name in matches or difflib.get_close_matches(word, plain)]


def _in_one_style(help: str) -> str:
    for pattern, replacement in BOUNDS:
        help = pattern.sub(replacement, help)
    return help


def _summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


class LazyGroup(PlainHelp, ReportingGroup):
    """A group that loads a command when it is run; the list of commands needs the rows alone."""

    rows: ClassVar[Mapping[str, Row | Group]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run, and its arguments."""
        name = args[0] if args else ""
        if name in self.rows:
            self.commands[name] = load_command(self.rows[name], name)
        elif name in PAPER and not ctx.resilient_parsing:  # the shell completes a line
            print_error(f"error: 'bankgcn {name}' is now 'bankgcn paper {name}'")
            raise typer.Exit(WRONG_COMMAND)
        return super().resolve_command(ctx, args)


def lazy_group(rows: Mapping[str, Row | Group], **options: Any) -> typer.Typer:
    """An application with these commands, none of them loaded; the options are those of :class:`typer.Typer`."""
    group_class = type("Commands", (LazyGroup,), {"rows": rows})
    group = typer.Typer(cls=group_class, no_args_is_help=True, pretty_exceptions_enable=False, **options)
    for name, row in rows.items():
        group.command(name, help=row.summary)(_not_loaded)
    return group


def _not_loaded() -> None:
    raise AssertionError("a command is loaded before it is run")


def load_command(row: Row | Group, name: str) -> Any:
    """The command of a row, as the parser takes it; of a group, the commands are not loaded yet."""
    if isinstance(row, Group):
        return typer.main.get_command(lazy_group(row.rows, help=row.summary, add_completion=False))
    loaded = getattr(import_module(f"bankgcn.cli.{row.module}"), row.name)
    if isinstance(loaded, typer.Typer):
        for command in loaded.registered_commands:
            command.cls = HelpCommand
        loaded.info.cls = HelpGroup
        return typer.main.get_command(loaded)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=HelpCommand)(loaded)
    single_command = typer.main.get_command(single)
    single_command.advanced = getattr(loaded, "advanced", ())  # type: ignore[attr-defined]
    return single_command


def load_commands(rows: Mapping[str, Row | Group] = COMMANDS) -> Iterator[tuple[str, Any]]:
    """Every command with the words that run it, such as ``data list``."""
    for name, row in rows.items():
        if isinstance(row, Group):
            yield from ((f"{name} {inner}", command) for inner, command in load_commands(row.rows))
            continue
        command = load_command(row, name)
        group = getattr(command, "commands", None)
        yield from [(name, command)] if group is None else ((f"{name} {inner}", group[inner]) for inner in group)
