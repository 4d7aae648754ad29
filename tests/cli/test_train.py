"""``bankgcn train``, as a user sees it."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.cli.train import train
from bankgcn.experiments import RunSpec
from bankgcn.training import TrainedModel, assessment
from bankgcn.training.execute import run
from run_files import FILES, files

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


def pair(y: str, weight: float = 1.0) -> str:
    """A line of a file: two joined nodes, with this class."""
    edge = {"source": 0, "target": 1, "weight": weight}
    nodes = [{"id": 0, "x": 1.0}, {"id": 1, "x": float(len(y))}]
    return json.dumps({"nodes": nodes, "edges": [edge], "graph": {"y": y}}) + "\n"


def test_training_ends_with_score_files_and_what_to_type_next(command: Command, folder: Path) -> None:
    code, out, err = command("train", *QUICK, "--out", "r")
    assert code == 0, err
    assert "188 graphs, 2 classes; train / validation / test: 151 / 19 / 18" in err
    assert "epoch 1/3: loss" in err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert out.splitlines()[0] == f"test accuracy  {record['test_score']:.4f}  (18 graphs)"
    assert out.splitlines()[-2:] == ["files: r", "next: bankgcn predict r NEW_GRAPHS"]
    assert {file.name for file in (folder / "r").iterdir()} == FILES
    assert len((folder / "r" / "history.csv").read_text().splitlines()) == 4
    assert record["epochs"] == 3
    assert "scored the test graphs once" in record["protocol"]


def test_a_model_without_finite_outputs_for_the_test_graphs_is_kept_without_a_score(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predict = assessment.predict_logits
    monkeypatch.setattr(assessment, "predict_logits", lambda net, graphs: predict(net, graphs).log())
    for module in ("training.execute", "cli.run_report"):
        monkeypatch.setattr(f"bankgcn.{module}.class_notes", lambda graphs: ("a note on the classes",))
    code, out, err = command("train", *QUICK, "--out", "r")
    assert code == 0, err
    assert out.splitlines()[0] == "test accuracy  unknown  (18 graphs)"
    assert "note: the test graphs have no score: the network computes no finite numbers for graph" in err
    assert err.count("note: a note on the classes") == 1
    assert {file.name for file in (folder / "r").iterdir()} == FILES - {"test_predictions.csv"}


def test_the_same_seed_gives_the_run_of_an_experiment(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--seed", 4, "--train-per-class", 20, "--out", "r")[0] == 0
    ours = json.loads((folder / "r" / "record.json").read_text())
    config = RunSpec(dataset="MUTAG", seed=4, train_per_class=20)
    theirs = run(config.with_(max_epochs=3, hidden_channels=16, num_layers=2))
    assert (ours["test_loss"], ours["valid_loss"]) == (theirs.test_loss, theirs.valid_loss)
    assert (ours["split_hash"], ours["fingerprint"]) == (theirs.split_hash, theirs.fingerprint)


def test_a_run_without_out_is_named_after_itself(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--model", "mlp", "--seed", 2)[0] == 0
    assert (folder / "runs" / "MUTAG-mlp-2-hidden=16-layers=2-epochs=3" / "model.safetensors").exists()


def test_the_written_configuration_repeats_the_run(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--gamma", 10, "--order", 1, "--out", "one")[0] == 0
    assert command("train", "--config", folder / "one" / "config.toml", "--out", "two")[0] == 0
    assert files(folder / "one") == files(folder / "two")


def test_graphs_without_features_get_the_same_signals_in_train_and_in_a_sweep(command: Command, folder: Path) -> None:
    line = '{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "edges": [%s], "graph": {"y": "%s"}}\n'
    edge = '{"source": 0, "target": 1}'
    (folder / "own.jsonl").write_text((line % (edge, "a") + line % ("", "b")) * 10)
    assert command("train", "own.jsonl", *QUICK, "--preset", "paper", "--out", "r")[0] == 0
    ours = json.loads((folder / "r" / "record.json").read_text())
    config = RunSpec(dataset=str(folder / "own.jsonl"))
    theirs = run(config.with_(max_epochs=3, hidden_channels=16, num_layers=2))
    assert (ours["test_loss"], ours["fingerprint"]) == (theirs.test_loss, theirs.fingerprint)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["NCI2"], "did you mean NCI1?"),
        (["--model", "ban"], "did you mean 'bank'?"),
        (["--model", "gcn", "--gamma", "1"], "gamma is no option of the model gcn"),
        (["--hidden", "63"], "--hidden 63 does not divide into --subspaces 8: choose --subspaces 9, or --hidden 64"),
        (["--epochs", "0"], "--epochs 0: expected at least 1"),
        (["--train-per-class", "-3"], "--train-per-class -3: expected at least 1"),
        (["--gamma", "inf"], "--gamma inf: expected a finite number"),
        (["--learning-rate", "inf"], "--learning-rate inf: expected a finite number"),
        (["--decay-factor", "nan"], "--decay-factor nan: expected a finite number"),
        (["--decay-factor", "2"], "--decay-factor 2.0: expected at least 0 and less than 1"),
        (["--decay-patience", "-1"], "--decay-patience -1: expected at least 0"),
        (["--seed", "-1"], "--seed -1: expected at least 0"),
        (["--layers", "0"], "--layers 0: expected at least 1"),
        (["--subspaces", "0"], "--subspaces 0: expected at least 1"),
        (["--features", "onehot"], "--features onehot is for molecules, which MUTAG does not hold"),
        (
            ["--norm", "layr"],
            "unknown norm 'layr', expected one of l2, layer, graph, batch, none; did you mean 'layer'",
        ),
        (["--dropout", "1"], "--dropout 1.0: expected at least 0 and less than 1"),
        (["--config", "none.toml"], "none.toml: cannot be read"),
        (["--out", "other"], "other: holds other files and no run"),
        (["--out", "other/file"], "other/file: is a file"),
        (["--target", "y"], "--target y has no meaning for MUTAG: leave it out"),
        (["two.csv"], "several columns may have the targets: choose one by --target NAME: 'a', 'b'"),
        (["numbers.csv"], "2 training graphs and 0 validation graphs"),
        (["numbers.csv", "--metric", "roc_auc"], "unknown metric for values 'roc_auc', expected one of mae, rmse, r2"),
        (["three.csv", "--metric", "roc_auc"], "roc_auc is for two classes, but there are 3"),
        (["three.csv"], "three has 3 graphs and 3 classes: expected several graphs of each class"),
        (["few.csv"], "3 training graphs and 0 validation graphs"),
        (["same.csv"], "all 3 graphs of same have the class '1'"),
        (["rare.jsonl", "--metric", "roc_auc", "--select", "score"], "select by their loss (--select loss)"),
        (["weighted.jsonl", "--model", "sage"], "the model sage cannot use (--ignore-weights ignores them)"),
        (["missing.csv"], "1 of 3 rows have no target in column 'a' (--skip-missing leaves them out, --fill-missing"),
        (["missing.jsonl"], "missing.jsonl:2: has no target, but other lines have"),
    ],
)
def test_an_error_is_a_sentence_and_leaves_no_folder(
    command: Command, folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "file").touch()
    (folder / "two.csv").write_text("smiles,a,b\nCC,1,2\n")
    (folder / "numbers.csv").write_text("smiles,a\nCC,1.5\nCCC,2.5\n")
    (folder / "three.csv").write_text("smiles,a\nCC,1\nCCC,2\nCCO,3\n")
    (folder / "few.csv").write_text("smiles,a\nCC,1\nCCC,2\nCCO,2\n")
    (folder / "same.csv").write_text("smiles,a\nCC,1\nCCC,1\nCCO,1\n")
    (folder / "missing.csv").write_text("smiles,a\nCC,1\nCCC,\nCCO,2\n")
    (folder / "missing.jsonl").write_text(pair("a") + pair("a").replace('"y": "a"', "") + pair("b"))
    (folder / "rare.jsonl").write_text(pair("a") * 28 + pair("b") * 2)
    (folder / "weighted.jsonl").write_text((pair("a", 2.0) + pair("b", 3.0)) * 10)
    code, out, err = command("train", *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert message in err
    assert "--ignore-targets" not in err  # which this command does not have
    assert not (folder / "runs").exists()


def test_a_class_with_one_graph_is_noted_before_training(command: Command, folder: Path) -> None:
    (folder / "own.jsonl").write_text((pair("a") + pair("b")) * 10 + pair("c"))
    code, _, err = command("train", "own.jsonl", *QUICK, "--out", "r")
    assert code == 0, err
    assert "note: 1 of 3 classes has one graph only ('c')" in err


def test_weights_can_be_ignored_and_a_finished_run_remembers_it(command: Command, folder: Path) -> None:
    (folder / "own.jsonl").write_text((pair("a", 2.0) + pair("b", 3.0)) * 10)
    code, _, err = command("train", "own.jsonl", *QUICK, "--model", "sage", "--ignore-weights", "--out", "r")
    assert code == 0, err
    assert "note: the weights of the edges are ignored" in err
    assert "ignore_weights = true\n" in (folder / "r" / "config.toml").read_text()
    code, out, err = command("predict", "r", "own.jsonl", "--part", "test")
    assert code == 0, err
    assert f"accuracy  {json.loads((folder / 'r' / 'record.json').read_text())['test_score']:.4f}" in out
    assert command("embed", "r", "own.jsonl", "--part", "test")[0] == 0


def test_help_documents_every_option_with_its_default(command: Command) -> None:
    code, out, _ = command("train", "--help-all")
    assert code == 0
    text = " ".join(out.split())
    assert "(default: 64; 256 for CIFAR-10 and ogbg-molhiv)" in text
    assert "bank, gcn, sage, gin, gine, gat, cheb, mlp, forest, wl-svm. (default: bank)" in text
    for name in inspect.signature(train).parameters.keys() - {"source", "folders"}:
        assert f"--{name.replace('_', '-')}" in out
    assert "--data-root" in out


def test_the_first_command_works_as_a_program(folder: Path) -> None:
    arguments = [sys.executable, "-m", "bankgcn", "train", "--epochs", "2"]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("test accuracy")
    assert len(result.stderr.splitlines()) == 4  # no bar where there is no terminal
    assert result.stderr.splitlines()[-1].startswith("warning: the model predicts '1' for all 18 graphs")
    assert TrainedModel.load(folder / "runs" / "MUTAG-bank-0-epochs=2" / "model.safetensors").task.names == ("-1", "1")
