"""Applying a network: outputs, representations, loss and score; and predictions as columns, beside the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bankgcn.data.batch import GraphBatch
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected
from bankgcn.data.target_values import Targets, find_targets, match_targets, name_of_class, scalar, target_names
from bankgcn.data.targets import encode_columns, fill_targets
from bankgcn.files.tables import Columns, TextTable, number_cells
from bankgcn.kernels import fused_for
from bankgcn.messages import Message, Option
from bankgcn.nn.lowering import lower, run_embedding
from bankgcn.nn.network import GraphNetwork
from bankgcn.rivals import Rival
from bankgcn.tasks import Task
from bankgcn.training.stepper import collate_for, embedding_of, features_of, runs_on

BATCH_SIZE = 512  # nothing is kept for a backward pass, so batches can be large
CHUNK = 1 << 20  # numbers that a linear layer multiplies at once


@dataclass(frozen=True)
class Evaluation:
    """How well a network does on some graphs."""

    loss: float
    score: float


class Inference:
    """Applies a network in evaluation mode, many times: it is lowered once.

    All that a user reads of single graphs comes from :meth:`embeddings` and :meth:`outputs`: predictions of commands,
    Python and the service, and ``test_predictions.csv``. Losses and scores of a training come from :meth:`logits`.
    Nothing is dropped at random meanwhile, and running statistics stay as they are. :meth:`logits` and
    :meth:`representations` are the fastest. Where the executor supports the network, :meth:`embeddings` and
    :meth:`outputs` give a graph the same result, bit for bit, whatever other graphs share the call; otherwise it
    depends on them by rounding alone.

    Args:
        net: The network. Its layers must not be changed afterwards; its parameters may.
    """

    def __init__(self, net: GraphNetwork):
        self.net = net
        self._program = lower(net)

    def logits(self, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
        """Outputs for all graphs, in their order: shape ``(num_graphs, out_channels)``."""
        return self._apply(self._head, graphs, batch_size, self.net.predict.out_features)

    def representations(self, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
        r"""Representations :math:`h_{\mathcal G}` of all graphs, in their order: shape ``(num_graphs, width)``."""
        return self._apply(lambda embedding, _: embedding, graphs, batch_size, self.net.embedding_channels)

    def embeddings(self, graphs: GraphSet) -> NDArray:
        """Representation of each graph, shape ``(num_graphs, width)``."""
        if not self._by_program(graphs):
            return check_finite(self.representations(graphs), graphs).cpu().numpy()
        # Only large sets are merged, which changes the order of sums: the result would depend on the size of the set.
        with _evaluation_mode(self.net):
            parts = [self._embedding(batch, True, merged=False).numpy() for batch in graphs.batches(BATCH_SIZE)]
        joined = np.concatenate(parts) if parts else np.empty((0, self.net.embedding_channels), np.float32)
        return np.ascontiguousarray(joined)

    def outputs(self, embeddings: NDArray, graph_features: NDArray | None = None) -> NDArray:
        """Outputs for graphs with these representations, shape ``(num_graphs, out_channels)``.

        Args:
            embeddings: The representations.
            graph_features: The features of the graphs, if the network takes any.
        """
        if graph_features is not None:
            features = graph_features.astype(embeddings.dtype, copy=False)
            embeddings = np.concatenate([embeddings, features], axis=1)
        hidden = embeddings if self.net.head is None else np.maximum(linear_by_row(embeddings, self.net.head), 0)
        return linear_by_row(hidden, self.net.predict)

    def apply(self, graphs: GraphSet) -> tuple[Tensor, NDArray]:
        """Outputs for graphs, equal in any set of them, and their representations."""
        embeddings = self.embeddings(graphs)
        features = graphs.graph_signals() if self.net.graph_dim else None
        return torch.from_numpy(self.outputs(embeddings, features)), embeddings

    def _head(self, embedding: Tensor, batch: GraphBatch) -> Tensor:
        return self.net.predict_from(embedding, graph_attr=features_of(self.net, batch))

    def _apply(
        self, head: Callable[[Tensor, GraphBatch], Tensor], graphs: GraphSet, batch_size: int, width: int
    ) -> Tensor:
        """What the function makes of the representations of each batch, one below another: ``width`` columns."""
        weight = self.net.predict.weight
        with _evaluation_mode(self.net):
            by_program = self._by_program(graphs)
            batches = (batch.to(weight.device) for batch in graphs.batches(batch_size))
            parts = [head(self._embedding(batch, by_program), batch) for batch in batches]
        return torch.cat(parts) if parts else weight.new_empty(0, width)

    def _by_program(self, graphs: GraphSet) -> bool:
        # Kernels may have been switched off, or the network moved to another device, since it was lowered.
        if self._program is None or not fused_for(self.net.predict.weight):
            return False
        return runs_on(self._program, self.net, graphs)

    def _embedding(self, batch: GraphBatch, by_program: bool, merged: bool = True) -> Tensor:
        if self._program is None or not by_program:
            return embedding_of(self.net, batch)
        return run_embedding(self._program, self.net, collate_for(self._program, batch, merged=merged))


def inference_of(net: GraphNetwork | Rival) -> Inference | Rival:
    """What applies a model: it has ``logits`` and ``apply``."""
    return net if isinstance(net, Rival) else Inference(net)


def predict_logits(net: GraphNetwork | Rival, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    """Outputs for all graphs, in their order: shape ``(num_graphs, out_channels)``; logits, if classes are learned.

    A network is in evaluation mode meanwhile: nothing is dropped at random, and running statistics stay as they are.
    """
    return net.logits(graphs) if isinstance(net, Rival) else Inference(net).logits(graphs, batch_size)


def embed(net: GraphNetwork, graphs: GraphSet, batch_size: int = BATCH_SIZE) -> Tensor:
    r"""Representations :math:`h_{\mathcal G}` of all graphs, in their order: shape ``(num_graphs, width)``.

    The network is in evaluation mode meanwhile, as in :func:`predict_logits`.

    Raises:
        ValueError: A representation is not finite.
    """
    return check_finite(Inference(net).representations(graphs, batch_size), graphs)


def check_finite(rows: Tensor, graphs: GraphSet, numbers: NDArray[np.int64] | None = None) -> Tensor:
    """The rows that a network computed for graphs.

    Args:
        rows: One row for each graph.
        graphs: The set of the graphs.
        numbers: Their numbers in it; by default the rows are those of the whole set.

    Raises:
        ValueError: A row is not finite; the message names the graph and its largest signal.
    """
    for row in (~rows.isfinite().all(1)).nonzero().flatten().tolist()[:1]:
        graph = row if numbers is None else int(numbers[row])
        nodes = slice(int(graphs.node_ptr[graph]), int(graphs.node_ptr[graph + 1]))
        name = f" ({graphs.names[graph]!r})" if graphs.names else ""
        largest = np.abs(graphs.signals(nodes)).max(initial=0)
        raise ValueError(
            f"the network computes no finite numbers for graph {graph}{name}, whose largest feature is {largest:g}: "
            "check its features"
        )
    return rows


def evaluate(
    net: GraphNetwork, graphs: GraphSet, task: Task | None = None, weights: NDArray[np.float64] | None = None
) -> Evaluation:
    """Task loss and score on graphs whose targets are known.

    Args:
        net: The network.
        graphs: The graphs.
        task: What the network learned; by default the classes of the graphs, scored by accuracy.
        weights: Weight of each graph in the loss; the score has none.
    """
    if graphs.y is None:
        raise ValueError("the graphs have no targets to compare with")
    task = task or Task(names=graphs.classes)
    return evaluate_outputs(predict_logits(net, graphs).cpu(), graphs.y, task, weights)


def evaluate_outputs(outputs: Tensor, y: NDArray, task: Task, weights: NDArray[np.float64] | None = None) -> Evaluation:
    """Task loss and score of outputs of a network, given the targets; the loss with the weight of each graph."""
    shares = None if weights is None else torch.from_numpy(weights).to(outputs)
    return Evaluation(task.task_loss(outputs, task.targets(y), shares).item(), task.score(outputs, y))


def linear_by_row(x: NDArray, layer: nn.Linear) -> NDArray:
    """A linear layer whose result for a row does not depend on the other rows.

    A matrix product adds in an order that depends on the number of rows.

    Args:
        x: Shape ``(rows, in_features)``.
        layer: The layer.
    """
    weight = layer.weight.detach().cpu().numpy()
    out = _products(x, weight, fused_for(layer.weight) and x.dtype == weight.dtype)
    return out if layer.bias is None else out + layer.bias.detach().cpu().numpy()


def _products(x: NDArray, weight: NDArray, by_kernel: bool) -> NDArray:
    """The products of all rows, each summed in the same order."""
    if by_kernel:
        from bankgcn.kernels.layer.linear_rows import linear_rows

        return linear_rows(x, weight)
    out = np.empty((len(x), len(weight)), np.result_type(x, weight))
    step = max(1, CHUNK // max(weight.size, 1))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        # In C order each sum is over neighbouring numbers. Another order of x would give another order of addition.
        np.sum(np.multiply(x[rows, None, :], weight, order="C"), axis=-1, out=out[rows])
    return out


@contextmanager
def _evaluation_mode(net: GraphNetwork) -> Iterator[None]:
    """Put the network into evaluation mode, without gradients, and give each module its own mode back afterwards."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


