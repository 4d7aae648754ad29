"""Sheets: numbers as text, and the formats."""

from __future__ import annotations

import math

import pytest

from bankgcn.metrics import METRICS
from bankgcn.report.sheet import (
    MORE,
    WRITERS,
    Block,
    Entry,
    Sheet,
    comma_separated,
    count,
    difference,
    exact,
    latex,
    markdown,
    mean_std,
    number,
    p_value,
    percentage,
    text,
    unit,
    write_sheet,
)

ACCURACY, MAE = METRICS["accuracy"], METRICS["mae"]


def test_scores_in_percent_have_two_decimals_and_others_four_digits() -> None:
    assert (number(66.6666, ACCURACY), unit(ACCURACY)) == ("66.67", " in %")
    assert (number(0.0123456, MAE), number(1234.56, MAE), unit(MAE)) == ("0.01235", "1235", "")


def test_a_single_run_has_no_deviation() -> None:
    assert mean_std(66.6666, 5.0, ACCURACY) == "66.67 ± 5.00"
    assert mean_std(0.5, math.nan, MAE) == "0.5"


def test_differences_have_a_sign_and_there_is_no_negative_zero() -> None:
    assert [difference(value, ACCURACY) for value in (1.5, -0.001, math.nan)] == ["+1.50", "+0.00", "-"]
    assert [difference(value, MAE) for value in (-0.012345, -0.0)] == ["-0.01235", "+0"]
    assert [percentage(value) for value in (-34.51, math.nan)] == ["-34.5%", "-"]


def test_unknown_values_are_marked() -> None:
    assert [p_value(value) for value in (0.0001, 0.0499, math.nan)] == ["<0.001", "0.050", "-"]
    assert [count(value) for value in (12352, None)] == ["12,352", "-"]
    assert [exact(value) for value in (0.1, None, math.nan)] == ["0.1", "", ""]


SHEET = Sheet(
    title="A_title & 100%",
    blocks=(
        Block(title="block", header=("", "a, b", "c"), rows=((Entry("x|y"), Entry("1 ± 2", bold=True), Entry("<3")),)),
        Block(title="", header=("", "d"), rows=((Entry("long name"), Entry("4")),)),
    ),
    footer=("first_note", "second"),
)


def test_text_aligns_names_to_the_left_and_figures_to_the_right() -> None:
    assert text(SHEET) == (
        "A_title & 100%\n\nblock\n      a, b   c\nx|y  1 ± 2  <3\n\n           d\nlong name  4\n\nfirst_note\nsecond\n"
    )


def test_markdown_escapes_special_characters() -> None:
    written = markdown(SHEET)
    assert "| x\\|y | **1 ± 2** | \\<3 |" in written
    assert "- first\\_note" in written
    assert "|  | a, b | c |\n| :-- | --: | --: |" in written


def test_latex_escapes_and_balances() -> None:
    written = latex(SHEET)
    assert r"\caption{A\_title \& 100\%}" in written
    assert r"x$|$y & \textbf{1 $\pm$ 2} & $<$3 \\" in written
    assert written.count(r"\begin{tabular}") == written.count(r"\end{tabular}") == 2
    assert written.count("{") - written.count(r"\{") == written.count("}") - written.count(r"\}")


def test_wide_blocks_are_shrunk_to_the_page() -> None:
    header = ("", *"abcdef")
    wide = Sheet(title="", blocks=(Block(title="", header=header, rows=(tuple(map(Entry, header)),)),))
    assert r"\resizebox{\linewidth}{!}{%" in latex(wide)
    assert latex(wide).count("{") == latex(wide).count("}")
    assert "resizebox" not in latex(SHEET)


def test_csv_quotes_commas_and_marks_the_footer_as_comments() -> None:
    assert comma_separated(SHEET) == ',"a, b",c\nx|y,1 ± 2,<3\n# first_note\n# second\n'
    assert write_sheet(SHEET, "csv") == ',"a, b",c\nx|y,1 ± 2,<3\n'


@pytest.mark.parametrize("form", list(WRITERS))
def test_details_and_notes_are_shown_on_request_only(form: str) -> None:
    detail = Block(title="more", header=("", "detail"), rows=((Entry("z"), Entry("5")),))
    sheet = Sheet(title="t", blocks=SHEET.blocks, footer=("foot",), details=(detail,), notes=("remark",))
    brief, full = (write_sheet(sheet, form, notes) for notes in (False, True))
    assert "remark" in full
    assert "remark" not in brief
    assert ("detail" in full) == (form != "csv")
    assert "detail" not in brief
    assert MORE not in full
    assert (MORE in brief, "foot" in brief) == ((False, False) if form == "csv" else (True, True))


def test_without_anything_more_to_see_the_footer_does_not_promise_it() -> None:
    assert MORE not in write_sheet(SHEET)


def test_long_lines_of_the_footer_are_wrapped_in_text() -> None:
    written = text(Sheet(title="", blocks=(), footer=("word " * 40,)))
    assert max(map(len, written.splitlines())) <= 80
