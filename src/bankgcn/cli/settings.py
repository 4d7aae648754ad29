"""What a run is told, by flags, by a file, or by the paper's defaults: one vocabulary for all three."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bankgcn.choices import pick
from bankgcn.cli.source_options import reader_options
from bankgcn.data.catalog import CATALOG
from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS
from bankgcn.files.errors import FileError
from bankgcn.files.toml_file import Value
from bankgcn.nn.bank_conv import INITIAL_ALPHA
from bankgcn.nn.convs import CONVS
from bankgcn.nn.network import ACTIVATIONS, POOLINGS, REDUCTIONS
from bankgcn.nn.readout import READOUTS
from bankgcn.spectral.basis import BASES
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.config import LARGE
from bankgcn.training.metrics import METRICS
from bankgcn.training.ranges import COUNT, check_ranges

MAX_NAME = 200  # file systems end at 255

MODEL = {"hidden": "hidden_channels", "layers": "num_layers"} | {n: n for n in ("normalize", "readout", "pooling")}
CONV = {"subspaces": "num_subspaces"} | {
    n: n for n in ("order", "basis", "projection", "shortcut", "bias", "initial_alpha", "heads")
}
TRAIN = {"epochs": "max_epochs"} | {
    n: n
    for n in (
        "patience",
        "batch_size",
        "learning_rate",
        "weight_decay",
        "gamma",
        "coherence",
        "select",
        "metric",
        "decay_patience",
        "decay_factor",
        "min_learning_rate",
    )
}
"""Our word for each setting, and that of the configuration which holds it."""

OF_THE_MODEL = (*CONV, "gamma", "coherence")
"""What means something to some models only, and does not outlive a change of the model."""

DEFAULTS: dict[str, Value] = {
    "source": "MUTAG",
    "data_root": "",
    "smiles": "",
    "target": "",
    "skip_unreadable": False,
    "skip_missing": False,
    "symmetrise": False,
    "ignore_weights": False,
    "features": "",
    "train_per_class": 0,
    "seed": 0,
    "model": "bank",
    **{key: ModelConfig().to_dict().get(name, "none") for key, name in MODEL.items()},
    **{key: (CONVS["gat"].defaults | CONVS["bank"].defaults)[name] for key, name in CONV.items()},
    **{key: value for key, name in TRAIN.items() if (value := asdict(TrainConfig())[name]) is not None},
    "decay_patience": 0,
}
"""The paper's values for the TU datasets. Empty words and 0, where they make no sense otherwise, mean none."""

OF_DATASET: dict[str, dict[str, Value]] = {
    "CIFAR-10": {**LARGE},
    "ogbg-molhiv": {**LARGE, "metric": "roc_auc", "readout": "mean"},
}
"""What the paper does otherwise on some datasets."""

CHOICES: dict[str, Mapping[str, Any]] = {
    "model": CONVS,
    "normalize": ACTIVATIONS,
    "readout": READOUTS,
    "pooling": {"none": None, **POOLINGS},
    "basis": BASES,
    "metric": METRICS,
    "projection": dict.fromkeys(["linear", "mlp"]),
    "initial_alpha": INITIAL_ALPHA,
    "coherence": REDUCTIONS,
    "select": dict.fromkeys(["loss", "score"]),
    "features": dict.fromkeys(["", "raw", "onehot", "embedded"]),
}


