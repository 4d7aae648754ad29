"""The examples run, and show what they say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.splits import stratified_split

EXAMPLES = Path(__file__).parent.parent / "examples"
LINE = torch.stack([torch.arange(31, 39), torch.arange(32, 40)])


def example(name: str) -> ModuleType:
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_high_frequencies_are_learned_by_the_bank_and_not_by_gcn() -> None:
    torch.set_default_dtype(torch.float32)
    high_frequency = example("high_frequency")
    graphs, unseen = smooth_or_alternating(600, seed=0), smooth_or_alternating(300, seed=1)
    split = stratified_split(graphs.y, seed=0)
    scores = {}
    for conv in ("bank", "gcn"):
        net, _ = high_frequency.train(conv, graphs[split.train], graphs[split.valid], epochs=30, seed=0)
        scores[conv] = high_frequency.accuracy(net, unseen)
    assert scores["bank"] > 0.95
    assert scores["gcn"] < 0.75


@pytest.mark.slow
def test_the_picture_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    torch.set_default_dtype(torch.float32)
    picture = tmp_path / "new" / "picture.png"
    monkeypatch.setattr("sys.argv", ["high_frequency.py", "--epochs", "1", "--out", str(picture)])
    example("high_frequency").main()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"picture: {picture}" in capsys.readouterr().out


@pytest.mark.slow
def test_gnn_explainer_runs_beside_the_exact_contributions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr("sys.argv", ["pyg_explainer.py", "--epochs", "1", "--graph", "3"])
    example("pyg_explainer").main()
    of_nodes, of_edges = capsys.readouterr().out.split("\n\n")
    title, _, *atoms = of_nodes.splitlines()
    masks = [float(line.split()[-1]) for line in of_edges.splitlines()[1:]]
    assert len(masks) == 5
    assert masks == sorted(masks, reverse=True)
    assert "molecule 3" in title
    assert len(atoms) == 19
    exact = [abs(float(line.split()[2])) for line in atoms]
    assert exact == sorted(exact, reverse=True)


def comparison(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example that imports other examples, in single precision as when it is run."""
    torch.set_default_dtype(torch.float32)
    monkeypatch.syspath_prepend(EXAMPLES)
    return example(name)


