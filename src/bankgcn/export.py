"""Trained models as ONNX files, which run without this package: graphs in, predictions out.

The predictions of a file are compared with those of the model before it is written.
Needs the ONNX libraries: ``pip install 'bankgcn[onnx]'``.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bankgcn import __version__
from bankgcn.data.features.encodings import column_names as encoding_column_names
from bankgcn.data.features.graph_features import column_names as graph_column_names
from bankgcn.data.features.spec import column_names
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import require
from bankgcn.nn.layers import AtomEncoder
from bankgcn.training.evaluation import predict_logits
from bankgcn.training.model import TrainedModel

if TYPE_CHECKING:
    import onnx
    import onnxruntime

OUTPUT = "predictions"
TOLERANCE = 1e-4
"""Largest difference allowed: of probabilities, or of values in units of their standard deviation."""
_SIZES = {  # the tensor and its dimension that has this size
    "num_nodes": ("x", 0),
    "num_edges": ("edge_index", 1),
    "num_weights": ("edge_weight", 0),
    "num_graphs": (OUTPUT, 0),
}
_GENERATED = ((1, 0), (4, 0), (2, 2), (9, 18), (30, 60))  # nodes of each generated graph, and pairs that are drawn


@dataclass(frozen=True)
class ExportedModel:
    """A model in ONNX's format.

    Args:
        content: The content of the file.
        metadata: What the file says about itself, in words and JSON.
        inputs: Names of the inputs.
        difference: The largest difference between its predictions and those of the model.
    """

    content: bytes
    metadata: dict[str, str]
    inputs: tuple[str, ...]
    difference: float


def export_onnx(
    model: TrainedModel, graphs: GraphSet | None = None, *, calibrated: bool = True, weighted: bool = True
) -> ExportedModel:
    """Export a model for any number of graphs, nodes and edges, and compare its predictions with the model's.

    Args:
        model: The model.
        graphs: Graphs with the features of the model, to compare the predictions for, beside generated ones.
        calibrated: Whether the probabilities contain the temperature.
        weighted: Whether edge weights are an input, if the model takes them: one for each edge, or one for all.

    Raises:
        ImportError: A library is not installed.
        ValueError: ONNX cannot express the model, or the predictions differ.
    """
    for library in ("onnx", "onnxscript", "onnxruntime"):
        require(library, "An export to ONNX")
    if model.network.pools:
        raise ValueError(
            f"pooling={model.config.pooling}: PyTorch cannot export PyG's pooling layers to ONNX, because they choose "
            "nodes by their scores; train a model without pooling"
        )
    net = PredictingNetwork(model, calibrated, weighted and model.network.takes_weights)
    file = _converted(net)
    metadata = _metadata(model, calibrated)
    file.metadata_props.extend(_entry(key, value) for key, value in metadata.items())
    content = file.SerializeToString()
    sets = [*sample_graphs(model, net.weighted), *([] if graphs is None else [graphs])]
    return ExportedModel(content, metadata, net.inputs, check_same_predictions(content, net, sets))


class PredictingNetwork(nn.Module):
    """A network with what follows it: temperature, softmax or sigmoid, or the user's units.

    Args:
        model: The trained model.
        calibrated: Whether the temperature is applied.
        weighted: Whether there is an input for the weights of edges.
    """

    def __init__(self, model: TrainedModel, calibrated: bool, weighted: bool):
        super().__init__()
        self.net, self.task, self.weighted = model.network.cpu().eval(), model.task, weighted
        self.in_channels, self.edge_dim, self.graph_dim = (
            model.in_channels,
            model.network.edge_dim,
            model.network.graph_dim,
        )
        self.temperature = model.temperature if calibrated else 1.0

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        optional = {
            "edge_weight": self.weighted,
            "edge_attr": self.edge_dim is not None,
            "graph_attr": bool(self.graph_dim),
        }
        return ("x", "edge_index", "batch", *(name for name, present in optional.items() if present))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
    ) -> Tensor:
        """Predictions, shape ``(num_graphs, out_channels)``; edges beyond the weights given have the first weight."""
        if edge_weight is not None:
            missing = edge_weight[:1].expand(edge_index.size(1))
            edge_weight = torch.cat([edge_weight, missing])[: edge_index.size(1)]
        count = None if graph_attr is None else graph_attr.size(0)  # without it, the nodes tell the number of graphs
        outputs = self.net(x, edge_index, batch, edge_weight, edge_attr, graph_attr=graph_attr, batch_size=count)
        return self.decode(outputs)

    def decode(self, outputs: Tensor) -> Tensor:
        """Predictions of outputs of the network, in double precision."""
        return self.task.predictions(outputs.double() / self.temperature)


def _converted(net: PredictingNetwork) -> onnx.ModelProto:
    """The network in ONNX's format, for any number of nodes, edges and graphs."""
    any_size = torch.export.Dim.DYNAMIC
    examples: dict[str, tuple[Tensor, dict[int, Any]]] = {
        "x": (torch.zeros(6, net.in_channels), {0: any_size}),
        "edge_index": (torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), {1: any_size}),
        "batch": (torch.tensor([0, 0, 0, 1, 1, 2]), {0: any_size}),
        "edge_weight": (torch.ones(3), {0: any_size}),
        "edge_attr": (torch.zeros(4, net.edge_dim or 0), {0: any_size}),
        "graph_attr": (torch.zeros(3, net.graph_dim), {0: any_size}),
    }
    given = {name: examples[name][0] for name in net.inputs}
    shapes = {name: examples[name][1] for name in net.inputs}
    try:
        with torch.no_grad(), _silence():
            program = torch.export.export(net, (), given, dynamic_shapes=shapes)
            converted = torch.onnx.export(
                program, dynamo=True, verbose=False, input_names=net.inputs, output_names=[OUTPUT]
            )
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"PyTorch cannot export this model to ONNX ({type(error).__name__}: {reason})") from error
    assert converted is not None
    file = converted.model_proto
    _name_sizes(file)
    return file