RANGES = {"seed": COUNT, "train_per_class": COUNT}
"""Which numbers the settings may have that belong to neither configuration: those check their own."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run, each by one word: complete, checked, in a fixed order."""

    values: Mapping[str, Value]

    @classmethod
    def resolve(cls, flags: Mapping[str, Value], file: Mapping[str, Value] | None = None, where: str = "") -> Settings:
        """Flags over a file over defaults.

        Args:
            flags: What was typed.
            file: What stands in a file.
            where: What a message calls the file.

        Raises:
            ValueError: A setting is unknown, of the wrong type, out of range, or means nothing to the model.
        """
        file = {key: _checked(key, value, f"{where}: ") for key, value in (file or {}).items()}
        flags = {key: _checked(key, value) for key, value in flags.items()}
        if "model" in file and flags.get("model", file["model"]) != file["model"]:
            file = {key: value for key, value in file.items() if key not in OF_THE_MODEL}
        told = file | flags
        source = told["source"] = _named(str(told.get("source", DEFAULTS["source"])))
        model = str(told.get("model", DEFAULTS["model"]))
        meaningless = _meaningless(model)
        for key in told:
            if key in meaningless:
                raise ValueError(f"{key} is no option of the model {model}, which has {_options(model)}")
        known = DEFAULTS | OF_DATASET.get(source, {}) | told
        settings = cls({key: known[key] for key in DEFAULTS if key not in meaningless})
        with in_these_words():
            check_ranges(RANGES, settings.values)
            _ = settings.model, settings.train  # which check their own values
        return settings

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def model(self) -> ModelConfig:
        """What the network is made of."""
        fields = {name: self[key] for key, name in MODEL.items()}
        options = {name: self[key] for key, name in CONV.items() if key in self.values}
        embedding = ATOM_FEATURE_WIDTHS if self["features"] == "embedded" else None
        pooling = None if fields.pop("pooling") == "none" else self["pooling"]
        return ModelConfig(conv=self["model"], conv_options=options, pooling=pooling, embedding=embedding, **fields)

    @property
    def train(self) -> TrainConfig:
        """How it is trained."""
        fields = {name: self[key] for key, name in TRAIN.items() if key in self.values}
        if "gamma" not in fields:
            fields["gamma"] = 0.0  # without filters there is no diversity to weigh
        return TrainConfig(**{**fields, "decay_patience": self["decay_patience"] or None})

    @property
    def reader(self) -> dict[str, Any]:
        """How the source is read."""
        options = reader_options(
            self["smiles"] or None,
            self["target"] or None,
            self["skip_unreadable"],
            self["symmetrise"],
            self["skip_missing"],
        )
        kinds = {"raw": "raw", "onehot": "onehot", "embedded": "raw"}
        return options | ({"features": kinds[self["features"]]} if self["features"] else {})

    def differing(self, other: Settings) -> list[str]:
        """Settings that are not the same, wherever the data lies."""
        keys = [key for key in DEFAULTS if key != "data_root"]
        return [key for key in keys if self.values.get(key) != other.values.get(key)]

    @property
    def name(self) -> str:
        """A name for the run: its data, model and seed, and what differs from the defaults."""
        usual = Settings.resolve({key: self[key] for key in ("source", "model", "seed")})
        said = [Path(self["source"]).stem, self["model"], str(self["seed"])]
        said += [f"{key}={self[key]}" for key in self.differing(usual)]
        return re.sub(r"[^\w.=-]+", "_", "-".join(said))[:MAX_NAME]


def _checked(key: str, value: Value, where: str = "") -> Value:
    """The value of a setting, of the type it should have."""
    try:
        default = pick(DEFAULTS, key, "setting")
        if key in CHOICES:
            pick(CHOICES[key], str(value), key)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        kinds = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{where}{key} is {value!r}, expected {kinds[type(default)]}")
    return value


def _named(source: str) -> str:
    """A dataset by its own name, a file by its full path: what means the same wherever it is read again."""
    by_lower = {name.lower(): name for name in CATALOG}
    path = Path(source).expanduser()
    return by_lower.get(source.lower()) or (str(path.resolve()) if path.exists() else source)


def _meaningless(model: str) -> set[str]:
    options = pick(CONVS, model, "model").options
    keys = {key for key, name in CONV.items() if name not in options}
    return keys if model == "bank" else keys | {"gamma", "coherence"}


def _options(model: str) -> str:
    return ", ".join(key for key, name in CONV.items() if name in CONVS[model].options) or "none of its own"


@contextmanager
def in_these_words() -> Iterator[None]:
    """Errors of the library name our settings as they are called here, and the flag of the first one."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        message = str(error)
        for key, name in (("hidden", "out_channels"), *MODEL.items(), *CONV.items(), *TRAIN.items()):
            message = message.replace(f"{name}=", f"{key}=")
        subject = message.partition("=")[0]
        flag = f" (--{subject.replace('_', '-')})" if subject in DEFAULTS and "(--" not in message else ""
        raise ValueError(message + flag) from error
