"""What a run is: a frozen value, named by its content; and its settings under one flat list of names.

The name is a hash that a later version's new options do not change: version 0.1.0 put every value into the key, and
names that came later are left out while they have their default. One seed has several streams: what is drawn for one
purpose never moves what is drawn for another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from bankgcn.data.catalog import CATALOG, catalog_name
from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS
from bankgcn.data.options import DATA, ReadOptions
from bankgcn.files.checked import TomlSettings, canonical, content_hash
from bankgcn.messages import Message, Option
from bankgcn.nn.convs import CONVS, MODELS, RIVALS
from bankgcn.settings import Plain, Setting, check_settings, pick, setting, settings_of
from bankgcn.tasks import TASKS, metric_for
from bankgcn.training.config import RIVAL_TRAINING, ModelConfig, SplitOptions, TrainConfig, without_training
from bankgcn.training.presets import NAMED_BY_PRESETS, PAPER, PRESETS, STANDARD

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
            :class:`Seeds`. Runs with one seed share their split, whatever the model.
        train_per_class: Number of training graphs to keep of each class; all of them if not given.
        init_from: Folder of a finished run whose features and weights this one starts with; see
            :mod:`bankgcn.training.warm_start`.
        preset: Name in :data:`bankgcn.training.presets.PRESETS` of the row that gave the settings which nobody named;
            ``None`` is the paper's. It changes nothing by itself.
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
    init_from: str | None = setting(
        None, "Start with the features and the weights of this run, which has the same network.", panel=RUN, none=""
    )
    preset: str | None = setting(
        None,
        "Settings to start from; other options override them. Your own graphs have standard, the paper's datasets "
        "paper; best takes about ten times as long:",
        panel=RUN,
        choices=[name for name in PRESETS if name != PAPER],
        none=PAPER,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", catalog_name(self.dataset) or self.dataset)
        check_settings(self)
        self._check_freeze()
        if self.model.conv != "bank":
            plain = replace(self.train, gamma=0.0, coherence="sum")  # not the default, which may change: keys must not
            object.__setattr__(self, "train", plain)
        if self.task is not None:
            metric = metric_for(self.task, self.train.metric)
            object.__setattr__(self, "train", replace(self.train, metric=metric))
        if self.model.conv in RIVALS:
            object.__setattr__(self, "train", without_training(self.train))
        elif self.reader.features == "embedded":
            if self.reader.encodings:
                vectors, encoding = Option("features", "embedded"), Option("encoding", self.reader.encoding)
                wrong = "{vectors} takes whole numbers alone, and {encoding} adds others: choose {columns}"
                columns = Option("features", "onehot")
                raise ValueError(Message(wrong, vectors=vectors, encoding=encoding, columns=columns))
            object.__setattr__(self, "model", replace(self.model, embedding=ATOM_FEATURE_WIDTHS))

    def _check_freeze(self) -> None:
        """Raise if layers are to keep weights that nobody has trained, or if there are no such layers."""
        if self.init_from is not None and self.model.conv in RIVALS:
            alone = "{init} is for networks, which {model} is not"
            model = Option("model", self.model.conv, field="conv")
            raise ValueError(Message(alone, init=Option("init_from", self.init_from), model=model))
        freeze, layers = Option("freeze", self.train.freeze), self.model.num_layers
        if self.train.freeze and self.init_from is None:
            needs = "{freeze} keeps the weights of a trained run: name its folder by {init}"
            raise ValueError(Message(needs, freeze=freeze, init=Option("init_from")))
        if self.train.freeze > layers:
            number = Option("layers", layers, field="num_layers")
            raise ValueError(Message("{freeze} is more than {layers}", freeze=freeze, layers=number))

    @cached_property
    def key(self) -> str:
        """Name of the run: twenty hexadecimal digits of the SHA-256 of its content."""
        return content_hash(self.to_dict())[:20]

    @property
    def seeds(self) -> Seeds:
        """What the split, the weights, the order of the batches and the dropout follow from."""
        seeds = Seeds.of(self.seed)
        return seeds if self.split.split_seed is None else seeds._replace(split=Seeds.of(self.split.split_seed).split)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain values, as JSON holds them.

        A name that version 0.1.0 did not have is left out where it has its default. So a new option changes no key, and
        earlier versions can read every record that does not use it. The default of such an option must therefore mean
        what earlier versions did, and must never change.
        """
        conv, model = self.model.conv, self.model.to_dict()
        model["conv_options"] = without_later_defaults(
            model["conv_options"], FIRST_OPTIONS.get(conv, frozenset()), MODELS[conv].defaults
        )
        of_network = conv in CONVS  # other models came later, and have only what differs from the defaults
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["reader"] = without_later_defaults(asdict(self.reader), frozenset(), defaults(self.reader))
        plain["split"] = without_later_defaults(asdict(self.split), frozenset(), defaults(self.split))
        plain["model"] = without_later_defaults(model, FIRST_MODEL if of_network else {"conv"}, defaults(self.model))
        plain["train"] = without_later_defaults(
            asdict(self.train), FIRST_TRAIN if of_network else {"metric"}, defaults(self.train)
        )
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
        of_conv = pick(MODELS, conv, "model").options
        fields_of = {name: _names(part) for name, part in _PARTS.items()}
        of_run = _names(RunSpec)
        for name in changes:
            pick(dict.fromkeys((*of_run, *chain(*fields_of.values()), *of_conv)), name, f"option of a run of {conv}")
        options = changes.pop("conv_options", model.conv_options if conv == model.conv else {})
        changes["conv_options"] = {**options, **_subset(changes, of_conv)}
        changed = {name: replace(part, **_subset(changes, fields_of[name])) for name, part in parts.items()}
        return replace(self, **changed, **_subset(changes, of_run))


