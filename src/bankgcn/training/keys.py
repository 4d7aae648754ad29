"""Names of runs that last: the hash of a run's content, which a later version's new options do not change.

Version 0.1.0 put every value into the key. Names that came later are left out while they have their default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from bankgcn.files.checked import canonical

# The names that version 0.1.0 put into every key, and the options of each of its convolutions. Never add to them.
FIRST_RUN = frozenset({"dataset", "model", "train", "seed", "train_per_class"})
FIRST_MODEL = frozenset(
    {"conv", "conv_options", "hidden_channels", "num_layers", "normalize", "readout", "pooling", "embedding"}
)
FIRST_TRAIN = frozenset(
    {"learning_rate", "weight_decay", "gamma", "coherence", "batch_size", "max_epochs", "patience", "select", "metric"}
    | {"decay_patience", "decay_factor", "min_learning_rate"}
)
FIRST_OPTIONS = {
    "bank": frozenset({"order", "num_subspaces", "basis", "projection", "shortcut", "bias", "initial_alpha"}),
    "gat": frozenset({"heads"}),
    "cheb": frozenset({"order"}),
}


def defaults(config: Any) -> dict[str, Any]:
    """The default of each field of a dataclass that has one."""
    made = {item.name: item.default_factory() for item in fields(config) if item.default_factory is not MISSING}
    return made | {item.name: item.default for item in fields(config) if item.default is not MISSING}


def without_later_defaults(
    values: Mapping[str, Any], first: frozenset[str], later_defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The values without those that version 0.1.0 did not have and that have their default."""
    return {
        name: value
        for name, value in values.items()
        if name in first or name not in later_defaults or canonical(value) != canonical(later_defaults[name])
    }
