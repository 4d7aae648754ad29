"""``bankgcn paper reproduce``, ``table`` and ``figure``, as a user sees them."""

from __future__ import annotations

import csv
import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from bankgcn.cli import app, sweep
from bankgcn.experiments.paper import TABLE_1, TABLE_4, figure3
from bankgcn.experiments.store import Store
from fake_records import fake_records

QUICK = ("--datasets", "MUTAG", "--models", "bank,gcn", "--runs", "3", "--epochs", "2")


@pytest.fixture(autouse=True)
def _away_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.stdout, result.stderr


def keep(folder: Path, configs: list) -> None:
    store = Store(folder)
    for record in fake_records(configs).values():
        store.put(record)


def test_a_part_of_table_1_from_end_to_end(tmp_path: Path) -> None:
    grid = ("--runs", "2", "--epochs", "2", "--gammas", "0,10", "--weight-decays", "0,1e-4")
    part = ("--datasets", "mutag", "--models", "bank-K2-s8,gcn", *grid)
    code, out, err = run("paper", "reproduce", "table1", *part, "--engine", "serial", "--store", "records")
    assert code == 0, err
    assert "table1: 12 runs; records are in records" in err
    assert "table1: 12 of 12 runs done" in err
    assert len(list((tmp_path / "records").glob("*.json"))) == 12
    assert "SHORTENED to 2 epochs" in out
    assert "not the paper's grid" in out
    again, same, _ = run("paper", "reproduce", "table1", *part, "--engine", "serial", "--store", "records")
    assert (again, same) == (0, out)
    assert run("paper", "table", "table1", *grid, "--store", "records") == (0, out, "")


def test_a_search_over_the_first_seeds_runs_less_and_says_so(tmp_path: Path) -> None:
    part = ("--datasets", "MUTAG", "--models", "gcn,mlp", "--runs", "4", "--search-runs", "1", "--epochs", "1")
    code, out, err = run("paper", "reproduce", "table1", *part, "--engine", "serial")
    assert code == 0, err
    assert "table1: 12 runs; records are in" in err
    assert "table1: 12 of 12 runs done" in err
    assert len(list((tmp_path / "bankgcn-records").glob("*.json"))) == 2 * (3 + 3)
    assert "over the first seed; only the winner runs all seeds." in " ".join(out.split())
    assert "INCOMPLETE" not in out
    assert run("paper", "table", "table1", *part) == (0, out, "")
    again, same, err = run("paper", "reproduce", "table1", *part, "--engine", "serial")
    assert (again, same) == (0, out)
    assert "12 of 12 runs done" in err
    assert "INCOMPLETE" in run("paper", "table", "table1", "--runs", "4", "--epochs", "1")[1]


def test_a_lost_record_is_run_again_and_nothing_else(tmp_path: Path) -> None:
    part = ("--datasets", "MUTAG", "--models", "gcn", "--runs", "2", "--epochs", "1", "--engine", "serial")
    _, out, _ = run("paper", "reproduce", "table1", *part)
    files = sorted((tmp_path / "bankgcn-records").glob("*.json"))
    written = {path: path.stat().st_mtime_ns for path in files}
    files[2].write_bytes(b"{")
    code, same, err = run("paper", "reproduce", "table1", *part)
    assert (code, same) == (0, out)
    assert "set aside: GCN on MUTAG" in err
    assert files[2].with_name(f"{files[2].name}.corrupt-1").exists()
    assert [path for path in files if path.stat().st_mtime_ns != written[path]] == [files[2]]


def test_a_table_is_printed_from_a_store_with_damaged_and_newer_records_and_changes_nothing(tmp_path: Path) -> None:
    keep(tmp_path / "r", TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=3).configs())
    damaged, newer, *_ = sorted((tmp_path / "r").iterdir())
    damaged.write_bytes(b"{")
    newer.write_text(newer.read_text().replace('"format": 2', '"format": 3'))
    before = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()}
    code, out, err = run("paper", "table", "table1", "--store", "r")
    assert code == 0
    assert "GCN" in out
    assert f"{damaged.name} is not a complete JSON file" in err
    assert f"{newer.name} has format 3, newer than 2: update bankgcn; it is left out" in err
    assert {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()} == before


