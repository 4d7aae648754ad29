"""Models in ONNX's format predict what the models predict, for any graphs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS
from bankgcn.data.graphs import GraphSet
from bankgcn.export import (
    ExportedModel,
    PredictingNetwork,
    check_same_predictions,
    consumer,
    edge_column_names,
    export_onnx,
    sample_graphs,
)
from bankgcn.nn import CONVS, PLAIN_CONVS
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.evaluation import predict_logits
from bankgcn.training.model import TrainedModel
from refusals import refused

CLASSES = Task(names=("ring", "path"))
VALUES = Task(kind="values", names=("mass", "size"), center=(1000.0, 3.0), scale=(50.0, 2.0))
LABELS = Task(kind="labels", names=("toxic", "active"))


def model(task: Task = CLASSES, **config: Any) -> TrainedModel:
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    made = ModelConfig(**{"hidden_channels": 8, "num_layers": 1, **config})
    in_channels = 9 if made.embedding else 3
    net = made.build(in_channels, task.out_channels).eval()
    signals = {"kind": "named", "numbers": {"charge": 1}, "words": {"element": ["C", "N"]}}
    return TrainedModel(net, made, task, in_channels, {"temperature": 2.0, "signals": signals})


@pytest.fixture(scope="module")
def bank() -> ExportedModel:
    return export_onnx(model())


@pytest.mark.parametrize("head", ["linear", "mlp"])
@pytest.mark.parametrize("conv", ["bank", "gat"])
def test_features_of_graphs_are_a_further_input(conv: str, head: str) -> None:
    plain = model(conv=conv, head=head)
    spec = {"numbers": ["dose"], "words": {"assay": ["a", "b"]}, "counts": [], "computed": 0, "descriptors": []}
    spec |= {"fill": False, "center": [1.0], "width": [2.0], "unseen": {"assay": []}}
    net = plain.config.build(plain.in_channels, 2, graph_dim=3).eval()
    exported = export_onnx(replace(plain, net=net, metadata={**plain.metadata, "graph_features": spec}))
    assert exported.inputs[-1] == "graph_attr"
    assert json.loads(exported.metadata["graph_columns"]) == ["dose", "assay=a", "assay=b"]
    assert json.loads(exported.metadata["graph_features"]) == spec


def session(exported: ExportedModel) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(exported.content)


def test_the_file_describes_itself(bank: ExportedModel) -> None:
    about = session(bank).get_modelmeta().custom_metadata_map
    assert json.loads(about["names"]) == ["ring", "path"]
    assert json.loads(about["columns"]) == ["charge", "element=C", "element=N"]
    assert (about["task"], about["model"], about["temperature"], about["calibrated"]) == (
        "classes",
        "bank",
        "2.0",
        "true",
    )
    assert about["bankgcn"]


def test_sizes_have_names_and_one_edge_weight_stands_for_all(bank: ExportedModel) -> None:
    loaded = session(bank)
    assert [(tensor.name, tensor.shape) for tensor in loaded.get_inputs()] == [
        ("x", ["num_nodes", 3]),
        ("edge_index", [2, "num_edges"]),
        ("batch", ["num_nodes"]),
        ("edge_weight", ["num_weights"]),
    ]
    assert loaded.get_overridable_initializers() == []  # ONNX Runtime warns of each
    assert [(tensor.name, tensor.shape) for tensor in loaded.get_outputs()] == [("predictions", ["num_graphs", 2])]
    x, edges = np.ones((2, 3), np.float32), np.array([[0, 1], [1, 0]])
    inputs = {"x": x, "edge_index": edges, "batch": np.zeros(2, np.int64)}
    (plain,) = loaded.run(None, {**inputs, "edge_weight": np.ones(1, np.float32)})
    (ones,) = loaded.run(None, {**inputs, "edge_weight": np.ones(2, np.float32)})
    np.testing.assert_array_equal(plain, ones)


def test_a_file_that_differs_is_refused(bank: ExportedModel) -> None:
    other = model()
    with torch.no_grad():
        other.net.predict.bias += torch.tensor([0.0, 0.1])
    net = PredictingNetwork(other, calibrated=True, weighted=True)
    with pytest.raises(ValueError, match="the exported model differs from the model by .*more than 0.0001"):
        check_same_predictions(bank.content, net, sample_graphs(other, weighted=True))
    uncalibrated = PredictingNetwork(model(), calibrated=False, weighted=True)
    with refused(ValueError, 0.0001):
        check_same_predictions(bank.content, uncalibrated, sample_graphs(other, weighted=False))


def test_a_difference_of_nan_is_refused(bank: ExportedModel) -> None:
    other = model()
    with torch.no_grad():
        other.net.predict.bias += torch.nan
    net = PredictingNetwork(other, calibrated=True, weighted=True)
    with refused(ValueError, "nan"):
        check_same_predictions(bank.content, net, sample_graphs(model(), weighted=False))


def test_graphs_without_nodes_are_not_compared(bank: ExportedModel) -> None:
    net = PredictingNetwork(model(), calibrated=True, weighted=True)
    graphs = GraphSet.from_edges([2, 0], np.array([[0, 1], [1, 0]]), attributes=np.ones((2, 3), np.float32))
    assert check_same_predictions(bank.content, net, [graphs, graphs[[1]]]) < 1e-5


def test_the_generated_graphs_contain_one_node_and_no_edges() -> None:
    sets = sample_graphs(model(), weighted=True)
    assert any(len(graphs.degree) == 1 for graphs in sets)
    assert any(len(graphs.degree) > 1 and not graphs.degree.any() for graphs in sets)
    assert any(graphs.edge_weight is not None and graphs.degree.any() for graphs in sets)
    assert any(len(graphs) > 1 for graphs in sets)


def test_pooling_cannot_be_exported() -> None:
    with refused(ValueError, "pooling=topk"):
        export_onnx(model(pooling="topk", num_layers=2))


def test_a_failure_of_the_exporter_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no such operator\nand a long story")

    monkeypatch.setattr(torch.export, "export", fail)
    with pytest.raises(ValueError, match=r"cannot export this model to ONNX \(RuntimeError: no such operator\)$"):
        export_onnx(model())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "config"),
    [
        *((CLASSES, {"conv": conv}) for conv in PLAIN_CONVS if conv != "bank"),
        (VALUES, {"norm": "layer", "residual": True, "feed_forward": 2, "dropout": 0.3, "head": "mlp"}),
        (LABELS, {"norm": "graph", "readout": "sum"}),
        (CLASSES, {"norm": "batch", "conv_options": {"basis": "legendre", "projection": "mlp"}}),
        (CLASSES, {"embedding": ATOM_FEATURE_WIDTHS}),
    ],
    ids=str,
)
def test_every_model_without_pooling_is_exported(task: Task, config: dict[str, Any]) -> None:
    exported = export_onnx(model(task, **config))
    assert exported.difference <= 1e-5
    assert ("edge_weight" in exported.inputs) == CONVS[config.get("conv", "bank")].takes_weights
    assert json.loads(exported.metadata["calibrated"]) == (task.kind != "values")


def featured_model(**config: Any) -> TrainedModel:
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    made = ModelConfig(**{"hidden_channels": 8, "num_layers": 2, "edges": "both", **config})
    net = made.build(3, 2, edge_dim=4).eval()
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return TrainedModel(net, made, CLASSES, 3, edge_dim=4)


@pytest.fixture(scope="module")
def featured() -> ExportedModel:
    return export_onnx(featured_model())


def test_features_of_edges_are_an_input(featured: ExportedModel) -> None:
    loaded = session(featured)
    shapes = {tensor.name: tensor.shape for tensor in loaded.get_inputs()}
    assert list(shapes) == ["x", "edge_index", "batch", "edge_weight", "edge_attr"]
    assert shapes["edge_attr"][1] == 4
    assert json.loads(featured.metadata["edge_columns"]) == [f"feature {column}" for column in range(4)]
    assert featured.difference <= 1e-5


def test_the_features_of_edges_change_the_predictions_as_in_the_model(featured: ExportedModel) -> None:
    trained = featured_model()
    loaded = session(featured)
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
    outputs = []
    for kind in range(4):
        features = np.zeros((4, 4), np.float32)
        features[:2, kind], features[2:, 0] = 1, 1
        ones = np.ones(1, np.float32)
        batch = np.zeros(3, np.int64)
        (found,) = loaded.run(
            None, {"x": x, "edge_index": edges, "batch": batch, "edge_weight": ones, "edge_attr": features}
        )
        graph = GraphSet.from_edges([3], edges, attributes=x, edge_attributes=features)
        expected = trained.task.predictions(predict_logits(trained.net, graph).double() / 1.0)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
        outputs.append(found)
    assert np.ptp(np.concatenate(outputs)[:, 0]) > 1e-3


def test_names_of_the_features_of_edges_are_in_the_file() -> None:
    trained = featured_model()
    named = {"kind": "named", "numbers": {"length": 1}, "words": {"bond": ["a", "b", "c"]}}
    known = replace(trained, metadata={"signals": {"edges": named}})
    assert edge_column_names(known) == ["length", "bond=a", "bond=b", "bond=c"]


def test_the_program_fills_the_features_of_edges() -> None:
    assert "edge_attr" not in consumer("m.onnx")
    program = consumer("m.onnx", ("x", "edge_index", "batch", "edge_attr"))
    assert 'inputs["edge_attr"]' in program
    compile(program, "consumer", "exec")


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        {"edges": "weights"},
        {"edges": "input"},
        *({"conv": conv, "edges": "auto"} for conv in PLAIN_CONVS if conv != "bank"),
    ],
    ids=str,
)
def test_every_use_of_features_of_edges_is_exported(config: dict[str, Any]) -> None:
    exported = export_onnx(featured_model(**config))
    assert exported.difference <= 1e-5
    assert "edge_attr" in exported.inputs