_PARTS: dict[str, Any] = {"reader": ReadOptions, "split": SplitOptions, "model": ModelConfig, "train": TrainConfig}


def _names(config: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(config))


def _subset(changes: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: changes[name] for name in names if name in changes}


class Place(NamedTuple):
    """Where a setting belongs in a :class:`RunSpec`: the part ("" for the run itself), and the field of the part."""

    part: str
    field: str
    setting: Setting


def _run_settings() -> dict[str, Place]:
    """Every setting of a run by its name, in the order in which files list them."""
    places: dict[str, Place] = {}
    parts = {
        "reader": ReadOptions,
        "split": SplitOptions,
        "": RunSpec,
        "model": ModelConfig,
        "conv_options": None,
        "train": TrainConfig,
    }
    for part, config in parts.items():
        rows = [settings_of(config)] if config else [conv.options for conv in CONVS.values()]
        for options in rows:
            for key, row in options.items():
                places.setdefault(row.name or key, Place(part, key, row))
    return places


RUN_SETTINGS = _run_settings()

BANK_ONLY = ("gamma", "coherence")
"""Settings of the training that mean something to filter banks only."""

COMPLETE = ("epochs", "hidden", "metric")
"""A file that has these settings has all that its version knew: it was written by a run."""
OF_NETWORKS = {
    name
    for name, (part, key, _) in RUN_SETTINGS.items()
    if (part == "model" and key not in ("conv", "edges"))
    or (part == "train" and key not in RIVAL_TRAINING)
    or name == "init_from"
}
"""Settings that mean nothing to models that are no networks."""

SOURCE, DATA_ROOT = "source", "data_root"
DEFAULTS: dict[str, Plain] = {
    SOURCE: "MUTAG",
    DATA_ROOT: "",
    **{name: place.setting.plain(place.setting.default) for name, place in RUN_SETTINGS.items()},
}
"""The paper's values for the TU datasets. Empty words and 0, where they make no sense otherwise, mean none."""


def protocol(dataset: str) -> dict[str, Plain]:
    """The settings that the paper changes for a dataset, by the names of the flags."""
    values = CATALOG[dataset].protocol if dataset in CATALOG else {}
    return {name: values[place.field] for name, place in RUN_SETTINGS.items() if place.field in values}


def given_settings(
    flags: Mapping[str, Any],
    file: Mapping[str, Any] | None = None,
    where: str = "",
    further: Mapping[str, Plain] | None = None,
) -> dict[str, Plain]:
    """What is given: flags, or keywords, override a file.

    Options of a convolution in the file do not count if a flag names another model than the file; settings that depend
    on the preset do not, if a flag names another preset.

    Args:
        flags: What was typed.
        file: The content of a file.
        where: Name of the file in messages.
        further: Defaults of settings that are not those of a run.

    Raises:
        ValueError: A setting is unknown, or of the wrong type.
    """
    place = file.place if isinstance(file, TomlSettings) else lambda _: where
    defaults = DEFAULTS | dict(further or {})
    file = {key: _checked(key, value, defaults, f"{place(key)}: ") for key, value in (file or {}).items()}
    flags = {key: _checked(key, value, defaults) for key, value in flags.items()}
    if "preset" not in file and set(COMPLETE) <= set(file):  # of a run from before there were presets
        file["preset"] = PAPER
    if "preset" in flags and "preset" in file and flags["preset"] != file["preset"]:
        file = {key: value for key, value in file.items() if key not in NAMED_BY_PRESETS}
    if "model" in file and flags.get("model", file["model"]) != file["model"]:
        of_some_models = {*BANK_ONLY, *(key for key, place in RUN_SETTINGS.items() if place.part == "conv_options")}
        of_some_models |= unused_settings(str(flags["model"])) if "model" in flags else set()
        file = {key: value for key, value in file.items() if key not in of_some_models}
    return {**file, **flags}


