"""``bankgcn paper figure``: pictures of a run; of the paper's tables, and its Figure 3, from records alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bankgcn.cli.options import DataRoot
from bankgcn.cli.output import check_not_input, say
from bankgcn.cli.paper_options import (
    DEFAULT_STORE,
    StoreFolder,
    TableSelection,
    takes_selection,
)
from bankgcn.cli.stored import stored_part
from bankgcn.experiments.design import Figure
from bankgcn.extras import require
from bankgcn.files.atomic import atomic_write
from bankgcn.report.curves import CURVES, draw_curve
from bankgcn.report.plots import IMAGES, draw_dots, draw_filters, draw_ranks
from bankgcn.report.results import Results, collect
from bankgcn.settings import pick

PICTURES: dict[str, tuple[str, Callable[[Results, str], bytes]]] = {
    "table1": ("table1", draw_dots),
    "table4": ("table4", draw_dots),
    "ranks": ("table1", draw_ranks),
    **{name: (curve.table, partial(draw_curve, curve)) for name, curve in CURVES.items()},
}
"""The pictures of tables by name: the table, and what draws it."""


@takes_selection()
def draw_figure(
    what: Annotated[
        str,
        typer.Argument(
            help="Folder of a run; or figure3; or of a table: table1 or table4 (all models), ranks (over datasets of "
            "table1), K or s (table2), gamma (table3).",
            metavar="RUN|FIGURE",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Image file, in the format of its suffix: {', '.join(IMAGES)}. Of a run, also a folder for all its "
            "pictures in all formats; by default 'figures' in the folder of the run.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        str, typer.Option(help="Of a run, the picture for an image file, such as loss, roc or energy.")
    ] = "filters",
    selection: TableSelection,
    store: StoreFolder = DEFAULT_STORE,
    data_root: DataRoot = None,
) -> None:
    """Draw the pictures of a run, a picture of one of the paper's tables, or its Figure 3; nothing is trained."""
    if Path(what).is_dir():
        require("matplotlib", "bankgcn paper figure")
        from bankgcn.cli.run_figures import draw_run  # loads PyTorch

        draw_run(Path(what), out, picture, data_root)
        return
    pick({"figure3": None, **PICTURES}, what, "figure")
    if out is None:
        raise ValueError(f"name the image file: bankgcn paper figure {what} --out {what}.svg")
    form = out.suffix.lower().removeprefix(".")
    if form not in IMAGES:
        raise ValueError(f"{out}: expected the name of an image that ends in .{', .'.join(IMAGES)}")
    check_not_input(out, store=store)
    require("matplotlib", "bankgcn paper figure")
    table, paint = PICTURES.get(what, ("figure3", None))
    experiment, records = stored_part(table, selection, store)
    if isinstance(experiment, Figure):
        image = draw_filters(experiment, records, form)
    else:
        assert paint is not None
        image = paint(collect(experiment, records), form)
    with atomic_write(out) as file:
        file.write(image)
    say(f"written to {out}")
