"""A network as a value: what it is made of, made from that, and kept in a file with all that prediction needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from torch import nn

from bankgcn.choices import pick
from bankgcn.data.features.refit import conform
from bankgcn.data.graphs import GraphSet
from bankgcn.files.errors import FileError
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.nn import CONVS, AtomEncoder, GraphNetwork
from bankgcn.training.config import plain_value
from bankgcn.training.ranges import COUNT, POSITIVE_COUNT, check_ranges

RANGES = {
    "hidden_channels": POSITIVE_COUNT,
    "num_layers": POSITIVE_COUNT,
    "order": COUNT,
    "num_subspaces": POSITIVE_COUNT,
    "heads": POSITIVE_COUNT,
}
"""Which numbers the settings of a network and of its convolution may have."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What a network is made of. The defaults are the paper's.

    Args:
        conv: The convolution; see :class:`~bankgcn.nn.GraphNetwork`.
        conv_options: Its options where they differ from the defaults; afterwards all of them, so that equal
            networks have equal configurations.
        hidden_channels: Width of every hidden layer.
        num_layers: Number of convolutions.
        normalize: Where the normalisation stands: ``"before"`` or ``"after"`` the ReLU, or ``"none"``.
        readout: A name in :data:`~bankgcn.nn.READOUTS`, such as ``"mean_max"``.
        pooling: ``"topk"``, ``"sag"``, ``"asap"``, or none.
        embedding: Number of values of each column of integer signals, if these are to be embedded rather than taken as
            numbers; see :class:`~bankgcn.nn.AtomEncoder`.
    """

    conv: str = "bank"
    conv_options: Mapping[str, Any] = field(default_factory=dict)
    hidden_channels: int = 64
    num_layers: int = 4
    normalize: Literal["before", "after", "none"] = "before"
    readout: str = "mean_max"
    pooling: str | None = None
    embedding: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        known = pick(CONVS, self.conv, "model").defaults
        for name in self.conv_options:
            pick(known, name, f"option of {self.conv}")
        check_ranges(RANGES, {**vars(self), **self.conv_options})
        for name in ("hidden_channels", "num_layers"):
            object.__setattr__(self, name, plain_value(getattr(self, name)))
        options = {name: plain_value(value) for name, value in {**known, **self.conv_options}.items()}
        object.__setattr__(self, "conv_options", MappingProxyType(options))
        if self.embedding is not None:
            object.__setattr__(self, "embedding", tuple(map(plain_value, self.embedding)))

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """The configuration as plain values, as JSON and TOML hold them."""
        plain = {name: value for name, value in vars(self).items() if value is not None}
        plain["conv_options"] = dict(self.conv_options)
        if self.embedding is not None:
            plain["embedding"] = list(self.embedding)
        return plain

    def check(self, graphs: GraphSet) -> None:
        """Raise if the graphs have edge weights and networks of this kind cannot use them."""
        if graphs.edge_weight is not None and not CONVS[self.conv].takes_weights:
            weighted = sorted(name for name, conv in CONVS.items() if conv.takes_weights)
            raise ValueError(
                f"{graphs.name or 'the set'} has edge weights, which the model {self.conv} cannot use "
                f"(without_weights ignores them); models that take weights: {', '.join(weighted)}"
            )

    def build(self, in_channels: int, num_classes: int) -> GraphNetwork:
        """A network of this kind, with fresh weights from torch's global generator."""
        encoder: nn.Module | None = None
        if self.embedding is not None:
            if len(self.embedding) != in_channels:
                raise ValueError(f"embedding has {len(self.embedding)} columns, but the signals have {in_channels}")
            encoder, in_channels = AtomEncoder(self.embedding, self.hidden_channels), self.hidden_channels
        return GraphNetwork(
            in_channels,
            num_classes,
            self.hidden_channels,
            self.num_layers,
            conv=self.conv,
            conv_options=self.conv_options,
            normalize=self.normalize,
            readout=self.readout,
            pooling=self.pooling,
            encoder=encoder,
        )


@dataclass(frozen=True)
class TrainedModel:
    """A trained network with what is needed to apply it to new graphs.

    Args:
        net: The network.
        config: What it is made of.
        classes: Names of the classes, in order of its outputs.
        in_channels: Width of the signals that it was trained on.
        about: What else is known of it: where it comes from, how it scored.
    """

    net: GraphNetwork
    config: ModelConfig
    classes: tuple[str, ...]
    in_channels: int
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def signals(self) -> dict[str, Any] | None:
        """How the training graphs were described, if that is known; see :mod:`bankgcn.data.features.recipes`."""
        return self.about.get("signals")

    def described(self, graphs: GraphSet) -> GraphSet:
        """The graphs with the signals that the network was trained on.

        Raises:
            ValueError: Their own signals are of another kind, or have values that are not known from training.
        """
        if self.signals is not None:
            graphs = conform(graphs, self.signals, graphs.name or "the set")
        self.check(graphs)
        return graphs

    def check(self, graphs: GraphSet) -> None:
        """Raise unless the network can be applied to these graphs."""
        self.config.check(graphs)
        if graphs.num_features != self.in_channels:
            raise ValueError(
                f"the graphs have {graphs.num_features} features a node, but the model was trained on "
                f"{self.in_channels}: they must be described as the training graphs were"
            )

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        values = {
            "kind": "model",
            "config": self.config.to_dict(),
            "classes": list(self.classes),
            "in_channels": self.in_channels,
            "about": self.about,
        }
        save_tensors(path, self.net.state_dict(), values)

    @classmethod
    def load(cls, path: Path) -> TrainedModel:
        """Read a model.

        Raises:
            FileError: There is no readable model in the file.
        """
        tensors, values = load_tensors(path)
        try:
            config = ModelConfig(**values["config"])
            classes = tuple(values["classes"])
            net = config.build(values["in_channels"], len(classes))
            net.load_state_dict(tensors)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise FileError(f"holds no model of this version ({error})", path) from error
        return cls(net.eval(), config, classes, values["in_channels"], values["about"])
