"""Explain the predictions of a run, and write them as a table, as JSON or as a page."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bankgcn.cli.model_input import examine, numbered, output_number, read_input
from bankgcn.cli.output import check_not_input, is_standard_output, named, open_output, say, write_columns
from bankgcn.cli.progress import Progress
from bankgcn.explain import METHODS, explain, explanation_columns, explanation_json, explanation_rows
from bankgcn.report.page.drawing import node_words
from bankgcn.report.page.graphs import PredictedGraphs, browse
from bankgcn.report.page.page import Page, Section, write_html
from bankgcn.report.page.run_page import HOW_TO_READ, page_title
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel


def explain_run(
    run: Path,
    source: str | None,
    graphs: str | None,
    label: str | None,
    out: Path,
    form: str,
    part: str | None,
    data_root: Path | None,
    flags: dict[str, Any],
    spreadsheet_safe: bool = False,
) -> None:
    """Explain graphs and write the file; the arguments are those of the command, and the ending of the file."""
    ensemble = Ensemble.load(run)
    check_not_input(out, run=run, sources=(source, *ensemble.sources), data_root=data_root)
    output = output_number(ensemble.task, label)
    found = read_input(ensemble, source, data_root, flags, part=part)
    if len(ensemble.members) > 1 and found.voters is None:
        first, model = next(iter(ensemble.members.items()))
        say(f"note: {len(ensemble.members)} models; the first is explained, {first}", stderr=True)
        ensemble = Ensemble({first: model})
    models = list(ensemble.members.values())
    rows = found.source_rows.tolist()
    examined = examine(ensemble, found)
    chosen = _chosen(graphs, rows, examined.names)
    if form == ".html":
        content = _page(ensemble, examined, chosen, output, f"bankgcn explain {shlex.quote(str(run))}")
        with open_output(out) as file:
            file.write(content)
    else:
        _write(out, form, models, examined, chosen, rows, output, spreadsheet_safe)
    say(f"{len(chosen):,} explanations are in {named(out)}", stderr=is_standard_output(out))


def _write(
    out: Path,
    form: str,
    models: Sequence[TrainedModel],
    examined: PredictedGraphs,
    chosen: Sequence[int],
    numbers: Sequence[int],
    output: int | None,
    spreadsheet_safe: bool,
) -> None:
    """Explain the graphs one after another, and write them as a table or as JSON."""
    task = models[0].task
    outputs = range(len(task.names)) if output is None else [output]
    table, entries, method = [], [], ""
    with Progress("explaining graphs") as progress:
        for done, place in enumerate(chosen):
            graph = examined.graphs[[place]]
            found = explain(examined.explainer(models, place), graph)
            number, name, method = numbers[place], examined.names[place], found.method
            if name == numbered(number):  # it has no id: a molecule says more than its row
                name = examined.smiles[place] or name
            rows = list(explanation_rows(found, node_words(graph)))
            if form == ".json":
                entries.append(explanation_json(task, number, name, method, rows, outputs))
            else:
                table.append((number, name, rows))
            progress.update(done + 1, len(chosen))
    if form == ".json":
        with open_output(out) as file:
            file.write(json.dumps(entries, indent=1, allow_nan=False).encode() + b"\n")
    else:
        write_columns(out, explanation_columns(task, table, outputs), spreadsheet_safe)
    if method:
        say(METHODS[method], stderr=True)


def _page(
    ensemble: Ensemble, examined: PredictedGraphs, chosen: Sequence[int], output: int | None, origin: str
) -> bytes:
    with Progress("explaining graphs") as progress:
        graphs = browse(list(ensemble.members.values()), examined, chosen, HOW_TO_READ, output, progress.update)
    section = Section(name="graphs", title="Single graphs", text="", items=(graphs,))
    title = f"Explanations: {page_title(ensemble, examined.graphs.name)}"
    return write_html(
        Page(title=title, subtitle=f"{len(chosen):,} graphs", tiles=(), sections=(section,), origin=origin)
    )


def _chosen(graphs: str | None, rows: Sequence[int], ids: Sequence[str]) -> list[int]:
    """Places of the graphs with these ids or rows; all of them by default."""
    if graphs is None:
        return list(range(len(rows)))
    by_id: dict[str, list[int]] = {}
    for place, name in enumerate(ids):
        by_id.setdefault(name, []).append(place)
    chosen: list[int] = []
    for word in [graphs] if graphs in by_id else map(str.strip, graphs.split(",")):
        numbers = _rows_of(word)
        found = [place for place, row in enumerate(rows) if row in numbers]  # rows without a graph have no place
        if word in by_id:  # an id comes first: it may look like a number
            chosen += by_id[word]
        elif found and numbers[-1] <= max(rows):
            chosen += found
        else:
            known = f"rows from {min(rows)} to {max(rows)}" if rows else "no graphs"
            raise ValueError(
                f"--graphs {graphs}: {word!r} is no id and no row with a graph; there are {known} (0-3 is a range)"
            )
    return list(dict.fromkeys(chosen))


def _rows_of(word: str) -> range:
    """The rows that a number, or a range such as 3-5, stands for; none if it is neither."""
    found = re.fullmatch(r"([0-9]{1,15})(?:-([0-9]{1,15}))?", word)
    return range(0) if found is None else range(int(found[1]), int(found[2] or found[1]) + 1)
