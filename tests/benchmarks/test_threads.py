"""Our training on several threads beside one thread."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import torch

import threads
from bankgcn.bench.cases import random_graphs
from threads import ThreadPair, measure_threads, torch_threads

BRIEF: dict[str, Any] = {"threads": 2, "models": ("bank", "mlp"), "repetitions": 2, "turn_seconds": 0.0}


class CountingTraining:
    """A training of one parameter, which counts its steps and the threads they run on."""

    def __init__(self, graphs: object, batch_size: int, model: str):
        self.training = self
        self.net = torch.nn.Linear(1, 1, bias=False)
        self.threads: list[int] = []
        torch.nn.init.zeros_(self.net.weight)

    def steps(self) -> Iterator[None]:
        self.threads.append(torch.get_num_threads())
        with torch.no_grad():
            self.net.weight += self.update()
        yield

    def update(self) -> float:
        return 1.0


class InexactTraining(CountingTraining):
    """Its result depends on the number of threads."""

    def update(self) -> float:
        return float(torch.get_num_threads())


def test_each_model_is_timed_on_one_thread_and_on_several() -> None:
    turns: list[str] = []
    values = measure_threads(random_graphs(20, 10, 11, 4, 2), 8, **BRIEF, on_turn=turns.append)
    assert set(values) == {"bank", "mlp"}
    for row in values.values():
        assert set(row) == {"one_s", "many_s", "ratio", "same_result"}
        assert row["ratio"] == row["one_s"] / row["many_s"]
        assert isinstance(row["same_result"], bool)
    assert turns[4:8] == [
        "ours on 1 thread, turn 1 of 2",
        "ours on 2 threads, turn 1 of 2",
        "ours MLP on 1 thread, turn 1 of 2",
        "ours MLP on 2 threads, turn 1 of 2",
    ]


def test_bankgcn_gives_the_same_result_on_any_number_of_threads() -> None:
    values = measure_threads(random_graphs(40, 10, 11, 4, 2), 8, **BRIEF | {"models": ("bank",)})
    assert values["bank"]["same_result"] is True


def test_both_take_the_same_steps_on_their_own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    monkeypatch.setattr(threads, "OurTraining", CountingTraining)
    monkeypatch.setattr(threads.time, "perf_counter", lambda: float(next(clock)))
    pair = ThreadPair(random_graphs(1, 3, 2, 4, 2), 1, "bank", 3)
    pair.warm_up(5.0, lambda turn: None)
    pair.take_turn(1, 1, lambda turn: None)
    one, many = (training.ours.threads for training in pair.trainings)
    assert pair.epochs == 5  # of a second each
    assert one == [1] * (2 + 5)
    assert many == [3] * (2 + 5)
    assert pair.to_dict() == {"one_s": 0.2, "many_s": 0.2, "ratio": 1.0, "same_result": True}


def test_a_result_that_depends_on_the_threads_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "OurTraining", InexactTraining)
    values = measure_threads(random_graphs(1, 3, 2, 4, 2), 1, **BRIEF)
    assert values["bank"]["same_result"] is False


def test_the_number_of_threads_is_restored_after_an_error() -> None:
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    with pytest.raises(KeyboardInterrupt), torch_threads(before + 1):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == before
