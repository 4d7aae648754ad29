"""``bankgcn export``: a file that other programs use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bankgcn
from bankgcn import GraphSet
from bankgcn.export import consumer

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 8, "--layers", 1)


def test_the_ending_is_checked_first(command: Command, folder: Path) -> None:
    (folder / "table.csv").write_text("mine")
    for arguments in (("export", "run", "--onnx", "table.csv"), ("report", "run", "--out", "table.csv")):
        code, out, err = command(*arguments)
        assert (code, out) == (1, "")
        assert "table.csv: expected a name that ends in ." in err
    assert (folder / "table.csv").read_text() == "mine"


def test_the_printed_program_uses_the_file_without_torch(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--out", "run")[0] == 0
    code, out, err = command("export", "run", "--onnx", "model.onnx")
    assert code == 0, err
    assert "18 test graphs" in out
    assert "columns of x label=0, label=1" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    program = out[out.index("import json") :].strip()
    assert len([line for line in program.splitlines() if line]) == 10
    alone = "import sys\nsys.modules.update(dict.fromkeys(['torch', 'bankgcn', 'onnx', 'onnxscript']))\n"
    done = subprocess.run([sys.executable, "-c", alone + program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    names, _, figures = done.stdout.partition("] ")
    assert json.loads(names.replace("'", '"') + "]") == ["-1", "1"]
    path = GraphSet.from_edges([3], [[0, 1, 1, 2], [1, 0, 2, 1]], attributes=np.zeros((3, 7)))
    model = bankgcn.load_model("run").ensemble.first
    net = model.net
    batch = path.batch()
    logits = net(batch.x.float(), batch.edge_index, batch.batch).double()
    expected = model.task.predictions(logits / model.temperature).detach().numpy()
    np.testing.assert_allclose(np.array(figures.strip(" []\n").split(), float), expected[0], atol=1e-6)


def test_several_models_are_refused(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--seeds", "0,1", "--out", "runs")[0] == 0
    code, out, err = command("export", "runs", "--onnx", "model.onnx")
    assert (code, out) == (1, "")
    assert "runs holds 2 models, and a file holds one: name one of them, such as runs/seed-0" in err
    assert not (folder / "model.onnx").exists()


def test_a_file_that_differs_is_not_written(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("train", *QUICK, "--out", "run")[0] == 0
    monkeypatch.setattr("bankgcn.export._converted", lambda net: __import__("onnx").ModelProto())
    monkeypatch.setattr("bankgcn.export.TOLERANCE", -1.0)
    monkeypatch.setattr("bankgcn.export._difference", lambda *_: 0.5)
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: None)
    code, _, err = command("export", "run", "--onnx", "model.onnx")
    assert code == 1
    assert "nothing was written" in err
    assert not (folder / "model.onnx").exists()


def test_the_documentation_shows_the_printed_program() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    assert f"```python\n{consumer('model.onnx')}```" in documented
