"""Networks as values: equal ones are equal, unknown options are named, a file brings them back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.convert import from_networkx
from bankgcn.data.features.spec import describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import save_tensors
from bankgcn.nn import CONVS, PLAIN_CONVS
from bankgcn.tasks import Task
from bankgcn.training import ModelConfig, TrainedModel, embed, predict_logits
from refusals import refused


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


def test_every_convolution_can_be_configured() -> None:
    for name, conv in CONVS.items():
        assert ModelConfig(conv=name).conv_options == conv.defaults


def test_equal_networks_have_equal_configurations() -> None:
    given, default = ModelConfig(conv_options={"order": 2}), ModelConfig()
    assert given == default
    assert hash(given) == hash(default)
    assert ModelConfig(conv_options={"order": 3}) != default
    assert ModelConfig(**given.to_dict()) == given


def test_numbers_of_numpy_become_pythons() -> None:
    options = {"order": np.int64(3), "shortcut": np.bool_(False)}
    given = ModelConfig(conv_options=options, hidden_channels=np.int32(16), embedding=np.array([3, 4]))
    plain = ModelConfig(conv_options={"order": 3, "shortcut": False}, hidden_channels=16, embedding=(3, 4))
    assert (given, hash(given)) == (plain, hash(plain))
    assert json.dumps(given.to_dict()) == json.dumps(plain.to_dict())


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_a_model_comes_back_from_its_file(tmp_path: Path, conv: str) -> None:
    graphs = smooth_or_alternating(5)
    config = ModelConfig(conv=conv, hidden_channels=16, num_layers=2)
    model = TrainedModel(config.build(1, 2), config, Task(names=graphs.classes), 1, {"test_score": 0.5})
    model.save(tmp_path / "model.safetensors")
    loaded = TrainedModel.load(tmp_path / "model.safetensors")
    assert torch.equal(predict_logits(loaded.net, graphs), predict_logits(model.net, graphs))
    assert (loaded.config, loaded.task.names, loaded.metadata) == (config, graphs.classes, {"test_score": 0.5})


OPTIONS = [
    {"norm": "batch", "dropout": 0.2},
    {"norm": "graph", "normalize": "after", "residual": True, "feed_forward": 2, "head": "mlp"},
    {"norm": "layer", "embedding": (2,), "residual": True, "dropout": 0.5, "head": "mlp"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_model_with_options_comes_back_from_its_file(tmp_path: Path, options: dict) -> None:
    graphs = smooth_or_alternating(5)
    config = ModelConfig(hidden_channels=16, num_layers=2, **options)
    net = config.build(1, 2)
    assert (net.norm, net.residual is not None, len(net.feed_forwards), net.dropout, net.head is not None) == (
        options["norm"],
        options.get("residual", False),
        options.get("feed_forward", 0),  # there are two layers
        options.get("dropout", 0.0),
        options.get("head") == "mlp",
    )
    for buffer in net.buffers():  # as training would change them
        buffer += 1
    if "embedding" in options:  # it takes integers
        graphs = replace(graphs, attributes=(graphs.attributes > 0).astype(np.float32))
    TrainedModel(net, config, Task(names=graphs.classes), 1).save(tmp_path / "model.safetensors")
    loaded = TrainedModel.load(tmp_path / "model.safetensors")
    assert loaded.config == config
    assert torch.equal(predict_logits(loaded.net, graphs), predict_logits(net, graphs))
    assert embed(loaded.net, graphs).shape == (5, 2 * 2 * 16)
    assert embed(loaded.net, graphs[[]]).shape == (0, 2 * 2 * 16)


def test_relu_alone_has_one_configuration() -> None:
    alone = ModelConfig(normalize="none")
    assert ModelConfig(norm="none") == ModelConfig(norm="layer", normalize="none") == alone
    assert ModelConfig(norm="layer") != ModelConfig()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"norm": "layr"}, ("norm", "'layr'", "'layer'")),
        ({"head": "mpl"}, ("head", "'mpl'")),
        ({"feed_forward": -1}, ("feed_forward=-1", "at least 0")),
        ({"feed_forward": True}, ("feed_forward=True", "a whole number")),
        ({"dropout": 1.0}, ("dropout=1.0",)),
        ({"dropout": -0.5}, ("dropout=-0.5",)),
    ],
)
def test_options_out_of_range_are_named(options: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        ModelConfig(**options)


def test_integer_signals_can_be_embedded() -> None:
    config = ModelConfig(embedding=(4, 3), hidden_channels=16)
    net = config.build(2, 2)
    x = torch.tensor([[3.0, 2.0], [0.0, 1.0]])
    assert net(x, torch.tensor([[0, 1], [1, 0]])).shape == (1, 2)
    assert net.convs[0].in_channels == 16
    assert ModelConfig(**config.to_dict()) == config
    with refused(ValueError, "embedding", "2 columns", 3):
        config.build(3, 2)


def test_unknown_models_and_options_are_named() -> None:
    with refused(ValueError, "model", "'banks'", "'bank'"):
        ModelConfig(conv="banks")
    with refused(ValueError, "gcn", "'order'"):
        ModelConfig(conv="gcn", conv_options={"order": 3})


def test_graphs_with_other_signals_are_refused() -> None:
    config = ModelConfig()
    model = TrainedModel(config.build(7, 2), config, ("a", "b"), 7)
    with refused(ValueError, "1 features", 7):
        model.check(smooth_or_alternating(3))


def test_a_model_gets_the_columns_that_it_was_trained_on_or_refuses_the_graphs() -> None:
    def atoms(*elements: str) -> GraphSet:
        graph = nx.empty_graph(len(elements))
        nx.set_node_attributes(graph, dict(enumerate(elements)), "element")
        return from_networkx([graph], name="atoms")

    config = ModelConfig()
    about = {"signals": describe_features(atoms("C", "N", "O"))}
    model = TrainedModel(config.build(3, 2), config, ("a", "b"), 3, about)
    assert model.conform(atoms("O", "C")).signals().tolist() == [[0, 0, 1], [1, 0, 0]]
    with refused(ValueError, "atoms", "element", "node 0", "graph 0", "'P'"):
        model.conform(atoms("P", "S", "Cl"))
    nameless = TrainedModel(model.net, config, ("a", "b"), 3)
    with refused(ValueError, "2 features", 3):
        nameless.conform(atoms("O", "C"))


def test_a_file_without_a_model_is_named(tmp_path: Path) -> None:
    save_tensors(tmp_path / "other", {"a": torch.ones(1)}, {"kind": "training"})
    with pytest.raises(FileError, match="other: holds no model"):
        TrainedModel.load(tmp_path / "other")
