"""One run from graphs to a folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.splits import stratified_split
from bankgcn.files.errors import FileError
from bankgcn.training import ModelConfig, TrainConfig, TrainedModel
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.session import Run, train_run


@pytest.fixture
def run() -> Run:
    torch.set_default_dtype(torch.float32)
    graphs = mutag()
    about = {"status": "best of all", "test_score": 2.0, "graphs": "mine", "seconds": -1, "format": 99, "note": "kept"}
    return Run(
        graphs=graphs,
        split=stratified_split(graphs.y, seed=0),
        model=ModelConfig(hidden_channels=8, num_layers=1),
        train=TrainConfig(max_epochs=1),
        about=about,
    )


def test_what_a_caller_adds_replaces_nothing_that_is_computed(run: Run, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    record = train_run(run, folder)
    assert record["status"] == "finished"
    assert record["test_score"] <= 1
    assert record["graphs"] == run.graphs.fingerprint
    assert record["seconds"] > 0
    assert record["note"] == "kept"
    assert folder.read_record() == {**record, "format": 1}
    assert TrainedModel.load(folder.model).about["test_score"] == record["test_score"]


def test_a_folder_in_use_is_not_trained_in(run: Run, tmp_path: Path) -> None:
    errors: list[Exception] = []

    def other() -> None:
        try:
            train_run(run, RunFolder(tmp_path))
        except FileError as error:
            errors.append(error)

    with RunFolder(tmp_path).lock():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert len(list(tmp_path.iterdir())) == 1
    assert "is in use" in str(errors[0])
