"""The designs that commands name: a part of a table or figure of the paper, or a comparison; and their records."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.output import OR_STANDARD_OUTPUT, say
from bankgcn.cli.settings import Settings, full_path, named_in_file, names_in, numbers_in, read_settings, takes
from bankgcn.data.catalog import DataFolders
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Design, Figure, Grid, comparison_design
from bankgcn.experiments.paper import DRAWN, FIGURE_3_DATASETS, FIGURE_3_RUNS, SETTINGS, TABLES, figure3, stand_ins
from bankgcn.experiments.store import Store, is_packed, read_packed
from bankgcn.files.checked import write_toml
from bankgcn.nn.convs import MODELS
from bankgcn.nn.names import ACTIVATION_NAMES
from bankgcn.report.results import without_empty
from bankgcn.report.sheet import WRITERS
from bankgcn.settings import Plain, pick
from bankgcn.training.config import ModelConfig
from bankgcn.training.presets import PAPER
from bankgcn.training.spec import (
    DATA_ROOT,
    DEFAULTS,
    RUN_SETTINGS,
    SOURCE,
    RunSpec,
    given_settings,
    settings_of_run,
    unused_settings,
)

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
    options = {name: option for name, option in SELECTION_OPTIONS.items() if name not in left_out}
    return takes("selection", TableSelection, options)


def _columns(experiment: str) -> dict[str, str]:
    """The dataset of each of the paper's columns, by the name of the column."""
    if experiment == "figure3":
        return dict(zip(FIGURE_3_DATASETS, FIGURE_3_DATASETS, strict=True))
    return {column.name: column.dataset for column in pick(TABLES, experiment, "table").columns}


def _place(name: str) -> str:
    pick(dict.fromkeys(ACTIVATION_NAMES), name, "place of the normalisation")
    return name


def read_records(folder: Path) -> dict[str, RunRecord]:
    """All records of a store or a packed folder, by the keys of their runs; messages name what cannot be used.

    Raises:
        ValueError: There is no such folder, or a packed record is damaged.
    """
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: there are no records; expected a store of 'bankgcn paper reproduce' or a packed folder"
        )
    if is_packed(folder):
        return read_packed(folder)
    store = Store(folder)
    records = {record.config.key: record for record in store.records()}
    for message in store.skipped:
        say(message, stderr=True)
    return records


def check_store(folder: Path) -> None:
    """Raise an error if a sweep cannot write to the folder, because it holds packed records."""
    if is_packed(folder):
        raise ValueError(
            f"{folder} holds packed records, which are only read: name another folder by --store, and this one by "
            f"--known {folder}"
        )


def stored_part(what: str, selection: TableSelection, folder: Path) -> tuple[Design | Figure, dict[str, RunRecord]]:
    """The selected part of a table or figure, as far as there are records of it; and all records."""
    selection.build(what)  # raises if an option is wrong, before any record is read
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: there are no records; 'bankgcn paper reproduce {what} --store {folder}' makes them"
        )
    records = read_records(folder)
    datasets = {record.config.dataset for record in records.values()}
    experiment = selection.available(what, datasets.__contains__, others=datasets)[0].build(what)
    if not any(config.key in records for config in experiment.configs()):
        raise ValueError(
            f"{folder}: none of its {len(records):,} records belongs to {what} with these options; --epochs, "
            "--weight-decays, --gammas and --normalize or --setting must be those of 'bankgcn paper reproduce'"
        )
    if isinstance(experiment, Design):
        occupied = without_empty(experiment, records)
        experiment = replace(
            experiment,
            rows=occupied.rows if selection.models is None else experiment.rows,
            columns=occupied.columns if selection.datasets is None else experiment.columns,
        )
    return experiment, records


FILE = "comparison.toml"
"""The file of a store that keeps the settings of its comparison."""

VARIED = ("model", "weight_decay", "gamma", "seed", "folds", "fold")
"""Settings of a run that a comparison varies by itself."""

OFFERED = {name: place for name, place in RUN_SETTINGS.items() if name not in (*VARIED, "init_from", "freeze")}
"""Settings that all runs of a comparison share. Its models are different networks, which no run has all weights of."""

GRAPHS = "graphs"
PROTOCOL: dict[str, Plain] = {
    "models": "bank,gcn,gin,mlp",
    "runs": 10,
    "search_runs": 0,
    "weight_decays": "",
    "gammas": "",
    GRAPHS: "",
}
"""Settings of the comparison itself, with their defaults.

An empty word stands for the paper's grid, 0 for all runs. ``graphs`` is the fingerprint of the graphs.
"""


