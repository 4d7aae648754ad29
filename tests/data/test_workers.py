"""Worker processes give the results of one process, in order; an item that ends its process costs no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bankgcn.data import workers as workers_module
from bankgcn.data.workers import Job, Workers
from deadly_jobs import KILLS, squares
from refusals import refused


def job(numbers: Sequence[int]) -> Job:
    return Job(
        squares,
        numbers,
        (5,),
        lost=lambda item, cause, offset: [f"{item} {cause}"],
        joined=lambda parts: [square for part in parts for square in part],
    )


def results_of(workers: Workers, jobs: Sequence[Job]) -> list[list[int | str]]:
    return [result for _, result in workers.results(jobs, lambda one: one)]


def test_a_long_job_is_shared_and_a_short_one_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.data.workers.SHORT", 3)
    with Workers(2) as workers:
        assert workers.run(job(range(20))) == job(range(20)).run()
    monkeypatch.setattr("bankgcn.data.workers.START", "raise SystemExit")
    with Workers(2) as workers:
        assert workers.run(job([1, 2, 3])) == [6, 9, 14]


def test_results_come_in_the_order_of_the_jobs() -> None:
    jobs = [job([n, n + 1]) for n in range(20)]
    with Workers(3) as workers:
        assert results_of(workers, jobs) == [one.run() for one in jobs]


def test_an_item_that_ends_its_process_is_found_and_the_others_are_computed() -> None:
    with Workers(2) as workers:
        found = results_of(workers, [job([1, 2]), job([3, 4, KILLS, 6, 7]), job([8])])
    assert found == [[6, 9], [14, 21, "-1 was killed by SIGSEGV", 41, 54], [69]]


def test_an_error_is_raised_where_its_result_is_due() -> None:
    results = []
    with Workers(2) as workers, refused(ValueError, "no number may be -2"):
        for block, result in workers.results([[1], [2], [-2], [3]], job):
            results.append((block, result))
    assert results == [([1], [6]), ([2], [9])]


def test_what_was_read_before_an_error_of_the_source_comes_first() -> None:
    def blocks():
        yield [1]
        yield [2]
        raise OSError("the file ends here")

    seen = []
    with Workers(2) as workers, refused(OSError, "the file ends here"):
        for block, _ in workers.results(blocks(), job):
            seen.append(block)
    assert seen == [[1], [2]]


def test_a_bounded_number_of_blocks_is_read_ahead() -> None:
    taken: list[int] = []

    def blocks():
        for number in range(100):
            taken.append(number)
            yield [number]

    with Workers(2) as workers:
        for done, _ in enumerate(workers.results(blocks(), job)):
            assert len(taken) <= done + 5


def test_processes_that_cannot_start_are_an_error_and_no_item_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.data.workers.START", "raise SystemExit('no such module')")
    with Workers(1) as workers, refused(RuntimeError, "could not start", "no such module"):
        results_of(workers, [job([1])])


def test_a_process_that_is_killed_before_it_is_ready_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = f"import os, pathlib; p = pathlib.Path({str(tmp_path / 'once')!r}); there = p.exists(); p.touch(); "
    once += "there or os.kill(os.getpid(), 9); "
    monkeypatch.setattr("bankgcn.data.workers.START", once + workers_module.START)
    with Workers(1) as workers:
        assert results_of(workers, [job([1])]) == [[6]]


def test_a_worker_that_reads_molecules_does_not_load_pytorch() -> None:
    code = "import sys, bankgcn.data.workers, bankgcn.data.readers.molecule_tables as t; "
    code += "t.parse_rows(['CCO', 'C1CC1'], t.parse_smiles, True, True, ('morgan',)); "
    code += "import bankgcn.data.readers.json_graphs; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["False"]


def test_less_than_one_worker_is_refused() -> None:
    with refused(ValueError, "workers=0"):
        Workers(0)
