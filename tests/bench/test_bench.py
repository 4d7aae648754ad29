"""The benchmark compares like with like, and its figures mean what their names say."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from bankgcn.bench import OURS, PEERS, PRODUCTS, measure, measure_case
from bankgcn.bench.cases import CASES, Case, random_graphs
from bankgcn.bench.growth import growth, random_shift
from bankgcn.bench.measure import OurTraining
from bankgcn.bench.memory import peak_bytes
from bankgcn.bench.peers import PlainNetwork, PlainTraining, plain_bank_conv
from bankgcn.cli import app
from bankgcn.data.convert import to_pyg
from bankgcn.nn import BankGCN


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "TURN", 0.0)


def test_a_turn_lasts_its_time_and_counts_as_one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: 0.25 * next(clock))
    monkeypatch.setattr(measure, "TURN", 1.0)
    assert measure._epoch_seconds(Allocating(1, lambda size: None), None) == 0.25  # four epochs of a quarter


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
    order = []
    result = measure_case(
        "small",
        Case(dataset="NCI1", graphs=20, batch_size=8),
        random_graphs(20, 10, 11, 4, 2),
        peers=("PyG GCN", "PyG BankGCN"),
        repetitions=2,
        on_epoch=lambda contender, repetition: order.append((contender, repetition)),
    )
    contenders = [OURS, "PyG GCN", "PyG BankGCN", PRODUCTS]
    assert order == [(contender, repetition) for repetition in range(3) for contender in contenders]
    values = result.to_dict()
    assert values["ratios"]["PyG GCN"] == values["peers"]["PyG GCN"] / values["ours_s"]
    assert values["ratios"]["gemm"] == values["ours_s"] / values["gemm_s"]
    assert all(len(times) == 2 for times in values["seconds"].values())
    assert set(values["peak_bytes"]) == {OURS, "PyG GCN", "PyG BankGCN"}


class Allocating:
    """A training that asks for some memory and gives it back."""

    def __init__(self, mebibytes: int, make: Callable[[int], object]):
        self.bytes, self.make = mebibytes << 20, make

    def steps(self) -> Iterator[None]:
        self.make(self.bytes)
        yield


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("make", [lambda size: torch.ones(size // 4), lambda size: np.ones(size // 8)])
def test_the_memory_of_a_step_counts_whoever_asks_for_it(make: Callable[[int], object]) -> None:
    assert peak_bytes(Allocating(48, make)) == pytest.approx(48 << 20, rel=0.1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_our_step_needs_less_memory_than_the_plain_one() -> None:
    graphs = random_graphs(64, 200, 250, 4, 2)
    assert peak_bytes(OurTraining(graphs, 64)) < peak_bytes(PlainTraining("PyG ChebNet", graphs, 64)) / 3


def test_elsewhere_the_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peak_bytes(Allocating(1, np.ones)) is None


def test_growth_is_fitted_by_a_power_law() -> None:
    fitted = growth(max_edges=300_000)
    assert fitted["edges"]["sizes"] == [100_000, 300_000]
    assert all(math.isfinite(fit["exponent"]) for fit in fitted.values())
    assert random_shift(100_000).num_entries > 95_000  # a few edges coincide


def test_the_command_writes_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path))  # nothing there: generated graphs stand in
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(CASES, "ENZYMES", Case(dataset="ENZYMES", graphs=30, batch_size=16))
    file = tmp_path / "bench.json"
    arguments = ["bench", "--cases", "enzymes", "--repetitions", "1", "--max-edges", "0", "--json", str(file)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "ENZYMES: one training epoch" in result.output
    assert "note: generated" in result.output
    values = json.loads(file.read_text())
    assert set(values["cases"][0]["peers"]) == set(PEERS)
    assert values["machine"]["threads"] == 1


def test_figures_on_standard_output_have_it_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(console: Console, name: str, *_: object) -> dict[str, str]:
        console.print(f"{name}: one training epoch")
        return {"name": name}

    monkeypatch.setattr(sys.modules["bankgcn.cli.bench"], "_bench_case", measured)
    result = CliRunner().invoke(app, ["bench", "--cases", "enzymes", "--max-edges", "0", "--json", "-"])
    assert json.loads(result.stdout)["cases"] == [{"name": "ENZYMES"}]
    assert "ENZYMES: one training epoch" in result.stderr


def test_an_unknown_case_is_named() -> None:
    result = CliRunner().invoke(app, ["bench", "--cases", "NCI2"])
    assert result.exit_code == 1
    assert "unknown case 'NCI2'" in result.output
