"""``bankgcn paper verify``, as a user sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bankgcn.cli import verify
from bankgcn.experiments import RunRecord, RunSpec, Store
from bankgcn.experiments.store import pack
from fake_records import fake_record

Command = Callable[..., tuple[int, str, str]]
CONFIGS = [RunSpec(dataset=name, seed=seed) for name in ("FRANKENSTEIN-rebuilt", "MUTAG") for seed in range(3)]
ALL_AGREED = "6 of 6 agreed (100%): 6 bit for bit"


@pytest.fixture(params=["store", "packed"])
def source(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The same records in a store and in a packed folder."""
    records = [fake_record(config, test_score=0.75) for config in CONFIGS]
    store = Store(folder / "store")
    for record in records:
        store.put(record)
    pack(records, folder / "packed" / "table1")
    return folder / request.param


def repeat_with(monkeypatch: pytest.MonkeyPatch, run: Callable[[RunSpec], RunRecord]) -> None:
    monkeypatch.setattr(verify, "make_runner", lambda *_: run)


def same(config: RunSpec) -> RunRecord:
    return fake_record(config, test_score=0.75)


def test_runs_that_give_the_same_again_agree(command: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeat_with(monkeypatch, same)
    code, out, err = command("paper", "verify", source)
    assert code == 0, out
    header, *rows, last = out.splitlines()
    assert header.split() == ["run", "dataset", "model", "test", "score", "again", "agreed?"]
    assert [row.split()[1] for row in rows] == ["FRANKENSTEIN-rebuilt"] * 3 + ["MUTAG"] * 3
    assert {row.split(maxsplit=5)[5] for row in rows} == {"bit for bit"}
    assert {row.split()[0] for row in rows} == {config.key[:12] for config in CONFIGS}
    assert last == ALL_AGREED
    assert max(map(len, out.splitlines())) <= 80
    assert "6 of 6 records, drawn with seed 0; about 0:00:12 left" in err


def test_one_record_that_differs_is_named_and_fails_the_command(
    command: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = CONFIGS[4]
    repeat_with(monkeypatch, lambda config: replace(same(config), test_score=0.5 if config == wrong else 0.75))
    code, out, _ = command("paper", "verify", source, "--json", "checks.json")
    assert code == 1
    row = next(line for line in out.splitlines() if line.startswith(wrong.key[:12]))
    assert row.split()[2:] == ["bank", "0.7500", "0.5000", "NO"]
    assert "  test score 0.75, again 0.5" in out
    assert out.endswith("5 of 6 agreed (83%): 5 bit for bit, 1 different\n")
    content = json.loads(Path("checks.json").read_text())
    assert (content["seed"], content["drawn"], content["tolerance"]) == (0, 6, 0.2)
    (found,) = [item for item in content["checks"] if item["verdict"] == "differs"]
    assert found["key"] == wrong.key
    assert (found["recorded"]["test_score"], found["again"]["test_score"]) == (0.75, 0.5)


def test_missing_data_are_not_agreement(command: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: RunSpec) -> RunRecord:
        return same(config) if config.dataset == "MUTAG" else RunRecord.failed(config, f"{config.dataset} is not here")

    repeat_with(monkeypatch, run)
    code, out, _ = command("paper", "verify", source)
    assert code == 1
    assert out.count("  FRANKENSTEIN-rebuilt is not here\n") == 3
    assert out.count("     -  not checked") == 3
    assert out.endswith("3 of 6 agreed (50%): 3 bit for bit, 3 not checked\n")


def test_on_another_processor_the_tolerance_is_stated(
    command: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"versions": {"bankgcn": "0", "torch": "3", "processor": "another"}}
    repeat_with(monkeypatch, lambda config: replace(same(config), test_score=0.7, **here))
    code, out, _ = command("paper", "verify", source, "--tolerance", "0.1")
    assert code == 0
    assert out.count("  within 0.1\n") == 6
    assert "compared within 0.1, because these differ from the records: processor, torch" in out
    assert command("paper", "verify", source, "--tolerance", "0.01")[0] == 1


def test_ctrl_c_tells_what_was_checked(command: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RunSpec] = []

    def run(config: RunSpec) -> RunRecord:
        seen.append(config)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return same(config)

    repeat_with(monkeypatch, run)
    code, out, err = command("paper", "verify", source, "--json", "checks.json")
    assert code == 130
    assert "interrupted: 2 of 6 records were run again" in err
    assert out.endswith("2 of 2 agreed (100%): 2 bit for bit\n")
    assert len(json.loads(Path("checks.json").read_text())["checks"]) == 2


def test_a_sample_is_drawn_by_the_seed(command: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeat_with(monkeypatch, same)
    samples = [command("paper", "verify", source, "--sample", 3, "--seed", seed)[1] for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    assert len(samples[0].splitlines()) == 5


def test_json_on_standard_output_is_alone_there(
    command: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeat_with(monkeypatch, same)
    code, out, err = command("paper", "verify", source, "--json", "-")
    assert code == 0
    assert len(json.loads(out)["checks"]) == 6
    assert ALL_AGREED in err


def test_the_time_left_is_told_away_from_a_terminal(
    command: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeat_with(monkeypatch, same)
    monkeypatch.setattr(verify, "SECONDS_BETWEEN_LINES", -1.0)
    _, _, err = command("paper", "verify", source)
    assert "5 of 6 runs done, about 0:00:00 left" in err
    assert "6 of 6 runs done" not in err


def test_a_folder_without_records_is_an_error(command: Command, folder: Path) -> None:
    code, _, err = command("paper", "verify", "gone")
    assert code == 1
    assert "gone: there are no records; expected a store" in err
    (folder / "empty").mkdir()
    code, _, err = command("paper", "verify", "empty")
    assert code == 1
    assert "empty: there are no records to verify" in err


def test_real_runs_agree_bit_for_bit_with_their_records_until_one_is_changed(command: Command, folder: Path) -> None:
    part = ("--datasets", "MUTAG", "--models", "bank-K2-s8,gcn", "--runs", "1", "--epochs", "2", "--gammas", "10")
    assert command("paper", "reproduce", "table1", *part, "--engine", "serial", "--store", "store")[0] == 0
    code, out, _ = command("paper", "verify", "store")
    assert code == 0, out
    assert "6 of 6 agreed (100%): 6 bit for bit" in out
    store = Store(folder / "store")
    first = next(store.records())
    store.put(replace(first, test_loss=first.test_loss * (1 + 1e-12)))
    code, out, _ = command("paper", "verify", "store")
    assert code == 1
    assert "5 of 6 agreed (83%)" in out
    assert "  test loss " in out
