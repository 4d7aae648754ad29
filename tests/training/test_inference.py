"""A network that is applied many times gives each graph the same result, whatever graphs share the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bankgcn.data import GraphSet
from bankgcn.data.builtin.mutag import mutag
from bankgcn.kernels import use_kernels
from bankgcn.training import ModelConfig, embed, predict_logits
from bankgcn.training.evaluation import Inference, linear_by_row

SMALL: dict[str, Any] = {"hidden_channels": 16, "num_layers": 2}


@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_of_a_linear_layer_does_not_depend_on_the_other_rows(outputs: int, dtype: torch.dtype) -> None:
    layer = nn.Linear(300, outputs, dtype=dtype)
    x = torch.randn(90, 300, dtype=dtype)
    expected = linear_by_row(x.numpy(), layer)
    torch.testing.assert_close(torch.from_numpy(expected), layer(x).detach())
    for rows in (slice(7, 8), slice(3, 20), slice(0, 65)):
        np.testing.assert_array_equal(linear_by_row(x[rows].numpy(), layer), expected[rows])
        np.testing.assert_array_equal(linear_by_row(np.asfortranarray(x[rows].numpy()), layer), expected[rows])


def test_a_large_layer_is_applied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = nn.Linear(20, 3), torch.randn(11, 20).numpy()
    expected = linear_by_row(x, layer)
    monkeypatch.setattr("bankgcn.training.evaluation.CHUNK", 100)
    np.testing.assert_array_equal(linear_by_row(x, layer), expected)
    assert linear_by_row(x[:0], layer).shape == (0, 3)


@pytest.mark.parametrize("options", [{}, {"head": "mlp", "readout": "sum"}, {"norm": "batch"}])
@pytest.mark.parametrize("kernels", [True, False])
def test_results_are_those_of_the_network(options: dict[str, Any], kernels: bool) -> None:
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:40]
    with use_kernels(kernels):
        net = ModelConfig(**SMALL, **options).build(graphs.num_features, 1).eval()
        inference = Inference(net)
        embeddings = inference.embeddings(graphs)
        torch.testing.assert_close(torch.from_numpy(embeddings), embed(net, graphs))
        torch.testing.assert_close(torch.from_numpy(inference.outputs(embeddings)), predict_logits(net, graphs))
        if kernels and "norm" not in options:  # by the executor
            assert embeddings.flags.c_contiguous
            for chosen in ([3], [5, 3, 17], list(range(1, 33))):
                some = inference.embeddings(graphs[chosen])
                np.testing.assert_array_equal(some, embeddings[chosen])
                np.testing.assert_array_equal(inference.outputs(some), inference.outputs(embeddings)[chosen])
        assert inference.outputs(inference.embeddings(graphs[[]])).shape == (0, 1)


def test_parameters_may_change_afterwards() -> None:
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:5]
    net = ModelConfig(**SMALL).build(graphs.num_features, 2).eval()
    inference = Inference(net)
    before = inference.embeddings(graphs)
    with torch.no_grad():
        net.convs[0].project.weight.neg_()
    assert not np.array_equal(inference.embeddings(graphs), before)
    torch.testing.assert_close(torch.from_numpy(inference.embeddings(graphs)), embed(net, graphs))


def test_the_size_of_a_set_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bankgcn.kernels.network.quotient.MIN_NODES", 500)  # larger sets are merged in training
    torch.set_default_dtype(torch.float32)
    graphs = mutag()[:40]
    assert len(graphs.quotient.degree) < len(graphs.degree)
    graphs[[3]].save(tmp_path / "one.graphs")
    inference = Inference(ModelConfig(**SMALL).build(graphs.num_features, 2).eval())
    alone = inference.embeddings(GraphSet.load(tmp_path / "one.graphs"))
    np.testing.assert_array_equal(inference.embeddings(graphs)[[3]], alone)
