"""A design: rows, columns, and in every cell a grid of candidates, each with several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.statistics import TEST_TO_TRAIN
from bankgcn.nn.convs import MODELS, RIVALS
from bankgcn.settings import pick
from bankgcn.training import ModelConfig
from bankgcn.training.spec import RunSpec


class Published(NamedTuple):
    """A published figure: mean and standard deviation over its runs."""

    mean: float
    std: float


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The values from which each network's hyper-parameters are chosen. The defaults are the paper's.

    The paper does not say where its l2 normalisation stands: ``normalize`` lists the places to choose from.
    """

    weight_decays: tuple[float, ...] = (0.0, 1e-5, 1e-4)
    gammas: tuple[float, ...] = (0.0, 0.1, 10.0)
    normalize: tuple[str, ...] = (ModelConfig.normalize,)

    def __post_init__(self) -> None:
        for name, values in vars(self).items():
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name}={values}: expected values without repetition")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a design: a network.

    Args:
        name: Identifier on the command line, for example ``bank-K2-s8``.
        label: Name in the table.
        conv: The convolution, a name that ``--model`` takes.
        options: Options of the convolution.
        gamma: Weight of the diversity term, if the row fixes it; otherwise it is chosen from the grid.
        notes: Notes for the reader about the row.
    """

    name: str
    label: str
    conv: str
    options: Mapping[str, Any] = field(default_factory=dict)
    gamma: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_pairs(self) -> bool:
        """Whether a layer has at least two filters, so that diversity is defined."""
        return self.conv == "bank" and self.options["num_subspaces"] > 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a design: a dataset and its protocol.

    Args:
        name: Identifier on the command line, for example ``CIFAR-10-1000``.
        label: Name in the table.
        dataset: Name in the catalogue.
        runs: Number of runs in the paper.
        widths: Width of the hidden layers by row; rows that are not listed have 64.
        train_per_class: Number of training graphs of each class; all if not given.
        drawn_splits: Whether each seed draws a split of its own.
        test_to_train: Number of test graphs for each training graph; ``None`` leaves it to the records.
        settings: What all runs of the column have in common, if it is not the paper's protocol for the dataset.
        relative_to: Name of the column with the whole dataset, if this one uses a part of it.
        notes: Notes for the reader about the column.
    """

    name: str
    label: str
    dataset: str
    runs: int = 20
    widths: Mapping[str, int] = field(default_factory=dict)
    train_per_class: int | None = None
    drawn_splits: bool = True
    test_to_train: float | None = TEST_TO_TRAIN
    settings: RunSpec | None = None
    relative_to: str | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def base(self) -> RunSpec:
        """What all runs of the column have in common."""
        if self.settings is not None:
            return self.settings
        protocol = CATALOG[self.dataset].protocol
        return RunSpec(dataset=self.dataset, train_per_class=self.train_per_class).with_(**protocol)

    @property
    def metric(self) -> str:
        """Name of the metric of the scores."""
        return self.base.train.metric


