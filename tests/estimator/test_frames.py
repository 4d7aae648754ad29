"""Estimators and models with DataFrames, standardised molecules, devices and a line of progress."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
import torch
from rdkit import Chem
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import bankgcn
from bankgcn import BankGCNClassifier, BankGCNRegressor
from bankgcn.data import GraphError
from bankgcn.training.callbacks import ProgressLine
from bankgcn.training.fitting import Epoch
from bankgcn.training.stepper import ProcessGroup

QUICK: dict[str, Any] = {"hidden": 8, "layers": 1, "epochs": 2, "random_state": 0}
SMILES = [f"{'C' * length}{end}" for length in range(1, 11) for end in "ON"]
COLUMNS: dict[str, list[Any]] = {
    "SMILES": SMILES,
    "active": ["yes" if smiles.endswith("O") else "no" for smiles in SMILES],
    "value": [len(smiles) / 7 for smiles in SMILES],
}
LIBRARIES = pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@LIBRARIES
def test_a_frame_is_learned_and_predicted_as_a_frame(library: Any, tmp_path: Path) -> None:
    frame = library.DataFrame(COLUMNS)
    classifier = BankGCNClassifier(**QUICK).fit(frame, target="active")
    by_list = BankGCNClassifier(**QUICK).fit(SMILES, COLUMNS["active"])
    np.testing.assert_array_equal(classifier.predict_proba(SMILES), by_list.predict_proba(SMILES))
    classifier.save(tmp_path / "run")
    for model in (classifier, bankgcn.load_model(tmp_path / "run")):
        predicted = model.predict(frame)
        assert isinstance(predicted, library.DataFrame)
        assert list(predicted.columns) == ["predicted", "p_no", "p_yes", "unreadable"]
        assert predicted["predicted"].to_list() == by_list.predict(SMILES).tolist()
        np.testing.assert_array_equal(predicted["p_yes"].to_numpy(), by_list.predict_proba(SMILES)[:, 1])
    assert classifier.score(frame) == by_list.score(SMILES, COLUMNS["active"])
    regressor = BankGCNRegressor(**QUICK).fit(frame, target="value")
    assert list(regressor.predict(frame).columns) == ["predicted_value", "unreadable"]
    assert regressor.score(frame) == pytest.approx(regressor.score(frame, frame["value"]), abs=1e-6)  # single precision


def test_rows_that_cannot_be_read_stay_with_their_index() -> None:
    frame = pandas.DataFrame(COLUMNS, index=[f"m{row}" for row in range(20)])
    classifier = BankGCNClassifier(**QUICK).fit(frame, frame["value"] > 1)
    frame.loc["m1", "SMILES"] = "nonsense"
    predicted = classifier.predict(frame)
    assert predicted.index.tolist() == frame.index.tolist()
    assert predicted.loc["m1", ["predicted", "p_true"]].isna().all()
    assert predicted["unreadable"].notna().tolist() == [row == 1 for row in range(20)]
    nothing = classifier.predict(frame.iloc[1:2])
    assert list(nothing.columns) == list(predicted.columns)
    with pytest.raises(GraphError, match="row 1, 'nonsense'"):
        classifier.predict_proba(frame)
    with pytest.raises(GraphError, match=r"skip_unreadable=True goes on without them"):
        BankGCNClassifier(**QUICK).fit(frame, target="active")
    weights = np.arange(20.0)
    skipping = BankGCNClassifier(**QUICK).fit(frame, target="active", skip_unreadable=True, sample_weight=weights)
    assert len(skipping.split_.train) + len(skipping.split_.valid) == 18  # without the row of weight 0, too


def test_the_column_of_molecules_can_be_named() -> None:
    frame = pandas.DataFrame({"one": SMILES, "y": COLUMNS["value"]})
    regressor = BankGCNRegressor(**QUICK).fit(frame, smiles="one", target="y")
    expected = regressor.predict(frame)["predicted_y"].tolist()
    other = frame.rename(columns={"one": "two"})
    assert regressor.predict(other, smiles="two")["predicted_y"].tolist() == expected
    with pytest.raises(GraphError, match="no column is called 'smiles'"):
        regressor.predict(other)


@pytest.mark.parametrize(
    ("graphs", "options", "message"),
    [
        (COLUMNS, {"targt": "active"}, "did you mean 'target'"),
        (COLUMNS, {"target": "nothing"}, "has no column 'nothing'"),
        (COLUMNS, {"target": "value", "y": [0] * 20}, "both given: choose one"),
        (SMILES, {"target": "value"}, 'target="value" is for a DataFrame'),
    ],
)
def test_wrong_options_of_a_frame_are_refused(graphs: Any, options: dict[str, Any], message: str) -> None:
    X = pandas.DataFrame(graphs) if isinstance(graphs, dict) else graphs
    with pytest.raises(ValueError, match=message):
        BankGCNClassifier(**QUICK).fit(X, **options)


def test_cross_validation_takes_frames_and_series() -> None:
    frame = pandas.DataFrame(COLUMNS)
    scores = cross_val_score(BankGCNClassifier(**QUICK), frame, frame["active"], cv=2)
    of_column = cross_val_score(BankGCNClassifier(**QUICK), frame["SMILES"], frame["active"], cv=2, scoring="accuracy")
    np.testing.assert_array_equal(scores, of_column)


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars"])
def test_a_matrix_of_answers_may_lack_some(kind: str) -> None:
    answers = [[1, 0], [0, 1], [None, 1], [1, None]] * 5
    names = ["a", "b"]
    y: Any = {
        "array": lambda: np.array(answers, float),
        "list": lambda: answers,
        "pandas": lambda: pandas.DataFrame(answers, columns=names, dtype="Int64"),
        "polars": lambda: polars.DataFrame(answers, schema=names, orient="row"),
    }[kind]()
    classifier = BankGCNClassifier(**QUICK).fit(SMILES, y)
    assert classifier.classes_.tolist() == (names if kind in ("pandas", "polars") else ["y0", "y1"])
    assert classifier.predict_proba(SMILES).shape == (20, 2)


def test_generators_are_read_once() -> None:
    classifier = BankGCNClassifier(**QUICK).fit((Chem.MolFromSmiles(each) for each in SMILES), COLUMNS["active"])
    assert classifier.score((each for each in SMILES), COLUMNS["active"]) == classifier.score(SMILES, COLUMNS["active"])


def test_a_model_of_standardised_molecules_standardises_what_it_predicts(tmp_path: Path) -> None:
    classifier = BankGCNClassifier(**QUICK, standardize=True).fit(SMILES, COLUMNS["active"])
    classifier.save(tmp_path / "run")
    assert BankGCNClassifier.load(tmp_path / "run").standardize
    salts = ["CCC[NH3+].[Cl-]", "CCCN"]
    for model in (classifier, bankgcn.load_model(tmp_path / "run")):
        one, other = model.predict_proba(salts)
        np.testing.assert_array_equal(one, other)
    plain = BankGCNClassifier(**QUICK).fit(SMILES, COLUMNS["active"])
    assert (plain.predict_proba(salts)[0] != plain.predict_proba(salts)[1]).any()
    with pytest.raises(GraphError, match="standardize=True is for SMILES"):
        BankGCNClassifier(**QUICK, standardize=True).fit(bankgcn.load("MUTAG"))


def test_a_device_that_is_not_there_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match='device="cuda" needs a GPU'):
        BankGCNClassifier(**QUICK, device="cuda").fit(object())
    with pytest.raises(ValueError, match="unknown device 'gpu'"):
        BankGCNClassifier(**QUICK, device="gpu").fit(object())
    with pytest.raises(ValueError, match='device="cuda" needs a GPU'):
        bankgcn.load_model("nowhere", device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert ProcessGroup().device.type == "cpu"  # a GPU is used only if a user asks for it
    assert ProcessGroup.from_environment().device.type == "cpu"
    assert ProcessGroup.from_environment("cuda").device == torch.device("cuda", 0)


def test_a_line_shows_the_progress_only_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    silent = clone(BankGCNClassifier(**QUICK)).fit(SMILES, COLUMNS["active"])
    assert capsys.readouterr() == ("", "")
    loud = BankGCNClassifier(**QUICK, verbose=1).fit(SMILES, COLUMNS["active"])
    assert capsys.readouterr().err.startswith("epoch 2/2: loss ")
    assert silent.record_.config == loud.record_.config


def test_a_terminal_redraws_the_line() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    line = ProgressLine(2, screen)
    for number in (1, 2):
        line.on_epoch_end(
            Epoch(number=number, train_loss=0.5, valid_loss=0.25, valid_score=1.0, coherence=0.0, learning_rate=0.1)
        )
    line.on_end(None)
    assert screen.getvalue().count("\r") == 2
    assert screen.getvalue().endswith("\n")
