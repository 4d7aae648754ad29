"""A trained network, or another model, with all that prediction needs.

A checksum finds damage, but whoever writes a file can write its checksum. So nothing in a file is taken for what it
should be, and memory is taken for a network only after its values were checked: a wrong value is an error when the
model is loaded, never a wrong prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.features import encodings
from bankgcn.data.features.graph_features import check_graph_spec, is_fitted, num_columns
from bankgcn.data.features.graph_features import conform as conform_graph_features
from bankgcn.data.features.spec import check_spec, conform, is_finite_number
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import DESCRIPTOR_NAMES, EDGES, ReadOptions
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import UNREADABLE, load_tensors, save_tensors
from bankgcn.nn import GraphNetwork
from bankgcn.nn.convs import MODELS, RIVALS
from bankgcn.rivals import RIVAL_TYPES, Layout, Rival
from bankgcn.settings import pick
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.domain import Domain
from bankgcn.training.evaluation import Inference, check_finite, inference_of
from bankgcn.training.intervals import ValidationPredictions
from bankgcn.training.spec import RunSpec, spec_of

__all__ = ["ModelConfig", "TrainedModel"]


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with what is needed to apply it to new graphs.

    Args:
        net: The network, or the model that is none.
        config: What it is made of.
        task: What it learned; its names are those of the outputs.
        in_channels: Width of the signals that it was trained on.
        edge_dim: Number of features of edges that it uses; ``None`` if it uses none.
        metadata: Facts about the training, as JSON holds them: the run, its graphs, its scores.
        validation: What it predicts for its validation graphs, if it was just trained: a file beside the model has it.
        domain: What its training graphs look like, in the same way.
    """

    net: GraphNetwork | Rival
    config: ModelConfig
    task: Task
    in_channels: int
    metadata: dict[str, Any] = field(default_factory=dict)
    edge_dim: int | None = None
    validation: ValidationPredictions | None = None
    domain: Domain | None = None

    @property
    def temperature(self) -> float:
        """What divides the outputs before they become probabilities; 1 for models that are not calibrated."""
        return self.metadata.get("temperature", 1.0)

    @property
    def constant(self) -> tuple[float, ...] | None:
        """The best constant prediction, by the training graphs; ``None`` for models of version 0.1.0."""
        constant = self.metadata.get("constant")
        return None if constant is None else tuple(constant)

    @cached_property
    def spec(self) -> RunSpec | None:
        """The run that trained the model; ``None`` if it was not trained by a run."""
        return stored_run(self.metadata)

    @property
    def reader(self) -> ReadOptions:
        """How the training graphs were read."""
        return ReadOptions() if self.spec is None else self.spec.reader

    @property
    def label(self) -> str:
        """What tables and messages call the model."""
        return MODELS[self.config.conv].label

    @property
    def network(self) -> GraphNetwork:
        """The network.

        Raises:
            ValueError: The model is none.
        """
        if isinstance(self.net, Rival):
            raise ValueError(f"this needs a network, but the model is {self.label}, which has no layers")
        return self.net

    @cached_property
    def _inference(self) -> Inference | Rival:
        return inference_of(self.net)

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
        return self.apply(graphs, calibrated)[0]

    def apply(self, graphs: GraphSet, calibrated: bool = True, check: bool = True) -> tuple[Tensor, NDArray | None]:
        """Predictions, see :meth:`predictions`, and the representation of each graph, shape ``(num_graphs, width)``.

        Only networks have representations. With ``check=False``, outputs that are not finite are no error.
        """
        conformed = self.conform(graphs)
        outputs, embeddings = self._inference.apply(conformed)
        if check:
            check_finite(outputs, conformed)
        logits = outputs.double()
        return self.task.predictions(logits / self.temperature if calibrated else logits), embeddings

    @property
    def feature_spec(self) -> dict[str, Any] | None:
        """How the features of the training graphs were made, if known; see :mod:`bankgcn.data.features.spec`."""
        return self.metadata.get("signals")

    @property
    def graph_spec(self) -> dict[str, Any]:
        """The features of graphs that the head takes; see :mod:`bankgcn.data.features.graph_features`."""
        return self.metadata.get("graph_features") or {}

    @property
    def encoding_spec(self) -> dict[str, Any]:
        """The encodings of nodes that the network takes; see :mod:`bankgcn.data.features.encodings`."""
        return self.metadata.get("encodings") or {}

    def conform(self, graphs: GraphSet) -> GraphSet:
        """The graphs with the features that the network was trained on.

        Raises:
            ValueError: Their own signals are of another kind, or have values that are not known from training.
        """
        if self.feature_spec is not None:
            graphs = conform(graphs, self.feature_spec, graphs.name or "the set")
        graphs = conform_graph_features(graphs, self.graph_spec, graphs.name or "the set")
        graphs = encodings.conform(graphs, self.encoding_spec)
        self.check(graphs)
        return graphs

    def check(self, graphs: GraphSet) -> None:
        """Raise unless the network can be applied to these graphs."""
        self.config.check(graphs)
        if self.net.graph_dim != graphs.num_graph_features:
            raise ValueError(
                f"the graphs have {graphs.num_graph_features} features beside them, but the model takes "
                f"{self.net.graph_dim}"
            )
        if graphs.num_features != self.in_channels:
            raise ValueError(
                f"the graphs have {graphs.num_features} features a node, but the model was trained on "
                f"{self.in_channels}: make their features as those of the training graphs"
            )
        if self.edge_dim is not None and graphs.num_edge_features != self.edge_dim:
            raise ValueError(
                f"the graphs have {graphs.num_edge_features} features an edge, but the model was trained on "
                f"{self.edge_dim}: make their features as those of the training graphs"
            )

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        values = {
            "kind": "model",
            "config": self.config.to_dict(),
            "task": self.task.to_dict(),
            "in_channels": self.in_channels,
            **({} if self.edge_dim is None else {"edge_dim": self.edge_dim}),
            **({"rival": self.net.to_dict()} if isinstance(self.net, Rival) else {}),
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
            check_kind(values)
            config, task, in_channels = ModelConfig(**values["config"]), stored_task(values), values["in_channels"]
            edge_dim, graph_dim = values.get("edge_dim"), stored_graph_dim(values["about"])
            if config.conv in RIVALS:
                check_facts(values["about"], config, task, in_channels, edge_dim)
                rival = _stored_rival(values, tensors, config, task, edge_dim)
                return cls(rival, config, task, in_channels, values["about"], edge_dim)
            check_weights_fit(config, in_channels, task.out_channels, tensors, edge_dim, graph_dim)
            check_facts(values["about"], config, task, in_channels, edge_dim)
            net = config.build(in_channels, task.out_channels, edge_dim=edge_dim, graph_dim=graph_dim)
            net.load_state_dict(tensors)
        except UNREADABLE as error:
            raise FileError(f"holds no model of this version ({error})", path) from error
        return cls(net.eval(), config, task, in_channels, values["about"], edge_dim)


def _stored_rival(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], config: ModelConfig, task: Task, edge_dim: int | None
) -> Rival:
    """The model of a file that is no network.

    Raises:
        ValueError: The file describes no such model; the message names the value or the array.
    """
    stored, facts = values.get("rival"), values["about"]
    if not isinstance(stored, Mapping):
        raise ValueError(f"its rival is {_shown(stored)}")
    if (edge_dim is not None) and not config.edge_uses:
        raise ValueError(f"its edge_dim is {edge_dim}, but its edges are {config.edges!r}")
    of_nodes = facts.get("signals") or {}
    of_edges = of_nodes.get(EDGES) or {}
    layout = Layout(
        attributes=of_nodes.get("attributes", 0),
        edge_attributes=of_edges.get("attributes", 0),
        edge_dim=edge_dim,
        graph_dim=stored_graph_dim(facts),
    )
    rival = RIVAL_TYPES[config.conv](task.kind, task.out_channels, layout)
    return rival.restore(stored, {name: tensor.numpy() for name, tensor in tensors.items()})