@contextmanager
def _silence() -> Iterator[None]:
    """Hide what the exporter says about itself."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _name_sizes(file: onnx.ModelProto) -> None:
    """Call the sizes that may vary by their meaning; the exporter numbers them."""
    tensors = {tensor.name: tensor.type.tensor_type.shape.dim for tensor in (*file.graph.input, *file.graph.output)}
    names = {tensors[name][place].dim_param: meaning for meaning, (name, place) in _SIZES.items() if name in tensors}
    for tensor in (*file.graph.input, *file.graph.output, *file.graph.value_info):
        for size in tensor.type.tensor_type.shape.dim:
            if size.dim_param in names:
                size.dim_param = names[size.dim_param]


def _metadata(model: TrainedModel, calibrated: bool) -> dict[str, str]:
    """What a user of the file must know: keys and values are text, lists are JSON."""
    spec, encodings = model.feature_spec or {}, encoding_column_names(model.encoding_spec)
    return {
        "bankgcn": __version__,
        "model": model.config.conv,
        "task": model.task.kind,
        "names": json.dumps(model.task.names),
        "columns": json.dumps([*encodings, *column_names(spec, model.in_channels - len(encodings))]),
        **({"encodings": json.dumps(model.encoding_spec)} if encodings else {}),
        **({} if model.edge_dim is None else {"edge_columns": json.dumps(edge_column_names(model))}),
        "features": json.dumps(spec),
        "temperature": repr(model.temperature),
        **({"graph_columns": json.dumps(graph_column_names(model.graph_spec))} if model.graph_spec else {}),
        **({"graph_features": json.dumps(model.graph_spec)} if model.graph_spec else {}),
        **({"thresholds": json.dumps(model.task.thresholds)} if model.task.thresholds else {}),
        "calibrated": json.dumps(calibrated and model.task.kind != "values"),
    }


def edge_column_names(model: TrainedModel) -> list[str]:
    """The names of the features of edges, numbered if they are not known."""
    return column_names((model.feature_spec or {}).get("edges", {}), model.edge_dim or 0)


def _entry(key: str, value: str) -> onnx.StringStringEntryProto:
    import onnx

    return onnx.StringStringEntryProto(key=key, value=value)


def sample_graphs(model: TrainedModel, weighted: bool) -> list[GraphSet]:
    """Generated graphs: each alone, then all together. The first has one node, the second no edges.

    Args:
        model: What the graphs are for: the width of their features is the model's.
        weighted: Whether there are also graphs with edge weights.
    """
    kinds = [_random_graphs(model, weighted=each) for each in ((False, True) if weighted else (False,))]
    return [part for graphs in kinds for part in (*(graphs[number] for number in range(len(graphs))), graphs)]


def check_same_predictions(content: bytes, net: PredictingNetwork, sets: Sequence[GraphSet]) -> float:
    """Compare the predictions of an exported model with those of the model.

    Args:
        content: The exported model.
        net: The model.
        sets: Graphs with the features of the model; each set is one call. Those without nodes are left out: an exported
            model knows the graphs by their nodes.

    Returns:
        The largest difference.

    Raises:
        ValueError: It is larger than ``TOLERANCE``.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    compared = [graphs[graphs.num_nodes > 0] for graphs in sets]
    differences = [_difference(session, net, graphs) for graphs in compared if len(graphs)]
    largest = float(np.max(differences))  # NaN if any is
    if not largest <= TOLERANCE:
        raise ValueError(
            f"the exported model differs from the model by {largest:.1e}, more than {TOLERANCE:g}: nothing was written"
        )
    return largest


