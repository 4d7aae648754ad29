"""Progress of many runs, as a user sees it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bankgcn.cli import sweep
from bankgcn.cli.sweep import SweepGrid, TimeLeft, positions
from bankgcn.experiments.engines.base import Event
from bankgcn.experiments.paper import TABLE_1, TABLES, figure3
from bankgcn.experiments.search import expected_configs
from fake_records import fake_record

TABLE = TABLE_1.restricted(datasets=["MUTAG", "NCI1"], models=["gcn"], runs=2)
CONFIGS = TABLE.configs()


def plain() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=100)


@pytest.mark.parametrize("name", list(TABLES))
def test_every_run_has_a_place(name: str) -> None:
    part = TABLES[name].restricted(runs=1)
    assert set(positions(part)) == {config.key for config in part.configs()}


def test_panels_have_places_too() -> None:
    figure = figure3(runs=2)
    assert set(positions(figure)) == {config.key for config in figure.configs()}
    assert len(set(positions(figure).values())) == len(figure.panels) == 5


def test_runs_are_counted_as_they_start_and_end() -> None:
    grid = SweepGrid(TABLE, CONFIGS, plain())
    grid.on_event(Event("kept", CONFIGS[0], fake_record(CONFIGS[0])))
    grid.on_event(Event("started", CONFIGS[1]))
    grid.on_event(Event("started", CONFIGS[2]))
    assert grid.summary() == "table1: 1 of 12 runs done, 2 running, about 0:00:11 left"
    grid.on_event(Event("finished", CONFIGS[1], fake_record(CONFIGS[1])))
    grid.on_event(Event("failed", CONFIGS[2], message="no memory"))
    assert grid.summary() == "table1: 2 of 12 runs done, 1 failed, about 0:00:09 left"


def test_the_last_run_leaves_no_time_to_wait() -> None:
    grid = SweepGrid(TABLE, CONFIGS, plain())
    for config in CONFIGS:
        grid.on_event(Event("kept", config, fake_record(config)))
    assert grid.summary() == "table1: 12 of 12 runs done"


def test_time_left_is_guessed_by_runs_of_the_same_kind() -> None:
    left = TimeLeft(CONFIGS)
    assert left.seconds(1) is None
    of = {name: [config for config in CONFIGS if config.dataset == name] for name in ("MUTAG", "NCI1")}
    left.ended(of["MUTAG"][0], 1.0)
    assert left.seconds(1) == pytest.approx(11)  # nothing better is known of NCI1
    left.ended(of["NCI1"][0], 10.0)
    assert left.seconds(1) == pytest.approx(5 * 1 + 5 * 10)
    assert left.seconds(2) == pytest.approx((5 * 1 + 5 * 10) / 2)


def test_the_time_left_shrinks_while_a_run_runs() -> None:
    now = 100.0
    left = TimeLeft(CONFIGS[:3], clock=lambda: now)
    left.ended(CONFIGS[0], 60.0)
    left.started(CONFIGS[1])
    assert left.seconds(1) == pytest.approx(120)
    now += 45
    assert left.seconds(1) == pytest.approx(75)
    now += 600  # longer than a similar run: the time of the waiting one remains
    assert left.seconds(1) == pytest.approx(60)
    left.ended(CONFIGS[1], 645.0)
    assert left.seconds(1) == pytest.approx((60 + 645) / 2)


def test_the_winners_of_a_search_are_counted_before_they_are_known() -> None:
    table = TABLE_1.restricted(datasets=["MUTAG"], models=["gcn"], runs=5, search_runs=2)
    grid = SweepGrid(table, expected_configs(table), plain())
    search = [config for config in table.configs() if config.seed < 2]
    for config in search:
        grid.on_event(Event("kept", config, fake_record(config)))
    assert grid.summary() == "table1: 6 of 9 runs done, about 0:00:06 left"
    winner = table.candidates(*table.rows, *table.columns)[-1]
    for seed in (2, 3, 4):
        grid.on_event(Event("started", winner.with_(seed=seed)))
        grid.on_event(Event("finished", winner.with_(seed=seed), fake_record(winner.with_(seed=seed))))
    assert grid.summary() == "table1: 9 of 9 runs done"


def test_a_failure_is_told_once_however_many_runs_it_hits() -> None:
    console = plain()
    grid = SweepGrid(TABLE, CONFIGS, console)
    for config in CONFIGS:
        grid.on_event(Event("started", config))
        grid.on_event(Event("failed", config, message="PyG is missing"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "failed: GCN on MUTAG, seed 0: PyG is missing\n"
    assert grid.summary() == "table1: 0 of 12 runs done, 12 failed"


def test_away_from_a_terminal_there_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    console = plain()
    with SweepGrid(TABLE, CONFIGS, console) as grid:
        grid.on_event(Event("kept", CONFIGS[0], fake_record(CONFIGS[0])))
        assert isinstance(console.file, io.StringIO)
        assert console.file.getvalue() == ""
        monkeypatch.setattr(sweep, "SECONDS_BETWEEN_LINES", -1.0)
        grid.on_event(Event("kept", CONFIGS[1], fake_record(CONFIGS[1])))
    assert console.file.getvalue().startswith("table1: 2 of 12 runs done")
    assert "\x1b" not in console.file.getvalue()


def test_a_line_counts_the_run_that_follows_an_ended_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "SECONDS_BETWEEN_LINES", -1.0)
    console = plain()
    grid = SweepGrid(TABLE, CONFIGS[:3], console)
    for event in ("started", CONFIGS[0]), ("started", CONFIGS[1]), ("finished", CONFIGS[0]), ("started", CONFIGS[2]):
        grid.on_event(Event(*event, fake_record(event[1])))
    for config in CONFIGS[1:3]:
        grid.on_event(Event("finished", config, fake_record(config)))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "table1: 0 of 3 runs done, 1 running",
        "table1: 0 of 3 runs done, 2 running",
        "table1: 1 of 3 runs done, 2 running, about 0:00:02 left",
        "table1: 2 of 3 runs done, 1 running, about 0:00:01 left",
        "table1: 3 of 3 runs done",
    ]


def test_running_runs_tell_which_epochs_they_have_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    console = plain()
    grid = SweepGrid(TABLE, CONFIGS, console)
    for config in CONFIGS[:2]:
        grid.on_event(Event("started", config))
    grid.on_event(Event("epoch", CONFIGS[0], epoch=12))
    assert grid.summary() == "table1: 0 of 12 runs done, 2 running (at epoch 12)"
    monkeypatch.setattr(sweep, "SECONDS_BETWEEN_LINES", -1.0)
    grid.on_event(Event("epoch", CONFIGS[1], epoch=3))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "table1: 0 of 12 runs done, 2 running (at epochs 3 to 12)\n"
    grid.on_event(Event("finished", CONFIGS[0], fake_record(CONFIGS[0])))
    assert "1 running (at epoch 3)" in grid.summary()
    grid.on_event(Event("retried", CONFIGS[1], message="its worker died"))
    assert "1 running, about" in grid.summary()


def test_on_a_terminal_there_is_a_grid() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with SweepGrid(TABLE, CONFIGS, console) as grid:
        grid.on_event(Event("kept", CONFIGS[0], fake_record(CONFIGS[0])))
        grid.on_event(Event("started", CONFIGS[1]))
        grid.redraw()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "MUTAG" in shown
    assert "NCI1" in shown
    assert "1/6 +1" in shown
