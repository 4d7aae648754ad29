"""Runs of Python and of the command line are the same: each reads the folders of the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import bankgcn
from bankgcn import BankGCNClassifier
from bankgcn.cli.settings import Settings
from bankgcn.files.checked import read_toml
from bankgcn.training.presets import NAMED_BY_PRESETS
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import DEFAULTS, RUN_SETTINGS, settings_of_run

Command = Callable[..., tuple[int, str, str]]


def test_a_run_of_python_is_a_run_of_the_command_line(command: Command, folder: Path) -> None:
    graphs = [nx.cycle_graph(4 + k // 2) if k % 2 else nx.path_graph(4 + k // 2) for k in range(24)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: "CN"[node % 2] for node in graph}, "element")
    trained = BankGCNClassifier(hidden=8, layers=2, epochs=4, random_state=0).fit(graphs, ["path", "ring"] * 12)
    trained.save("r")
    assert Settings.resolve({}, read_toml(folder / "r" / "config.toml")).spec == trained.record_.config
    lines = [json.dumps(nx.node_link_data(graph, edges="edges")) for graph in graphs]
    (folder / "new.jsonl").write_text("\n".join(lines))
    code, _, err = command("predict", "r", "new.jsonl", "--out", "p.csv")
    assert code == 0, err
    header, *rows = (folder / "p.csv").read_text().splitlines()
    columns = [header.split(",").index(name) for name in ("p_path", "p_ring")]
    found = [[float(row.split(",")[column]) for column in columns] for row in rows]
    np.testing.assert_allclose(found, trained.predict_proba(graphs), rtol=1e-5)
    code, out, err = command("train", "--out", "r")
    assert code == 0, err
    assert "this run is finished already" in err
    assert "validation accuracy" in out
    for arguments in (("report", "r"), ("evaluate", "r", "--part", "test")):
        code, _, err = command(*arguments)
        assert code == 1
        assert "trained on graphs in Python, which no file holds: name graphs after the run" in err


def test_a_run_of_the_command_line_is_an_estimator(command: Command, folder: Path) -> None:
    quick = ("--epochs", 2, "--hidden", 8, "--layers", 2, "--order", 3, "--seed", 5)
    assert command("train", "--out", "r", *quick)[0] == 0
    loaded, mutag = BankGCNClassifier.load("r"), bankgcn.load("MUTAG")
    parameters = {"epochs": 2, "hidden": 8, "layers": 2, "order": 3, "random_state": 5, "threshold": None}
    parameters |= {name: DEFAULTS[name] for name in NAMED_BY_PRESETS} | {"preset": "paper", "edges": "none"}
    assert parameters.items() <= loaded.get_params().items()
    of_run = settings_of_run(loaded.record_.config)
    others = {name: value for name, value in loaded.get_params().items() if name in of_run and name not in parameters}
    assert all(value in (None, RUN_SETTINGS[name].setting.parsed(of_run[name])) for name, value in others.items())
    assert loaded.score(mutag[loaded.split_.test]) == pytest.approx(loaded.record_.test_score)
    loaded.save("copy")
    assert RunFolder(folder / "copy").read_record() == loaded.record_
    assert RunFolder(folder / "copy").read_history() == loaded.history_
