"""Progress of a training, as a user sees it."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from bankgcn.cli import progress as module
from bankgcn.cli.progress import TrainingProgress
from bankgcn.metrics import METRICS
from bankgcn.training import Epoch, TrainConfig

CONFIG = TrainConfig(max_epochs=100, patience=10)


def epoch(number: int, loss: float, score: float = 0.5) -> Epoch:
    return Epoch(number, 1.0, loss, score, 0.0, 1e-3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_lies_between_patience_and_the_last_epoch(
    clock: list[float], capsys: pytest.CaptureFixture
) -> None:
    with TrainingProgress(CONFIG) as progress:
        clock[0] = 60.0  # the first epoch also compiles: the estimate leaves it out
        progress.on_epoch_end(epoch(1, 0.9))
        for number, loss in ((2, 0.5), (3, 0.6), (4, 0.7), (5, 0.8), (6, 0.9)):
            clock[0] += 2.0
            progress.on_epoch_end(epoch(number, loss))
    first, last = capsys.readouterr().err.splitlines()
    assert first == "epoch 1/100: loss 1, validation 0.9, accuracy 0.5000, best epoch 1"
    assert last.endswith("best epoch 2, 0:00:12 to 0:03:08 left")  # 10 - 4 or 94 epochs of two seconds


def test_equal_times_left_are_one_time(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    progress = TrainingProgress(TrainConfig(max_epochs=11, patience=50))
    for number in (1, 6):  # the last line of a log, 10 s after the first
        clock[0] = 2.0 * number
        progress.on_epoch_end(epoch(number, 1 / number))
    assert capsys.readouterr().err.splitlines()[-1].endswith("best epoch 6, 0:00:10 left")


def test_the_best_epoch_may_lie_before_an_interruption(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    progress = TrainingProgress(CONFIG, [epoch(1, 0.2), epoch(2, 0.3)])
    progress.on_epoch_end(epoch(3, 0.4))
    line = capsys.readouterr().err
    assert "epoch 3/100" in line
    assert "best epoch 1" in line


def test_the_score_decides_where_it_selects(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    progress = TrainingProgress(TrainConfig(select="score"), [epoch(1, 0.9, 0.9), epoch(2, 0.1, 0.8)])
    progress.on_epoch_end(epoch(3, 0.2, 0.7))
    assert "best epoch 1" in capsys.readouterr().err


def test_the_smallest_error_is_the_best(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    epochs = [epoch(1, 0.1, 0.9), epoch(2, 0.9, 0.7)]
    progress = TrainingProgress(TrainConfig(select="score"), epochs, metric="mae")
    progress.on_epoch_end(epoch(3, 0.2, 0.8))
    line = capsys.readouterr().err
    assert "MAE 0.8," in line
    assert "best epoch 2" in line


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_terminal_of_80_columns_shows_epoch_bar_time_left_and_all_figures(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(module, "Console", lambda **_: terminal)
    progress = TrainingProgress(TrainConfig(metric=metric), [epoch(number, 1 / number) for number in range(1, 499)])
    for number, loss in ((499, 0.001), (500, 0.002)):
        clock[0] += 20_000.0
        progress.on_epoch_end(epoch(number, loss))
    with terminal.capture() as shown:
        terminal.print(progress.display)
    bar, figures = (line.rstrip() for line in shown.get().splitlines())
    assert re.fullmatch(r"epoch 500/500 ━{20} 0:00:00 left", bar)
    assert figures == f"loss 1, validation 0.002, {METRICS[metric].label} 0.5000, best epoch 499"


@pytest.mark.parametrize("width", [60, 40, 30])
def test_a_narrow_terminal_shows_everything_on_more_lines(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    monkeypatch.setattr(module, "Console", lambda **_: terminal)
    progress = TrainingProgress(TrainConfig(), [epoch(1, 0.5)])
    for number in (2, 3):
        clock[0] += 20.0
        progress.on_epoch_end(epoch(number, 1 / number))
    with terminal.capture() as shown:
        terminal.print(progress.display)
    lines = [line.rstrip() for line in shown.get().splitlines()]
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("epoch 3/500")
    text = " ".join(lines[1:])
    assert text == ("0:10:00 to 2:45:40 left, loss 1, validation 0.33333, accuracy 0.5000, best epoch 3")


def test_losses_and_errors_of_any_size_keep_their_digits(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    TrainingProgress(CONFIG, metric="mae").on_epoch_end(epoch(1, 1.25e-7, 3.5e-9))
    assert "validation 1.25e-07, MAE 3.5e-09, " in capsys.readouterr().err


def test_other_processes_are_silent(capsys: pytest.CaptureFixture) -> None:
    with TrainingProgress(CONFIG, shown=False) as progress:
        progress.on_epoch_end(epoch(1, 0.1))
    assert capsys.readouterr().err == ""
