"""The benchmark compares like with like, and its figures mean what their names say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch_geometric.nn
from torch import nn

from bankgcn.bench import FULL, OURS, PRODUCTS, CaseResult, measure, measure_case
from bankgcn.bench.cases import random_graphs, random_shift
from bankgcn.bench.peers import PlainNetwork, PlainTraining, peer_name, plain_bank_conv, plain_conv
from bankgcn.data.convert import to_pyg
from bankgcn.nn import CONVS, PLAIN_CONVS, BankGCN


class OneStep:
    """A training of one step, which does nothing."""

    def steps(self) -> Iterator[None]:
        yield


def test_a_turn_lasts_its_time_and_counts_as_one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: 0.25 * next(clock))
    assert measure.epoch_seconds(OneStep(), 1.0) == 0.25  # four epochs of a quarter


def test_every_model_has_a_plain_twin() -> None:
    assert len({peer_name(model) for model in PLAIN_CONVS}) == len(PLAIN_CONVS)
    assert plain_conv("bank") is plain_bank_conv
    assert all(plain_conv(model) is CONVS[model] for model in PLAIN_CONVS if model != "bank")


@pytest.mark.parametrize(
    ("model", "layer"),
    [
        ("gcn", torch_geometric.nn.GCNConv),
        ("sage", torch_geometric.nn.SAGEConv),
        ("gin", torch_geometric.nn.GINConv),
        ("cheb", torch_geometric.nn.ChebConv),
        ("gat", torch_geometric.nn.GATConv),
        ("mlp", nn.Linear),
    ],
)
def test_the_plain_way_uses_the_layers_that_users_of_pyg_use(model: str, layer: type[nn.Module]) -> None:
    training = PlainTraining(model, random_graphs(4, 6, 7, 5, 2), 4)
    assert all(isinstance(conv, layer) for conv in training.net.convs)
    assert len(list(training.steps())) == 1


def test_the_plain_network_computes_what_ours_does() -> None:
    from torch_geometric.data import Batch

    graphs = random_graphs(6, 12, 14, 5, 2)
    ours, plain = BankGCN(5, 2), PlainNetwork(plain_bank_conv, 5, 2)
    with torch.no_grad():
        for conv, twin in zip(ours.convs, plain.convs, strict=True):
            twin.alpha.copy_(conv.alpha)
            twin.lin.load_state_dict(conv.project.state_dict())
        plain.predict.load_state_dict(ours.predict.state_dict())
    batch, collated = graphs.batch(), Batch.from_data_list(to_pyg(graphs))
    torch.testing.assert_close(
        plain(collated.x, collated.edge_index, collated.batch),
        ours(batch.x, batch.shift, batch.batch, batch_size=6),
        atol=1e-5,
        rtol=1e-5,
    )


def test_generated_graphs_have_the_statistics_they_are_asked_for() -> None:
    graphs = random_graphs(2000, 29.87, 32.30, 37, 2)
    assert np.mean(graphs.num_nodes) == pytest.approx(29.87, rel=0.02)
    assert np.mean(graphs.num_edges) == pytest.approx(32.30, rel=0.03)
    assert (graphs.num_features, graphs.num_classes) == (37, 2)


def test_a_case_is_measured_in_turns_and_reported_as_ratios() -> None:
    order: list[str] = []
    protocol = replace(FULL, models=("gcn", "bank", "sage"), repetitions=2, turn_seconds=0.0)
    result = measure_case("small", random_graphs(20, 10, 11, 4, 2), 8, protocol, order.append)
    contenders = ["ours GCN", "PyG GCN", PRODUCTS, OURS, "PyG BankGCN", "ours GraphSAGE", "PyG GraphSAGE"]
    contenders.append(f"{PRODUCTS} GraphSAGE")
    turns = [f"{contender}, {turn}" for turn in ("warm-up", "turn 1 of 2", "turn 2 of 2") for contender in contenders]
    assert order == turns
    assert protocol.contenders == contenders
    values = result.to_dict()
    assert values["ratios"]["PyG GCN"] == values["peers"]["PyG GCN"] / values["ours_s"]
    assert values["ratios"]["gemm"] == values["ours_s"] / values["gemm_s"]
    assert set(values["seconds"]) == set(contenders)
    assert all(len(times) == 2 for times in values["seconds"].values())
    assert values["steps"] == 3


SECONDS = {
    "ours": [1.0, 2.0, 9.0],
    "PyG BankGCN": [20.0],
    "matrix products": [4.0],
    "ours GIN": [8.0],
    "PyG GIN": [16.0],
    "matrix products GIN": [5.0],
}


def test_each_model_is_compared_with_its_own_twin_and_its_own_products() -> None:
    values = CaseResult("small", ("bank", "gin"), 3, SECONDS, ()).to_dict()
    assert values["models"] == {
        "bank": {"ours_s": 2.0, "pyg_s": 20.0, "ratio": 10.0, "gemm_s": 4.0, "gemm_ratio": 0.5},
        "gin": {"ours_s": 8.0, "pyg_s": 16.0, "ratio": 2.0, "gemm_s": 5.0, "gemm_ratio": 1.6},
    }
    assert (values["ours_s"], values["gemm_s"]) == (2.0, 4.0)
    assert values["peers"] == {"PyG BankGCN": 20.0, "PyG GIN": 16.0}
    assert values["ratios"] == {"PyG BankGCN": 10.0, "PyG GIN": 8.0, "gemm": 0.5}


def test_without_bankgcn_there_are_no_ratios_to_it() -> None:
    seconds = {name: times for name, times in SECONDS.items() if "GIN" in name}
    values = CaseResult("small", ("gin",), 3, seconds, ()).to_dict()
    assert (values["ours_s"], values["gemm_s"], values["ratios"]) == (None, None, {})
    assert values["models"]["gin"]["ratio"] == 2.0


def test_a_random_graph_has_about_as_many_edges_as_it_is_asked_for() -> None:
    assert random_shift(100_000).num_entries > 95_000  # a few edges coincide
