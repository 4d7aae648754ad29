"""Progress of commands, as a user sees it."""

from __future__ import annotations

import io
import re
import sys
import threading

import pytest
from rich.console import Console

from bankgcn.cli import progress as module
from bankgcn.cli.output import Display, above_display, say
from bankgcn.cli.progress import Progress, TrainingProgress, megabytes, percent
from bankgcn.metrics import METRICS
from bankgcn.training import Epoch, TrainConfig

CONFIG = TrainConfig(max_epochs=100, patience=10)


def terminal(width: int = 80) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)


def lines_on(console: Console, progress: Progress) -> list[str]:
    """What a terminal shows."""
    with console.capture() as shown:
        console.print(progress.render())
    return [line.rstrip() for line in shown.get().splitlines()]


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
    assert capsys.readouterr().err.splitlines()[-1].endswith("best epoch 6, about 0:00:10 left")


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
def test_a_terminal_of_80_columns_shows_epoch_bar_time_left_and_all_figures(clock: list[float], metric: str) -> None:
    console = terminal()
    before = [epoch(number, 1 / number) for number in range(1, 498)]
    progress = TrainingProgress(TrainConfig(metric=metric), before, console=console)
    for number, loss in ((498, 0.001), (499, 0.002)):
        clock[0] += 20_000.0
        progress.on_epoch_end(epoch(number, loss))
    bar, figures = lines_on(console, progress)
    assert re.fullmatch(r"epoch 499/500 ━{19}[━╸] about 5:33:20 left", bar)
    assert figures == f"loss 1, validation 0.002, {METRICS[metric].label} 0.5000, best epoch 498"
    progress.on_epoch_end(epoch(500, 0.003))
    assert re.fullmatch(r"epoch 500/500 ━{20}", lines_on(console, progress)[0])  # no time is left


@pytest.mark.parametrize("width", [60, 40, 30])
def test_a_narrow_terminal_shows_everything_on_more_lines(clock: list[float], width: int) -> None:
    console = terminal(width)
    progress = TrainingProgress(TrainConfig(), [epoch(1, 0.5)], console=console)
    for number in (2, 3):
        clock[0] += 20.0
        progress.on_epoch_end(epoch(number, 1 / number))
    lines = lines_on(console, progress)
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


def test_work_whose_total_is_not_known_yet_shows_nothing_before_it_reports(clock: list[float]) -> None:
    console = terminal()
    progress = Progress("reading own.csv", console=console)
    assert lines_on(console, progress) == [""]
    clock[0] = 5.0
    progress.update(250, 1000)
    assert re.fullmatch(r"reading own.csv 250/1000 ━+ +about 0:00:15 left", lines_on(console, progress)[0])


def test_short_work_leaves_no_line_in_a_log_and_long_work_one_from_time_to_time(
    clock: list[float], capsys: pytest.CaptureFixture
) -> None:
    for seconds in (0.1, 5.0):
        with Progress("reading own.csv") as progress:
            for row in range(1, 6):
                clock[0] += seconds
                progress.update(row, 5)
    assert capsys.readouterr().err.splitlines() == [
        "reading own.csv 2/5: about 0:00:15 left",
        "reading own.csv 4/5: about 0:00:05 left",
        "reading own.csv 5/5",
    ]


def test_work_that_is_counted_from_the_start_has_its_first_and_its_last_line(
    clock: list[float], capsys: pytest.CaptureFixture
) -> None:
    with Progress("trial", 30, 10) as progress:
        for number in range(11, 31):
            clock[0] += 1.0
            progress.update(number, details=f"best accuracy 0.9{number}")
    assert capsys.readouterr().err.splitlines() == [
        "trial 11/30: best accuracy 0.911, about 0:00:19 left",
        "trial 21/30: best accuracy 0.921, about 0:00:09 left",
        "trial 30/30: best accuracy 0.930",
    ]


def test_bytes_are_counted_in_megabytes_also_without_a_total() -> None:
    console = terminal()
    progress = Progress("NCI1", count=megabytes, console=console)
    progress.update(1_500_000)
    assert lines_on(console, progress)[0].startswith("NCI1 1.5 MB ━")
    progress.update(2_000_000, 8_000_000)
    assert lines_on(console, progress)[0].startswith("NCI1 2.0/8.0 MB ━")


