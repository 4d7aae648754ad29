"""``bankgcn predict`` and ``bankgcn embed``: trained models on new graphs, into tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from bankgcn.choices import pick
from bankgcn.cli.messages import say
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, open_output
from bankgcn.cli.reading import load_graphs
from bankgcn.cli.source_options import (
    DataRoot,
    IgnoreTargets,
    IgnoreWeights,
    SkipMissing,
    SkipUnreadable,
    Smiles,
    Symmetrise,
    Target,
    reader_options,
)
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source, find_source
from bankgcn.data.splits import Split
from bankgcn.training import embed as embeddings_of
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.metrics import METRICS
from bankgcn.training.run_folder import RunFolder

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or a folder of several, whose models vote.")
]
OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="The graphs: whatever bankgcn train takes. They need no classes.")
]
Part = Annotated[
    str | None,
    typer.Option(metavar="train|valid|test", help="Only this part of the graphs that the run was trained on."),
]
Threads = Annotated[int, typer.Option(min=1, help="Threads.")]


def predict(
    run: RunArgument,
    source: SourceArgument,
    out: Annotated[Path, typer.Option(help=f"Table to write; {OR_STANDARD_OUTPUT}")] = Path("predictions.csv"),
    part: Part = None,
    data_root: DataRoot = None,
    smiles: Smiles = None,
    target: Target = None,
    skip_unreadable: SkipUnreadable = False,
    skip_missing: SkipMissing = False,
    symmetrise: Symmetrise = False,
    ignore_targets: IgnoreTargets = False,
    ignore_weights: IgnoreWeights = False,
    threads: Threads = 1,
) -> None:
    """Predict the classes of graphs, with the probability of each class.

    Graphs are described exactly as those that the model was trained on. In a table of SMILES, targets are read only if
    --target names their column. With --part, the file is read as for training, unless other options are given.
    """
    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    options = reader_options(smiles, target, skip_unreadable, symmetrise, skip_missing, ignore_targets)
    graphs, names = _graphs(ensemble, source, data_root, options, part, ignore_weights)
    probabilities = ensemble.probabilities(graphs).numpy()
    _write_table(out, *_predictions(graphs, names, ensemble.classes, probabilities))
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    say(f"{len(graphs):,} predictions{models} are in {named(out)}", stderr=is_standard_output(out))
    for name, score in _scores(graphs, ensemble, probabilities).items():
        say(f"{name}  {score:.4f}  ({len(graphs):,} graphs)", stderr=is_standard_output(out))


def embed(
    run: OneRun,
    source: SourceArgument,
    out: Annotated[
        Path, typer.Option(help=f"Table to write: .csv, or .npy for the numbers alone; {OR_STANDARD_OUTPUT}")
    ] = Path("embeddings.csv"),
    part: Part = None,
    data_root: DataRoot = None,
    smiles: Smiles = None,
    skip_unreadable: SkipUnreadable = False,
    symmetrise: Symmetrise = False,
    ignore_weights: IgnoreWeights = False,
    threads: Threads = 1,
) -> None:
    """Write the vector by which the network represents each graph, just before it is classified."""
    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    options = reader_options(smiles, None, skip_unreadable, symmetrise)
    graphs, names = _graphs(ensemble, source, data_root, options, part, ignore_weights)
    vectors = embeddings_of(ensemble.first.net, ensemble.first.described(graphs)).numpy()
    if out.suffix == ".npy":
        with open_output(out) as file:
            np.save(file, vectors, allow_pickle=False)
    else:
        header = [_name_column(graphs), *(f"e{column}" for column in range(vectors.shape[1]))]
        _write_table(out, header, ([n, *map(str, v)] for n, v in zip(names, vectors, strict=True)))
    say(f"{len(graphs):,} vectors of {vectors.shape[1]} numbers are in {named(out)}", stderr=is_standard_output(out))


def _graphs(
    ensemble: Ensemble,
    name: str,
    data_root: Path | None,
    options: dict[str, Any],
    part: str | None,
    ignore_weights: bool,
) -> tuple[GraphSet, Sequence[str]]:
    """The graphs, described as those of training, and their names, or their numbers in the source from 0."""
    source = find_source(name, data_root)
    options = _options_of_training(ensemble, source, part is not None) | options
    if part is not None and not options.get("has_target", True):
        raise ValueError("--part needs the targets, by which the split was drawn: leave out --ignore-targets")
    if part is None and source.reader == "smiles" and "target" not in options:
        options["has_target"] = False  # any other column may be anything
    ignore_weights = ignore_weights or bool(ensemble.settings.get("ignore_weights"))
    graphs = load_graphs(source, ignore_weights, expected=ensemble.signals, **options)
    for run in ensemble.unfinished:
        say(f"note: {run} is not finished and has no vote", stderr=True)
    for note in graphs.notes:
        say(f"note: {note}", stderr=True)
    names = [str(number) for number in range(len(graphs))] if graphs.names is None else graphs.names
    if part is not None:
        chosen = _part(ensemble, graphs, part)
        return graphs[chosen], [names[number] for number in chosen]
    if ensemble.knows(graphs):
        say("note: these are the graphs of training; --part test has those it did not learn from", stderr=True)
    return graphs, names


def _options_of_training(ensemble: Ensemble, source: Source, same_graphs: bool) -> dict[str, Any]:
    """How the training graphs were read, as far as it concerns this source.

    Args:
        ensemble: The models.
        source: What is to be read.
        same_graphs: Whether these are the training graphs again. Of other graphs, only the column of the molecules is
            expected to be the same.
    """
    settings = ensemble.settings
    options = reader_options(
        settings.get("smiles") or None,
        settings.get("target") or None,
        settings.get("skip_unreadable", False),
        settings.get("symmetrise", False),
        settings.get("skip_missing", False),
    )
    shared = source.options if same_graphs else [name for name in source.options if name == "smiles"]
    return {name: value for name, value in options.items() if name in shared}


def _part(ensemble: Ensemble, graphs: GraphSet, part: str) -> NDArray[np.int64]:
    """Numbers of the graphs of a part of the split that a run was trained with."""
    pick(dict.fromkeys(("train", "valid", "test")), part, "part")
    if len(ensemble.members) > 1:
        raise ValueError("--part is for one run: others may have learned from what it was tested on")
    path = next(iter(ensemble.members))
    return getattr(Split.load(RunFolder(path).split, graphs.fingerprint), part)


def _predictions(
    graphs: GraphSet, names: Sequence[str], classes: Sequence[str], probabilities: NDArray[np.float64]
) -> tuple[list[str], Iterable[list[str]]]:
    """Header and rows of the table."""
    header = [_name_column(graphs), "predicted", *(f"p_{name}" for name in classes)]
    predicted = [classes[number] for number in probabilities.argmax(1)]
    rows = [
        [name, said, *(f"{p:.6g}" for p in row)]
        for name, said, row in zip(names, predicted, probabilities, strict=True)
    ]
    truth = _truth(graphs)
    if truth is not None:
        header.append("class")
        for row, true in zip(rows, truth, strict=True):
            row.append(true)
    return header, rows


def _scores(graphs: GraphSet, ensemble: Ensemble, probabilities: NDArray[np.float64]) -> dict[str, float]:
    """The metrics of the model, where all classes are known to it; by name, because files number them differently."""
    truth = _truth(graphs)
    if truth is None or not len(graphs):
        return {}
    unknown = sorted(set(truth) - set(ensemble.classes))
    if unknown:
        say(f"note: no score, because the model does not know the classes {', '.join(unknown)}", stderr=True)
        return {}
    y = torch.tensor([ensemble.classes.index(name) for name in truth])
    logits = torch.from_numpy(probabilities).log()
    wanted = dict.fromkeys(["accuracy", ensemble.first.about.get("metric", "accuracy")])
    return {name.replace("_", "-"): METRICS[name](logits, y) for name in wanted}


def _truth(graphs: GraphSet) -> list[str] | None:
    return [graphs.classes[number] for number in graphs.y] if graphs.y is not None and graphs.classes else None


def _name_column(graphs: GraphSet) -> str:
    return "graph" if graphs.names is None else "name"


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with open_output(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)
        text.flush()
        text.detach()