@dataclass(frozen=True)
class ComparisonSettings:
    """The settings of a comparison.

    Args:
        given: As flags and files name them; the others have their defaults.
        file: The file that some of them come from.
    """

    given: Mapping[str, Plain]
    file: Mapping[str, Plain] | None = field(default=None, compare=False)

    @classmethod
    def read(cls, store: Path) -> ComparisonSettings | None:
        """The settings that a store keeps; ``None`` if it has none.

        Raises:
            ValueError: The file is damaged.
        """
        path = store / FILE
        if not path.exists():
            return None
        file = read_settings(path)
        for name in file:
            if name in VARIED:
                raise ValueError(f"{file.place(name)}: {name} is no setting of a comparison, which varies it by itself")
        return cls({"preset": PAPER, **given_settings({}, file, str(path), PROTOCOL)}, file)

    def write(self, store: Path) -> None:
        """Keep the settings in a store, with full paths: they mean the same wherever they are read again."""
        paths = {name: self.data[name] for name in (SOURCE, "test") if self.data[name]}
        if self[DATA_ROOT]:
            paths[DATA_ROOT] = full_path(self[DATA_ROOT])
        preset = next(iter(self.specs.values())).preset or PAPER
        settings = {"preset": preset, **self.given, **paths}
        write_toml(store / FILE, settings, "bankgcn compare --store FOLDER resumes this comparison")

    def with_(self, **given: Plain) -> ComparisonSettings:
        """The same settings, but for these."""
        return replace(self, given={**self.given, **given})

    def overridden(self, typed: Mapping[str, Plain]) -> ComparisonSettings:
        """These settings with the typed ones in their place; options that none of the models has are forgotten."""
        merged = self.with_(**typed)
        unused = set.intersection(*map(unused_settings, merged.models))
        return replace(merged, given=_without(merged.given, unused - set(typed)))

    @cached_property
    def models(self) -> list[str]:
        """The models, in their order; the first is the reference.

        Raises:
            ValueError: A model is unknown.
        """
        models = list(dict.fromkeys(names_in(self["models"], "models") or []))
        for model in models:
            pick(MODELS, model, "model")
        return models

    def __getitem__(self, name: str) -> Any:
        return self.given.get(name, PROTOCOL.get(name, DEFAULTS.get(name)))

    @property
    def folders(self) -> DataFolders:
        """Where to look for datasets."""
        return DataFolders(self[DATA_ROOT] or None)

    @cached_property
    def specs(self) -> dict[str, RunSpec]:
        """The run of each model, by its name.

        Raises:
            ValueError: A model or a setting is unknown, or no model has an option.
        """
        models = self.models
        unused = {model: unused_settings(model) for model in models}
        shared = {name: value for name, value in self.given.items() if name not in PROTOCOL}
        for name in shared:
            if all(name in names for names in unused.values()):
                raise ValueError(f"{name} is no option of the models {', '.join(models)} (--{name.replace('_', '-')})")
        with named_in_file(self.file, self.given):
            settings = {model: {**_without(shared, unused[model]), "model": model} for model in models}
            return {model: Settings.resolve(values).spec for model, values in settings.items()}

    @property
    def design(self) -> Design:
        """The comparison."""
        decays, gammas = self["weight_decays"], self["gammas"]
        grid = Grid(
            weight_decays=numbers_in(decays, "weight-decays") if decays else Grid.weight_decays,
            gammas=numbers_in(gammas, "gammas") if gammas else Grid.gammas,
        )
        runs, searched = self["runs"], self["search_runs"]
        return comparison_design(
            self.specs, runs=runs, search_runs=searched if 0 < searched < runs else None, grid=grid
        )

    def check(self) -> None:
        """Make the description of every run.

        Raises:
            ValueError: A setting is wrong.
        """
        self.design.configs()

    @cached_property
    def data(self) -> dict[str, Plain]:
        """The settings that the graphs of the runs and their splits depend on: a store holds one such comparison."""
        spec = next(iter(self.specs.values()))
        values = settings_of_run(spec)
        return {SOURCE: spec.dataset} | {
            name: values[name] for name, place in OFFERED.items() if place.part in ("reader", "split", "")
        }


def stored_comparison(store: Path) -> tuple[Design, dict[str, RunRecord]]:
    """The comparison that a store holds, and the records of its graphs; those of earlier graphs do not count.

    Raises:
        ValueError: The store holds no comparison.
    """
    settings = ComparisonSettings.read(store)
    if settings is None:
        raise ValueError(
            f"{store}: there is no comparison; 'bankgcn compare SOURCE --store {shlex.quote(str(store))}' makes one"
        )
    records = {key: record for key, record in read_records(store).items() if record.fingerprint == settings[GRAPHS]}
    return settings.design, records


def _without(values: Mapping[str, Plain], names: set[str]) -> dict[str, Plain]:
    return {name: value for name, value in values.items() if name not in names}
