"""Pages in a real browser: Debian's Chromium, driven by Playwright. Skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.experiments import RunSpec
from bankgcn.report.page.graphs import PredictedGraphs, browse
from bankgcn.report.page.page import Page, Section, write_html
from bankgcn.report.page.quality import quality_figures
from bankgcn.report.page.run_page import RunEvidence, run_page
from bankgcn.report.page.store_page import store_page
from bankgcn.tasks import Task
from bankgcn.training.config import ModelConfig
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel
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
    found = PredictedGraphs(graphs, predictions, np.arange(30) % 2, names, (None,) * 30)
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
        """Unfold all, and scroll through the page, so that every figure is drawn."""
        self.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
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
    assert visit.count(".entry:nth-child(3) .thumb circle") == nodes
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
    shown = browse(
        [model], PredictedGraphs(graphs, np.full((2, 1), 0.5), None, ("pair", "empty"), (None, None)), [0, 1]
    )
    section = Section(name="graphs", title="", text="", items=(shown,))
    (tmp_path / "page.html").write_bytes(write_html(Page(title="", subtitle="", tiles=(), sections=(section,))))
    visit = Visit(browser, tmp_path / "page.html")
    assert visit.page.inner_text(".detail .bar").split() == ["u", "0.5", "not", "known"]
    assert visit.count(".detail .bar i") == 0
    visit.page.click(".entry:nth-child(2)")
    assert "The graph has no nodes." in visit.page.inner_text(".detail")
    assert visit.trouble == []


def test_the_choice_of_layer_and_shortcut_changes_the_curves(browser: Any, pages: Path) -> None:
    visit = Visit(browser, pages / "run.html")
    visit.page.click("nav a[href='#filters']")  # which unfolds the section
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


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of molecules with 12 labels."""
    smiles = ("CC(=O)Oc1ccccc1C(=O)O", "C[NH3+]", "Clc1ccccc1") * 10
    names = tuple(f"{name}-{copy}" for copy in range(10) for name in ("aspirin", "ion", "ring"))
    graphs = GraphSet.from_smiles(list(smiles))
    torch.manual_seed(0)
    config = ModelConfig(hidden_channels=16, num_layers=2)
    task = Task(kind="labels", names=tuple(f"L{c}" for c in range(12)))
    model = TrainedModel(config.build(graphs.num_features, 12).eval(), config, task, graphs.num_features)
    y = np.tile([0.0, 1.0, np.nan], (30, 4))
    y[15:] = np.roll(y[15:], 1, axis=1)  # so that labels have both answers
    found = PredictedGraphs(graphs, np.full((30, 12), 0.2), y, names, smiles)
    evidence = RunEvidence.of(Ensemble({tmp_path_factory.mktemp("none"): model}), found, "test graphs")
    path = tmp_path_factory.mktemp("labelled") / "page.html"
    path.write_bytes(write_html(run_page(evidence, 30, "")))
    return path


@pytest.mark.parametrize("size", SIZES)
def test_with_12_labels_a_reader_sees_all_with_their_truth_and_chooses_which_is_explained(
    browser: Any, labelled: Path, size: str
) -> None:
    visit = Visit(browser, labelled, size)
    assert visit.count(".detail .bar") == 12
    told = [row.inner_text().split("\n")[-1] for row in visit.page.query_selector_all(".detail .bar")]
    assert told[:3] == ["true 0", "true 1 ✗", "not known"]
    assert "L1" in visit.page.inner_text(".bar.explained")  # the coloured label is among those shown
    assert "for L1" in visit.page.inner_text(".scale")
    fills = "[...document.querySelectorAll('.drawing circle')].map((circle) => circle.getAttribute('fill'))"
    before = visit.page.evaluate(fills)
    scale = visit.page.inner_text(".scale").replace("L1", "")
    visit.page.select_option(".output", label="L4")
    assert "L4" in visit.page.inner_text(".bar.explained")
    assert visit.page.evaluate(fills) != before
    visit.page.click(".entry:nth-child(2)")
    assert "adds to L4" in visit.page.inner_text(".drawing")
    assert visit.page.inner_text(".scale").replace("L4", "") == scale  # one for all graphs and labels
    assert "L4 0.2 (true 1)" in visit.page.inner_text(".entry:nth-child(2) .verdict")
    assert visit.trouble == []


