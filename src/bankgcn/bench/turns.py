"""Time trainings in turns, so that other work on the machine slows all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from bankgcn.bench.memory import Steps

OnTurn = Callable[[str], None]
"""Called before each turn, with a description."""


def ignore_turn(description: str) -> None:
    """Show nothing."""


def describe_turn(contender: str, repetition: int, repetitions: int) -> str:
    """What happens in a turn; the turn before the first one warms up."""
    return f"{contender}, turn {repetition} of {repetitions}" if repetition else f"{contender}, warm-up"


def take_turns(
    contenders: Mapping[str, Steps], *, repetitions: int, turn_seconds: float, on_turn: OnTurn = ignore_turn
) -> dict[str, list[float]]:
    """Seconds of an epoch of each contender, one value for each repetition.

    Args:
        contenders: The trainings by name.
        repetitions: Number of timed turns of each contender, after one turn to warm up.
        turn_seconds: Minimum seconds of a turn.
        on_turn: Called before each turn.
    """
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    for repetition in range(repetitions + 1):
        for contender, training in contenders.items():
            on_turn(describe_turn(contender, repetition, repetitions))
            elapsed = epoch_seconds(training, turn_seconds)
            if repetition:
                seconds[contender].append(elapsed)
    return seconds


def epoch_seconds(training: Steps, turn_seconds: float) -> float:
    """Seconds of an epoch, as a mean over a turn: a single short epoch would be too noisy."""
    started, epochs = time.perf_counter(), 0
    while True:
        run_epoch(training)
        epochs += 1
        elapsed = time.perf_counter() - started
        if elapsed >= turn_seconds:
            return elapsed / epochs


def run_epoch(training: Steps) -> None:
    """Take all steps of an epoch."""
    for _ in training.steps():
        pass
