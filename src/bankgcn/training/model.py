"""What a network is made of (:class:`ModelConfig`), and a trained one with all that prediction needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bankgcn.choices import pick
from bankgcn.data.features.refit import conform
from bankgcn.data.graphs import GraphSet
from bankgcn.files.errors import FileError
from bankgcn.files.tensors import UNREADABLE, load_tensors, save_tensors
from bankgcn.nn import AtomEncoder, GraphNetwork
from bankgcn.nn.convs import CONVS
from bankgcn.nn.network import ACTIVATIONS, HEADS, POOLINGS
from bankgcn.nn.norms import NORMS
from bankgcn.nn.readout import READOUTS
from bankgcn.settings import check_settings, plain_value, setting
from bankgcn.tasks import Task
from bankgcn.training.evaluation import check_finite
from bankgcn.training.inference import Inference
from bankgcn.training.stored_weights import check_weights_fit

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
        "before", "Where the normalisation stands, seen from the ReLU:", panel=PANEL, choices=ACTIVATIONS
    )
    norm: Literal["l2", "layer", "graph", "batch", "none"] = setting(
        "l2",
        "Kind of normalisation; batch trains by autograd, which is slower:",
        panel=PANEL,
        choices=NORMS,
    )
    readout: str = setting("mean_max", "From the nodes to the graph:", panel=PANEL, choices=READOUTS)
    pooling: str | None = setting(None, "Pooling between the layers:", panel=PANEL, choices=POOLINGS, none="none")
    residual: bool = setting(False, "Add the input of each layer to its output.", panel=PANEL)
    dropout: float = setting(0.0, "Probability to drop an element in training.", panel=PANEL, at_least=0, below=1)
    head: Literal["linear", "mlp"] = setting(
        "linear", "From the graph to the output; mlp has a hidden layer:", panel=PANEL, choices=HEADS
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
            raise ValueError(
                f"{graphs.name or 'the set'} has edge weights, which the model {self.conv} cannot use "
                f"(without_weights ignores them); models that take weights: {models}"
            )

    def build(self, in_channels: int, out_channels: int) -> GraphNetwork:
        """A network of this kind, with fresh weights from torch's global generator."""
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


@dataclass(frozen=True)
class TrainedModel:
    """A trained network with what is needed to apply it to new graphs.

    Args:
        net: The network.
        config: What it is made of.
        task: What it learned; its names are those of the outputs.
        in_channels: Width of the signals that it was trained on.
        metadata: Facts about the training, as JSON holds them: the run, its graphs, its scores.
    """

    net: GraphNetwork
    config: ModelConfig
    task: Task
    in_channels: int
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def temperature(self) -> float:
        """What divides the outputs before they become probabilities; 1 for models that are not calibrated."""
        return self.metadata.get("temperature", 1.0)

    @property
    def constant(self) -> tuple[float, ...] | None:
        """The best constant prediction, by the training graphs; ``None`` for models of version 0.1.0."""
        constant = self.metadata.get("constant")
        return None if constant is None else tuple(constant)

    def predictions(self, graphs: GraphSet, calibrated: bool = True) -> Tensor:
        """Probabilities of classes or labels, or values in the user's units, for graphs of the same kind.

        Args:
            graphs: The graphs; their features are made as those of the training graphs.
            calibrated: Whether the temperature is applied.

        Returns:
            Shape ``(num_graphs, out_channels)``, in double precision.

        Raises:
            ValueError: The features of a graph are of another kind, or so large that the outputs are not finite.
        """
        inference, conformed = Inference(self.net), self.conform(graphs)
        outputs = inference.outputs(inference.embeddings(conformed))
        check_finite(torch.from_numpy(outputs), conformed)
        return self.decode(outputs, calibrated)

    def decode(self, outputs: NDArray, calibrated: bool = True) -> Tensor:
        """Predictions from outputs of the network; see :meth:`predictions`."""
        logits = torch.from_numpy(outputs).double()
        return self.task.predictions(logits / self.temperature if calibrated else logits)

    @property
    def feature_spec(self) -> dict[str, Any] | None:
        """How the features of the training graphs were made, if known; see :mod:`bankgcn.data.features.spec`."""
        return self.metadata.get("signals")

    def conform(self, graphs: GraphSet) -> GraphSet:
        """The graphs with the features that the network was trained on.

        Raises:
            ValueError: Their own signals are of another kind, or have values that are not known from training.
        """
        if self.feature_spec is not None:
            graphs = conform(graphs, self.feature_spec, graphs.name or "the set")
        self.check(graphs)
        return graphs

    def check(self, graphs: GraphSet) -> None:
        """Raise unless the network can be applied to these graphs."""
        self.config.check(graphs)
        if graphs.num_features != self.in_channels:
            raise ValueError(
                f"the graphs have {graphs.num_features} features a node, but the model was trained on "
                f"{self.in_channels}: make their features as those of the training graphs"
            )

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        values = {
            "kind": "model",
            "config": self.config.to_dict(),
            "task": self.task.to_dict(),
            "in_channels": self.in_channels,
            "about": self.metadata,
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
            config, task, in_channels = ModelConfig(**values["config"]), _task(values), index(values["in_channels"])
            check_weights_fit(config, in_channels, task.out_channels, tensors)
            net = config.build(in_channels, task.out_channels)
            net.load_state_dict(tensors)
            loaded = cls(net.eval(), config, task, in_channels, dict(values["about"]))
            if not (math.isfinite(loaded.temperature) and loaded.temperature > 0):
                raise ValueError(f"its temperature is {loaded.temperature}")
        except UNREADABLE as error:
            raise FileError(f"holds no model of this version ({error})", path) from error
        return loaded


def _task(values: Mapping[str, Any]) -> Task:
    """The task of a model. Version 0.1.0 wrote the names of the classes, and the metric beside other facts."""
    if "task" in values:
        return Task(**values["task"])
    return Task(names=tuple(values["classes"]), metric=values["about"].get("metric", ""))
