"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot, IgnoreTargets, Threads, with_settings
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, open_output
from bankgcn.cli.settings import READING
from bankgcn.cli.table_output import FORMATS, check_output, ending_of, write_columns
from bankgcn.files.tables import Columns, number_cells
from bankgcn.metrics import METRICS
from bankgcn.tasks import TASKS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from torch import Tensor

    from bankgcn.cli.model_input import ModelInput
    from bankgcn.training.ensemble import Ensemble

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or a folder of several, whose predictions are averaged.")
]
OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", help="The graphs: whatever bankgcn train takes. Not needed with --part.", show_default=False
    ),
]
Part = Annotated[
    str | None,
    typer.Option(metavar="train|valid|test", help="Only this part of the graphs that the run was trained with."),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Columns of the input to keep, separated by commas; all by default.", show_default=False
    ),
]
Calibrate = Annotated[
    bool, typer.Option(help="Apply the temperature that was fitted to the validation graphs to the probabilities.")
]

APPLYING = {name: place for name, place in READING.items() if name != "skip_missing"}
"""The settings of commands that apply a model: rows without a target stay."""


@with_settings(APPLYING)
def predict(
    run: RunArgument,
    source: SourceArgument = None,
    out: Annotated[Path, typer.Option(help=f"Table to write: .csv, .parquet or .jsonl; {OR_STANDARD_OUTPUT}")] = Path(
        "predictions.csv"
    ),
    part: Part = None,
    keep: Keep = None,
    calibrate: Calibrate = True,
    data_root: DataRoot = None,
    ignore_targets: IgnoreTargets = False,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Predict the classes, values or labels of graphs: one row for each row of the input, in its order.

    Graphs are read as for training, with the same columns and options, unless other options are given. They need no
    targets. Rows that cannot be read stay empty with --skip-unreadable, and the column "unreadable" holds the reason.
    """
    import torch

    from bankgcn.cli.model_input import read_input
    from bankgcn.training.ensemble import Ensemble
    from bankgcn.training.prediction_table import prediction_columns

    torch.set_num_threads(threads)
    check_output(out)
    ensemble = Ensemble.load(run)
    found = read_input(ensemble, source, data_root, flags, part=part, ignore_targets=ignore_targets)
    mean, spread = found.predictions(ensemble, calibrate)
    columns = [*found.truth_columns(ensemble.task), *found.line_up(prediction_columns(ensemble.task, mean, spread))]
    write_columns(out, [*_kept(found, keep), *columns, *_reasons(found, ensemble, flags)])
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    unread = len(found.reasons)
    empty = f"; {unread:,} row{'s' if unread > 1 else ''} could not be read" if unread else ""
    to_stderr = is_standard_output(out)
    say(f"{len(found.graphs):,} predictions{models} are in {named(out)}{empty}", stderr=to_stderr)
    _show_scores(found, ensemble, mean, to_stderr)


@with_settings({name: place for name, place in APPLYING.items() if name != "target"})
def embed(
    run: OneRun,
    source: SourceArgument = None,
    out: Annotated[
        Path,
        typer.Option(help=f"Table to write: .csv, .parquet, .jsonl, or .npy for numbers alone; {OR_STANDARD_OUTPUT}"),
    ] = Path("embeddings.csv"),
    part: Part = None,
    keep: Keep = None,
    data_root: DataRoot = None,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Write the vector by which the network represents each graph, before its last layer.

    Rows are those of the input, as in predict.
    """
    import numpy as np
    import torch

    from bankgcn.cli.model_input import read_input
    from bankgcn.training import embed as embeddings_of
    from bankgcn.training.ensemble import Ensemble

    torch.set_num_threads(threads)
    check_output(out, (*FORMATS, ".npy"))
    ensemble = Ensemble.load(run)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    found = read_input(ensemble, source, data_root, flags, part=part)
    kept = _kept(found, keep)
    vectors = embeddings_of(ensemble.first.net, ensemble.first.conform(found.graphs)).numpy()
    if ending_of(out) == ".npy":
        rows = np.full((found.num_rows, vectors.shape[1]), np.nan, vectors.dtype)
        rows[found.rows] = vectors
        with open_output(out) as file:
            np.save(file, rows, allow_pickle=False)
    else:
        numbers: Columns = [(f"e{number}", number_cells(column)) for number, column in enumerate(vectors.T)]
        write_columns(out, [*kept, *found.line_up(numbers), *_reasons(found, ensemble, flags)])
    shown = f"{len(found.graphs):,} vectors of {vectors.shape[1]} numbers are in {named(out)}"
    say(shown, stderr=is_standard_output(out))


def _kept(found: ModelInput, keep: str | None) -> Columns:
    """The columns of the input that the output repeats."""
    if keep is None:
        return found.columns
    names = [name.strip() for name in keep.split(",") if name.strip()]
    own = dict(found.columns)
    for name in names:
        if name not in own:
            raise ValueError(f"the input has no column {name!r} to keep; its columns are {', '.join(map(repr, own))}")
    return [(name, own[name]) for name in dict.fromkeys(names)]


def _reasons(found: ModelInput, ensemble: Ensemble, flags: dict[str, Any]) -> Columns:
    """The column of reasons. It is there whenever rows may be unreadable, so that every table has the same columns."""
    skips = ensemble.reader.skip_unreadable if flags["skip_unreadable"] is None else flags["skip_unreadable"]
    return [("unreadable", [found.reasons.get(row) for row in range(found.num_rows)])] if skips else []


def _show_scores(found: ModelInput, ensemble: Ensemble, mean: Tensor, to_stderr: bool) -> None:
    """Every score of the task, for the graphs whose targets are known."""
    task = ensemble.task
    try:
        known, y = found.truth(task)
    except ValueError as error:
        say(f"note: no score: {error}", stderr=True)
        return
    for name in TASKS[task.kind].metrics if len(known) else ():
        if name != "roc_auc" or len(task.names) == 2:
            score = task.score_predictions(mean[known], y, name)
            metric = METRICS[name]
            say(f"{metric.label}  {metric.text(score)}  ({len(known):,} graphs)", stderr=to_stderr)
