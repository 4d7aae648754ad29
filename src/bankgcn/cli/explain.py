"""``bankgcn explain``: which nodes, edges and frequencies decide predictions, as a table, as JSON or as a page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bankgcn.cli.errors import print_note
from bankgcn.cli.output import OR_STANDARD_OUTPUT, check_ending, is_standard_output, named, open_output, say, write_json
from bankgcn.cli.progress import Progress
from bankgcn.cli.settings import APPLYING, Folders, LabelOption, Part, SourceArgument, Threads, with_settings
from bankgcn.cli.table_output import SpreadsheetSafe, check_spreadsheet_safe, ending_of, write_columns
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.report.page.page import Page, Section, check_available, write_html

if TYPE_CHECKING:  # PyTorch is loaded when the command is run
    from bankgcn.explain import Row
    from bankgcn.report.page.graphs import PredictedGraphs
    from bankgcn.tasks import Task
    from bankgcn.training.ensemble import Ensemble

FORMS = (".csv", ".json", ".html")


class Explained(NamedTuple):
    """A graph and its explanation."""

    number: int  # row in the source
    name: str
    method: str
    rows: list[Row]


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
    folders: Folders = USUAL_FOLDERS,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Write which nodes, edges and frequencies decide the predictions for graphs.

    Where the head of the network is linear and nothing is pooled, contributions are exact: those of the nodes, of the
    features of the graph and the constant add up to the logit or value. Elsewhere they say how much it falls without.
    If the network uses features of edges, each edge has a row, too: how much it falls without the edge.
    """
    if not is_standard_output(out):
        check_ending(out, *FORMS)
    check_spreadsheet_safe(out, spreadsheet_safe)
    form = ending_of(out)
    if form == ".html":
        check_available("the page of bankgcn explain")
    from bankgcn.cli.model_input import examine, output_number
    from bankgcn.cli.open_input import load_models, read_input
    from bankgcn.training.ensemble import Ensemble

    ensemble = load_models(run, out, source, folders, threads)
    output = output_number(ensemble.task, label)
    selected = read_input(ensemble, source, folders, flags, part=part)
    if len(ensemble.members) > 1 and selected.voters is None:
        first = ensemble.shown
        which = "first" if ensemble.weights is None else "first network"
        print_note(f"{len(ensemble.members)} models; the {which} is explained, {first}")
        ensemble = Ensemble({first: ensemble.members[first]})
    _ = ensemble.members[ensemble.shown].network  # or an error that says that there is none
    rows = selected.source_rows.tolist()
    examined = examine(ensemble, selected)
    chosen = _chosen(graphs, rows, examined.names)
    if form == ".html":
        content = _page(ensemble, examined, chosen, output, f"bankgcn explain {shlex.quote(str(run))}")
        with open_output(out) as file:
            file.write(content)
    else:
        explained = _explained(ensemble, examined, {place: rows[place] for place in chosen})
        _write(out, form, ensemble.task, explained, None if output is None else [output], spreadsheet_safe)
    say(f"{len(chosen):,} explanations are in {named(out)}", stderr=is_standard_output(out))


def _explained(ensemble: Ensemble, examined: PredictedGraphs, rows: Mapping[int, int]) -> list[Explained]:
    """Explain graphs one after another.

    Args:
        ensemble: The models.
        examined: The graphs.
        rows: Row in the source of each graph to explain, by its place.
    """
    from bankgcn.cli.model_input import numbered
    from bankgcn.explain import MAX_EDGES, explanation_rows, undirected_edges
    from bankgcn.explain import explain as explain_graph
    from bankgcn.report.page.drawing import edge_words, node_words

    models = list(ensemble.members.values())
    too_many = int((examined.graphs[list(rows)].num_edges > MAX_EDGES).sum())
    if too_many and models[0].edge_dim is not None:
        print_note(f"{too_many:,} graphs have more than {MAX_EDGES:,} edges: what their edges add is left out")
    explained = []
    with Progress("explaining graphs") as progress:
        for place, row in rows.items():
            graph = examined.graphs[[place]]
            explanation = explain_graph(examined.explainer(models, place), graph)
            name = examined.names[place]
            if name == numbered(row):  # it has no id: a molecule says more than its row
                name = examined.smiles[place] or name
            edges = None
            if explanation.edges is not None:
                words, (ends, directed, _) = edge_words(graph), undirected_edges(graph)
                edges = [((a, b), words[one]) for (a, b), one in zip(ends.tolist(), directed.tolist(), strict=True)]
            lines = list(explanation_rows(explanation, node_words(graph), edges))
            explained.append(Explained(row, name, explanation.method, lines))
            progress.update(len(explained), len(rows))
    return explained


def _write(
    out: Path, form: str, task: Task, explained: Sequence[Explained], outputs: list[int] | None, spreadsheet_safe: bool
) -> None:
    """Write explanations of some or all outputs as a table or as JSON."""
    from bankgcn.explain import EDGES_METHOD, METHODS, PLAIN_FREQUENCIES, explanation_columns, explanation_json

    if form == ".json":
        entries = [explanation_json(task, *graph, outputs) for graph in explained]
        write_json(out, entries)
    else:
        table = [(graph.number, graph.name, graph.rows) for graph in explained]
        write_columns(out, explanation_columns(task, table, outputs), spreadsheet_safe)
    for graph in explained[-1:]:
        say(METHODS[graph.method], stderr=True)
    if any(row.kind == "edge" for graph in explained for row in graph.rows):
        say(EDGES_METHOD, stderr=True)
        say(PLAIN_FREQUENCIES, stderr=True)


def _page(
    ensemble: Ensemble, examined: PredictedGraphs, chosen: Sequence[int], output: int | None, origin: str
) -> bytes:
    from bankgcn.report.page.graphs import browse
    from bankgcn.report.page.run_page import HOW_TO_READ, page_title

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
        places = [place for place, row in enumerate(rows) if row in numbers]  # rows without a graph have no place
        if word in by_id:  # an id comes first: it may look like a number
            chosen += by_id[word]
        elif places and numbers[-1] <= max(rows):
            chosen += places
        else:
            available = f"rows from {min(rows)} to {max(rows)}" if rows else "no graphs"
            raise ValueError(
                f"--graphs {graphs}: {word!r} is no id and no row with a graph; there are {available} (0-3 is a range)"
            )
    return list(dict.fromkeys(chosen))


def _rows_of(word: str) -> range:
    """The rows that a number, or a range such as 3-5, stands for; none if it is neither."""
    match = re.fullmatch(r"([0-9]{1,15})(?:-([0-9]{1,15}))?", word)
    return range(0) if match is None else range(int(match[1]), int(match[2] or match[1]) + 1)
