"""How runs make a table or a figure: rows, columns, and in every cell a grid of candidates and a number of seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bankgcn.choices import pick
from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.paper.published import Published
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec

STAND_INS = {"FRANKENSTEIN": "FRANKENSTEIN-rebuilt"}
"""What is run where a dataset of the paper cannot be had; labelled as such, and never beside the paper's figure."""

DRAWN = tuple(name for name, entry in CATALOG.items() if entry.split == "stratified")
"""The datasets whose splits are drawn: they can stand in Tables 1 to 3, whether or not the paper has them."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The values among which each network's hyper-parameters are chosen. The defaults are the paper's."""

    weight_decays: tuple[float, ...] = (0.0, 1e-5, 1e-4)
    gammas: tuple[float, ...] = (0.0, 0.1, 10.0)

    def __post_init__(self) -> None:
        for name, values in vars(self).items():
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name}={values}: expected values, each of them once")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table: a network.

    Args:
        name: What it is asked for by.
        label: What is printed.
        conv: Its convolution.
        options: Options of the convolution.
        gamma: The weight of diversity, if the row fixes it; else it is chosen from the grid.
        notes: What a reader must know of the row.
    """

    name: str
    label: str
    conv: str
    options: Mapping[str, Any] = field(default_factory=dict)
    gamma: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_pairs(self) -> bool:
        """Whether there are filters to be diverse: two at least."""
        return self.conv == "bank" and self.options["num_subspaces"] > 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: a dataset, and what is particular to it.

    Args:
        name: What it is asked for by.
        label: What is printed.
        dataset: Its name in the catalogue.
        runs: Number of runs in the paper.
        widths: Width of the hidden layers by row; those that are not listed have 64.
        train_per_class: Number of training graphs of each class; all if not given.
        drawn_splits: Whether each run has a split of its own.
        relative_to: Name of the column that this one is a reduction of, if it is.
        notes: What a reader must know of the column.
    """

    name: str
    label: str
    dataset: str
    runs: int = 20
    widths: Mapping[str, int] = field(default_factory=dict)
    train_per_class: int | None = None
    drawn_splits: bool = True
    relative_to: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """What the scores are."""
        return self.protocol.get("metric", TrainConfig.metric)

    @property
    def protocol(self) -> Mapping[str, Any]:
        """The settings that the paper changes for the dataset."""
        return CATALOG[self.dataset].protocol


