"""Trained models in Python: load a run, predict graphs in any form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bankgcn.data import GraphError
from bankgcn.data.combine import without_weights
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import as_graph_set
from bankgcn.data.target_values import scalar
from bankgcn.messages import WITHOUT_ADVICE, message_of, spelled
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Ensemble


def load_model(path: str | os.PathLike[str]) -> Predictor:
    """The model of a run, or the models of all runs in a folder, whose predictions are averaged.

    Args:
        path: The folder that ``bankgcn train --out`` or ``save`` of an estimator wrote.

    Raises:
        FileError: There is no model.
    """
    return Predictor(Ensemble.load(Path(path).expanduser()))


class Predictor:
    """Applies trained models to graphs: a :class:`GraphSet`, or a list of NetworkX graphs, PyG's ``Data`` or SMILES.

    Graphs get the features of the training graphs; graphs whose features are of another kind are refused.

    Args:
        ensemble: The models.
    """

    def __init__(self, ensemble: Ensemble):
        self.ensemble = ensemble

    @property
    def task(self) -> Task:
        """What the models learned."""
        return self.ensemble.task

    @property
    def classes(self) -> NDArray:
        """The classes, in the order of the columns of :meth:`predict_proba`; those named by numbers are numbers."""
        values = self.ensemble.first.metadata.get("classes")
        return np.array(values) if values is not None else class_values(self.task.names)

    def predict(self, graphs: Any) -> NDArray:
        """Class of each graph, shape ``(G,)``; its values, ``(G,)`` or ``(G, T)``; or its labels, 0 or 1, ``(G, T)``.

        The most probable class is predicted, or the one that the threshold of the model decides; see ``task``.

        Raises:
            ValueError: The graphs do not have the features of the training graphs; the message names the graph.
        """
        mean, _ = self._predictions(graphs)
        if self.task.kind == "values":
            return mean[:, 0] if mean.shape[1] == 1 else mean
        decided = self.task.decide(torch.from_numpy(mean)).numpy()
        return self.classes[decided] if self.task.kind == "classes" else decided

    def predict_proba(self, graphs: Any) -> NDArray[np.float64]:
        """Probability of each class or label, shape ``(G, out_channels)``."""
        if self.task.kind == "values":
            raise ValueError("the model predicts values, which have no probabilities: use predict")
        return self._predictions(graphs)[0]

    def spread(self, graphs: Any) -> NDArray[np.float64]:
        """Standard deviation of the predictions of several models, shape ``(G, out_channels)``.

        Raises:
            ValueError: There is one model only.
        """
        deviation = self._predictions(graphs)[1]
        if deviation is None:
            raise ValueError("there is one model, so there is no spread: load a folder of several runs")
        return deviation

    def embed(self, graphs: Any) -> NDArray[np.float32]:
        """The vector by which the network represents each graph, before its last layer: shape ``(G, width)``."""
        return self.ensemble.embed(self.as_graph_set(graphs))

    def as_graph_set(self, graphs: Any) -> GraphSet:
        """The graphs as a set, read as the training graphs were."""
        reader = self.ensemble.reader
        options = ReadOptions(symmetrise=reader.symmetrise)
        expected = Expected(features=self.ensemble.feature_spec or {}, has_target=False)
        try:
            converted = as_graph_set(graphs, options, expected)
        except GraphError as error:  # the options of a trained model are fixed
            raise GraphError(spelled(message_of(error), WITHOUT_ADVICE)) from error
        return without_weights(converted) if reader.ignore_weights else converted

    def _predictions(self, graphs: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        predictions = self.ensemble.apply(self.as_graph_set(graphs))
        return predictions.mean.numpy(), None if predictions.spread is None else predictions.spread.numpy()


def class_values(names: tuple[str, ...]) -> NDArray:
    """Classes by their names: numbers if all names are whole numbers, else words.

    Example:
        >>> class_values(("-1", "1")), class_values(("1", "b"))
        (array([-1,  1]), array(['1', 'b'], dtype='<U1'))
    """
    numbers = [scalar(name) for name in names]
    whole = all(isinstance(number, int) and str(number) == name for number, name in zip(numbers, names, strict=True))
    return np.array(numbers if whole else names)
