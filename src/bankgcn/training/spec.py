"""What a run is: a frozen value, named by its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any

from bankgcn.choices import pick
from bankgcn.data.catalog import catalog_name
from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS
from bankgcn.data.options import DATA, ReadOptions
from bankgcn.files.checked import content_hash
from bankgcn.nn.convs import CONVS
from bankgcn.settings import check_settings, setting
from bankgcn.tasks import TASKS, metric_for
from bankgcn.training.config import TrainConfig
from bankgcn.training.keys import (
    FIRST_MODEL,
    FIRST_OPTIONS,
    FIRST_RUN,
    FIRST_TRAIN,
    defaults,
    without_later_defaults,
)
from bankgcn.training.model_config import ModelConfig
from bankgcn.training.seeds import Seeds
from bankgcn.training.split_options import SplitOptions

RUN = "Run"
IN_PYTHON = "graphs in Python"
"""What a run names as its dataset if its graphs were not read from a source."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """All that the outcome of a run depends on, apart from the data itself and the versions of the libraries.

    Equal runs are equal values: a dataset of the catalogue goes by its own name, and a network without filter banks,
    which has no diversity to weigh, has ``gamma=0``.

    Args:
        dataset: What to learn from: whatever :func:`~bankgcn.data.sources.find_source` finds.
        reader: How it is read.
        split: Which graphs train, validate and test.
        task: The kind of task, see :data:`bankgcn.tasks.TASKS`; by default the kind that the targets look like.
        model: What the network is made of.
        train: How it is trained.
        seed: Number of the run. Split, weights, order of the batches and dropout follow from it independently; see
            :class:`~bankgcn.training.seeds.Seeds`. Runs with one seed share their split, whatever the model.
        train_per_class: Number of training graphs to keep of each class; all of them if not given.
    """

    dataset: str
    seed: int = setting(
        0, "Number of the run: split, weights, order of batches and dropout follow from it.", panel=RUN, at_least=0
    )
    reader: ReadOptions = field(default_factory=ReadOptions)
    split: SplitOptions = field(default_factory=SplitOptions)
    task: str | None = setting(
        None, "What to predict; by default what the targets look like:", panel=DATA, choices=TASKS, none=""
    )
    train_per_class: int | None = setting(
        None, "Training graphs to keep of each class; 0 keeps all.", panel=DATA, none=0, at_least=1, advanced=True
    )
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", catalog_name(self.dataset) or self.dataset)
        check_settings(self)
        if self.model.conv != "bank":
            plain = replace(self.train, gamma=0.0, coherence="sum")  # not the default, which may change: keys must not
            object.__setattr__(self, "train", plain)
        if self.task is not None:
            metric = metric_for(self.task, self.train.metric)
            object.__setattr__(self, "train", replace(self.train, metric=metric))
        if self.reader.features == "embedded":
            object.__setattr__(self, "model", replace(self.model, embedding=ATOM_FEATURE_WIDTHS))

    @cached_property
    def key(self) -> str:
        """Name of the run: twenty hexadecimal digits of the SHA-256 of its content."""
        return content_hash(self.to_dict())[:20]

    @property
    def seeds(self) -> Seeds:
        """What the split, the weights, the order of the batches and the dropout follow from."""
        own = Seeds.of(self.seed)
        return own if self.split.split_seed is None else own._replace(split=Seeds.of(self.split.split_seed).split)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain values, as JSON holds them.

        A name that version 0.1.0 did not have is left out where it has its default. So a new option changes no key, and
        earlier versions can read every record that does not use it. The default of such an option must therefore mean
        what earlier versions did, and must never change.
        """
        conv, model = self.model.conv, self.model.to_dict()
        model["conv_options"] = without_later_defaults(
            model["conv_options"], FIRST_OPTIONS.get(conv, frozenset()), CONVS[conv].defaults
        )
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["reader"] = without_later_defaults(asdict(self.reader), frozenset(), defaults(self.reader))
        plain["split"] = without_later_defaults(asdict(self.split), frozenset(), defaults(self.split))
        plain["model"] = without_later_defaults(model, FIRST_MODEL, defaults(self.model))
        plain["train"] = without_later_defaults(asdict(self.train), FIRST_TRAIN, defaults(self.train))
        return without_later_defaults(plain, FIRST_RUN, defaults(self) | {"reader": {}, "split": {}})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSpec:
        """The configuration that :meth:`to_dict` wrote.

        Raises:
            ValueError: It has an unknown name or value.
        """
        try:
            parts = {name: part(**values[name]) for name, part in _PARTS.items() if name in values or name in FIRST_RUN}
            return cls(**{**values, **parts})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no configuration of a run: {error}") from error

    def with_(self, **changes: Any) -> RunSpec:
        """The same run with other values, named as in the run, its reader, training, model, or convolution.

        Another ``conv`` starts from its own default options. A network without filter banks forgets ``gamma``: to go
        back to one with them, name it.

        Example:
            >>> RunSpec(dataset="MUTAG").with_(seed=3, gamma=10.0, order=4).model.conv_options["order"]
            4

        Raises:
            ValueError: There is no such name.
        """
        parts = {name: changes.pop(name, getattr(self, name)) for name in _PARTS}
        model = parts["model"]
        conv = changes.get("conv", model.conv)
        of_conv = pick(CONVS, conv, "model").options
        fields_of = {name: _names(part) for name, part in _PARTS.items()}
        own = _names(RunSpec)
        for name in changes:
            pick(dict.fromkeys((*own, *chain(*fields_of.values()), *of_conv)), name, f"option of a run of {conv}")
        options = changes.pop("conv_options", model.conv_options if conv == model.conv else {})
        changes["conv_options"] = {**options, **_among(changes, of_conv)}
        changed = {name: replace(part, **_among(changes, fields_of[name])) for name, part in parts.items()}
        return replace(self, **changed, **_among(changes, own))


_PARTS: dict[str, Any] = {"reader": ReadOptions, "split": SplitOptions, "model": ModelConfig, "train": TrainConfig}


def _names(config: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(config))


def _among(changes: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: changes[name] for name in names if name in changes}