LONGEST_VALUE = 100  # characters in a message
SMALL = 1000  # a size that costs nothing to try
WEIGHT_TYPES = (torch.float32, torch.float64)
"""The precisions in which networks are trained and saved."""


def check_kind(values: Mapping[str, Any]) -> None:
    """Raise unless the file says that it holds a model, with all the parts of one."""
    if values.get("kind") != "model":
        raise ValueError(f"it says that it holds {values.get('kind')!r}, expected 'model'")
    parts: dict[str, type] = {"config": dict, "in_channels": int, "about": dict}
    parts |= {"task": dict} if "task" in values else {"classes": list}
    parts |= {"edge_dim": int} if "edge_dim" in values else {}
    for name, kind in parts.items():
        value = values.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"its {name} is {_shown(value)}")


def stored_task(values: Mapping[str, Any]) -> Task:
    """The task of a model. Version 0.1.0 wrote the names of the classes, and the metric beside other facts.

    Raises:
        ValueError: A value is not one that :meth:`Task.to_dict` writes; the message names it.
    """
    given = values.get("task") or {"names": values["classes"], "metric": values["about"].get("metric", "")}
    for name in ("kind", "loss", "metric"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"{name} of its task is {_shown(given[name])}, expected a word")
    names = given.get("names")
    if not isinstance(names, list) or not names:
        raise ValueError(f"names of its task is {_shown(names)}, expected at least one name")
    _check_names(names)
    task = Task(**given)
    for name in ("center", "scale"):
        length = len(names) if task.kind == "values" else 0
        _check_numbers(given.get(name, []), length, f"{name} of its task")
    for value in task.scale:
        if value <= 0:
            raise ValueError(f"scale of its task is {list(task.scale)}, expected positive numbers")
    return task


