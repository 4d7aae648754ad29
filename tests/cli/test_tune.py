"""``bankgcn tune``, as a user sees it."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bankgcn.data.builtin import mutag
from bankgcn.data.readers.json_graphs import write_jsonlines
from bankgcn.training import execute

Command = Callable[..., tuple[int, str, str]]

TINY = ("--epochs", 2, "--hidden", 8, "--layers", 1, "--norm", "l2", "--readout", "mean")


def test_a_search_from_end_to_end_and_the_command_that_it_prints(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(execute, "score_held_out", None)  # whoever scores test graphs fails
        code, out, err = command("tune", "MUTAG", "--trials", 3, *TINY, "--out", "s", "--picture", "svg")
    assert code == 0, err
    assert "train / validation / test: 151 / 19 / 0" in err
    assert "3 trials in s; they vary order, subspaces, gamma, normalize, residual" in err
    assert sorted(path.name for path in (folder / "s").iterdir()) == [
        *("best.toml", "journal.log", "parameters.svg", "trials.csv", "tune.toml"),
    ]
    rows = list(csv.DictReader(io.StringIO((folder / "s" / "trials.csv").read_text())))
    assert [row["trial"] for row in rows] == ["1", "2", "3"]
    last = shlex.split(out.splitlines()[-1])
    assert last[:3] == ["bankgcn", "train", "MUTAG"]
    assert command(*last[1:])[0] == 0
    record = json.loads((folder / "s" / "best" / "record.json").read_text())
    best = re.search(r"best validation accuracy  (\d\.\d{4})  \(trial", out)
    assert best is not None
    assert f"{record['valid_score']:.4f}" == best[1]
    again = command("tune", "--out", "s", "--picture", "none")
    assert again[:2] == (0, out)
    repeated = command("train", "--config", "s/best.toml", "--out", "other")[1].splitlines()
    assert repeated[:2] == command("train", "--out", "s/best")[1].splitlines()[:2]


def test_a_folder_holds_one_search(command: Command, folder: Path) -> None:
    write_jsonlines(mutag()[:60], folder / "own.jsonl")
    first = ("tune", "own.jsonl", *TINY, "--trials", 1, "--picture", "none", "--out", "s")
    assert command(*first)[0] == 0
    for arguments, message in (
        (("--order", 2), "s holds a search that varies order"),
        (("--hidden", 16), "s holds a search with hidden = 8, not 16"),
        (("--model", "mlp"), "s holds a search with model = bank, not mlp"),
    ):
        code, _, err = command("tune", "--out", "s", "--trials", 1, *arguments)
        assert code == 1
        assert message in err
    write_jsonlines(mutag()[:70], folder / "own.jsonl")
    code, _, err = command(*first)
    assert code == 1
    assert "own.jsonl has changed since the first trial in s" in err
    (folder / "other").mkdir()
    (folder / "other" / "file").touch()
    code, _, err = command("tune", "MUTAG", "--out", "other")
    assert "other: holds something else than a search" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", "MUTAG", "--model", "gnc"), "unknown model 'gnc', expected one of bank, gcn"),
        (("tune", "MUTAG", "--picture", "gif"), "unknown format of pictures 'gif'"),
        (("tune", "MUTAG", "--model", "gcn", "--gamma", 1), "gamma is no option of the model gcn"),
        (("tune", "nothing.csv"), "nothing.csv"),
        (("tune", "own.csv", "--target", "y"), "all 4 graphs of own have the class 'a'"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(
    command: Command, folder: Path, arguments: tuple[object, ...], message: str
) -> None:
    (folder / "own.csv").write_text("smiles,y\nC,a\nCC,a\nCCC,a\nCO,a\n")
    code, _, err = command(*arguments)
    assert code == 1
    assert re.search(message, err)
    assert [path.name for path in folder.iterdir()] == ["own.csv"]


def test_ctrl_c_says_how_to_resume(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from bankgcn.experiments.tuning import study

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "run_trials", interrupted)
    code, _, err = command("tune", "MUTAG", "--out", "s", "--trials", 4)
    assert code == 130
    assert "interrupted after 0 of 4 trials; to resume: bankgcn tune --out s --workers 1" in err


def test_after_ctrl_c_the_bar_is_gone_before_anything_is_printed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bankgcn.cli import tune
    from bankgcn.experiments.tuning import study

    class Bar(tune.Progress):
        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            events.append("bar ends")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    events: list[str] = []
    monkeypatch.setattr(study, "run_trials", interrupted)
    monkeypatch.setattr(tune, "Progress", Bar)
    monkeypatch.setattr(tune, "say", lambda message, **_: events.append(message))
    assert command("tune", "MUTAG", "--out", "s", "--trials", 4)[0] == 130
    assert events[-2] == "bar ends"
    assert events[-1].startswith("interrupted after 0 of 4 trials")


@pytest.mark.slow
def test_two_processes_run_as_many_trials_as_asked_for(command: Command, folder: Path) -> None:
    code, _, err = command("tune", "MUTAG", "--trials", 5, "--workers", 2, *TINY, "--out", "s", "--picture", "none")
    assert code == 0, err
    assert "trial 5/5" in err
    assert len((folder / "s" / "trials.csv").read_text().splitlines()) == 6
