"""Trained models in Python: runs of every task, and several runs together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import bankgcn
from bankgcn import GraphSet
from bankgcn.data import FileError
from bankgcn.data.options import ReadOptions
from bankgcn.training.ensemble import class_values
from bankgcn.training.execute import execute
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RunSpec
from refusals import refused

SMALL = {"max_epochs": 2, "hidden_channels": 8, "num_layers": 2}


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


def trained(folder: Path, spec: RunSpec) -> TrainedModel:
    result = execute(spec.with_(**SMALL))
    assert result is not None
    assert result.model is not None
    folder.mkdir(parents=True)
    RunFolder(folder).config.touch()
    RunFolder(folder).write_result(result)
    return result.model


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{'C' * n}O,{n},{n % 2},{n % 3 // 2}" for n in range(1, 31)]
    (tmp_path / "own.csv").write_text("\n".join(["smiles,size,odd,third", *rows]) + "\n")
    return tmp_path / "own.csv"


def test_one_model_predicts_classes_and_embeds(tmp_path: Path) -> None:
    trained(tmp_path / "r", RunSpec(dataset="MUTAG"))
    model, mutag = bankgcn.load_model(tmp_path / "r"), bankgcn.load("MUTAG")
    assert model.classes.tolist() == [-1, 1]
    probabilities = model.predict_proba(mutag)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_array_equal(model.predict(mutag), np.array([-1, 1])[probabilities.argmax(1)])
    assert model.embed(mutag).shape == (188, 2 * 2 * 8)
    with pytest.raises(ValueError, match="there is one model, so there is no spread"):
        model.spread(mutag)


def test_several_models_have_a_mean_and_a_spread(tmp_path: Path) -> None:
    for seed in (0, 1):
        trained(tmp_path / "runs" / str(seed), RunSpec(dataset="MUTAG", seed=seed))
    mutag = bankgcn.load("MUTAG")
    together = bankgcn.load_model(tmp_path / "runs")
    alone = [bankgcn.load_model(tmp_path / "runs" / str(seed)).predict_proba(mutag) for seed in (0, 1)]
    np.testing.assert_allclose(together.predict_proba(mutag), np.mean(alone, axis=0))
    np.testing.assert_allclose(together.spread(mutag), np.std(alone, axis=0, ddof=1))
    with pytest.raises(ValueError, match="there are 2 models, and the vectors of different networks"):
        together.embed(mutag)


def test_values_and_labels_are_predicted_from_smiles(tmp_path: Path, table: Path) -> None:
    values = RunSpec(dataset=str(table), reader=ReadOptions(target="size"), task="values")
    trained(tmp_path / "values", values)
    model = bankgcn.load_model(tmp_path / "values")
    assert model.predict(["CCO", "CCCO"]).shape == (2,)
    with refused(ValueError, "1 of 2 molecules", "molecule 1", "'XX'"):
        model.predict(["CCO", "XX"])
    with pytest.raises(ValueError, match="the model predicts values, which have no probabilities"):
        model.predict_proba(["CCO"])
    trained(tmp_path / "labels", RunSpec(dataset=str(table), reader=ReadOptions(target="odd,third"), task="labels"))
    labels = bankgcn.load_model(tmp_path / "labels")
    found = labels.predict(["CCO", "CCCO"])
    np.testing.assert_array_equal(found, labels.predict_proba(["CCO", "CCCO"]) >= 0.5)
    assert found.shape == (2, 2)


def test_a_table_is_loaded_by_one_line(table: Path) -> None:
    graphs = bankgcn.load(table, target="odd")
    assert isinstance(graphs, GraphSet)
    assert graphs.classes == ("0", "1")
    with refused(ValueError, "'colour'", "smiles, target"):
        bankgcn.load(table, colour="red")


def test_a_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no trained model"):
        bankgcn.load_model(tmp_path)


def test_only_names_that_are_written_as_numbers_are_numbers() -> None:
    assert class_values(("0", "10")).tolist() == [0, 10]
    assert class_values(("0", "01")).tolist() == ["0", "01"]
    assert class_values(("1.5", "2")).tolist() == ["1.5", "2"]