def test_molecules_in_the_list_have_ids_and_structures_with_the_labels_of_chemists(
    browser: Any, labelled: Path
) -> None:
    visit = Visit(browser, labelled)
    names = [entry.inner_text() for entry in visit.page.query_selector_all(".entry .name")]
    assert (len(names), names[:3]) == (30, ["aspirin-0", "ion-0", "ring-0"])
    assert 3 <= visit.count(".entry .thumb svg") < 30  # those that are seen
    visit.page.click(".entry:has-text('ion-0')")
    words = visit.page.evaluate("[...document.querySelectorAll('.drawing text')].map((text) => text.textContent)")
    assert sorted(words) == ["+", "3", "H", "N"]
    visit.page.fill(".search", "CC(=O)O")  # part of a SMILES
    assert [entry.is_visible() for entry in visit.page.query_selector_all(".entry")].count(True) == 10


def test_bars_of_frequencies_have_the_colours_of_their_signs(browser: Any, labelled: Path) -> None:
    visit = Visit(browser, labelled)
    visit.page.click(".frequencies summary")
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    against, supports = (visit.page.evaluate(f"{style}('{name}').trim()") for name in ("--against", "--for"))
    signs = set()
    for label in range(6):
        visit.page.select_option(".output", label=f"L{label}")
        visit.page.wait_for_selector(".frequencies .main-svg")
        ((values, colors),) = visit.page.evaluate(
            "[...document.querySelectorAll('.frequencies .chart')].flatMap((chart) => chart.data || [])"
            ".filter((trace) => trace.type === 'bar').map((trace) => [trace.y, trace.marker.color])"
        )
        assert colors == [against if value < 0 else supports for value in values]
        signs |= {value < 0 for value in values}
    assert signs == {True, False}


def test_the_frequencies_stay_unfolded_for_the_next_label_at_once(browser: Any, labelled: Path) -> None:
    visit = Visit(browser, labelled)
    # In one task, so that the page has not been told yet that its fold was opened.
    visit.page.evaluate(
        "() => { document.querySelector('.frequencies summary').click();"
        " const choice = document.querySelector('.output'); choice.selectedIndex = 2;"
        " choice.dispatchEvent(new Event('change')); }"
    )
    visit.page.wait_for_selector(".frequencies[open] .main-svg", timeout=5000)


def test_frequencies_come_after_the_molecules_and_are_folded(browser: Any, labelled: Path) -> None:
    visit = Visit(browser, labelled)
    sections = visit.page.evaluate("[...document.querySelectorAll('section')].map((section) => section.id)")
    assert sections.index("filters") == sections.index("graphs") + 1
    assert not visit.page.is_visible("[data-figure=filters]")
    visit.page.click("nav a[href='#filters']")
    assert visit.page.is_visible("[data-figure=filters]")


def test_twelve_curves_have_twelve_styles_in_a_square_with_the_legend_beside_it(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    task = Task(kind="labels", names=tuple(f"NR-number-{c}" for c in range(12)))
    figures = tuple(quality_figures(task, rng.random((40, 12)), rng.integers(2, size=(40, 12)).astype(float), "graphs"))
    section = Section(name="quality", title="", text="", items=figures)
    (tmp_path / "page.html").write_bytes(write_html(Page(title="", subtitle="", tiles=(), sections=(section,))))
    visit = Visit(browser, tmp_path / "page.html")
    visit.show_all()
    chart = visit.page.query_selector("[data-figure=roc] .chart")
    dashes = chart.evaluate("chart => chart.data.slice(0, 12).map((trace) => trace.line.dash)")
    assert len(set(dashes)) == 12
    plot, legend = (chart.query_selector(name).bounding_box() for name in (".nsewdrag", ".legend"))
    assert plot["width"] == pytest.approx(plot["height"], rel=0.03)
    assert legend["x"] > plot["x"] + plot["width"]
