"""The pictures of a run as image files, for ``bankgcn paper figure RUN``."""

from __future__ import annotations

from pathlib import Path

from bankgcn.cli.model_input import examine_run
from bankgcn.cli.output import check_not_input, say
from bankgcn.cli.settings import READING
from bankgcn.files.atomic import atomic_write
from bankgcn.report.page.page import paint_figure
from bankgcn.report.page.run_page import run_figures
from bankgcn.report.plots import IMAGES
from bankgcn.settings import pick
from bankgcn.training.ensemble import Ensemble

FOLDER = "figures"


def draw_run(run: Path, out: Path | None, picture: str, data_root: Path | None) -> None:
    """Write one picture of a run to an image file, or all of them to a folder in all formats.

    Args:
        run: Folder of the run.
        out: Image file, or folder; by default ``figures`` in the folder of the run.
        picture: The picture for an image file.
        data_root: Where to look for datasets first.
    """
    out = out or run / FOLDER
    form = out.suffix.lower().removeprefix(".")
    if form and form not in IMAGES:
        raise ValueError(f"{out}: expected a folder, or the name of an image that ends in .{', .'.join(IMAGES)}")
    if form and out.exists():
        check_not_input(out, run=run, sources=Ensemble.load(run).sources, data_root=data_root)
    evidence = examine_run(run, None, None, data_root, dict.fromkeys(READING))
    figures = {figure.name: figure for part in run_figures(evidence).values() for figure in part}
    chosen = [pick(figures, picture, f"picture of {run}")] if form else list(figures.values())
    files = {
        out if form else out / f"{figure.name}.{kind}": paint_figure(figure, kind)
        for figure in chosen
        for kind in ([form] if form else IMAGES)
    }
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    say(f"written to {out}" + ("" if form else f": {', '.join(figures)}, each as {', '.join(IMAGES)}"))
