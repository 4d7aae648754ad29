"""Commands report a missing library before they start to work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn import extras
from bankgcn.nn.network import check_available

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _no_optional_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras.importlib.util, "find_spec", lambda module: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("paper", "reproduce", "table1", "--datasets", "MUTAG"),
            "GCN needs PyTorch Geometric: pip install 'bankgcn[pyg]'",
        ),
        (
            ("paper", "reproduce", "table1", "--datasets", "MUTAG", "--models", "bank,cheb"),
            "ChebNet needs PyTorch Geometric: pip install 'bankgcn[pyg]'",
        ),
        (
            ("paper", "reproduce", "table1", "--datasets", "MUTAG", "--models", "bank", "--engine", "ray"),
            "--engine ray needs Ray: pip install 'bankgcn[ray]'",
        ),
        (("compare", "MUTAG", "--models", "bank,gin"), "GIN needs PyTorch Geometric: pip install 'bankgcn[pyg]'"),
        (("compare", "MUTAG", "--engine", "ray"), "--engine ray needs Ray: pip install 'bankgcn[ray]'"),
        (("tune", "MUTAG"), "bankgcn tune needs Optuna: pip install 'bankgcn[tune]'"),
        (
            ("paper", "figure", "figure3", "--out", "f.png"),
            "bankgcn paper figure needs Matplotlib: pip install 'bankgcn[plot]'",
        ),
        (("train", "--tensorboard", "log"), "--tensorboard needs TensorBoard: pip install 'bankgcn[tensorboard]'"),
        (
            ("explain", "run", "MUTAG", "--out", "e.html"),
            "the page of bankgcn explain needs Plotly: pip install 'bankgcn[report]'",
        ),
        (("report", "run"), "bankgcn report needs Plotly: pip install 'bankgcn[report]'"),
        (("bench", "--cases", "ENZYMES"), "bankgcn bench needs PyTorch Geometric: pip install 'bankgcn[pyg]'"),
    ],
)
def test_a_missing_library_is_named_with_the_line_to_type(
    command: Command, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err) == (1, "", f"error: {message}\n")
    assert list(folder.iterdir()) == []


def test_train_names_the_library_before_it_reads_anything(command: Command, folder: Path) -> None:
    code, out, err = command("train", "nonsense.csv", "--model", "gcn")
    assert (code, out) == (1, "")
    assert "GCN needs PyTorch Geometric: pip install 'bankgcn[pyg]'" in err
    assert list(folder.iterdir()) == []


def test_filter_banks_and_the_mlp_need_no_further_library() -> None:
    check_available("bank")
    check_available("mlp")