def check_facts(
    facts: Mapping[str, Any], config: ModelConfig, task: Task, in_channels: int, edge_dim: int | None = None
) -> None:
    """Raise unless the facts about a training are possible and agree with the rest of the file.

    Raises:
        ValueError: The message names the fact.
    """
    temperature = facts.get("temperature", 1.0)
    if not is_finite_number(temperature) or temperature <= 0 or (task.kind == "values" and temperature != 1):
        raise ValueError(f"its temperature is {_shown(temperature)}")
    if facts.get("constant") is not None:
        _check_numbers(facts["constant"], task.out_channels, "its constant prediction")
    if facts.get("encodings") is not None:
        encodings.check_encoding_spec(facts["encodings"], fitted=True)
    if facts.get("signals") is not None:
        check_spec(facts["signals"], in_channels - encodings.num_columns(facts.get("encodings") or {}), edge_dim)
    for name in ("graphs", "split"):
        if not isinstance(facts.get(name, ""), str):
            raise ValueError(f"its fingerprint {name!r} is {_shown(facts[name])}")
    for name in ("valid_score", "test_score"):
        if facts.get(name) is not None and not is_finite_number(facts[name]):
            raise ValueError(f"its {name} is {_shown(facts[name])}")
    if facts.get("classes") is not None:
        _check_classes(facts["classes"], task)
    if not isinstance(facts.get("parameters", {}), dict):
        raise ValueError(f"its parameters are {_shown(facts['parameters'])}")
    run = stored_run(facts)
    if run is not None and run.model != config:
        raise ValueError("the network that it describes is not the one of its run")
    if run is not None and run.task not in (None, task.kind):
        raise ValueError(f"its task is {task.kind}, but its run was for {run.task}")


def stored_run(facts: Mapping[str, Any]) -> RunSpec | None:
    """The run of a model; ``None`` if it was not trained by one.

    Models of version 0.1.0 hold the settings of the command line.

    Raises:
        ValueError: The facts describe no run.
    """
    if "run" in facts:
        if not isinstance(facts["run"], Mapping) or not isinstance(facts["run"].get("dataset"), str):
            raise ValueError(f"its run is {_shown(facts['run'])}")
        return RunSpec.from_dict(facts["run"])
    settings = facts.get("config")
    if settings is None:
        return None
    if not isinstance(settings, Mapping) or not isinstance(settings.get("source"), str):
        raise ValueError(f"its settings are {_shown(settings)}")
    return spec_of(settings["source"], settings)


def stored_graph_dim(facts: Mapping[str, Any]) -> int:
    """Number of features of each graph that the head of a model takes.

    Raises:
        ValueError: The description of the features is wrong; the message names the entry.
    """
    spec = facts.get("graph_features")
    if spec is None:
        return 0
    check_graph_spec(spec)
    if not is_fitted(spec) or not num_columns(spec):
        raise ValueError("its features of graphs are not those of a network")
    for name in spec["descriptors"]:
        pick(dict.fromkeys(DESCRIPTOR_NAMES), name, "family of descriptors")
    return num_columns(spec)


