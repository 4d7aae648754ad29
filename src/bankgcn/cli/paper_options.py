"""The options that say which part of the paper is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from bankgcn.choices import pick
from bankgcn.experiments.paper.layout import DRAWN, Figure, Grid, Table, stand_ins
from bankgcn.experiments.paper.tables import FIGURE_3_DATASETS, TABLES, figure3

Datasets = Annotated[str | None, typer.Option(help="Only these datasets, separated by commas.", metavar="NAMES")]
Models = Annotated[
    str | None,
    typer.Option(help="Only these rows, by convolution (bank, gcn, ...) or name (bank-K2-s8, ...).", metavar="NAMES"),
]
Runs = Annotated[int | None, typer.Option(help="Seeds of each candidate; the paper's number if not given.", min=1)]
Epochs = Annotated[
    int | None, typer.Option(help="Most epochs of a run, for a quick look; else the paper's 500.", min=1)
]
WeightDecays = Annotated[
    str | None, typer.Option(help="Other values of weight decay to choose from, for a quick look.", metavar="NUMBERS")
]
Gammas = Annotated[str | None, typer.Option(help="Other values of gamma to choose from.", metavar="NUMBERS")]
Select = Annotated[
    str,
    typer.Option(
        help="How hyper-parameters are chosen: by 'validation' score, or, as the 'paper' appears to, by test score."
    ),
]
StoreFolder = Annotated[Path, typer.Option(help="Folder of the records of runs, one file each.", metavar="DIR")]

DEFAULT_STORE = Path("bankgcn-records")


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a table or figure that a user asks for, as typed."""

    datasets: str | None = None
    models: str | None = None
    runs: int | None = None
    epochs: int | None = None
    weight_decays: str | None = None
    gammas: str | None = None

    def among(self, experiment: str, has: Callable[[str], bool], others: Iterable[str] = ()) -> tuple[Part, list[str]]:
        """The same with the datasets named that there are, unless some are named already; and those left out.

        A stand-in takes the place of a dataset that there is not.

        Args:
            experiment: Name of the table or figure.
            has: Whether there is a dataset of that name.
            others: Datasets to add that the paper has not.
        """
        if self.datasets is not None:
            return self, []
        columns = _columns(experiment)
        names = stand_ins(columns, lambda name: has(columns.get(name, name)))
        wanted = [name for name in names if has(columns.get(name, name))]
        if experiment != "table4":
            wanted += [name for name in DRAWN if name in others and name not in wanted]
        return replace(self, datasets=",".join(wanted) or None), [name for name in names if name not in wanted]

    def of(self, experiment: str) -> Table | Figure:
        """That part of a table or figure, of all its datasets if none are named."""
        if experiment == "figure3":
            return self._of_figure()
        table = pick(TABLES, experiment, "table")
        return table.restricted(
            datasets=names_in(self.datasets, "datasets"),
            models=names_in(self.models, "models"),
            runs=self.runs,
            max_epochs=self.epochs,
            grid=self._grid(table),
        )

    def _of_figure(self) -> Figure:
        for option in ("models", "runs", "weight_decays", "gammas"):
            if getattr(self, option) is not None:
                raise ValueError(f"--{option.replace('_', '-')}: figure3 has no such choice")
        return figure3(names_in(self.datasets, "datasets") or FIGURE_3_DATASETS, self.epochs)

    def _grid(self, table: Table) -> Grid:
        if self.gammas is not None and all(row.gamma is not None for row in table.rows):
            raise ValueError(f"--gammas: the rows of {table.name} are the gammas; --models chooses among them")
        grid = table.grid
        if self.weight_decays is not None:
            grid = replace(grid, weight_decays=_numbers(self.weight_decays, "weight-decays"))
        if self.gammas is not None:
            grid = replace(grid, gammas=_numbers(self.gammas, "gammas"))
        return grid


def _columns(experiment: str) -> dict[str, str]:
    """The dataset of each column that the paper has."""
    if experiment == "figure3":
        return dict(zip(FIGURE_3_DATASETS, FIGURE_3_DATASETS, strict=True))
    return {column.name: column.dataset for column in pick(TABLES, experiment, "table").columns}


def names_in(typed: str | None, option: str) -> list[str] | None:
    """What is named in a list with commas; none if nothing was typed."""
    if typed is None:
        return None
    names = [name.strip() for name in typed.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--{option} {typed!r}: expected names, separated by commas")
    return names


def _numbers(typed: str, option: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in names_in(typed, option) or ())
    except ValueError as error:
        raise ValueError(f"--{option} {typed!r}: expected numbers, separated by commas") from error