SHOWN = 5  # unknown classes in a message


def prediction_columns(task: Task, mean: Tensor, spread: Tensor | None = None) -> Columns:
    """The columns of predictions, and of their spread over several models.

    Labels are decided where a threshold was chosen for them; otherwise the columns have their probabilities alone.

    Args:
        task: What was learned.
        mean: Mean prediction of the models, shape ``(num_graphs, out_channels)``.
        spread: Standard deviation over the models, if there are several.
    """
    prefix = "predicted_" if task.kind == "values" else "p_"
    columns: Columns = []
    if task.kind == "classes":
        columns.append(("predicted", [task.names[number] for number in task.decide(mean).tolist()]))
    if task.kind == "labels" and task.thresholds:
        decided = task.decide(mean).T.tolist()
        columns += [(f"predicted_{name}", answers) for name, answers in zip(task.names, decided, strict=True)]
    columns += [(f"{prefix}{name}", column.tolist()) for name, column in zip(task.names, mean.T, strict=True)]
    if spread is not None:
        columns += [(f"{prefix}{name}_sd", column.tolist()) for name, column in zip(task.names, spread.T, strict=True)]
    return columns


def true_columns(task: Task, graphs: GraphSet | Targets) -> Columns:
    """The columns of the targets of graphs; none if they are unknown."""
    if graphs.y is None:
        return []
    if graphs.classes:
        return [("class", [graphs.classes[number] for number in graphs.y.tolist()])]
    names = target_names(graphs.y, graphs.targets, task.names)
    columns: NDArray = graphs.y.T if graphs.y.ndim == 2 else graphs.y[None]
    return [(f"{name}_true", number_cells(column)) for name, column in zip(names, columns, strict=True)]


