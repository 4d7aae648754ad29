"""Options that commands share. Those that set a value of a run are made from its settings; see :func:`with_settings`.

They are ``None`` unless they are typed: what is typed overrides a file, and what is not typed must not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.commands import HelpAll
from bankgcn.cli.reading import FROM_STANDARD_INPUT, source_argument
from bankgcn.cli.settings import READING
from bankgcn.data.catalog import CATALOG, DataFolders
from bankgcn.nn.convs import CONVS
from bankgcn.training.spec import DEFAULTS, Place, protocol


def _folders(folder: str | DataFolders) -> DataFolders:
    """The folders that an option stands for; a default is no text."""
    return folder if isinstance(folder, DataFolders) else DataFolders(Path(folder))


Folders = Annotated[
    DataFolders,
    typer.Option(
        "--data-root",
        metavar="PATH",
        parser=_folders,
        show_default=False,
        help="Where to look for datasets first; then in $BANKGCN_DATA, then in the user's cache folder.",
        rich_help_panel="Data",
    ),
]
IgnoreTargets = Annotated[bool, typer.Option("--ignore-targets", help="Read no targets.", rich_help_panel="Data")]
Threads = Annotated[
    int,
    typer.Option(
        min=1, help="Threads that share each batch; the result is the same on any number.", rich_help_panel="Run"
    ),
]

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A dataset's name, molecules (.csv, .parquet, .xlsx, .smi, .sdf), graphs (.jsonl, .json, .graphml, .gml, "
        "a folder of such files), a table of edges, a folder of images, or a folder or zip in the TU format. "
        f"{FROM_STANDARD_INPUT}",
        callback=source_argument,
        show_default="MUTAG, which comes with the package",
    ),
]
RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or a folder of several, whose predictions are averaged.")
]
SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help=f"The graphs: whatever bankgcn train takes. Not needed with --part. {FROM_STANDARD_INPUT}",
        show_default=False,
        callback=source_argument,
    ),
]
Part = Annotated[
    str | None,
    typer.Option(metavar="train|valid|test", help="Only this part of the graphs that the run was trained with."),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Explain this class, value or label. By default a page starts with the predicted class, the label that "
        "is most wrong, or the first value, and a table has all of them.",
        show_default=False,
    ),
]
APPLYING = {name: place for name, place in READING.items() if name != "skip_missing"}
"""The settings of commands that apply a model: rows without a target stay."""


def with_settings(
    places: Mapping[str, Place], hidden: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes ``**flags`` an option for each of these settings.

    If some settings are advanced, the command has a second page of help with all of them; the first leaves them out.

    Args:
        places: The settings.
        hidden: Those that the help does not list.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def typed(help_all: bool = False, **values: Any) -> None:  # the parser has shown the help
            command(**values)

        own = signature(command, eval_str=True).parameters.values()
        options = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=_option(name, place, name in hidden))
            for name, place in places.items()
        ]
        kept = [item for item in own if item.kind is not Parameter.VAR_KEYWORD and item.name not in places]
        advanced = [name for name, place in places.items() if place.setting.advanced]
        if advanced:
            options.append(Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))
        typed.advanced = advanced  # type: ignore[attr-defined]
        typed.__signature__ = Signature([*kept, *options])  # type: ignore[attr-defined]
        return typed

    return decorate


def _option(name: str, place: Place, hidden: bool) -> Any:
    row = place.setting
    flag = f"--{name.replace('_', '-')}"
    names = (f"{flag}/--no-{flag[2:]}",) if row.kind is bool else (flag,)
    help = " ".join(filter(None, [row.help, _choices(place), _models(name, place), _defaults(name)]))
    return Annotated[
        row.kind | None,
        typer.Option(*names, help=help, show_default=False, rich_help_panel=row.panel, hidden=hidden),
    ]


def _choices(place: Place) -> str:
    row = place.setting
    words = [*row.choices, *([str(row.none)] if row.choices and row.none else [])]
    return f"{', '.join(words)}." if words else ""


def _models(name: str, place: Place) -> str:
    """The models that have an option of the convolution."""
    if place.part != "conv_options":
        return ""
    models = [model for model, conv in CONVS.items() if place.field in conv.options]
    return f"For {', '.join(models)}."


def _defaults(name: str) -> str:
    """The default, and the values that the paper sets otherwise for some datasets."""
    default = DEFAULTS[name]
    words = [f"default: {str(default).lower() if isinstance(default, bool) else default}"] if default != "" else []
    changed = {dataset: protocol(dataset)[name] for dataset in CATALOG if name in protocol(dataset)}
    for value in dict.fromkeys(changed.values()):
        datasets = [dataset for dataset in changed if changed[dataset] == value]
        words.append(f"{value} for {' and '.join(datasets)}")
    return f"({'; '.join(words)})" if words else ""
