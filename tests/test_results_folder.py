"""The records in the repository: the page on the reproduction and its pictures come out of them, byte for byte."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from bankgcn.cli.output import VERIFIED
from bankgcn.experiments.store import read_packed
from bankgcn.experiments.verify import read_verification
from reproduction.markdown import FOLDER
from reproduction.page import Document, write_document

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
PAGE = ROOT / "docs" / "reproduction.md"


@pytest.fixture(scope="module")
def document() -> Document:
    verified = RESULTS / VERIFIED
    return write_document(read_packed(RESULTS), verified=read_verification(verified) if verified.exists() else None)


def test_every_table_and_sentence_of_the_page_comes_out_of_the_records(document: Document) -> None:
    assert document.text.encode() == PAGE.read_bytes(), (
        "run 'python scripts/reproduction_page.py results --out docs/reproduction.md'"
    )


def test_every_picture_comes_out_of_the_records(document: Document) -> None:
    drawn_with = re.search(r"^matplotlib==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert drawn_with is not None
    if metadata.version("matplotlib") != drawn_with[1]:
        pytest.skip(
            f"the pictures were drawn with matplotlib {drawn_with[1]}, whose bytes other versions do not repeat"
        )
    assert document.pictures
    for name, content in document.pictures.items():
        assert (PAGE.parent / FOLDER / name).read_bytes() == content, name


def test_the_page_and_the_readme_show_only_pictures_that_are_there(document: Document) -> None:
    shown = [PAGE.parent / path for path in re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text())]
    shown += [ROOT / path for path in re.findall(r"!\[.*?\]\((docs/.*?)\)", (ROOT / "README.md").read_text())]
    assert len(shown) > len(document.pictures)
    assert all(path.exists() for path in shown)


def test_the_readme_leaves_the_figures_to_the_page() -> None:
    (line,) = (line for line in (ROOT / "README.md").read_text().splitlines() if "docs/reproduction.md" in line)
    assert not re.search(r"\d", line), "figures of the reproduction are written from the records, into the page alone"


def test_the_records_stay_small() -> None:
    assert sum(path.stat().st_size for path in RESULTS.rglob("*.jsonl")) < 20_000_000
