"""Explain the predictions of a run, and write them as a table, as JSON or as a page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bankgcn.cli.counting import counting
from bankgcn.cli.examined import examine
from bankgcn.cli.messages import say
from bankgcn.cli.model_input import read_input
from bankgcn.cli.output import is_standard_output, named, open_output
from bankgcn.cli.table_output import write_columns
from bankgcn.explain.explanation import METHODS, explain
from bankgcn.explain.tables import explanation_columns, explanation_json, explanation_rows
from bankgcn.report.page.browser import Examined, browse
from bankgcn.report.page.node_words import node_words
from bankgcn.report.page.page import Graphs, Page, Section, write_html
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel


def explain_run(
    run: Path,
    source: str | None,
    graphs: str | None,
    out: Path,
    form: str,
    part: str | None,
    data_root: Path | None,
    flags: dict[str, Any],
) -> None:
    """Explain graphs and write the file; the arguments are those of the command, and the ending of the file."""
    ensemble = Ensemble.load(run)
    found = read_input(ensemble, source, data_root, flags, part=part)
    if len(ensemble.members) > 1 and found.voters is None:
        first, model = next(iter(ensemble.members.items()))
        say(f"note: {len(ensemble.members)} models; the first is explained, {first}", stderr=True)
        ensemble = Ensemble({first: model})
    models = list(ensemble.members.values())
    rows = found.source_rows.tolist()
    chosen = _chosen(graphs, rows)
    examined = examine(ensemble, found)
    if form == ".html":
        content = _page(models, examined, chosen, f"bankgcn explain {shlex.quote(str(run))}")
        with open_output(out) as file:
            file.write(content)
    else:
        _write(out, form, models, examined, chosen, rows)
    say(f"{len(chosen):,} explanations are in {named(out)}", stderr=is_standard_output(out))


def _write(
    out: Path,
    form: str,
    models: Sequence[TrainedModel],
    examined: Examined,
    chosen: Sequence[int],
    numbers: Sequence[int],
) -> None:
    """Explain the graphs one after another, and write them as a table or as JSON."""
    task = models[0].task
    table, entries, method = [], [], ""
    with counting("explaining graphs") as show:
        for done, place in enumerate(chosen):
            graph = examined.graphs[[place]]
            found = explain(examined.explainer(models, place), graph)
            number, name, method = numbers[place], examined.names[place], found.method
            rows = list(explanation_rows(found, node_words(graph)))
            if form == ".json":
                entries.append(explanation_json(task, number, name, method, rows))
            else:
                table.append((number, name, rows))
            show(done + 1, len(chosen))
    if form == ".json":
        with open_output(out) as file:
            file.write(json.dumps(entries, indent=1, allow_nan=False).encode() + b"\n")
    else:
        write_columns(out, explanation_columns(task, table))
    if method:
        say(METHODS[method], stderr=True)


def _page(models: Sequence[TrainedModel], examined: Examined, chosen: Sequence[int], origin: str) -> bytes:
    with counting("explaining graphs") as show:
        entries = browse(models, examined, chosen, show)
    caption = (
        "Choose a graph. What decided: a node in orange speaks for the prediction, one in blue against it. Filter "
        "outputs: the stronger the colour of a node, the stronger the output there."
    )
    section = Section(name="graphs", title="Single graphs", text="", items=(Graphs(caption=caption, entries=entries),))
    title = f"Explanations: {examined.graphs.name or 'graphs'}"
    return write_html(
        Page(title=title, subtitle=f"{len(entries):,} graphs", tiles=(), sections=(section,), origin=origin)
    )


def _chosen(graphs: str | None, rows: Sequence[int]) -> list[int]:
    """Places of the graphs with these rows; all of them by default."""
    if graphs is None:
        return list(range(len(rows)))
    place = {row: number for number, row in enumerate(rows)}
    chosen = []
    for word in graphs.split(","):
        if not word.strip().isdecimal() or int(word) not in place:
            known = f"rows from {min(rows)} to {max(rows)}" if rows else "no graphs"
            raise ValueError(f"--graphs {graphs}: {word.strip()!r} is no row with a graph; there are {known}")
        chosen.append(place[int(word)])
    return list(dict.fromkeys(chosen))
