"""Pages in a real browser: Debian's Chromium, driven by Playwright. Skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.data.builtin.mutag import mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.experiments import RunSpec
from bankgcn.report.page.browser import Examined, browse
from bankgcn.report.page.page import Graphs, Page, Section, write_html
from bankgcn.report.page.run_page import RunEvidence, run_page
from bankgcn.report.page.store_page import store_page
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import ModelConfig, TrainedModel
from fake_records import fake_record

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EVIL = "<script>document.title = 'broken'</script><img src=x onerror=alert(1)>"
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of a run, whose names are evil, and the page of a store."""
    folder = tmp_path_factory.mktemp("pages")
    torch.manual_seed(0)
    config = ModelConfig(hidden_channels=16, num_layers=2)
    graphs, task = mutag()[:30], Task(names=(EVIL, "harmless"))
    model = TrainedModel(config.build(7, 2).eval(), config, task, 7)
    predictions = model.predictions(graphs).numpy()
    names = tuple(f"{EVIL} {number}" for number in range(30))
    found = Examined(graphs, predictions, np.arange(30) % 2, names, (None,) * 30)
    evidence = RunEvidence.of(Ensemble({folder / "run": model}), found, "test graphs")
    (folder / "run.html").write_bytes(write_html(run_page(evidence, 5, "bankgcn report RUN")))
    configs = [
        RunSpec(dataset=dataset).with_(conv=conv, seed=seed, weight_decay=decay)
        for dataset in ("MUTAG", "NCI1")
        for conv in ("bank", "gcn", "gin")
        for decay in (0.0, 1e-4)
        for seed in range(3)
    ]
    (folder / "store.html").write_bytes(write_html(store_page([fake_record(c) for c in configs], "bankgcn report")))
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium, such as Debian's: apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page in the browser, with all that it complained about or asked for."""

    def __init__(self, browser: Any, path: Path, size: str = "desktop", scheme: str = "light"):
        width, height = SIZES[size]
        self.width = width
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.trouble.append("dialog"), dialog.dismiss()))
        self.page.on("request", self._note_request)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]")

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.trouble.append(f"request to {request.url}")

    def show_all(self) -> None:
        """Scroll through the page, so that every figure is drawn."""
        for figure in self.page.query_selector_all("[data-figure]"):
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".main-svg")

    def count(self, selector: str) -> int:
        return len(self.page.query_selector_all(selector))


@pytest.mark.parametrize(("name", "size"), [("run", "phone"), ("run", "desktop"), ("store", "phone")])
def test_all_figures_are_drawn_within_the_width_without_errors_or_requests(
    browser: Any, pages: Path, name: str, size: str
) -> None:
    visit = Visit(browser, pages / f"{name}.html", size)
    visit.show_all()
    assert visit.trouble == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= visit.width
    assert visit.page.title() != "broken"
    assert visit.count(".scatterlayer .trace") > 2
    assert not visit.page.is_visible("#trouble")


def test_print_draws_figures_that_nobody_scrolled_to(browser: Any, pages: Path) -> None:
    visit = Visit(browser, pages / "store.html", "phone")
    figures = visit.count("[data-figure]")
    assert visit.count("[data-figure] .main-svg:first-child") < figures
    visit.page.pdf()
    assert visit.count("[data-figure] .main-svg:first-child") == figures
    assert visit.trouble == []


def test_a_click_on_a_graph_shows_it(browser: Any, pages: Path) -> None:
    visit = Visit(browser, pages / "run.html")
    first = visit.page.inner_text(".detail h4")
    visit.page.click(".entry:nth-child(3)")
    shown = visit.page.inner_text(".detail h4")
    assert shown != first
    assert shown.startswith(EVIL)  # as text
    nodes = int(visit.page.inner_text(".detail > .caption").split("; ")[-1].split()[0])
    assert visit.count(".drawing circle") == nodes
    assert visit.count(".thumbs svg") == 8
    visit.page.select_option(".view", "signal")
    assert "C" in visit.page.inner_text(".drawing .legend")
    visit.page.fill(".search", "no such name")
    assert not visit.page.is_visible(".entry:nth-child(1)")
    assert visit.trouble == []


def test_values_have_no_bars_of_probabilities_and_a_graph_without_nodes_says_so(browser: Any, tmp_path: Path) -> None:
    config = ModelConfig(hidden_channels=16, num_layers=2)
    task = Task(kind="values", names=("u",), center=(0.0,), scale=(1.0,))
    model = TrainedModel(config.build(1, 1).eval(), config, task, 1)
    graphs = GraphSet.from_edges([2, 0], np.array([[0, 1], [1, 0]]), attributes=np.ones((2, 1), np.float32))
    entries = browse([model], Examined(graphs, np.full((2, 1), 0.5), None, ("pair", "empty"), (None, None)), [0, 1])
    section = Section(name="graphs", title="", text="", items=(Graphs(caption="", entries=entries),))
    (tmp_path / "page.html").write_bytes(write_html(Page(title="", subtitle="", tiles=(), sections=(section,))))
    visit = Visit(browser, tmp_path / "page.html")
    assert visit.page.inner_text(".detail .bar").split() == ["u", "0.5"]
    assert visit.count(".detail .bar i") == 0
    visit.page.click(".entry:nth-child(2)")
    assert "The graph has no nodes." in visit.page.inner_text(".detail")
    assert visit.trouble == []


def test_the_choice_of_layer_and_shortcut_changes_the_curves(browser: Any, pages: Path) -> None:
    visit = Visit(browser, pages / "run.html")
    figure = visit.page.query_selector("[data-figure=filters]")
    figure.scroll_into_view_if_needed()
    figure.wait_for_selector(".main-svg")
    values = "figure => figure.querySelector('.chart').data[1].y.slice(0, 3)"
    left_out = figure.evaluate(values)
    figure.query_selector_all("select")[1].select_option(label="added")
    added = figure.evaluate(values)
    np.testing.assert_allclose(np.array(added) - left_out, 1, atol=1e-3)
    figure.query_selector_all("select")[0].select_option(label="layer 2")
    assert figure.evaluate(values) != added
    assert "Ω" in visit.page.inner_text("[data-figure=filters] .fact")
    dashes = figure.evaluate("figure => figure.querySelector('.chart').data.filter(t => t.name).map(t => t.line.dash)")
    assert len(set(dashes)) == len(dashes) == 8  # so that the curves differ without colours, too


def test_dark_mode_follows_the_system(browser: Any, pages: Path) -> None:
    page = Visit(browser, pages / "store.html", scheme="dark").page
    for part, color in (("backgroundColor", range(150)), ("color", range(600, 766))):
        found = page.evaluate(f"getComputedStyle(document.body).{part}")
        assert sum(map(int, found[4:-1].split(", "))) in color