def test_records_of_version_0_1_0_are_found_and_shown() -> None:
    store = Path(__file__).parents[1] / "records_v010" / "store"
    code, out, err = run("paper", "table", "table1", "--store", store, "--epochs", 1)
    assert (code, err) == (0, "")
    assert "BankGCN (K=2, s=8)  66.67 *  1/20" in out
    assert "GCN                 66.67 *  1/20" in out


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_gives_the_same_table(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bankgcn", "paper", "reproduce", "table1", *QUICK, "--workers", "2", "--store"]
    here = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}}
    whole = subprocess.run([*command, "whole"], capture_output=True, check=True, **here).stdout
    moments = random.Random(0)
    for records in sorted(moments.sample(range(60), 4)):  # of 63
        with subprocess.Popen(
            [*command, "killed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **here
        ) as run:
            while len(list((tmp_path / "killed").glob("*.json"))) < records:
                assert run.poll() is None
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.3))
            run.kill()
        assert run.returncode == -signal.SIGKILL
    resumed = subprocess.run([*command, "killed"], capture_output=True, check=True, **here)
    assert resumed.stdout == whole
    assert b"MUTAG" in whole
    names = [{path.name for path in (tmp_path / store).glob("*.json")} for store in ("whole", "killed")]
    assert len(names[0]) == 63
    assert names[0] == names[1]


def test_ctrl_c_says_that_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_experiment", interrupted)
    code, _, err = run("paper", "reproduce", "table1", "--datasets", "MUTAG")
    assert code == 130
    assert "the same command resumes" in err


def test_failed_runs_are_told_and_the_table_is_printed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from bankgcn.nn import CONVS

    def broken(*_: object, **__: object) -> None:
        raise ImportError("no PyG here")

    monkeypatch.setitem(CONVS, "gcn", replace(CONVS["gcn"], make=broken))
    part = ("--datasets", "MUTAG", "--models", "gcn,mlp", "--runs", "1", "--epochs", "1", "--engine", "serial")
    code, out, err = run("paper", "reproduce", "table1", *part)
    assert code == 1
    assert err.count("no PyG here") == 1
    assert "3 runs failed; the same command tries them again" in err
    assert "0/1" in out
    assert "INCOMPLETE" in out


def test_without_any_dataset_the_first_is_asked_for() -> None:
    code, _, err = run("paper", "reproduce", "table1", "--runs", "1", "--epochs", "1", "--models", "mlp")
    assert code == 1
    assert "ENZYMES is not here" in err
    assert "bankgcn data fetch ENZYMES" in err


def test_a_table_shows_what_there_are_records_of(tmp_path: Path) -> None:
    keep(
        tmp_path / "r", TABLE_1.restricted(datasets=["FRANKENSTEIN-rebuilt", "MUTAG"], models=["gcn"], runs=2).configs()
    )
    code, out, err = run("paper", "table", "table1", "--store", "r", "--format", "csv")
    assert (code, err) == (0, "")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [(line["dataset"], line["method"], line["runs"], line["runs_wanted"]) for line in lines] == [
        ("FRANKENSTEIN-rebuilt (stand-in)", "GCN", "2", "20"),
        ("MUTAG", "GCN", "2", "20"),
    ]
    assert all(line["paper_mean"] == "" for line in lines)
    _, named, _ = run("paper", "table", "table1", "--store", "r", "--datasets", "MUTAG", "--models", "gcn,gat")
    assert "GAT" in named
    assert "0/20" in named


def test_table_4_is_printed_from_records(tmp_path: Path) -> None:
    keep(tmp_path / "r", TABLE_4.restricted(datasets=["CIFAR-10", "CIFAR-10-1000"], models=["gcn"]).configs())
    code, out, _ = run("paper", "table", "table4", "--store", "r")
    assert code == 0
    assert "CIFAR-10 (1000)" in out
    assert "-34.5%" in out
    assert "ogbg-molhiv:" not in out


def test_a_table_can_be_written_to_a_file(tmp_path: Path) -> None:
    keep(tmp_path / "r", TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=1).configs())
    code, out, _ = run("paper", "table", "table1", "--store", "r", "--format", "latex", "--out", "tables/t.tex")
    assert (code, out) == (0, "written to tables/t.tex\n")
    _, printed, _ = run("paper", "table", "table1", "--store", "r", "--format", "latex", "--out", "-")
    assert printed == (tmp_path / "tables" / "t.tex").read_text(encoding="utf-8")
    assert r"\begin{tabular}" in (tmp_path / "tables" / "t.tex").read_text(encoding="utf-8")


