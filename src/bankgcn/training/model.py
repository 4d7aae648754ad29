"""A trained network with all that prediction needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.features.spec import conform
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import ReadOptions
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import UNREADABLE, load_tensors, save_tensors
from bankgcn.nn import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training.evaluation import Inference, check_finite
from bankgcn.training.model_config import ModelConfig
from bankgcn.training.spec import RunSpec
from bankgcn.training.stored_model import check_facts, check_kind, check_weights_fit, stored_run, stored_task

__all__ = ["ModelConfig", "TrainedModel"]


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

    @cached_property
    def spec(self) -> RunSpec | None:
        """The run that trained the model; ``None`` if it was not trained by a run."""
        return stored_run(self.metadata)

    @property
    def reader(self) -> ReadOptions:
        """How the training graphs were read."""
        return ReadOptions() if self.spec is None else self.spec.reader

    @cached_property
    def _inference(self) -> Inference:
        return Inference(self.net)

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

    def apply(self, graphs: GraphSet, calibrated: bool = True, check: bool = True) -> tuple[Tensor, NDArray]:
        """Predictions, see :meth:`predictions`, and the representation of each graph, shape ``(num_graphs, width)``.

        With ``check=False``, outputs that are not finite are no error.
        """
        conformed = self.conform(graphs)
        embeddings = self._inference.embeddings(conformed)
        outputs = torch.from_numpy(self._inference.outputs(embeddings))
        if check:
            check_finite(outputs, conformed)
        logits = outputs.double()
        return self.task.predictions(logits / self.temperature if calibrated else logits), embeddings

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
            check_kind(values)
            config, task, in_channels = ModelConfig(**values["config"]), stored_task(values), values["in_channels"]
            check_weights_fit(config, in_channels, task.out_channels, tensors)
            check_facts(values["about"], config, task, in_channels)
            net = config.build(in_channels, task.out_channels)
            net.load_state_dict(tensors)
        except UNREADABLE as error:
            raise FileError(f"holds no model of this version ({error})", path) from error
        return cls(net.eval(), config, task, in_channels, values["about"])
