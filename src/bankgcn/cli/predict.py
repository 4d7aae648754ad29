"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot, IgnoreTargets, Threads, with_settings
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, open_output
from bankgcn.cli.prediction_table import prediction_columns, scores, write_rows, write_table
from bankgcn.cli.reading import load_graphs
from bankgcn.cli.settings import READING
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source, find_source
from bankgcn.data.splits import Split
from bankgcn.data.weights import without_weights
from bankgcn.training import embed as embeddings_of
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import ReaderOptions

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or a folder of several, whose predictions are averaged.")
]
OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="The graphs: whatever bankgcn train takes. They need no targets.")
]
Part = Annotated[
    str | None,
    typer.Option(metavar="train|valid|test", help="Only this part of the graphs that the run was trained on."),
]


@with_settings(READING)
def predict(
    run: RunArgument,
    source: SourceArgument,
    out: Annotated[Path, typer.Option(help=f"Table to write; {OR_STANDARD_OUTPUT}")] = Path("predictions.csv"),
    part: Part = None,
    data_root: DataRoot = None,
    ignore_targets: IgnoreTargets = False,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Predict the classes, values or labels of graphs.

    The features of the graphs are made as those of the training graphs were. In a table of SMILES, targets are read
    only if --target names their column. With --part, the file is read as for training, unless other options are given.
    """
    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    graphs, names = _graphs(ensemble, source, data_root, flags, part, ignore_targets)
    mean, spread = ensemble.predictions(graphs)
    columns = prediction_columns(ensemble.task, mean, spread, graphs)
    write_table(out, [(_name_column(graphs), names), *columns])
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    say(f"{len(graphs):,} predictions{models} are in {named(out)}", stderr=is_standard_output(out))
    figures, problem = scores(ensemble.task, mean, graphs)
    if problem:
        say(f"note: no score: {problem}", stderr=True)
    for label, score in figures.items():
        figure = "unknown" if math.isnan(score) else f"{score:.4f}"
        say(f"{label}  {figure}  ({len(graphs):,} graphs)", stderr=is_standard_output(out))


@with_settings({name: place for name, place in READING.items() if name not in ("target", "skip_missing")})
def embed(
    run: OneRun,
    source: SourceArgument,
    out: Annotated[
        Path, typer.Option(help=f"Table to write: .csv, or .npy for the numbers alone; {OR_STANDARD_OUTPUT}")
    ] = Path("embeddings.csv"),
    part: Part = None,
    data_root: DataRoot = None,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Write the vector by which the network represents each graph, before its last layer."""
    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    graphs, names = _graphs(ensemble, source, data_root, flags, part)
    vectors = embeddings_of(ensemble.first.net, ensemble.first.conform(graphs)).numpy()
    if out.suffix == ".npy":
        with open_output(out) as file:
            np.save(file, vectors, allow_pickle=False)
    else:
        header = [_name_column(graphs), *(f"e{column}" for column in range(vectors.shape[1]))]
        write_rows(out, header, ([n, *map(str, v)] for n, v in zip(names, vectors, strict=True)))
    say(f"{len(graphs):,} vectors of {vectors.shape[1]} numbers are in {named(out)}", stderr=is_standard_output(out))


def _graphs(
    ensemble: Ensemble,
    name: str,
    data_root: Path | None,
    flags: dict[str, Any],
    part: str | None,
    ignore_targets: bool = False,
) -> tuple[GraphSet, Sequence[str]]:
    """The graphs with the features of the training graphs, and their names, or their numbers in the source from 0."""
    source = find_source(name, data_root)
    options, ignore_weights = _reading(ensemble, source, flags, same_graphs=part is not None)
    if ignore_targets:
        options["has_target"] = False
    if part is not None and ignore_targets:
        raise ValueError("--part needs the targets, by which the split was drawn: leave out --ignore-targets")
    if part is None and source.names_target and "target" not in options:
        options["has_target"] = False  # any other column may be anything
    graphs = load_graphs(source, {"expected": ensemble.feature_spec, **options})
    graphs = without_weights(graphs) if ignore_weights else graphs
    for run in ensemble.unfinished:
        say(f"note: {run} is not finished and has no vote", stderr=True)
    for note in graphs.notes:
        say(f"note: {note}", stderr=True)
    names = [str(number) for number in range(len(graphs))] if graphs.names is None else graphs.names
    if part is not None:
        chosen = _part(ensemble, graphs, part)
        return graphs[chosen], [names[number] for number in chosen]
    if ensemble.trained_on(graphs):
        say("note: these are the graphs of training; --part test selects those it did not learn from", stderr=True)
    return graphs, names


def _reading(
    ensemble: Ensemble, source: Source, flags: dict[str, Any], same_graphs: bool
) -> tuple[dict[str, Any], bool]:
    """Keywords of the reader, and whether weights are ignored: as in training, unless flags say otherwise.

    Args:
        ensemble: The models.
        source: What is read.
        flags: What was typed.
        same_graphs: Whether these are the training graphs again. Other graphs are only expected to have their molecules
            in the same column.
    """
    training = replace(ensemble.reader, features=None)
    shared = training if same_graphs else ReaderOptions(smiles=training.smiles)
    typed = ReaderOptions(**{name: value for name, value in flags.items() if value is not None})
    kept = {name: value for name, value in shared.keywords(ensemble.task.kind).items() if name in source.options}
    return kept | typed.keywords(), training.ignore_weights or typed.ignore_weights


def _part(ensemble: Ensemble, graphs: GraphSet, part: str) -> NDArray[np.int64]:
    """Numbers of the graphs of a part of the split that a run was trained with."""
    pick(dict.fromkeys(("train", "valid", "test")), part, "part")
    if len(ensemble.members) > 1:
        raise ValueError("--part is for one run: others may have learned from what it was tested on")
    path = next(iter(ensemble.members))
    return getattr(Split.load(RunFolder(path).split, graphs.fingerprint), part)


def _name_column(graphs: GraphSet) -> str:
    return "graph" if graphs.names is None else "name"
