"""``bankgcn train``, as a user sees it."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bankgcn.cli.train import train
from bankgcn.data.graphs import GraphSet
from bankgcn.experiments import RunSpec
from bankgcn.nn import GraphNetwork
from bankgcn.training import Evaluation, TrainedModel, fitting, held_out
from bankgcn.training.execute import run
from bankgcn.training.fitting import Training
from bankgcn.training.run_folder import RunFolder

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)
FILES = {"config.toml", "history.csv", "model.safetensors", "record.json", "split.json", "test_predictions.csv"}


def files(folder: Path) -> dict[str, bytes]:
    """The files of a run, without the times in its record."""
    found = {file.name: file.read_bytes() for file in folder.iterdir()}
    record = json.loads(found["record.json"])
    del record["seconds"], record["sha256"]  # which covers the time, too
    return found | {"record.json": json.dumps(record).encode()}


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
    predict = held_out.predict_logits
    monkeypatch.setattr(held_out, "predict_logits", lambda net, graphs: predict(net, graphs).log())
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


def test_a_finished_run_is_told_again_and_only_overwritten_on_request(command: Command, folder: Path) -> None:
    _, first, _ = command("train", *QUICK, "--out", "r")
    before = (folder / "r" / "model.safetensors").stat().st_mtime_ns
    code, out, err = command("train", "--out", "r")
    assert (code, out) == (0, first)
    assert "finished already" in err
    assert "to train it again: bankgcn train --config r/config.toml --out r --overwrite" in err
    code, _, err = command("train", "--out", "r", "--gamma", 10)
    assert code == 1
    assert "r holds a run with gamma = 0.1, not 10.0: name another folder by --out, or" in err
    assert (folder / "r" / "model.safetensors").stat().st_mtime_ns == before
    code, _, err = command("train", "--config", "r/config.toml", "--out", "r", "--gamma", 10, "--overwrite")
    assert code == 0, err
    assert (folder / "r" / "model.safetensors").stat().st_mtime_ns > before
    assert "hidden = 16\n" in (folder / "r" / "config.toml").read_text()  # because the file says so


def test_overwrite_starts_from_the_defaults_and_not_from_the_old_run(command: Command, folder: Path) -> None:
    assert command("train", "smooth-or-alternating", *QUICK, "--gamma", 10, "--out", "r")[0] == 0
    code, _, err = command("train", "--epochs", 1, "--layers", 2, "--out", "r", "--overwrite")
    assert code == 0, err
    config = (folder / "r" / "config.toml").read_text()
    for line in ('source = "MUTAG"', "hidden = 64", "gamma = 0.1", "epochs = 1"):
        assert f"{line}\n" in config


def test_an_interrupt_tells_how_to_go_on_and_leaves_no_trace(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("train", *QUICK, "--out", "whole")
    run_epoch = Training.run_epoch

    def interrupted(training: Training) -> object:
        if len(training.epochs) == 2:
            raise KeyboardInterrupt
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    code, out, err = command("train", *QUICK, "--out", "broken off")
    assert (code, out) == (130, "")
    assert "interrupted after epoch 2; to resume: bankgcn train --out 'broken off'" in err
    assert (folder / "broken off" / "training.safetensors").exists()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, _, err = command("train", "--out", "broken off")
    assert code == 0
    assert "resuming after epoch 2 in broken off" in err
    assert files(folder / "broken off") == files(folder / "whole")


def test_a_network_with_every_option_is_trained_resumed_and_applied(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--norm", "layer", "--residual", "--dropout", 0.2, "--head", "mlp")
    code, _, err = command("train", *QUICK, *options, "--out", "whole")
    assert code == 0, err
    record = json.loads((folder / "whole" / "record.json").read_text())
    expected = {"norm": "layer", "residual": True, "dropout": 0.2, "head": "mlp"}
    assert expected.items() <= record["config"]["model"].items()
    code, out, err = command("predict", "whole", "MUTAG", "--part", "test")
    assert code == 0, err
    assert f"accuracy  {record['test_score']:.4f}" in out
    assert command("embed", "whole", "MUTAG", "--out", "embedded.csv")[0] == 0
    run_epoch = Training.run_epoch

    def interrupted(training: Training) -> object:
        if len(training.epochs) == 2:
            raise KeyboardInterrupt
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    assert command("train", *QUICK, *options, "--out", "broken off")[0] == 130
    monkeypatch.setattr(Training, "run_epoch", run_epoch)
    assert command("train", "--out", "broken off")[0] == 0
    assert files(folder / "broken off") == files(folder / "whole")


def test_a_kill_in_the_middle_leaves_no_trace(command: Command, folder: Path) -> None:
    options = ["--epochs", "25", "--hidden", "16", "--layers", "2"]
    program = "import bankgcn.training.fitting as f; f.CHECKPOINT_SECONDS = 0; from bankgcn.cli import main; main()"
    arguments = [sys.executable, "-c", program, "train", *options, "--out", "killed"]
    checkpoint = folder / "killed" / "training.safetensors"
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "killed" / "record.json").exists()
    (folder / "killed" / f".training.safetensors.{process.pid}-0.part").touch()  # as a kill during a write leaves it
    assert command("train", "--out", "killed")[0] == 0
    assert command("train", *options, "--out", "whole")[0] == 0
    assert files(folder / "killed") == files(folder / "whole")


def test_two_trainings_do_not_share_a_folder(command: Command, folder: Path) -> None:
    held, end = threading.Event(), threading.Event()

    def hold() -> None:
        with RunFolder(folder / "r").lock():
            held.set()
            end.wait()

    other = threading.Thread(target=hold, daemon=True)
    other.start()
    held.wait()
    code, out, err = command("train", *QUICK, "--out", "r")
    assert (code, out) == (1, "")
    assert f"r: is in use: process {os.getpid()} on " in err
    assert [file.name for file in (folder / "r").iterdir()] == [".lock"]
    end.set()
    other.join()
    assert command("train", *QUICK, "--out", "r")[0] == 0
    assert {file.name for file in (folder / "r").iterdir()} == FILES


def test_a_damaged_checkpoint_is_set_aside(command: Command, folder: Path) -> None:
    command("train", *QUICK, "--out", "r")
    expected = files(folder / "r")
    (folder / "r" / "record.json").unlink()
    (folder / "r" / "training.safetensors").write_bytes(b"damaged")
    code, _, err = command("train", "--out", "r")
    assert code == 0
    assert "cannot be read and is now r/training.damaged" in err
    assert (folder / "r" / "training.damaged").read_bytes() == b"damaged"
    assert {name: content for name, content in files(folder / "r").items() if name in FILES} == expected


def test_graphs_that_changed_meanwhile_are_refused(command: Command, folder: Path) -> None:
    line = '{"nodes": [{"id": 0, "x": %s}], "edges": [], "graph": {"y": "%s"}}\n'
    graphs = folder / "graphs.jsonl"
    graphs.write_text("".join(line % (n, "ab"[n % 2]) for n in range(20)))
    assert command("train", graphs, *QUICK, "--out", "r")[0] == 0
    (folder / "r" / "record.json").unlink()
    graphs.write_text("".join(line % (n + 1, "ab"[n % 2]) for n in range(20)))
    code, _, err = command("train", "--out", "r")
    assert code == 1
    assert "split.json: is a split of the graphs" in err


def test_a_loss_that_is_not_finite_leaves_a_record_and_no_model(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "evaluate", lambda *_: fitting.Evaluation(float("nan"), 0.0))
    code, _, err = command("train", *QUICK, "--out", "r")
    assert code == 1
    assert "not a finite number in the first epoch" in err
    assert json.loads((folder / "r" / "record.json").read_text())["status"] == "diverged"
    assert not (folder / "r" / "model.safetensors").exists()
    code, _, err = command("predict", "r", "MUTAG")
    assert code == 1
    again = "bankgcn train --config r/config.toml --out r --overwrite --learning-rate RATE"
    assert "r: has no trained model: its training diverged in the first epoch; " in err
    assert f"a smaller --learning-rate may help: {again}" in err
    code, _, err = command("train", *QUICK, "--seeds", "0-1", "--out", "two words")
    assert code == 1
    assert "warning: the training of seed-0, seed-1 diverged in the first epoch, so there is no model of it" in err
    assert "--out 'two words/seed-0' --overwrite" in err


def test_a_lost_model_is_reported_by_train_too(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--out", "r")[0] == 0
    (folder / "r" / "model.safetensors").unlink()
    message = "r: has no trained model: model.safetensors is missing; to train it again: bankgcn train --config "
    for arguments in (("predict", "r", "MUTAG"), ("train", "--out", "r")):
        code, out, err = command(*arguments)
        assert (code, out) == (1, "")
        assert message in err
    assert command(*err.strip().rpartition("bankgcn ")[2].split())[0] == 0
    assert command("predict", "r", "MUTAG")[0] == 0


def test_divergence_after_a_good_epoch_is_the_same_verdict_in_train_and_in_a_sweep(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = fitting.evaluate

    def diverging(net: GraphNetwork, graphs: GraphSet, *rest: Any) -> Evaluation:
        seen.append(1)
        return evaluate(net, graphs, *rest) if len(seen) < 3 else Evaluation(float("nan"), 0.0)

    monkeypatch.setattr(fitting, "evaluate", diverging)
    seen: list[int] = []
    code, out, err = command("train", *QUICK, "--epochs", 9, "--out", "r")
    assert code == 0, err
    assert (
        "note: the training diverged: the loss of epoch 3 is not a finite number; the model has the weights of" in err
    )
    assert "validation accuracy" in out
    ours = json.loads((folder / "r" / "record.json").read_text())
    assert (ours["status"], ours["ended"], ours["epochs"]) == ("diverged", "diverged", 3)
    assert TrainedModel.load(folder / "r" / "model.safetensors").metadata["test_score"] == ours["test_score"]
    seen.clear()
    theirs = run(RunSpec(dataset="MUTAG").with_(max_epochs=9, hidden_channels=16, num_layers=2))
    assert theirs.test_score is not None
    for name in ("status", "epochs", "best_epoch", "valid_score", "valid_loss", "test_score", "test_loss"):
        assert getattr(theirs, name) == ours[name], name


def test_graphs_without_features_get_the_same_signals_in_train_and_in_a_sweep(command: Command, folder: Path) -> None:
    line = '{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "edges": [%s], "graph": {"y": "%s"}}\n'
    edge = '{"source": 0, "target": 1}'
    (folder / "own.jsonl").write_text((line % (edge, "a") + line % ("", "b")) * 10)
    assert command("train", "own.jsonl", *QUICK, "--out", "r")[0] == 0
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
        (["--hidden", "63"], "hidden=63 does not divide into subspaces=8: choose subspaces=9, or hidden=64"),
        (["--epochs", "0"], "epochs=0: expected at least 1"),
        (["--train-per-class", "-3"], "train_per_class=-3: expected at least 1 (--train-per-class)"),
        (["--gamma", "inf"], "gamma=inf: expected a finite number (--gamma)"),
        (["--learning-rate", "inf"], "learning_rate=inf: expected a finite number (--learning-rate)"),
        (["--decay-factor", "nan"], "decay_factor=nan: expected a finite number (--decay-factor)"),
        (["--decay-factor", "2"], "decay_factor=2.0: expected at least 0 and less than 1 (--decay-factor)"),
        (["--decay-patience", "-1"], "decay_patience=-1: expected at least 0 (--decay-patience)"),
        (["--seed", "-1"], "seed=-1: expected at least 0 (--seed)"),
        (["--layers", "0"], "layers=0: expected at least 1 (--layers)"),
        (["--subspaces", "0"], "subspaces=0: expected at least 1 (--subspaces)"),
        (["--features", "onehot"], "features=onehot is for molecules, which MUTAG does not hold (--features)"),
        (
            ["--norm", "layr"],
            "unknown norm 'layr', expected one of l2, layer, graph, batch, none; did you mean 'layer'",
        ),
        (["--dropout", "1"], "dropout=1.0: expected at least 0 and less than 1 (--dropout)"),
        (["--config", "none.toml"], "none.toml: cannot be read"),
        (["--out", "other"], "other: holds other files and no run"),
        (["--out", "other/file"], "other/file: is a file"),
        (["--target", "y"], "MUTAG is read without the option 'target'"),
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
    code, out, _ = command("train", "--help")
    assert code == 0
    text = " ".join(out.split())
    assert "(default: 64; 256 for CIFAR-10 and ogbg-molhiv)" in text
    assert "bank, gcn, sage, gin, gat, cheb, mlp. (default: bank)" in text
    for name in inspect.signature(train).parameters.keys() - {"source"}:
        assert f"--{name.replace('_', '-')}" in out


def test_the_first_command_works_as_a_program(folder: Path) -> None:
    arguments = [sys.executable, "-m", "bankgcn", "train", "--epochs", "2"]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("test accuracy")
    assert len(result.stderr.splitlines()) == 4  # no bar where there is no terminal
    assert result.stderr.splitlines()[-1].startswith("warning: the model predicts '1' for all 18 graphs")
    assert TrainedModel.load(folder / "runs" / "MUTAG-bank-0-epochs=2" / "model.safetensors").task.names == ("-1", "1")