def _difference(session: onnxruntime.InferenceSession, net: PredictingNetwork, graphs: GraphSet) -> float:
    batch = graphs.batch()
    inputs: dict[str, NDArray] = {
        "x": batch.x.float().numpy(),
        "edge_index": batch.edge_index.numpy(),
        "batch": batch.batch.numpy(),
    }
    if net.weighted:
        weight = batch.edge_weight
        inputs["edge_weight"] = np.ones(1, np.float32) if weight is None else weight.float().numpy()
    if batch.graph_attr is not None and net.graph_dim:
        inputs["graph_attr"] = batch.graph_attr.numpy()
    if batch.edge_attr is not None and net.edge_dim is not None:
        inputs["edge_attr"] = batch.edge_attr.float().numpy()
    (computed,) = session.run(None, inputs)
    expected = net.decode(predict_logits(net.net, graphs)).numpy()
    return float(np.abs((computed - expected) / (net.task.scale or 1)).max())


def _random_graphs(model: TrainedModel, weighted: bool) -> GraphSet:
    random = np.random.default_rng(0)
    num_nodes = [nodes for nodes, _ in _GENERATED]
    shape = (sum(num_nodes), model.in_channels)
    encoder = model.network.encoder
    attributes = random.standard_normal(shape)
    if isinstance(encoder, AtomEncoder):  # it looks integers up
        attributes = random.integers(0, encoder.num_values, shape).astype(np.float64)
    first = np.cumsum([0, *num_nodes[:-1]])
    parts = [_random_pairs(*graph, random) + start for graph, start in zip(_GENERATED, first, strict=True)]
    pairs = np.concatenate(parts, axis=1)
    weights = np.tile(random.uniform(0.5, 2, pairs.shape[1]), 2) if weighted else None
    edge_index = np.concatenate([pairs, pairs[::-1]], axis=1)
    features = random.standard_normal((len(num_nodes), model.network.graph_dim)) if model.network.graph_dim else None
    of_edges = None
    if model.edge_dim is not None:
        of_edges = np.tile(random.standard_normal((pairs.shape[1], model.edge_dim)), (2, 1)).astype(np.float32)
    return GraphSet.from_edges(
        num_nodes,
        edge_index,
        attributes=attributes.astype(np.float32),
        edge_weight=weights,
        edge_attributes=of_edges,
        graph_features=features,
    )


def _random_pairs(num_nodes: int, drawn_pairs: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Edges between the nodes of a graph, each once: shape ``(2, E)``."""
    drawn = np.sort(random.integers(0, num_nodes, (2, drawn_pairs)), axis=0)
    return np.unique(drawn[:, drawn[0] < drawn[1]], axis=1)


CONSUMER = """\
import json
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession({path})
about = session.get_modelmeta().custom_metadata_map
x = np.zeros((3, len(json.loads(about["columns"]))), np.float32)  # three nodes
edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])  # each edge in both directions
inputs = {{"x": x, "edge_index": edges, "batch": np.zeros(3, np.int64)}}
{more}print(json.loads(about["names"]), session.run(None, inputs)[0])
"""


OPTIONAL = {
    "edge_weight": "np.ones(1, np.float32)  # for all edges; or one for each",
    "edge_attr": 'np.zeros((4, len(json.loads(about["edge_columns"]))), np.float32)  # as the columns of edges',
    "graph_attr": 'np.zeros((1, len(json.loads(about["graph_columns"]))), np.float32)  # of one graph',
}
"""How the program fills the inputs that not every model has."""


def consumer(path: str, inputs: Sequence[str] = ("x", "edge_index", "batch", "edge_weight")) -> str:
    """The program for the exported model in this file.

    Args:
        path: The file.
        inputs: The inputs of the model.
    """
    more = "".join(f'inputs["{name}"] = {OPTIONAL[name]}\n' for name in inputs if name in OPTIONAL)
    return CONSUMER.format(path=json.dumps(path), more=more)