@dataclass(frozen=True, kw_only=True)
class Design:
    """Runs in rows and columns. Every cell has a grid of candidates, each with several seeds; one candidate is chosen.

    A comparison of a user's models is a design, and so is each of the paper's tables.

    Args:
        name: Identifier on the command line, for example ``table1``.
        title: What the runs are about.
        label: Name in the paper, for example ``Table 1``; empty if it has none.
        rows: The networks.
        columns: The datasets.
        reference: Name of the row that the others are compared with.
        grid: The values from which hyper-parameters are chosen.
        runs: Number of seeds of each candidate; the paper's number for the column if not given.
        search_runs: Number of seeds that choose among the candidates; only the winner runs the other seeds. All seeds
            choose if not given.
        max_epochs: Maximum number of epochs; the paper's if not given.
        figures: The paper's figures, by row and column.
        parameters: The paper's number of parameters of a hidden layer, by row.
        extra_columns: Further columns that a user can ask for.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    reference: str
    grid: Grid = Grid()
    runs: int | None = None
    search_runs: int | None = None
    max_epochs: int | None = None
    figures: Mapping[str, Mapping[str, Published]] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)
    extra_columns: tuple[Column, ...] = ()
    label: str = ""

    @property
    def heading(self) -> str:
        """The title, with the name in the paper."""
        return f"{self.label}: {self.title}" if self.label else self.title

    def seeds(self, column: Column) -> range:
        """The seeds of each candidate in a column."""
        return range(self.runs or column.runs)

    def search_seeds(self, column: Column) -> range:
        """The first seeds, whose runs choose among the candidates."""
        return self.seeds(column)[: self.search_runs]

    def candidates(self, row: Row, column: Column) -> list[RunSpec]:
        """The candidates of a cell, with seed 0: one for each point of its grid."""
        base = column.base.with_(
            conv=row.conv,
            conv_options=row.options,
            hidden_channels=column.widths.get(row.name, column.base.model.hidden_channels),
            max_epochs=self.max_epochs or column.base.train.max_epochs,
        )
        if row.conv in RIVALS:
            return [base]
        grid = product(self.grid.normalize, self.grid.weight_decays, self._gammas(row))
        return [base.with_(normalize=place, weight_decay=decay, gamma=gamma) for place, decay, gamma in grid]

    def num_candidates(self, row: Row) -> int:
        """Number of candidates of each cell in a row."""
        if row.conv in RIVALS:  # what they choose, they choose in a run
            return 1
        return len(self.grid.normalize) * len(self.grid.weight_decays) * len(self._gammas(row))

    def cell_configs(self, row: Row, column: Column) -> list[RunSpec]:
        """All runs of a cell, ordered by seed."""
        candidates = self.candidates(row, column)
        return [config.with_(seed=seed) for seed in self.seeds(column) for config in candidates]

    def configs(self) -> list[RunSpec]:
        """All runs of the design without repetition, ordered by dataset, so that each is read once, and by seed."""
        return unique(
            config.with_(seed=seed)
            for column in self.columns
            for seed in self.seeds(column)
            for row in self.rows
            for config in self.candidates(row, column)
        )

    def published(self, row: Row, column: Column) -> Published | None:
        """The paper's figure for a cell, if it has one."""
        return self.figures.get(row.name, {}).get(column.name)

    def restricted(
        self,
        *,
        datasets: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        grid: Grid | None = None,
        runs: int | None = None,
        search_runs: int | None = None,
        max_epochs: int | None = None,
    ) -> Design:
        """The design with fewer rows or columns, or with another protocol.

        Args:
            datasets: Names of the columns to keep, or of extra columns.
            models: Rows to keep, by name or by convolution.
            grid: Another grid.
            runs: Another number of seeds of each candidate.
            search_runs: Another number of seeds that choose among the candidates.
            max_epochs: Another maximum number of epochs.

        Raises:
            ValueError: A name is unknown, or a number is less than 1.
        """
        for name, number in (("runs", runs), ("search_runs", search_runs), ("epochs", max_epochs)):
            if number is not None and number < 1:
                raise ValueError(f"{name}={number}: expected at least 1")
        return replace(
            self,
            rows=self.rows if models is None else self._rows_named(models),
            columns=self.columns if datasets is None else self._columns_named(datasets),
            grid=grid or self.grid,
            runs=runs or self.runs,
            search_runs=search_runs or self.search_runs,
            max_epochs=max_epochs or self.max_epochs,
        )

    def _gammas(self, row: Row) -> tuple[float, ...]:
        if row.gamma is not None:
            return (row.gamma,)
        return self.grid.gammas if row.has_pairs else (0.0,)

    def _rows_named(self, names: Sequence[str]) -> tuple[Row, ...]:
        available = dict.fromkeys([*(row.conv for row in self.rows), *(row.name for row in self.rows)], True)
        for name in names:
            pick(available, name, f"model of {self.name}")
        return tuple(row for row in self.rows if row.name in names or row.conv in names)

    def _columns_named(self, names: Sequence[str]) -> tuple[Column, ...]:
        available = {column.name: column for column in (*self.extra_columns, *self.columns)}
        spelled = {name.lower(): name for name in available}
        return tuple(
            pick(available, spelled.get(name.lower(), name), f"dataset of {self.name}") for name in dict.fromkeys(names)
        )


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel of the figure: the filters of one run, with other seeds for the spread of Omega.

    Args:
        name: Letter in the paper.
        label: Name of the dataset in the figure.
        setting: Order and weight of diversity in the figure.
        config: The run that is drawn.
        published: The paper's value of Omega, if it gives one.
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
        name: Identifier on the command line: ``figure3``.
        title: Title of the figure.
        panels: The panels, from left to right.
        runs: Number of seeds of each panel.
        max_epochs: Maximum number of epochs; the paper's if not given.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    runs: int = 1
    max_epochs: int | None = None

    def configs(self) -> list[RunSpec]:
        """All runs of the figure."""
        return unique(config for panel in self.panels for config in self.configs_of(panel))

    def configs_of(self, panel: Panel) -> list[RunSpec]:
        """The runs of a panel; the first one is drawn."""
        return [panel.config.with_(seed=seed) for seed in range(self.runs)]


def unique(configs: Iterable[RunSpec]) -> list[RunSpec]:
    """The runs without repetition, in their order."""
    return list({config.key: config for config in configs}.values())


COMPARISON = "comparison"
COMPARISON_NOTES = {"mlp": "The MLP ignores the edges: it shows how much they add."}
"""Notes for the reader on some models."""


def comparison_design(
    specs: Mapping[str, RunSpec], *, runs: int, search_runs: int | None = None, grid: Grid | None = None
) -> Design:
    """The comparison of these models. The first one is the reference.

    Args:
        specs: The run of each model, by the name of the model. They differ in the convolution and its options alone.
        runs: Number of seeds of each candidate.
        search_runs: Number of seeds that choose among the candidates; all of them by default.
        grid: The values from which hyper-parameters are chosen; the place of the normalisation is that of the runs.

    Raises:
        ValueError: There are no models.
    """
    if not specs:
        raise ValueError("there are no models to compare")
    first = next(iter(specs.values()))
    label = first.dataset if first.dataset in CATALOG else Path(first.dataset).name
    grid = grid or Grid()
    return Design(
        name=COMPARISON,
        title=f"Models on {label}",
        rows=tuple(_row(name, spec) for name, spec in specs.items()),
        columns=(
            Column(
                name=label,
                label=label,
                dataset=first.dataset,
                runs=runs,
                settings=next((spec for spec in specs.values() if spec.model.conv not in RIVALS), first),
                drawn_splits=draws_splits(first),
                test_to_train=None,
            ),
        ),
        reference=next(iter(specs)),
        grid=Grid(weight_decays=grid.weight_decays, gammas=grid.gammas, normalize=(first.model.normalize,)),
        search_runs=search_runs,
    )


def draws_splits(spec: RunSpec) -> bool:
    """Whether each seed has test graphs of its own."""
    options = spec.split
    entry = CATALOG.get(spec.dataset)
    official = entry is not None and entry.split == "official" and options.rule is None and options.ratios is None
    return not official and options.split_column is None and options.test is None and options.split_seed is None


def _row(name: str, spec: RunSpec) -> Row:
    notes = (COMPARISON_NOTES[name],) if name in COMPARISON_NOTES else ()
    model = spec.model
    return Row(
        name=name, label=MODELS[model.conv].label, conv=model.conv, options=dict(model.conv_options), notes=notes
    )
