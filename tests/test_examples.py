"""The examples run, and show what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest
import torch

from bankgcn.data.builtin.generated import smooth_or_alternating
from bankgcn.data.splits import stratified_split

EXAMPLES = Path(__file__).parent.parent / "examples"


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
    title, _, *atoms = capsys.readouterr().out.splitlines()
    assert "molecule 3" in title
    assert len(atoms) == 19
    exact = [abs(float(line.split()[2])) for line in atoms]
    assert exact == sorted(exact, reverse=True)