@pytest.mark.datasets("planetoid/ind.cora.x", "planetoid/ind.citeseer.x")
@pytest.mark.parametrize(
    ("name", "argument"),
    [("node_classification", "cora"), ("node_classification", "citeseer"), ("link_prediction", None)],
)
def test_citations_are_compared(
    name: str, argument: str | None, data_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    module = comparison(name, monkeypatch)
    graph = module.load_citations(argument or "cora")
    models = module.MODELS[:2]
    scores = module.compare_models(
        lambda *run: module.train(graph, *run, epochs=5), models, module.GRID[:1], seeds=2, metric="score"
    )
    assert all(0 < score.test <= 1 for runs in scores.values() for score in runs)
    assert "points of score, on " in capsys.readouterr().out


@pytest.mark.datasets("planetoid/ind.cora.x")
def test_links_are_scored_alike_for_the_same_seed(data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = comparison("link_prediction", monkeypatch)
    cora = module.load_citations("cora")
    first, second = (module.train(cora, "GCN", module.GRID[0], seed=1, epochs=5) for _ in range(2))
    assert first == second


@pytest.mark.datasets("planetoid/ind.cora.x")
@pytest.mark.slow
def test_low_pass_filters_classify_nodes_better_than_random_ones(
    data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = comparison("node_classification", monkeypatch)
    cora = module.load_citations("cora")
    low_pass, _, random = (module.train(cora, model, module.GRID[3], seed=0, epochs=40) for model in module.MODELS)
    assert low_pass.valid > 0.7
    assert low_pass.valid > random.valid + 0.05


def test_the_low_pass_start_is_a_low_pass_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    citations = comparison("citations", monkeypatch)
    lam = torch.linspace(0, 2, 9)
    conv = citations.make_layer("BankConv, low-pass start", 4, 8, 8)
    assert torch.allclose(conv.response(lam, shortcut=True), (1 - lam / 2).expand(8, 9), atol=1e-6)


def test_sampled_neighbourhoods_are_undirected_and_no_wider_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    module = comparison("neighbor_sampling", monkeypatch)
    edges = torch.cat([torch.stack([torch.zeros(30, dtype=torch.long), torch.arange(1, 31)]), LINE], dim=1)
    data = module.Data(x=torch.arange(40.0)[:, None], y=torch.arange(40), edge_index=module.to_undirected(edges))
    batch = module.sample(data, torch.tensor([0, 35]))
    assert batch.y[:2].tolist() == [0, 35]
    assert batch.x.flatten().tolist() == batch.y.tolist()
    assert torch.equal(batch.edge_index, module.to_undirected(batch.edge_index))
    assert (batch.edge_index[1] == 0).sum() == module.FAN_OUT[0]
    assert {31, 32, 33, 34, 36, 37, 38, 39} <= set(batch.y.tolist())


@pytest.mark.datasets("planetoid/ind.cora.x")
@pytest.mark.slow
def test_neighbourhoods_train_a_network(data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = comparison("neighbor_sampling", monkeypatch)
    valid, _ = module.train(module.load_citations("cora"), epochs=8, batch_size=32)
    assert valid > 0.7


def test_missing_citations_name_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    citations = comparison("citations", monkeypatch)
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=f"{tmp_path}/planetoid has no file ind.cora.x: .* set BANKGCN_DATA"):
        citations.load_citations("cora")


@pytest.mark.slow
def test_point_clouds_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    module = comparison("point_clouds", monkeypatch)
    monkeypatch.setattr(module, "CLOUDS", 20)
    module.compare_models(
        lambda *run: module.train(*run, epochs=3), tuple(module.MODELS), module.GRID[3:], seeds=2, metric="accuracy"
    )
    assert "points of accuracy, on " in capsys.readouterr().out


def test_clouds_keep_their_features_when_they_are_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    module = comparison("point_clouds", monkeypatch)
    monkeypatch.setattr(module, "CLOUDS", 1)
    turned = module.clouds(0)
    monkeypatch.setattr(np.linalg, "qr", lambda matrix: (np.eye(3), matrix))
    module.clouds.cache_clear()
    assert np.allclose(module.clouds(0).attributes, turned.attributes, atol=1e-5)
    assert np.array_equal(module.clouds(0).num_edges, turned.num_edges)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([0.9, 0.91, 0.92], [0.5, 0.52, 0.51], "a is better than b:\n  by 40.0 points of accuracy, on 3 of 3 seeds"),
        ([0.5, 0.52, 0.51], [0.9, 0.91, 0.92], "b is better than a:\n  by 40.0 points of accuracy, on 3 of 3 seeds"),
        ([0.5, 0.9, 0.7], [0.6, 0.7, 0.7], "a is ahead of b, but not clearly:\n  by 3.3 points of accuracy, on 1 of 3"),
        ([0.9], [0.5], "(one seed)\na is ahead of b by 40.0 points of accuracy; one seed has no test\n"),
    ],
)
def test_a_comparison_chooses_by_validation_and_names_the_winner(
    ours: list[float], theirs: list[float], verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    module = comparison("fair_comparison", monkeypatch)

    def train(model: str, options: dict, seed: int) -> tuple[float, float]:
        tests = {"a": ours, "b": theirs}[model]
        return module.Score(valid=options["width"], test=tests[seed] if options["width"] == 2 else 1.0)

    grid = [{"width": 1}, {"width": 2}]  # the first one has the better test score, which must not count
    scores = module.compare_models(train, ("a", "b"), grid, seeds=len(ours), metric="accuracy")
    assert [score.test for score in scores["a"]] == ours
    out = capsys.readouterr().out
    assert verdict in out
    assert "nan" not in out


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom() -> None:
    torch.set_default_dtype(torch.float32)
    mpl.use("Agg")
    cells = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are not stored"
            exec("".join(cell["source"]), names)
    assert names["classifier"].score(names["test_graphs"], names["test_kinds"]) > 0.8
    assert names["points"].shape == (len(names["test_graphs"]), 2)


def test_encodings_tell_skip_links_apart_and_nothing_else_does() -> None:
    torch.set_default_dtype(torch.float32)
    skip_links = example("skip_links")
    scores = {encoding: skip_links.accuracy(encoding, copies=8, seed=0) for encoding in (None, "rwse", "laplacian")}
    assert scores == {None: 0.1, "rwse": 1.0, "laplacian": 1.0}