def complete_settings(given: Mapping[str, Plain], molecules: bool | None = None) -> dict[str, Plain]:
    """All settings of a run: those given override the preset, then the protocol of the dataset, then the defaults.

    Settings of other models are left out.

    Args:
        given: The settings that are given.
        molecules: Whether the graphs, which are the user's own, are molecules; ``None`` for datasets of the catalogue,
            which have the paper's settings unless a preset is given.

    Raises:
        ValueError: A setting is not one of the model's, or the model or the preset is unknown.
    """
    model = str(given.get("model", DEFAULTS["model"]))
    unused = unused_settings(model)
    for key in given:
        if key in unused:
            wrong = "{key} is no option of the model {model}, which has {options}"
            raise ValueError(Message(wrong, key=Option(key), model=model, options=_options(model)))
    preset = str(given.get("preset", PAPER if molecules is None else STANDARD))
    chosen = (
        {} if molecules is None and preset == PAPER else pick(PRESETS, preset, "preset").for_graphs(bool(molecules))
    )
    published = protocol(str(given.get(SOURCE, DEFAULTS[SOURCE])))
    complete = {**DEFAULTS, **published, **chosen, "preset": preset, **given}
    return {key: complete[key] for key in DEFAULTS if key not in unused}


def _checked(key: str, value: Any, defaults: Mapping[str, Plain], where: str = "") -> Plain:
    """The value of a setting, of the type it should have."""
    try:
        default = pick(defaults, key, "setting")
        row = RUN_SETTINGS[key].setting if key in RUN_SETTINGS else None
        if row is not None:
            value = row.normalised(value)
            if row.choices and value != row.none:
                pick(dict.fromkeys(filter(None, (row.none, *row.choices))), value, key)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    if type(value) is not type(default):
        kinds = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{where}{key} is {value!r}, expected {kinds[type(default)]}")
    return value


def unused_settings(model: str) -> set[str]:
    """Names of the settings that mean nothing to a model."""
    options = pick(MODELS, model, "model").options
    unused = {key for key, place in RUN_SETTINGS.items() if place.part == "conv_options" and place.field not in options}
    if model in RIVALS:
        return unused | OF_NETWORKS
    return unused if model == "bank" else unused | set(BANK_ONLY)


def _options(model: str) -> str:
    options = MODELS[model].options
    return ", ".join(row.name or field for field, row in options.items()) or "none of its own"


def spec_of(dataset: str, values: Mapping[str, Plain]) -> RunSpec:
    """The run that flat settings describe; names that are not in :data:`RUN_SETTINGS` are ignored.

    Raises:
        ValueError: A value is out of range, or not one of the model's options.
    """
    parts: dict[str, dict[str, Any]] = {place.part: {} for place in RUN_SETTINGS.values()}
    for name, value in values.items():
        if name in RUN_SETTINGS:
            part, key, row = RUN_SETTINGS[name]
            parts[part][key] = row.parsed(value)
    return RunSpec(
        dataset=dataset,
        reader=ReadOptions(**parts["reader"]),
        split=SplitOptions(**parts["split"]),
        model=ModelConfig(conv_options=parts["conv_options"], **parts["model"]),
        train=TrainConfig(**parts["train"]),
        **parts[""],
    )


def settings_of_run(spec: RunSpec) -> dict[str, Plain]:
    """The flat settings that describe a run: the inverse of :func:`spec_of`. Those of other models are left out.

    Example:
        >>> spec = spec_of("MUTAG", {"model": "cheb", "order": 3})
        >>> settings_of_run(spec)["order"], spec_of("MUTAG", settings_of_run(spec)) == spec
        (3, True)
    """
    values: dict[str, Plain] = {}
    unused = unused_settings(spec.model.conv)
    for name, (part, key, row) in RUN_SETTINGS.items():
        if part == "conv_options":
            if key in spec.model.conv_options:
                values[name] = row.plain(spec.model.conv_options[key])
        elif name not in unused:
            values[name] = row.plain(getattr(getattr(spec, part) if part else spec, key))
    return values


class Seeds(NamedTuple):
    """Independent seeds for all that a run draws.

    Each is the first eight bytes of the SHA-256 of ``"bankgcn/<stream>/<seed>"``: the same on any machine and in any
    version of the libraries, and neighbouring seeds share nothing.
    """

    split: int
    subset: int
    weights: int
    batches: int
    dropout: int

    @classmethod
    def of(cls, seed: int) -> Seeds:
        """The seeds that follow from one.

        Example:
            >>> Seeds.of(0).split == Seeds.of(0).split, Seeds.of(0).split == Seeds.of(1).split
            (True, False)
        """
        return cls(*(_derived(stream, seed) for stream in cls._fields))


def _derived(stream: str, seed: int) -> int:
    digest = hashlib.sha256(f"bankgcn/{stream}/{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # 63 bits: torch and numpy both take it


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
    values: Mapping[str, Any], first: Container[str], later_defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The values without those that version 0.1.0 did not have and that have their default."""
    return {
        name: value
        for name, value in values.items()
        if name in first or name not in later_defaults or canonical(value) != canonical(later_defaults[name])
    }
