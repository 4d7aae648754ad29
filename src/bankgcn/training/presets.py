"""Presets: what a run of the user's own graphs has where nothing else is said, as rows of settings.

The paper's settings are those of its datasets. The others were chosen by validation scores alone, over tables of
molecules and sets of graphs of several kinds; the page on quality shows how good they are, and what each part of them
gives. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bankgcn.settings import Plain

PAPER, STANDARD, BEST = "paper", "standard", "best"


@dataclass(frozen=True)
class Preset:
    """A row of settings, by the names of the flags.

    Args:
        help: What it is for.
        settings: Its settings for all graphs.
        molecules: Further ones where nodes are atoms; they override the others.
        models: Models that vote, where the user names none; one of the default kind if there are none here.
        molecule_models: The same where nodes are atoms.
        seeds: Number of seeds with which each network is trained.
    """

    help: str
    settings: Mapping[str, Plain]
    molecules: Mapping[str, Plain] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    molecule_models: tuple[str, ...] = ()
    seeds: int = 1

    def voters(self, molecules: bool) -> tuple[str, ...]:
        """The models that vote on graphs whose nodes are atoms, or on other graphs."""
        return self.molecule_models if molecules else self.models

    def for_graphs(self, molecules: bool) -> dict[str, Plain]:
        """The settings for graphs whose nodes are atoms, or other graphs."""
        return {**self.settings, **(self.molecules if molecules else {})}


_RECIPE: dict[str, Plain] = {
    "edges": "auto",
    "norm": "layer",
    "residual": True,
    "head": "mlp",
    "dropout": 0.1,
    "readout": "mean_max_sum",
    "scale_sum": True,
}
PRESETS: dict[str, Preset] = {
    PAPER: Preset("the paper's, with what edges carry", {"edges": "auto"}),
    STANDARD: Preset("good for many graphs of one's own", _RECIPE, {"features": "onehot"}),
    BEST: Preset(
        "several models that vote, in about ten times the time",
        _RECIPE,
        {"features": "onehot"},
        models=("bank", "forest", "wl-svm"),
        molecule_models=("bank", "forest"),
        seeds=5,
    ),
}
NAMED_BY_PRESETS = frozenset(
    name for preset in PRESETS.values() for molecules in (False, True) for name in preset.for_graphs(molecules)
)
"""The settings that depend on the preset."""
