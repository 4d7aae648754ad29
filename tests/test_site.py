"""The website builds without a warning and needs no other host; links lead somewhere, also in the repository."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bankgcn.cli.commands import load_commands

ROOT = Path(__file__).parent.parent
PAGES = sorted(path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md")) + sorted(
    (ROOT / "docs").glob("*/*.md")
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?((?:https?:)?//[^\"\s>]+)|<link\b[^>]*\bhref=\"?((?:https?:)?//[^\"\s>]+)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]  # --quiet hides warnings
    environment = {name: value for name, value in os.environ.items() if name != "NO_MKDOCS_2_WARNING"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING -" not in done.stderr
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*|@import[^;]*//", sheet.read_text(encoding="utf-8")) == [], (
            sheet
        )


@pytest.mark.slow
def test_the_site_lists_every_command_with_its_options(site: Path) -> None:
    page = (site / "commands.html").read_text(encoding="utf-8")
    for words, _ in load_commands():
        assert re.search(rf"<h2 [^>]*>bankgcn {words}\b", page), words
    assert "<code>--weight-decay</code>" in page
    assert "<!-- commands -->" not in page


@pytest.mark.slow
def test_the_site_shows_docstrings_without_remains_of_other_formats(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert re.findall(r":(?:class|func|meth|mod|data|math):", page) == []
    assert ".. math::" not in page


@pytest.mark.slow
def test_the_pictures_of_filter_banks_are_those_of_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    torch.set_default_dtype(torch.float32)
    script = importlib.import_module("draw_filter_banks")
    page = (ROOT / "docs" / "filter-banks.md").read_text(encoding="utf-8")
    assert sorted(script.PICTURES) == sorted(re.findall(r"figures/([\w-]+)\.svg", page))
    for name in script.PICTURES.keys() - {"bank-learned"}:  # which trains
        size, paint = script.PICTURES[name]
        assert script.render(name, size, paint, "svg").startswith(b"<?xml"), name


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{target} leads to no file"
        assert not anchor or anchor in anchors(file), f"{target} leads to no heading"
