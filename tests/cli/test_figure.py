"""``bankgcn paper figure`` and ``bankgcn paper table`` on a packed folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bankgcn.experiments.design import Grid
from bankgcn.experiments.paper import AS_PAPER, TABLE_1
from bankgcn.experiments.store import pack
from fake_records import fake_records

Command = Callable[..., tuple[int, str, str]]
PART = ("--setting", "as-paper", "--runs", "2")
OTHER_PLACE = ("--normalize", "after", "--runs", "2")


@pytest.fixture
def packed(folder: Path) -> Path:
    """A packed folder with a part of Table 1, as the paper."""
    table = TABLE_1.restricted(datasets=["ENZYMES", "MUTAG"], runs=2, grid=AS_PAPER.grid)
    pack(fake_records(table.configs()).values(), folder / "results" / "table1")
    return folder / "results"


@pytest.mark.parametrize("what", ["table1", "ranks"])
def test_pictures_of_a_table_are_drawn_from_a_packed_folder(command: Command, packed: Path, what: str) -> None:
    code, out, err = command("paper", "figure", what, "--store", packed, *PART, "--out", "picture.svg")
    assert (code, err) == (0, "")
    assert "written to picture.svg" in out
    assert "<!-- MUTAG -->" in Path("picture.svg").read_text() or what == "ranks"


def test_a_curve_has_the_values_that_have_been_run(command: Command, packed: Path) -> None:
    assert command("paper", "figure", "gamma", "--store", packed, *PART, "--out", "curve.svg")[0] == 0
    drawn = Path("curve.svg").read_text()
    assert ("<!-- 0.1 -->" in drawn, "<!-- 0.01 -->" in drawn) == (True, False)  # Table 1 has 0, 0.1 and 10
    code, _, err = command("paper", "figure", "table4", "--store", packed, "--out", "large.svg")
    assert code == 1
    assert "none of its" in err


def test_an_unknown_figure_is_refused(command: Command, packed: Path) -> None:
    code, _, err = command("paper", "figure", "rank", "--store", packed, "--out", "picture.svg")
    assert code == 1
    assert "unknown figure 'rank'" in err


def test_the_layout_of_the_paper_is_printed(command: Command, packed: Path) -> None:
    code, out, _ = command("paper", "table", "table1", "--store", packed, *PART, "--layout", "paper")
    assert code == 0
    assert "Below ours: the paper's figures" in out
    other = TABLE_1.restricted(datasets=["ENZYMES"], runs=2, grid=Grid(normalize=("after",)))
    pack(fake_records(other.configs()).values(), packed / "table1")
    code, out, _ = command("paper", "table", "table1", "--store", packed, *OTHER_PLACE, "--layout", "paper")
    assert code == 0
    assert "l2 after the ReLU" in " ".join(out.split())