def test_the_time_left_follows_from_the_steps_that_are_done(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    with Progress("bench", 10.0, count=percent, skip_first=True) as progress:
        progress.step("first", 2.0)
        clock[0] = 60.0  # the first step also compiles: the estimate leaves it out
        progress.step("second", 1.0)
        clock[0] = 72.0
        progress.step("third", 1.0)  # took 12 s for 1 of 10, 7 are left
    assert capsys.readouterr().err.splitlines() == [
        "bench 0 %: first",
        "bench 20 %: second",
        "bench 30 %: third, about 0:01:24 left",
    ]


def test_steps_have_a_line_from_time_to_time(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    with Progress("bench", 100.0, count=percent, skip_first=True) as progress:
        for second in range(25):
            clock[0] = float(second)
            progress.step(f"step {second}", 1.0)
    lines = capsys.readouterr().err.splitlines()
    assert [re.split("[:,] ", line)[1] for line in lines] == ["step 0", "step 10", "step 20"]


def test_a_terminal_shows_the_step_and_the_time_left(clock: list[float]) -> None:
    console = terminal()
    progress = Progress("bench", 4.0, count=percent, skip_first=True, console=console)
    for second in range(3):
        clock[0] = float(second)
        progress.step(f"NCI1: step {second}", 1.0)
    bar, step = lines_on(console, progress)
    assert re.fullmatch("bench 50 % ━+ +about 0:00:02 left", bar)
    assert step == "NCI1: step 2"


def test_nothing_runs_beside_work_that_is_timed(clock: list[float]) -> None:
    console = terminal()
    before = set(threading.enumerate())
    with Progress("bench", 4.0, count=percent, refreshes=0, console=console) as progress:
        progress.step("NCI1: step 0", 1.0)
        assert set(threading.enumerate()) == before
        assert isinstance(console.file, io.StringIO)
        drawn = console.file.getvalue()
        assert "NCI1: step 0" in drawn
        clock[0] = 100.0
        assert console.file.getvalue() == drawn


class Screen:
    """The lines of a terminal, as far as a bar of Rich moves the cursor."""

    def __init__(self, text: str):
        self.lines, self.row, self.column = [""], 0, 0
        for sequence, letter in re.findall(r"\x1b\[([\d;?]*[A-Za-z])|([\s\S])", text):
            if sequence == "1A":
                self.row -= 1
            elif sequence == "2K":
                self.lines[self.row] = ""
            elif letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.row, self.column = self.row + 1, 0
                self.lines += [""] * (self.row == len(self.lines))
            elif letter:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + letter + line[self.column + 1 :]
                self.column += 1

    @property
    def shown(self) -> list[str]:
        return [line for line in self.lines if line]


def screen_for(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal that is both standard output and standard error, for the rest of a test."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return file


@pytest.mark.parametrize("refreshes", [0, 100])
def test_messages_appear_above_the_bar(monkeypatch: pytest.MonkeyPatch, refreshes: float) -> None:
    screen = screen_for(monkeypatch)
    with Progress("trial", 10, refreshes=refreshes) as progress:
        progress.update(1, details="best accuracy 0.9")
        say("note: a message", stderr=True)
        say("a result")
        progress.update(2, details="best accuracy 0.95")
        say("another result")
        progress.redraw()
        first, second, third, bar, details = Screen(screen.getvalue()).shown
    assert (first, second, third) == ("note: a message", "a result", "another result")
    assert bar.startswith("trial 2/10 ━")
    assert details == "best accuracy 0.95"
    assert Screen(screen.getvalue()).shown == [first, second, third]  # nothing of the bar is left


def test_an_interrupt_erases_the_bar_before_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_for(monkeypatch)
    progress = Progress("trial", 10)
    progress.update(3, details="best accuracy 0.9")
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    say("interrupted after 3 of 10 trials", stderr=True)
    assert Screen(screen.getvalue()).shown == ["interrupted after 3 of 10 trials"]
    assert Display.current is None


def test_an_interrupt_while_something_is_printed_does_not_draw_the_bar_again(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = screen_for(monkeypatch)
    with pytest.raises(KeyboardInterrupt), Progress("trial", 10), above_display():
        raise KeyboardInterrupt
    assert Screen(screen.getvalue()).shown == []
    assert Display.current is None
