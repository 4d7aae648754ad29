"""The options that select a part of a table or figure of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.output import OR_STANDARD_OUTPUT
from bankgcn.experiments.design import Design, Figure, Grid
from bankgcn.experiments.paper.tables import (
    DRAWN,
    FIGURE_3_DATASETS,
    FIGURE_3_RUNS,
    SETTINGS,
    TABLES,
    figure3,
    stand_ins,
)
from bankgcn.nn.names import ACTIVATION_NAMES
from bankgcn.report.sheet import WRITERS
from bankgcn.settings import pick
from bankgcn.training.config import ModelConfig

Datasets = Annotated[str | None, typer.Option(help="Only these datasets, separated by commas.", metavar="NAMES")]
Models = Annotated[
    str | None,
    typer.Option(help="Only these rows, by convolution (bank, gcn, ...) or name (bank-K2-s8, ...).", metavar="NAMES"),
]
Runs = Annotated[int | None, typer.Option(help="Number of seeds for each candidate; the paper's by default.", min=1)]
SearchRuns = Annotated[
    int | None,
    typer.Option(
        help="Choose hyper-parameters by the first seeds, this many; only the winner runs the others. By default, all "
        "seeds choose.",
        min=1,
    ),
]
Epochs = Annotated[
    int | None, typer.Option(help="Maximum number of epochs, for a quick look; 500 by default, as in the paper.", min=1)
]
WeightDecays = Annotated[
    str | None,
    typer.Option(help="Other values of weight decay to choose from, separated by commas.", metavar="NUMBERS"),
]
Gammas = Annotated[
    str | None, typer.Option(help="Other values of gamma to choose from, separated by commas.", metavar="NUMBERS")
]
Normalize = Annotated[
    str | None,
    typer.Option(
        help="Places of the l2 normalisation to choose from, separated by commas: before or after the ReLU, or none.",
        metavar="NAMES",
    ),
]
SettingName = Annotated[
    str | None,
    typer.Option(
        "--setting",
        help="Places of the l2 normalisation by the name of a setting, instead of --normalize: "
        + ", ".join(f"'{setting.name}' ({' or '.join(setting.grid.normalize)})" for setting in SETTINGS.values())
        + ".",
        metavar="NAME",
    ),
]
Select = Annotated[
    str,
    typer.Option(help="Choose hyper-parameters by 'validation' score or, as the 'paper' appears to do, by test score."),
]
Notes = Annotated[
    bool, typer.Option("--notes", help="Also print chosen hyper-parameters, further statistics, and notes.")
]
Layout = Annotated[
    str, typer.Option(help="'full': with differences, p-values and runs. 'paper': one block like the paper's table.")
]
Format = Annotated[str, typer.Option("--format", help=f"One of {', '.join(WRITERS)}.")]
Out = Annotated[Path, typer.Option(help=f"Output file; {OR_STANDARD_OUTPUT}")]
StoreFolder = Annotated[Path, typer.Option(help="Folder with the records of the runs, one file each.", metavar="DIR")]

DEFAULT_STORE = Path("bankgcn-records")

SELECTION_OPTIONS: dict[str, Any] = {
    "datasets": Datasets,
    "models": Models,
    "runs": Runs,
    "search_runs": SearchRuns,
    "epochs": Epochs,
    "weight_decays": WeightDecays,
    "gammas": Gammas,
    "normalize": Normalize,
    "setting": SettingName,
}
"""The option for each field of a :class:`TableSelection`."""


@dataclass(frozen=True, kw_only=True)
class TableSelection:
    """The part of a table or figure that a user selects, as typed."""

    datasets: str | None = None
    models: str | None = None
    runs: int | None = None
    search_runs: int | None = None
    epochs: int | None = None
    weight_decays: str | None = None
    gammas: str | None = None
    normalize: str | None = None
    setting: str | None = None

    def available(
        self, experiment: str, is_available: Callable[[str], bool], others: Iterable[str] = ()
    ) -> tuple[TableSelection, list[str]]:
        """Select the available datasets, unless the user names some; also return the datasets that are left out.

        An available stand-in replaces a dataset that is not available.

        Args:
            experiment: Name of the table or figure.
            is_available: Whether the dataset of that name is available.
            others: Datasets to add that are not in the paper.
        """
        if self.datasets is not None:
            return self, []
        columns = _columns(experiment)
        names = stand_ins(columns, lambda name: is_available(columns.get(name, name)))
        selected = [name for name in names if is_available(columns.get(name, name))]
        if experiment != "table4":
            selected += [name for name in DRAWN if name in others and name not in selected]
        return replace(self, datasets=",".join(selected) or None), [name for name in names if name not in selected]

    def build(self, experiment: str) -> Design | Figure:
        """The selected part of a table or figure; all its datasets if none are named."""
        if experiment == "figure3":
            return self._figure()
        table = pick(TABLES, experiment, "table")
        return table.restricted(
            datasets=names_in(self.datasets, "datasets"),
            models=names_in(self.models, "models"),
            runs=self.runs,
            search_runs=self.search_runs,
            max_epochs=self.epochs,
            grid=self._grid(table),
        )

    def _figure(self) -> Figure:
        for option in ("models", "search_runs", "weight_decays", "gammas", "setting"):
            if getattr(self, option) is not None:
                raise ValueError(f"--{option.replace('_', '-')}: figure3 has no such option")
        place = ModelConfig.normalize if self.normalize is None else _place(self.normalize)
        datasets = names_in(self.datasets, "datasets") or FIGURE_3_DATASETS
        return figure3(datasets, self.epochs, place, self.runs or FIGURE_3_RUNS)

    def _grid(self, table: Design) -> Grid:
        if self.gammas is not None and all(row.gamma is not None for row in table.rows):
            raise ValueError(f"--gammas: the rows of {table.name} are the gammas; --models chooses among them")
        if self.setting is not None and self.normalize is not None:
            raise ValueError("--setting and --normalize both say where the l2 normalisation stands: leave out one")
        grid = table.grid if self.setting is None else pick(SETTINGS, self.setting, "setting").grid
        if self.weight_decays is not None:
            grid = replace(grid, weight_decays=numbers_in(self.weight_decays, "weight-decays"))
        if self.gammas is not None:
            grid = replace(grid, gammas=numbers_in(self.gammas, "gammas"))
        if self.normalize is not None:
            places = names_in(self.normalize, "normalize") or []
            grid = replace(grid, normalize=tuple(_place(name) for name in places))
        return grid


def takes_selection(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command with a parameter ``selection`` the options from which it is made, apart from those left out."""
    names = [name for name in SELECTION_OPTIONS if name not in left_out]
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=SELECTION_OPTIONS[name]) for name in names
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def typed(**values: Any) -> None:
            selection = TableSelection(**{name: values.pop(name) for name in names})
            command(selection=selection, **values)

        own = signature(command, eval_str=True).parameters.values()
        places = chain.from_iterable(options if item.name == "selection" else [item] for item in own)
        typed.__signature__ = Signature(list(places))  # type: ignore[attr-defined]
        return typed

    return decorate


def _columns(experiment: str) -> dict[str, str]:
    """The dataset of each of the paper's columns, by the name of the column."""
    if experiment == "figure3":
        return dict(zip(FIGURE_3_DATASETS, FIGURE_3_DATASETS, strict=True))
    return {column.name: column.dataset for column in pick(TABLES, experiment, "table").columns}


def names_in(typed: str | None, option: str) -> list[str] | None:
    """The names in a list that is separated by commas; ``None`` if the option is not given."""
    if typed is None:
        return None
    names = [name.strip() for name in typed.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--{option} {typed!r}: expected names, separated by commas")
    return names


def _place(name: str) -> str:
    pick(dict.fromkeys(ACTIVATION_NAMES), name, "place of the normalisation")
    return name


def numbers_in(typed: str, option: str) -> tuple[float, ...]:
    """The numbers in a list that is separated by commas."""
    try:
        return tuple(float(number) for number in names_in(typed, option) or ())
    except ValueError as error:
        raise ValueError(f"--{option} {typed!r}: expected numbers, separated by commas") from error
