"""Several models by one command: for each seed, on one split, or for each fold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.cli.train_runs import parse_seeds
from bankgcn.training.fitting import Training

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 2, "--hidden", 16, "--layers", 2)


def record(folder: Path) -> dict:
    return json.loads((folder / "record.json").read_text())


def test_seeds_make_an_ensemble_that_is_tested_on_graphs_no_model_has_seen(command: Command, folder: Path) -> None:
    code, out, err = command("train", *QUICK, "--seeds", "3-4", "--out", "mine")
    assert code == 0, err
    records = [record(folder / "mine" / name) for name in ("seed-3", "seed-4")]
    assert records[0]["split_hash"] == records[1]["split_hash"]
    assert records[0]["test_loss"] != records[1]["test_loss"]
    assert "seed-3  " in out
    assert "mean of 2 models  " in out
    assert "next: bankgcn predict mine NEW_GRAPHS" in out
    together = next(line for line in out.splitlines() if line.startswith("all 2 models together: test accuracy  "))
    code, predicted, err = command("predict", "mine", "--part", "test")
    assert code == 0, err
    assert predicted.splitlines()[0] == "18 predictions by 2 models are in predictions.csv"
    assert predicted.splitlines()[1] == together.removeprefix("all 2 models together: test ")
    header = (folder / "predictions.csv").read_text().splitlines()[0]
    assert header == "graph,class,predicted,p_-1,p_1,p_-1_sd,p_1_sd"


def test_the_settings_of_a_run_have_no_split_of_their_own(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--out", "one")[0] == 0
    code, _, err = command("train", "--config", "one/config.toml", "--seeds", "1-2", "--out", "many")
    assert code == 0, err
    hashes = {record(folder / "many" / name)["split_hash"] for name in ("seed-1", "seed-2")}
    assert len(hashes) == 1


def test_finished_models_are_kept_when_the_command_is_repeated(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_epoch, runs = Training.run_epoch, []

    def interrupted(training: Training) -> object:
        runs.append(1)
        if len(runs) == 4:  # the second epoch of the second model
            raise KeyboardInterrupt
        return run_epoch(training)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    code, _, err = command("train", *QUICK, "--seeds", "0,1", "--out", "mine")
    assert code == 130
    assert "to resume: type the same command again" in err
    code, _, err = command("train", "--out", "mine")
    assert code == 1
    assert "mine: holds several runs: to resume them, type --seeds, --folds, --models or --preset as before" in err
    code, out, err = command("train", *QUICK, "--seeds", "0,1", "--out", "mine")
    assert code == 0, err
    assert "this run is finished already" in err
    assert "resuming after epoch 1 in mine/seed-1" in err
    assert "mean of 2 models" in out


def test_folds_test_every_graph_once(command: Command, folder: Path) -> None:
    code, out, err = command("train", *QUICK, "--folds", 3)
    assert code == 0, err
    runs = sorted((folder / "runs" / "MUTAG-bank-0-folds=3-hidden=16-layers=2-epochs=2").iterdir())
    assert [run.name for run in runs] == ["fold-0", "fold-1", "fold-2"]
    tests = [json.loads((run / "split.json").read_text())["test"] for run in runs]
    assert sorted(number for test in tests for number in test) == list(range(188))
    assert record(runs[1])["split_from"] == "the seed: fold 1 of 3, stratified by class"
    together = next(
        line for line in out.splitlines() if line.startswith("all 3 models, each on its test graphs: test ")
    )
    assert together.endswith("(188 graphs)")
    right = sum(record(run)["test_score"] * len(test) for run, test in zip(runs, tests, strict=True))
    assert f"accuracy  {right / 188:.4f}" in together
    assert command("predict", runs[0].parent, "MUTAG")[0] == 0


def test_one_fold_can_be_trained_alone_and_the_whole_can_be_repeated(command: Command, folder: Path) -> None:
    assert command("train", *QUICK, "--folds", 3, "--fold", 1, "--out", "one")[0] == 0
    assert command("train", "--config", "one/config.toml", "--out", "two")[0] == 0
    assert (folder / "one" / "model.safetensors").read_bytes() == (folder / "two" / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "4-0"], "--seeds 4-0: expected numbers such as 0-4 or 0,3,7"),
        (["--seeds", "a"], "--seeds a: expected numbers"),
        (["--seeds", "0-1", "--seed", "3"], "--seed 3 and --seeds 0-1 contradict each other"),
        (["--folds", "2"], "--folds 2: expected at least 3"),
        (["--seeds", "0-1", "--out", "single"], "single: holds a single run: name another folder by --out"),
    ],
)
def test_an_error_is_a_sentence(command: Command, folder: Path, arguments: list[str], message: str) -> None:
    (folder / "single").mkdir()
    (folder / "single" / "config.toml").touch()
    code, out, err = command("train", *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert not (folder / "runs").exists()


def test_seeds_may_be_ranges_and_numbers() -> None:
    assert parse_seeds("0-2, 2,9") == [0, 1, 2, 9]
