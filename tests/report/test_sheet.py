"""How sheets are written."""

from __future__ import annotations

from bankgcn.report.sheet import Block, Entry, Sheet, comma_separated, latex, markdown, text

SHEET = Sheet(
    title="A_title & 100%",
    blocks=(
        Block(title="block", header=("", "a, b", "c"), rows=((Entry("x|y"), Entry("1 ± 2", bold=True), Entry("<3")),)),
        Block(title="", header=("", "d"), rows=((Entry("long name"), Entry("4")),)),
    ),
    notes=("first_note", "second"),
)


def test_text_aligns_names_to_the_left_and_figures_to_the_right() -> None:
    assert text(SHEET) == (
        "A_title & 100%\n\nblock\n      a, b   c\nx|y  1 ± 2  <3\n\n           d\nlong name  4\n\nfirst_note\nsecond\n"
    )


def test_markdown_takes_no_name_for_a_command() -> None:
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


def test_csv_quotes_what_has_commas() -> None:
    assert comma_separated(SHEET) == ',"a, b",c\nx|y,1 ± 2,<3\n'
