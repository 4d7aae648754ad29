"""The HTML file: self-contained, escaped, the same bytes each time."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from bankgcn.report.page import page as pages
from bankgcn.report.page.page import (
    Axis,
    Chart,
    Choice,
    Facts,
    Figure,
    Graphs,
    Page,
    Section,
    Series,
    Table,
    Tile,
    plain,
    write_html,
)
from refusals import refused

EVIL = "<script>alert('x')</script>"
CHART = Chart(x=Axis(title=EVIL), y=Axis(), series=(Series(name=EVIL, x=(EVIL,), y=(1.0,), text=(EVIL,)),))


def evil_page() -> Page:
    items = (
        Figure(name="one", title=EVIL, caption=EVIL, charts=(CHART,), facts=(EVIL,)),
        Table(caption=EVIL, header=(EVIL,), rows=((EVIL, EVIL),)),
        Facts(title=EVIL, rows=((EVIL, EVIL),)),
        Graphs(caption=EVIL, entries=[{"name": EVIL, "rows": [[EVIL, 0.5]]}]),
    )
    section = Section(name="all", title=EVIL, text=EVIL, items=items)
    return Page(
        title=EVIL,
        subtitle=EVIL,
        tiles=(Tile(label=EVIL, value=EVIL, note=EVIL),),
        sections=(section,),
        notes=(EVIL,),
        origin=EVIL,
    )


def test_no_text_of_the_data_becomes_markup() -> None:
    html = write_html(evil_page()).decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html
    assert len(re.findall(r"</script>", html)) == 3  # the page's own: data, Plotly and the program


def test_a_page_asks_for_nothing_from_outside() -> None:
    html = write_html(evil_page()).decode()
    own = re.sub(r'<script type="text/plain".*?</script>', "", html, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?!data:,|#)', own)
    assert "default-src 'none'" in own


def test_the_same_page_has_the_same_bytes() -> None:
    assert write_html(evil_page()) == write_html(evil_page())


def test_data_in_a_page_is_json_with_short_finite_numbers() -> None:
    data = json.loads(pages.embedded({"a": [1 / 3, float("nan"), "</script>"], "b": np.float64(2)}))
    assert data == {"a": [0.33333, None, "</script>"], "b": 2.0}
    assert plain(CHART)["series"][0]["color"] == 0


def test_a_figure_needs_a_chart_for_each_combination_of_choices() -> None:
    figure = Figure(name="f", title="", caption="", charts=(CHART,))
    with pytest.raises(ValueError, match="1 charts for 2 choices"):
        replace(figure, choices=(Choice(name="layer", labels=("1", "2")),))


def test_a_missing_library_is_named_before_work_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with refused(ImportError, "pip install 'bankgcn[report]'"):
        pages.check_available()
