"""What a run is: a frozen value, named by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from operator import index
from typing import Any, SupportsIndex

from bankgcn.choices import pick
from bankgcn.data.catalog import CATALOG
from bankgcn.nn.convs import CONVS
from bankgcn.training.config import TrainConfig
from bankgcn.training.model import ModelConfig
from bankgcn.training.seeds import Seeds

_NAME_OF_DATASET = {name.lower(): name for name in CATALOG}
_MODEL = tuple(item.name for item in fields(ModelConfig))
_TRAIN = tuple(item.name for item in fields(TrainConfig))

# The names that version 0.1.0 put into every key, and the options of each of its convolutions. Never add to them.
_FIRST_RUN = frozenset({"dataset", "model", "train", "seed", "train_per_class"})
_FIRST_MODEL = frozenset(
    {"conv", "conv_options", "hidden_channels", "num_layers", "normalize", "readout", "pooling", "embedding"}
)
_FIRST_TRAIN = frozenset(
    {"learning_rate", "weight_decay", "gamma", "coherence", "batch_size", "max_epochs", "patience", "select", "metric"}
    | {"decay_patience", "decay_factor", "min_learning_rate"}
)
_FIRST_OPTIONS = {
    "bank": frozenset({"order", "num_subspaces", "basis", "projection", "shortcut", "bias", "initial_alpha"}),
    "gat": frozenset({"heads"}),
    "cheb": frozenset({"order"}),
}


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """All that the outcome of a run depends on, the data itself and the versions of the libraries apart.

    Equal runs are equal values: a dataset of the catalogue is called by its own name, and a network without filter
    banks, which has no diversity to weigh, has ``gamma=0``.

    Args:
        dataset: What to learn from: whatever :func:`~bankgcn.data.sources.find_source` finds.
        model: What the network is made of.
        train: How it is trained.
        seed: Number of the run. Split, weights and order of the batches follow from it independently; see
            :class:`~bankgcn.training.seeds.Seeds`. Runs with one seed share their split, whatever the model.
        train_per_class: Number of training graphs to keep of each class; all of them if not given.
    """

    dataset: str
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    seed: int = 0
    train_per_class: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", _NAME_OF_DATASET.get(self.dataset.lower(), self.dataset))
        object.__setattr__(self, "seed", _integer("seed", self.seed, least=0))
        if self.train_per_class is not None:
            object.__setattr__(self, "train_per_class", _integer("train_per_class", self.train_per_class, least=1))
        if self.model.conv != "bank":
            plain = replace(self.train, gamma=0.0, coherence="sum")  # not the default, which may change: keys must not
            object.__setattr__(self, "train", plain)

    @cached_property
    def key(self) -> str:
        """Name of the run: twenty hexadecimal digits of the SHA-256 of its content."""
        return content_hash(self.to_dict())[:20]

    @property
    def seeds(self) -> Seeds:
        """What the split, the weights and the order of the batches are drawn with."""
        return Seeds.of(self.seed)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain values, as JSON holds them.

        A name that version 0.1.0 did not have is left out where it has its default. So a new option changes no key, and
        earlier versions can read every record that does not use it. The default of such an option must therefore mean
        what earlier versions did, and must never change.
        """
        conv, model = self.model.conv, self.model.to_dict()
        model["conv_options"] = _without_later_defaults(
            model["conv_options"], _FIRST_OPTIONS.get(conv, frozenset()), CONVS[conv].defaults
        )
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["model"] = _without_later_defaults(model, _FIRST_MODEL, _defaults(self.model))
        plain["train"] = _without_later_defaults(asdict(self.train), _FIRST_TRAIN, _defaults(self.train))
        return _without_later_defaults(plain, _FIRST_RUN, _defaults(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSpec:
        """The configuration that :meth:`to_dict` wrote.

        Raises:
            ValueError: It has an unknown name or value.
        """
        try:
            parts = {"model": ModelConfig(**values["model"]), "train": TrainConfig(**values["train"])}
            return cls(**{**values, **parts})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no configuration of a run: {error}") from error

    def with_(self, **changes: Any) -> RunSpec:
        """The same run with other values, named as in the run, its training, its model, or its convolution.

        Another ``conv`` starts from its own default options. A network without filter banks forgets ``gamma``: to go
        back to one with them, name it.

        Example:
            >>> RunSpec(dataset="MUTAG").with_(seed=3, gamma=10.0, order=4).model.conv_options["order"]
            4

        Raises:
            ValueError: There is no such name.
        """
        model, train = changes.pop("model", self.model), changes.pop("train", self.train)
        conv = changes.get("conv", model.conv)
        of_conv = pick(CONVS, conv, "model").options
        known = dict.fromkeys((*_RUN, *_TRAIN, *_MODEL, *of_conv))
        for name in changes:
            pick(known, name, f"option of a run of {conv}")
        options = changes.pop("conv_options", model.conv_options if conv == model.conv else {})
        options = {**options, **_among(changes, of_conv)}
        return replace(
            self,
            model=replace(model, conv_options=options, **_among(changes, _MODEL)),
            train=replace(train, **_among(changes, _TRAIN)),
            **_among(changes, _RUN),
        )


_RUN = tuple(item.name for item in fields(RunSpec))


def content_hash(values: Any) -> str:
    """SHA-256 of values that JSON can hold; it knows no order of names, and no difference between 1 and 1.0."""
    text = json.dumps(_canonical(values), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _defaults(config: RunSpec | ModelConfig | TrainConfig) -> dict[str, Any]:
    """The default of each field that has one."""
    made = {item.name: item.default_factory() for item in fields(config) if item.default_factory is not MISSING}
    return made | {item.name: item.default for item in fields(config) if item.default is not MISSING}


def _without_later_defaults(
    values: Mapping[str, Any], first: frozenset[str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The values without those that version 0.1.0 did not have and that have their default."""
    return {
        name: value
        for name, value in values.items()
        if name in first or name not in defaults or _canonical(value) != _canonical(defaults[name])
    }


def _among(changes: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: changes[name] for name in names if name in changes}


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or index(value) < least:
        raise ValueError(f"{name}={value!r}: expected an integer from {least} on")
    return index(value)