def test_the_figure_is_drawn_from_records(tmp_path: Path) -> None:
    store = Store(tmp_path / "r")
    for record in fake_records(figure3(["MUTAG"]).configs(), alpha=[[1.0, 0.0, 0.5]] * 8).values():
        store.put(record)
    assert run("paper", "figure", "figure3", "--store", "r", "--out", "f.png") == (0, "written to f.png\n", "")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = run("paper", "table", "figure3", "--store", "r")
    assert code == 0
    assert "(a) MUTAG, K=2, gamma=0" in out


def test_figure_3_is_run_from_end_to_end(tmp_path: Path) -> None:
    short = ("--datasets", "MUTAG", "--epochs", "1", "--runs", "2")
    code, out, err = run("paper", "reproduce", "figure3", *short, "--engine", "serial")
    assert code == 0, err
    assert "figure3: 8 of 8 runs done" in err
    assert "(d) MUTAG, K=3, gamma=10" in out
    assert run("paper", "figure", "figure3", "--epochs", "1", "--out", "f.svg")[0] == 0
    assert "NCI109" not in (tmp_path / "f.svg").read_text(encoding="utf-8")


def test_table_0_describes_datasets() -> None:
    code, out, _ = run("paper", "table", "table0", "--datasets", "mutag,ENZYMES")
    assert code == 0
    assert "188" in out
    assert "not here: the figures are the paper's" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("paper", "reproduce", "tabel1"), "unknown table 'tabel1'.*did you mean 'table1'"),
        (
            ("paper", "reproduce", "table1", "--datasets", "MUTGA"),
            "unknown dataset of table1 'MUTGA'.*did you mean 'MUTAG'",
        ),
        (("paper", "reproduce", "table1", "--datasets", ","), "--datasets ',': expected names"),
        (("paper", "reproduce", "table1", "--models", "gnc"), "unknown model of table1 'gnc'"),
        (("paper", "reproduce", "table1", "--select", "test"), "unknown selection 'test'"),
        (("paper", "reproduce", "table1", "--engine", "loc", "--datasets", "MUTAG"), "unknown engine 'loc'"),
        (("paper", "reproduce", "table1", "--gammas", "a"), "--gammas 'a': expected numbers"),
        (("paper", "reproduce", "table3", "--gammas", "1"), "--models chooses among them"),
        (("paper", "reproduce", "figure3", "--search-runs", "2"), "--search-runs: figure3 has no such option"),
        (
            ("paper", "reproduce", "table1", "--search-runs", "2", "--select", "paper"),
            "search_runs=2 with the selection 'paper'",
        ),
        (("paper", "reproduce", "table1", "--known", "gone", "--datasets", "MUTAG"), "gone: there are no records"),
        (("paper", "table", "table9"), "unknown table 'table9'"),
        (("paper", "table", "table1"), "bankgcn-records: there are no records; 'bankgcn paper reproduce table1"),
        (("paper", "table", "table1", "--format", "html"), "unknown format 'html'"),
        (("paper", "table", "table0", "--runs", "3"), "table0 describes datasets"),
        (("paper", "figure", "figure4", "--out", "f.png"), "unknown figure 'figure4'"),
        (("paper", "figure", "figure3", "--out", "f.gif"), "f.gif: expected the name of an image"),
        (("paper", "figure", "figure3", "--out", "-"), "-: expected the name of an image"),
    ],
)
def test_wrong_questions_get_a_sentence(arguments: tuple[str, ...], message: str) -> None:
    code, _, err = run(*arguments)
    assert code == 1
    assert re.search(message, err), err
    assert "Traceback" not in err


def test_records_of_other_options_are_not_mistaken(tmp_path: Path) -> None:
    keep(tmp_path / "r", TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=1, max_epochs=5).configs())
    code, _, err = run("paper", "table", "table1", "--store", "r")
    assert code == 1
    assert "none of its 3 records belongs to table1 with these options" in err
