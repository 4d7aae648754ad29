"""``bankgcn paper pack``, and what other commands do with a packed folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.experiments.paper import TABLE_1, figure3
from bankgcn.experiments.store import Store
from fake_records import fake_records

Command = Callable[..., tuple[int, str, str]]
PART = ("--runs", "2")


@pytest.fixture
def store(folder: Path) -> Path:
    """A store with a part of Table 1 and with the figure on MUTAG, and with a run of neither."""
    store = Store(folder / "store")
    table = TABLE_1.restricted(datasets=["MUTAG", "NCI1"], models=["gcn", "bank-K2-s8"], runs=2)
    configs = [*table.configs(), *figure3(["MUTAG"]).configs(), table.configs()[0].with_(seed=99)]
    for record in fake_records(configs, alpha=[[1.0, 0.0, 0.5]] * 8, notes=("a note",)).values():
        store.put(record)
    return store.folder


def test_tables_and_figures_from_a_packed_folder_are_those_of_the_store(command: Command, store: Path) -> None:
    code, out, err = command("paper", "pack", "table1", "--store", store, *PART)
    assert (code, err) == (0, "")
    assert "results/table1/MUTAG.jsonl: 24 records (24 new, 0 replaced)" in out
    assert "results/table1/NCI1.jsonl: 24 records (24 new, 0 replaced)" in out
    assert command("paper", "pack", "figure3", "--store", store)[0] == 0
    for arguments in (
        ("paper", "table", "table1", *PART, "--notes"),
        ("paper", "table", "table1", *PART, "--format", "csv"),
        ("paper", "table", "table1", *PART, "--search-runs", "1"),
        ("paper", "table", "figure3", "--notes"),
    ):
        packed = command(*arguments, "--store", "results")
        assert packed == command(*arguments, "--store", store)
        assert packed[0] == 0
    for source in (store, "results"):
        assert command("paper", "figure", "figure3", "--store", source, "--out", f"{Path(source).name}.svg")[0] == 0
    assert Path("results.svg").read_bytes() == Path("store.svg").read_bytes()


def test_packing_twice_changes_nothing(command: Command, store: Path) -> None:
    command("paper", "pack", "table1", "--store", store, "--out", "r", *PART)
    before = Path("r/table1/NCI1.jsonl").read_bytes()
    code, out, _ = command("paper", "pack", "table1", "--store", store, "--out", "r", *PART)
    assert code == 0
    assert "24 records (0 new, 0 replaced)" in out
    assert Path("r/table1/NCI1.jsonl").read_bytes() == before


def test_a_sweep_reads_a_packed_folder_and_never_writes_to_it(command: Command, store: Path) -> None:
    part = ("--datasets", "MUTAG", "--models", "gcn", "--epochs", "1", "--runs", "1")
    assert command("paper", "reproduce", "table1", *part, "--engine", "serial", "--store", "first")[0] == 0
    command("paper", "pack", "table1", "--store", "first", *part)
    before = Path("results/table1/MUTAG.jsonl").read_bytes()
    code, _, err = command("paper", "reproduce", "table1", *part, "--store", "results")
    assert code == 1
    assert "results holds packed records, which are only read" in err
    assert "--known results" in err
    more = (*part[:-1], "2", "--engine", "serial", "--store", "second", "--known", "results")
    code, _, err = command("paper", "reproduce", "table1", *more)
    assert code == 0, err
    assert "6 of 6 runs done" in err
    assert len(list(Path("second").glob("*.json"))) == 3  # seed 0 is known
    assert Path("results/table1/MUTAG.jsonl").read_bytes() == before


def test_a_damaged_line_is_an_error_that_names_it(command: Command, store: Path) -> None:
    command("paper", "pack", "table1", "--store", store, *PART)
    path = Path("results/table1/MUTAG.jsonl")
    path.write_text(path.read_text().replace('"epochs":40', '"epochs":41', 1))
    code, _, err = command("paper", "table", "table1", "--store", "results")
    assert code == 1
    assert "results/table1/MUTAG.jsonl:1: the record of run" in err
    assert "was changed after it was written" in err


def test_records_of_other_tables_are_not_packed(command: Command, store: Path) -> None:
    code, _, err = command("paper", "pack", "table4", "--store", store)
    assert code == 1
    assert f"none of its {len(list(store.glob('*.json')))} records belongs to table4" in err
    assert not Path("results").exists()
    code, _, err = command("paper", "pack", "table1", "--store", "gone")
    assert code == 1
    assert "gone: there are no records" in err
