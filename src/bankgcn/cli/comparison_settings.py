"""The settings of a comparison: what was typed, and what the store keeps of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bankgcn.cli.paper_options import names_in, numbers_in
from bankgcn.cli.settings import Settings, full_path, read_settings
from bankgcn.cli.stored import read_records
from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Design, Grid, comparison_design
from bankgcn.files.checked import write_toml
from bankgcn.nn.convs import CONVS
from bankgcn.settings import Plain, pick
from bankgcn.training.spec import DATA_ROOT, DEFAULTS, RUN_SETTINGS, SOURCE, RunSpec, settings_of_run, unused_settings

FILE = "comparison.toml"
"""The file of a store that keeps the settings of its comparison."""

VARIED = ("model", "weight_decay", "gamma", "seed", "folds", "fold")
"""Settings of a run that a comparison varies by itself."""

OFFERED = {name: place for name, place in RUN_SETTINGS.items() if name not in VARIED}
"""Settings that all runs of a comparison share."""

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
    """The settings of a comparison, as flags and files name them; those that are not given have their defaults."""

    given: Mapping[str, Plain]

    @classmethod
    def read(cls, store: Path) -> ComparisonSettings | None:
        """The settings that a store keeps; ``None`` if it has none.

        Raises:
            ValueError: The file is damaged.
        """
        path = store / FILE
        if not path.exists():
            return None
        given = read_settings(path)
        for name, value in given.items():
            known = PROTOCOL | DEFAULTS
            if name not in known or name in VARIED or type(value) not in (type(known[name]), int):
                raise ValueError(f"{given.place(name)}: {name} = {value!r} is no setting of a comparison")
        return cls(given)

    def write(self, store: Path) -> None:
        """Keep the settings in a store, with full paths: they mean the same wherever they are read again."""
        paths = {name: self.data[name] for name in (SOURCE, "test") if self.data[name]}
        if self.data_root is not None:
            paths[DATA_ROOT] = full_path(self.data_root)
        write_toml(store / FILE, {**self.given, **paths}, "bankgcn compare --store FOLDER resumes this comparison")

    def with_(self, **given: Plain) -> ComparisonSettings:
        """The same settings, but for these."""
        return ComparisonSettings({**self.given, **given})

    def overridden(self, typed: Mapping[str, Plain]) -> ComparisonSettings:
        """These settings with the typed ones in their place; options that none of the models has are forgotten."""
        merged = self.with_(**typed)
        unused = set.intersection(*map(unused_settings, merged.models))
        return ComparisonSettings(_without(merged.given, unused - set(typed)))

    @cached_property
    def models(self) -> list[str]:
        """The models, in their order; the first is the reference.

        Raises:
            ValueError: A model is unknown.
        """
        models = list(dict.fromkeys(names_in(self["models"], "models") or []))
        for model in models:
            pick(CONVS, model, "model")
        return models

    def __getitem__(self, name: str) -> Any:
        return self.given.get(name, PROTOCOL.get(name, DEFAULTS.get(name)))

    @property
    def data_root(self) -> str | None:
        """Where to look for datasets first."""
        return self[DATA_ROOT] or None

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
        return {model: Settings.resolve({**_without(shared, unused[model]), "model": model}).spec for model in models}

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
