"""The table of datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.data.catalog import DataFolders, find_in_catalog
from bankgcn.experiments.paper import Description, describe
from bankgcn.report.sheet import write_sheet
from bankgcn.report.tables import dataset_sheet

PAPER = {"graphs": 600, "nodes": 32.63, "edges": 62.14, "features": 21, "classes": 6}


def test_what_differs_from_the_paper_is_shown_with_both_figures() -> None:
    here = {**PAPER, "edges": 62.15}
    sheet = dataset_sheet([Description(name="ENZYMES", here=here, published=PAPER, notes=("odd",))])
    _, _, ours, papers, *_ = write_sheet(sheet).splitlines()[1:]
    assert ours.split() == ["ENZYMES", "600", "32.63", "62.15", "21", "6", "differs"]
    assert papers.split() == ["ENZYMES,", "paper", "600", "32.63", "62.14", "21", "6"]
    assert "ENZYMES: odd." in write_sheet(sheet, notes=True)
    assert "odd" not in write_sheet(sheet)


def test_what_is_not_here_has_the_papers_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path))
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    assert not DataFolders(tmp_path).has(find_in_catalog("ENZYMES"))
    sheet = write_sheet(dataset_sheet(describe(["ENZYMES", "MUTAG"], DataFolders(tmp_path))))
    rows = {line.split()[0]: line for line in sheet.splitlines() if line.strip()}
    assert "62.14" in rows["ENZYMES"]
    assert "not here" in rows["ENZYMES"]
    assert "not here: the figures are the paper's" in sheet
    assert "188" in rows["MUTAG"]
    assert "not in paper" in rows["MUTAG"]


@pytest.mark.datasets("TU/ENZYMES.zip", "TU/NCI1.zip")
def test_real_data_is_as_in_the_paper(data_root: Path) -> None:
    for data in describe(["ENZYMES", "NCI1"], DataFolders(data_root)):
        assert data.here == data.published
