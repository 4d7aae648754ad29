"""What a network is made of: a frozen value, which needs no PyTorch until the network is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bankgcn.choices import pick
from bankgcn.messages import Message, advise
from bankgcn.nn.convs import CONVS
from bankgcn.nn.names import ACTIVATION_NAMES, HEADS, NORM_NAMES, POOLING_NAMES, READOUTS
from bankgcn.settings import check_settings, plain_value, setting

if TYPE_CHECKING:
    from torch import nn

    from bankgcn.data.graphs import GraphSet
    from bankgcn.nn import GraphNetwork

PANEL = "Model"


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What a network is made of. The defaults are the paper's.

    Args:
        conv: The convolution; see :class:`~bankgcn.nn.GraphNetwork`.
        conv_options: Its options where they differ from the defaults in :data:`bankgcn.nn.convs.CONVS`; afterwards all
            of them, so that equal networks have equal configurations.
        hidden_channels: Width of every hidden layer.
        num_layers: Number of convolutions.
        normalize: Where the normalisation stands: ``"before"`` or ``"after"`` the ReLU, or ``"none"``.
        norm: The kind of normalisation, a name in :data:`~bankgcn.nn.NORMS`. ``"none"`` becomes ``normalize="none"``,
            which means the same.
        readout: A name in :data:`~bankgcn.nn.READOUTS`, such as ``"mean_max"``.
        pooling: ``"topk"``, ``"sag"``, ``"asap"``, or none.
        residual: Whether each layer adds its input to its output.
        dropout: Probability to drop an element in training.
        head: ``"linear"``, or ``"mlp"`` for a hidden layer before the output.
        embedding: Number of values of each column of integer signals, if the network learns a vector for each of them;
            see :class:`~bankgcn.nn.AtomEncoder`.
    """

    conv: str = setting("bank", "The convolution:", panel=PANEL, name="model", choices=CONVS)
    conv_options: Mapping[str, Any] = field(default_factory=dict)
    hidden_channels: int = setting(64, "Width of every layer.", panel=PANEL, name="hidden", at_least=1)
    num_layers: int = setting(4, "Number of layers.", panel=PANEL, name="layers", at_least=1)
    normalize: Literal["before", "after", "none"] = setting(
        "before",
        "Where the normalisation stands, seen from the ReLU:",
        panel=PANEL,
        choices=ACTIVATION_NAMES,
        advanced=True,
    )
    norm: Literal["l2", "layer", "graph", "batch", "none"] = setting(
        "l2",
        "Kind of normalisation; batch trains by autograd, which is slower:",
        panel=PANEL,
        advanced=True,
        choices=NORM_NAMES,
    )
    readout: str = setting("mean_max", "From the nodes to the graph:", panel=PANEL, choices=READOUTS)
    pooling: str | None = setting(None, "Pooling between the layers:", panel=PANEL, choices=POOLING_NAMES, none="none")
    residual: bool = setting(False, "Add the input of each layer to its output.", panel=PANEL)
    dropout: float = setting(0.0, "Probability to drop an element in training.", panel=PANEL, at_least=0, below=1)
    head: Literal["linear", "mlp"] = setting(
        "linear", "From the graph to the output; mlp has a hidden layer:", panel=PANEL, choices=HEADS, advanced=True
    )
    embedding: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        rows = CONVS[self.conv].options
        for name in self.conv_options:
            pick(rows, name, f"option of {self.conv}")
        options = {name: plain_value(self.conv_options.get(name, row.default)) for name, row in rows.items()}
        for name, row in rows.items():
            row.check(name, options[name])
        object.__setattr__(self, "conv_options", MappingProxyType(options))
        if "none" in (self.norm, self.normalize):  # ReLU alone: one network has one configuration, that of old runs
            object.__setattr__(self, "norm", "l2")
            object.__setattr__(self, "normalize", "none")
        if self.embedding is not None:
            object.__setattr__(self, "embedding", tuple(map(plain_value, self.embedding)))

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ModelConfig, **self.to_dict()), ()  # a mapping proxy can be neither copied nor pickled

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
            models = ", ".join(sorted(name for name, conv in CONVS.items() if conv.takes_weights))
            cannot = (
                "{name} has edge weights, which the model {conv} cannot use{advice}; models that take weights: {models}"
            )
            advice = [advise("ignore_weights", True, "ignores them")]
            values = {"name": graphs.name or "the set", "conv": self.conv, "models": models}
            raise ValueError(Message(cannot, advice=advice, **values))

    def build(self, in_channels: int, out_channels: int) -> GraphNetwork:
        """A network of this kind, with fresh weights from torch's global generator."""
        from bankgcn.nn import AtomEncoder, GraphNetwork

        encoder: nn.Module | None = None
        if self.embedding is not None:
            if len(self.embedding) != in_channels:
                raise ValueError(f"embedding has {len(self.embedding)} columns, but the signals have {in_channels}")
            encoder, in_channels = AtomEncoder(self.embedding, self.hidden_channels), self.hidden_channels
        return GraphNetwork(
            in_channels,
            out_channels,
            self.hidden_channels,
            self.num_layers,
            conv=self.conv,
            conv_options=self.conv_options,
            normalize=self.normalize,
            norm=self.norm,
            readout=self.readout,
            pooling=self.pooling,
            encoder=encoder,
            residual=self.residual,
            dropout=self.dropout,
            head=self.head,
        )
