"""``bankgcn explain``: which nodes and which frequencies decide predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.output import (
    OR_STANDARD_OUTPUT,
    SpreadsheetSafe,
    check_ending,
    check_spreadsheet_safe,
    ending_of,
    is_standard_output,
)
from bankgcn.cli.settings import APPLYING, DataRoot, LabelOption, Part, SourceArgument, Threads, with_settings
from bankgcn.report.page.page import check_available

FORMS = (".csv", ".json", ".html")


@with_settings(APPLYING)
def explain(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder of a run, or of several: the first is explained, or in a cross-validation with --part test "
            "the one that was tested on the graph.",
        ),
    ],
    source: SourceArgument = None,
    graphs: Annotated[
        str | None,
        typer.Option(
            metavar="IDS",
            help="Graphs by their ids, or by their rows in the source, from 0, such as 0-3,7; by default all.",
            show_default=False,
        ),
    ] = None,
    label: LabelOption = None,
    out: Annotated[Path, typer.Option(help=f"File to write: {', '.join(FORMS)}; {OR_STANDARD_OUTPUT}")] = Path(
        "explanations.csv"
    ),
    part: Part = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    data_root: DataRoot = None,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Write which nodes and which frequencies decide the predictions for graphs.

    Where the head of the network is linear and nothing is pooled, contributions are exact: those of the nodes and the
    constant add up to the logit or value. Elsewhere they say how much it falls without the node.
    """
    if not is_standard_output(out):
        check_ending(out, *FORMS)
    check_spreadsheet_safe(out, spreadsheet_safe)
    form = ending_of(out)
    if form == ".html":
        check_available("the page of bankgcn explain")
    import torch

    from bankgcn.cli.explanations import explain_run

    torch.set_num_threads(threads)
    explain_run(run, source, graphs, label, out, form, part, data_root, flags, spreadsheet_safe)