@dataclass(frozen=True, kw_only=True)
class Table:
    """Runs in rows and columns. Every cell is a grid of candidates, of which one is chosen, and a number of seeds.

    Args:
        name: What it is asked for by.
        title: What it shows.
        rows: The networks.
        columns: The datasets.
        reference: Name of the row that the others are compared with.
        grid: What hyper-parameters are chosen from.
        runs: Number of runs of each candidate; the paper's of each column if not given.
        max_epochs: Most epochs of a run; the paper's if not given.
        figures: The paper's figures, by row and column.
        parameters: The paper's number of parameters of a hidden layer, by row.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    reference: str
    grid: Grid = Grid()
    runs: int | None = None
    max_epochs: int | None = None
    figures: Mapping[str, Mapping[str, Published]] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)

    def seeds(self, column: Column) -> range:
        """The seeds of each candidate in a column."""
        return range(self.runs or column.runs)

    def candidates(self, row: Row, column: Column) -> list[RunSpec]:
        """The runs of a cell with seed 0: one for each point of its grid."""
        width = column.widths.get(row.name, ModelConfig.hidden_channels)
        base = RunSpec(
            dataset=column.dataset,
            model=ModelConfig(conv=row.conv, conv_options=row.options, hidden_channels=width),
            train_per_class=column.train_per_class,
        ).with_(**column.protocol, max_epochs=self.max_epochs or TrainConfig.max_epochs)
        return [base.with_(weight_decay=decay, gamma=g) for decay in self.grid.weight_decays for g in self._gammas(row)]

    def cell(self, row: Row, column: Column) -> list[RunSpec]:
        """All runs of a cell, the first seed first."""
        candidates = self.candidates(row, column)
        return [config.with_(seed=seed) for seed in self.seeds(column) for config in candidates]

    def configs(self) -> list[RunSpec]:
        """All runs of the table, each once: dataset by dataset, so that each is read once, and seed by seed."""
        return unique(
            config.with_(seed=seed)
            for column in self.columns
            for seed in self.seeds(column)
            for row in self.rows
            for config in self.candidates(row, column)
        )

    def published(self, row: Row, column: Column) -> Published | None:
        """The paper's figure in a cell, if there is one."""
        return self.figures.get(row.name, {}).get(column.name)

    def restricted(
        self,
        *,
        datasets: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        grid: Grid | None = None,
        runs: int | None = None,
        max_epochs: int | None = None,
    ) -> Table:
        """A part of the table, or with shorter runs.

        Args:
            datasets: Names of columns to keep; in Tables 1 to 3 also other datasets with drawn splits.
            models: Rows to keep, by their name or by their convolution.
            grid: Another grid.
            runs: Another number of runs of each candidate.
            max_epochs: Another number of epochs.

        Raises:
            ValueError: A name is unknown, or a number less than 1.
        """
        for name, number in (("runs", runs), ("epochs", max_epochs)):
            if number is not None and number < 1:
                raise ValueError(f"{name}={number}: expected at least 1")
        return replace(
            self,
            rows=self.rows if models is None else self._rows_named(models),
            columns=self.columns if datasets is None else self._columns_named(datasets),
            grid=grid or self.grid,
            runs=runs or self.runs,
            max_epochs=max_epochs or self.max_epochs,
        )

    def _gammas(self, row: Row) -> tuple[float, ...]:
        if row.gamma is not None:
            return (row.gamma,)
        return self.grid.gammas if row.has_pairs else (0.0,)

    def _rows_named(self, names: Sequence[str]) -> tuple[Row, ...]:
        known = dict.fromkeys([*(row.conv for row in self.rows), *(row.name for row in self.rows)], True)
        for name in names:
            pick(known, name, f"model of {self.name}")
        return tuple(row for row in self.rows if row.name in names or row.conv in names)

    def _columns_named(self, names: Sequence[str]) -> tuple[Column, ...]:
        known = {column.name: column for column in self.columns}
        if all(column.drawn_splits for column in self.columns):
            known = {name: tu_column(name) for name in DRAWN} | known
        spelled = {name.lower(): name for name in known}
        return tuple(
            pick(known, spelled.get(name.lower(), name), f"dataset of {self.name}") for name in dict.fromkeys(names)
        )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A part of the figure: the filters that one run learned.

    Args:
        name: Its letter in the paper.
        label: What is printed of the dataset.
        setting: What is printed of the network.
        config: The run.
        published: The paper's figure for its diversity, if there is one.
    """

    name: str
    label: str
    setting: str
    config: RunSpec
    published: float | None = None


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels side by side.

    Args:
        name: What it is asked for by.
        title: What it shows.
        panels: Its parts.
        max_epochs: Most epochs of a run; the paper's if not given.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    max_epochs: int | None = None

    def configs(self) -> list[RunSpec]:
        """All runs of the figure."""
        return unique(panel.config for panel in self.panels)


def unique(configs: Iterable[RunSpec]) -> list[RunSpec]:
    """Each run once, in order."""
    return list({config.key: config for config in configs}.values())


def stand_ins(names: Iterable[str], has: Callable[[str], bool]) -> list[str]:
    """The names of datasets, with the stand-in for each that is not there if its stand-in is."""
    return [STAND_INS[name] if not has(name) and name in STAND_INS and has(STAND_INS[name]) else name for name in names]


def tu_column(dataset: str) -> Column:
    """The column of a dataset whose splits are drawn."""
    stand_in = " (stand-in)" if dataset in STAND_INS.values() else ""
    return Column(name=dataset, label=f"{dataset}{stand_in}", dataset=dataset)