def check_weights_fit(
    config: ModelConfig,
    in_channels: int,
    out_channels: int,
    tensors: Mapping[str, Tensor],
    edge_dim: int | None = None,
    graph_dim: int = 0,
) -> None:
    """Raise unless these are the weights of such a network, all of them finite.

    A file that claims a network of a billion channels must not take the memory of one. So all numbers in the
    configuration are compared with the weights first, then the shapes of a network without memory.

    Raises:
        ValueError: The message names the number or the weight.
    """
    largest = max((SMALL, len(tensors), *(size for tensor in tensors.values() for size in tensor.shape)))
    if (edge_dim is not None and not config.edge_uses) or (edge_dim is None and config.edges not in ("auto", "none")):
        raise ValueError(f"its edge_dim is {edge_dim}, but its edges are {config.edges!r}")
    for number in (in_channels, out_channels, edge_dim or 0, graph_dim, *_numbers(config.to_dict())):
        if number > largest:
            raise ValueError(
                f"it claims a network with the size {number:,}, but its weights have at most {largest:,} rows"
            )
    order = config.conv_options.get("order", 0)
    if (order + 1) ** 2 > max(SMALL**2, sum(tensor.numel() for tensor in tensors.values())):
        raise ValueError(f"order={order} is larger than its weights allow")
    with torch.device("meta"):  # shapes without memory
        expected = config.build(in_channels, out_channels, edge_dim=edge_dim, graph_dim=graph_dim).state_dict()
    for name in expected.keys() | tensors.keys():
        shapes = [tuple(each[name].shape) if name in each else None for each in (tensors, expected)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"the weight {name!r} has the shape {shapes[0]}, expected {shapes[1]}")
    for name, tensor in tensors.items():
        _check_weight(name, tensor, expected[name].dtype)


def _check_weight(name: str, tensor: Tensor, dtype: torch.dtype) -> None:
    """Raise unless a weight has a type that bankgcn writes, and numbers that the network can hold."""
    if tensor.dtype not in (WEIGHT_TYPES if dtype.is_floating_point else (dtype,)):
        raise ValueError(f"the weight {name!r} has the type {tensor.dtype}, expected {dtype}")
    if not tensor.to(dtype).isfinite().all():  # a number in double precision may be too large for single
        raise ValueError(f"the weight {name!r} holds a number that is not finite")
    if name == "typical_size" and int(tensor) < 1:
        raise ValueError(f"the typical size of a graph is {int(tensor)}, expected at least 1")
    if name.rpartition(".")[2] in ("running_var", "num_batches_tracked") and bool((tensor < 0).any()):
        raise ValueError(f"the weight {name!r} holds a negative number")


def _check_names(names: Sequence[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"names of its task has {_shown(name)}, expected words")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"names of its task has {name!r}, which is no text") from None
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"names of its task has {twice[0]!r} more than once")


def _check_classes(classes: Any, task: Task) -> None:
    """Raise unless these can be the classes of an estimator: one for each name, of one type, all different."""
    if not isinstance(classes, list) or len(classes) != task.out_channels:
        raise ValueError(f"its classes are {_shown(classes)}, expected {task.out_channels}")
    kinds = {type(value) for value in classes}
    if len(kinds) != 1 or not kinds <= {str, int, float, bool} or len(set(classes)) < len(classes):
        raise ValueError(f"its classes are {_shown(classes)}, expected different words or numbers")
    if kinds <= {int, float} and not all(map(is_finite_number, classes)):
        raise ValueError(f"its classes are {_shown(classes)}, expected finite numbers")


def _check_numbers(values: Any, length: int, what: str) -> None:
    if not isinstance(values, list) or len(values) != length or not all(map(is_finite_number, values)):
        raise ValueError(f"{what} is {_shown(values)}, expected {length} finite numbers")


def _numbers(value: Any) -> Iterator[int]:
    """All whole numbers in plain values."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int):
        yield value


def _shown(value: Any) -> str:
    """A value of a file, short enough for a message."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
