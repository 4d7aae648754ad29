"""The folder of ``bankgcn train``: a run that is finished, interrupted, killed or diverged, and what follows."""

from __future__ import annotations

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

from bankgcn.experiments import RunSpec
from bankgcn.training import Evaluation, TrainedModel, fitting
from bankgcn.training.execute import run
from bankgcn.training.fitting import Training
from bankgcn.training.run_folder import RunFolder
from run_files import FILES, files

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


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
    options = ("--norm", "layer", "--residual", "--feed-forward", 2, "--dropout", 0.2, "--head", "mlp")
    code, _, err = command("train", *QUICK, *options, "--out", "whole")
    assert code == 0, err
    record = json.loads((folder / "whole" / "record.json").read_text())
    expected = {"norm": "layer", "residual": True, "feed_forward": 2, "dropout": 0.2, "head": "mlp"}
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


def test_a_loss_that_is_not_finite_leaves_a_record_and_no_model(command: Command, folder: Path) -> None:
    diverging = (*QUICK, "--learning-rate", 1e30, "--norm", "none")
    code, _, err = command("train", *diverging, "--out", "r")
    assert code == 1
    assert "not a finite number in the first epoch" in err
    assert json.loads((folder / "r" / "record.json").read_text())["status"] == "diverged"
    assert not (folder / "r" / "model.safetensors").exists()
    code, _, err = command("predict", "r", "MUTAG")
    assert code == 1
    again = "bankgcn train --config r/config.toml --out r --overwrite"
    assert "r: has no trained model: its training diverged in the first epoch; " in err
    assert f"a smaller --learning-rate may help: {again}" in err
    code, _, err = command("train", *diverging, "--seeds", "0-1", "--out", "two words")
    assert code == 1
    assert "warning: there is no model of seed-0, seed-1: the training diverged in the first epoch; a smaller" in err
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
    evaluate = fitting.evaluate_outputs

    def diverging(*arguments: Any) -> Evaluation:
        seen.append(1)
        return evaluate(*arguments) if len(seen) < 3 else Evaluation(float("nan"), 0.0)

    monkeypatch.setattr(fitting, "evaluate_outputs", diverging)
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


def test_a_run_has_features_and_network_of_the_one_that_it_starts_from(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--order", 3, "--out", "parent")[0] == 0
    code, out, err = command("train", "--init-from", "parent", "--freeze", 1, "--epochs", 2, "--out", "child")
    assert code == 0, err
    assert "starts with the weights of the run" in out + err
    config = (folder / "child" / "config.toml").read_text()
    for line in ("hidden = 16", "order = 3", f'init_from = "{folder / "parent"}"', "freeze = 1"):
        assert f"{line}\n" in config
    record = json.loads((folder / "child" / "record.json").read_text())
    assert record["parent"] == RunFolder(folder / "parent").read_record().config.key
    (folder / "parent").rename(folder / "elsewhere")
    assert command("train", "--out", "child")[0] == 0  # it is finished and needs its parent no more
    assert command("predict", "child", "MUTAG", "--out", "p.csv")[0] == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--hidden", 32), "--hidden 32, but {parent} was trained with --hidden 16: "),
        (("--model", "gcn"), "--model gcn, but {parent} was trained with --model bank: "),
        (("--freeze", 3), "--freeze 3 is more than --layers 2"),
    ],
)
def test_what_differs_from_the_run_that_one_starts_from_is_named(
    command: Command, folder: Path, flags: tuple[object, ...], message: str
) -> None:
    assert command("train", *QUICK, "--out", "parent")[0] == 0
    code, _, err = command("train", "--init-from", "parent", *flags, "--out", "child")
    assert code == 1
    assert message.format(parent=folder / "parent") in " ".join(err.split())
    assert not (folder / "child").exists()


def test_a_run_with_frozen_layers_ends_after_an_interrupt_as_without_one(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("train", *QUICK, "--out", "parent")[0] == 0
    flags = ("--init-from", "parent", "--freeze", 1, "--epochs", 4, "--weight-decay", 0.01, "--seed", 1)
    assert command("train", *flags, "--out", "whole")[0] == 0
    run_epoch = Training.run_epoch

    def interrupted(training: Training) -> object:
        if len(training.epochs) == 2:
            raise KeyboardInterrupt
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    assert command("train", *flags, "--out", "broken")[0] == 130
    monkeypatch.setattr(Training, "run_epoch", run_epoch)
    code, _, err = command("train", "--out", "broken")
    assert code == 0, err
    assert files(folder / "broken") == files(folder / "whole")


def test_layers_are_frozen_only_with_a_run_to_start_from(command: Command) -> None:
    code, _, err = command("train", *QUICK, "--freeze", 1, "--out", "r")
    assert code == 1
    assert "--freeze 1 keeps the weights of a trained run: name its folder by --init-from" in " ".join(err.split())
    code, _, err = command("train", "--init-from", "nothing", "--out", "r")
    assert code == 1
    assert "nothing: has no trained model" in " ".join(err.split())
