"""The script that writes the page on the reproduction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bankgcn.experiments.paper import AS_PAPER, TABLE_1
from bankgcn.experiments.store import pack
from fake_records import fake_records
from refusals import refused
from reproduction_page import main


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A packed folder with a part of Table 1, as the paper."""
    monkeypatch.chdir(tmp_path)
    table = TABLE_1.restricted(datasets=["ENZYMES", "MUTAG"], runs=2, grid=AS_PAPER.grid)
    pack(fake_records(table.configs()).values(), tmp_path / "results" / "table1")
    return tmp_path / "results"


def test_the_page_is_written_with_its_pictures_and_is_the_same_again(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packed / "verify.json").write_text(json.dumps({"seed": 3, "drawn": 1, "checks": []}))
    main([str(packed), "--out", "docs/page.md"])
    out, err = capsys.readouterr()
    assert err == ""
    assert "written to docs/page.md with 0 pictures" in out
    page = Path("docs/page.md").read_bytes()
    assert b"`bankgcn paper verify results --sample 1 --seed 3 --json" in page
    assert b"| table1 | As the paper | ENZYMES |" in page
    main([str(packed), "--out", "docs/page.md"])
    assert Path("docs/page.md").read_bytes() == page


@pytest.mark.parametrize("content", ["[]", '{"seed": 3', '{"seed": 3, "drawn": 1, "checks": [{"key": "a"}]}'])
def test_a_damaged_outcome_of_verify_is_named(packed: Path, content: str) -> None:
    (packed / "verify.json").write_text(content)
    with refused(SystemExit, "verify.json", "bankgcn paper verify --json"):
        main([str(packed), "--out", "page.md"])
    assert not Path("page.md").exists()


def test_a_folder_without_records_is_refused(packed: Path) -> None:
    with pytest.raises(SystemExit, match="error: gone: there are no records"):
        main(["gone", "--out", "page.md"])
    assert not Path("page.md").exists()


def test_at_least_one_seed_chooses(packed: Path) -> None:
    with refused(SystemExit, "--search-runs 0"):
        main([str(packed), "--out", "page.md", "--search-runs", "0"])
