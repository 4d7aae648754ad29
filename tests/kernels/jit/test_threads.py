"""Numbers are shared among threads: each is taken once, errors are raised, and a forked process can go on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from bankgcn.kernels.jit.threads import run_on_threads
from refusals import refused


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("numbers", [range(0), range(1), range(3, 5), range(100)])
def test_every_number_is_taken_once(numbers: range, threads: int) -> None:
    taken: list[tuple[int, int]] = []
    run_on_threads(lambda number, thread: taken.append((number, thread)), numbers, threads)
    assert sorted(number for number, _ in taken) == list(numbers)
    assert {thread for _, thread in taken} <= set(range(threads))


def test_threads_work_side_by_side_and_each_has_its_own_number() -> None:
    both = threading.Barrier(2, timeout=30)  # nobody passes alone
    found = []

    def run(number: int, thread: int) -> None:
        both.wait()
        found.append((thread, threading.current_thread().name))

    run_on_threads(run, range(4), 2)
    assert {thread for thread, _ in found} == {0, 1}
    assert len({name for _, name in found}) == 2
    assert len(set(found)) == 2


@pytest.mark.parametrize("failing", [0, 1])
def test_an_exception_in_any_thread_is_raised_after_the_others_have_ended(failing: int) -> None:
    both, ended = threading.Barrier(2, timeout=30), []

    def run(number: int, thread: int) -> None:
        both.wait()
        if thread == failing:
            raise ValueError(f"thread {thread} cannot go on")
        time.sleep(0.1)
        ended.append(thread)

    with refused(ValueError, f"thread {failing}"):
        run_on_threads(run, range(2), 2)
    assert ended == [1 - failing]


def test_it_works_after_an_exception() -> None:
    def fail(number: int, thread: int) -> None:
        raise ValueError(number)

    with pytest.raises(ValueError, match="[0-7]"):
        run_on_threads(fail, range(8), 3)
    taken: list[int] = []
    run_on_threads(lambda number, thread: taken.append(number), range(8), 3)
    assert sorted(taken) == list(range(8))


SCRIPT = """
import os, threading
from bankgcn.kernels.jit.threads import available_threads, run_on_threads

def together():
    both, taken = threading.Barrier(2, timeout=30), []
    def run(number, thread):
        both.wait()  # needs two threads
        taken.append(number)
    run_on_threads(run, range(4), 2)
    return sorted(taken) == [0, 1, 2, 3]

assert together()
child = os.fork()
if child == 0:
    os._exit(0 if together() and available_threads() == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
assert together()
print("all numbers")
"""


def test_a_forked_process_has_its_own_threads() -> None:
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    assert subprocess.run(command, capture_output=True, text=True, timeout=120).stdout == "all numbers\n"
