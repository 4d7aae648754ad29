"""The page with the form, as text and in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bankgcn.data.readers.molecules import from_smiles
from serve_runs import SMILES, Service, running, save_run

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of molecules that predicts two values."""
    return save_run(tmp_path_factory.mktemp("runs") / "molecules", from_smiles(SMILES), "values")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium, such as Debian's: apt-get install chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_the_page_loads_nothing_and_runs_its_own_script_alone(service: Service) -> None:
    status, page, headers = service.request("GET", "/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert "{{" not in page
    assert not re.search(r"(src|href)=.?(https?:)?//", page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}';" in policy


def test_with_a_token_the_page_tells_nothing_of_the_model(molecules: Path) -> None:
    with running(molecules, token=TOKEN) as service:
        status, page, _ = service.request("GET", "/")
        assert service.request("POST", "/predict", {"smiles": ["C"], "pictures": True})[0] == 401
    assert status == 200
    assert TOKEN not in page
    assert "logp" not in page


def test_pictures_are_svg_and_bounded(molecules: Path, service: Service) -> None:
    with running(molecules) as own:
        status, content = own.predict(smiles=["CCO", "C" * 500, "[Na+].[Cl-]"], pictures=True)
        assert status == 200
        pictures = [one["picture"] for one in content["predictions"]]
        assert pictures[1] is None
        for picture in (pictures[0], pictures[2]):
            assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
        plain = own.predict(smiles=["CCO", "C" * 500, "[Na+].[Cl-]"])[1]["predictions"]
        assert [{"values": one["values"]} for one in content["predictions"]] == plain
        status, content = own.predict(smiles=["C"] * 21, pictures=True)
        assert (status, content["detail"]) == (
            413,
            "there are 21 molecules, and a request with pictures may have 20",
        )
        assert own.predict(smiles=["C"], pictures=1)[1]["detail"] == "'pictures' is a number, expected true or false"
    status, content = service.predict(graphs=[{}], pictures=True)
    assert (status, content["detail"]) == (422, "'pictures' needs 'smiles': graphs have no structural formula")


def opened(browser: Any, service: Service) -> tuple[Any, list[str]]:
    """The page in the browser, and a list of what goes wrong and of addresses elsewhere."""
    page, wrong = browser.new_page(), list[str]()
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    own = f"http://127.0.0.1:{service.port}/"
    page.on("request", lambda sent: wrong.append(sent.url) if not sent.url.startswith((own, "data:")) else None)
    page.goto(own)
    return page, wrong


@pytest.mark.slow
def test_a_molecule_is_predicted_and_drawn_in_a_browser(browser: Any, molecules: Path) -> None:
    with running(molecules) as service:
        page, wrong = opened(browser, service)
        page.fill("#input", "CCO\n\n c1ccccc1 ")
        page.click("#send")
        page.wait_for_selector(".card")
        expected = service.predict(smiles=["CCO", "c1ccccc1"])[1]["predictions"]
        assert page.locator(".card").count() == 2
        assert page.eval_on_selector_all(".card img", "all => all.map(one => one.naturalWidth > 0)") == [True, True]
        assert f"{expected[1]['values']['logp']:.4f}" in page.locator(".card").nth(1).inner_text()
        assert '{"smiles":["CCO","c1ccccc1"]}' in page.inner_text("#curl")
        assert "10,000" in page.inner_text("#limits")
        assert wrong == []
        for text, message in (("C1CC", "smiles[0]: unclosed ring"), ("", "Type a SMILES"), ("{", "This is not JSON")):
            page.fill("#input", text)
            page.click("#send")
            page.wait_for_selector("#error:not([hidden])")
            page.wait_for_function("!document.getElementById('send').disabled")
            assert message in page.inner_text("#error")
        assert page.locator(".card").count() == 0
        page.close()


@pytest.mark.slow
def test_the_page_takes_graphs_and_a_token(browser: Any, run: Path) -> None:
    with running(run, token=TOKEN) as service:
        page, wrong = opened(browser, service)
        assert "needs a token" in page.inner_text("#about")
        page.fill("#token", TOKEN)
        page.click("#send")
        page.wait_for_selector(".card")
        page.wait_for_selector("#limits tr")
        assert "no, perhaps, yes" in page.inner_text("#about")
        assert page.locator(".best").count() == 1
        assert "Bearer $BANKGCN_TOKEN" in page.inner_text("#curl")
        assert TOKEN not in page.inner_text("#curl")
        assert wrong == []
        page.close()