def name_columns(graphs: GraphSet, numbers: Sequence[int]) -> Columns:
    """The row of each graph in its source, counted from 0, and its id and name if it has them."""
    columns: Columns = [("graph", graphs.rows[numbers].tolist())]
    if graphs.ids is not None:
        columns.append(("id", [graphs.ids[number] for number in numbers]))
    return columns if graphs.names is None else [*columns, ("name", [graphs.names[number] for number in numbers])]


def true_targets(task: Task, graphs: GraphSet | Targets) -> NDArray:
    """The targets in the order of the outputs: files may number classes, or order columns, in another way.

    Raises:
        ValueError: The graphs have no targets, or others than the model's.
    """
    if graphs.y is None:
        raise ValueError("these graphs have no targets")
    if bool(graphs.classes) != (task.kind == "classes"):
        raise ValueError(f"the model predicts {task.kind}, and the targets of these graphs are of another kind")
    if graphs.classes:
        return class_numbers(task, [graphs.classes[number] for number in graphs.y.tolist()])
    return match_targets(graphs.y, graphs.targets, task.names)


def class_numbers(task: Task, names: Sequence[str]) -> NDArray[np.int64]:
    """The number of each class in the model.

    Raises:
        ValueError: The model does not know a class.
    """
    place = {name: number for number, name in enumerate(task.names)}
    unknown = sorted(set(names) - set(place))
    if unknown:
        count = sum(name in unknown for name in names)
        listed = ", ".join(unknown[:SHOWN]) + (", ..." if len(unknown) > SHOWN else "")
        raise ValueError(
            f"{count:,} of {len(names):,} graphs have a class that no training graph has: {listed}; "
            f"the model knows {', '.join(task.names)}; leave these graphs out, or train again with such graphs"
        )
    return np.array([place[name] for name in names], np.int64)


def table_targets(
    task: Task, table: TextTable, names: Sequence[str], fill_missing: str | None = None
) -> tuple[list[int], NDArray]:
    """The rows of a table with a known target, and these targets in the order of the model's outputs.

    Args:
        task: What the model predicts; columns are matched with its names.
        table: The table.
        names: The columns of the targets.
        fill_missing: The target of rows without one.

    Raises:
        ValueError: The targets do not fit the model.
    """
    if task.kind == "classes" and len(names) > 1:
        named = Option("target", ",".join(names))
        raise ValueError(Message("the model predicts one class, but {named} names several targets", named=named))
    columns = names if task.kind == "classes" else [names[place] for place in find_targets(names, task.names)]
    table = fill_targets(table, columns, fill_missing)
    cells = list(zip(*(map(scalar, table.column(name)) for name in columns), strict=True))
    answered = [row for row, values in enumerate(cells) if any(value is not None for value in values)]
    if task.kind == "classes":
        return answered, class_numbers(task, [name_of_class(cells[row][0]) for row in answered])
    encode_columns(table.take(answered), columns, Expected(task=task.kind))  # or an error with the line
    y = np.array([cells[row] for row in answered], np.float64)  # None is NaN; single precision would round the table's
    return answered, y.reshape(len(answered), len(columns))
