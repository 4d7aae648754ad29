"""Progress of the benchmark, as a user sees it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bankgcn.cli import bench_progress as module
from bankgcn.cli.bench_progress import BenchProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(module, "Console", lambda **_: console)
    return screen


def test_the_time_left_follows_from_the_steps_that_are_done(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    with BenchProgress(10.0) as progress:
        progress("first", 2.0)
        clock[0] = 60.0  # the first step also compiles: the estimate leaves it out
        progress("second", 1.0)
        clock[0] = 72.0
        progress("third", 1.0)  # took 12 s for 1 of 10, 7 are left
    assert capsys.readouterr().err.splitlines() == ["first", "second", "third, 0:01:24 left"]


def test_outside_a_terminal_a_line_is_printed_from_time_to_time(
    clock: list[float], capsys: pytest.CaptureFixture
) -> None:
    with BenchProgress(100.0) as progress:
        for second in range(25):
            clock[0] = float(second)
            progress(f"step {second}", 1.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["step 0", "step 10", "step 20"]


def test_on_a_terminal_a_bar_shows_step_and_time_left(clock: list[float], terminal: io.StringIO) -> None:
    with BenchProgress(4.0) as progress:
        for second in range(3):
            clock[0] = float(second)
            progress(f"NCI1: step {second}", 1.0)
        assert progress.bar.tasks[0].percentage == 50.0
        with progress.hidden():
            assert not progress.bar.live.is_started
        assert progress.bar.live.is_started
    assert "0:00:02 left NCI1: step 2" in terminal.getvalue()
    assert not progress.bar.live.is_started


def test_an_interrupt_removes_the_bar(terminal: io.StringIO) -> None:
    progress = BenchProgress(4.0)
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert not progress.bar.live.is_started


def test_an_interrupt_while_a_table_is_printed_does_not_start_the_bar_again(terminal: io.StringIO) -> None:
    progress = BenchProgress(4.0)
    with pytest.raises(KeyboardInterrupt), progress, progress.hidden():
        raise KeyboardInterrupt
    assert not progress.bar.live.is_started
