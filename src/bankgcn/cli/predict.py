"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.errors import with_flags
from bankgcn.cli.options import (
    APPLYING,
    DataRoot,
    IgnoreTargets,
    Part,
    RunArgument,
    SourceArgument,
    Threads,
    with_settings,
)
from bankgcn.cli.output import (
    FORMATS,
    OR_STANDARD_OUTPUT,
    SpreadsheetSafe,
    check_not_input,
    check_output,
    check_spreadsheet_safe,
    ending_of,
    is_standard_output,
    named,
    open_output,
    say,
    write_columns,
)
from bankgcn.files.tables import Columns, number_cells
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from torch import Tensor

    from bankgcn.cli.model_input import ModelInput
    from bankgcn.tasks import Task

OneRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Columns of the input to keep, separated by commas; all by default.", show_default=False
    ),
]
Calibrate = Annotated[
    bool, typer.Option(help="Apply the temperature that was fitted to the validation graphs to the probabilities.")
]

Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse a source with a graph that cannot be read.", rich_help_panel="Data"),
]


@with_settings(APPLYING, hidden=("skip_unreadable",))
def predict(
    run: RunArgument,
    source: SourceArgument = None,
    out: Annotated[Path, typer.Option(help=f"Table to write: .csv, .parquet or .jsonl; {OR_STANDARD_OUTPUT}")] = Path(
        "predictions.csv"
    ),
    part: Part = None,
    keep: Keep = None,
    calibrate: Calibrate = True,
    spreadsheet_safe: SpreadsheetSafe = False,
    data_root: DataRoot = None,
    ignore_targets: IgnoreTargets = False,
    strict: Strict = False,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Predict the classes, values or labels of graphs: one row for each row of the input, in its order.

    Graphs are read as for training, with the same columns and options, unless other options are given. They need no
    targets. Rows that cannot be read stay, without a prediction, and the column "unreadable" holds the reason; --strict
    refuses them.
    """
    import torch

    from bankgcn.cli.model_input import read_input
    from bankgcn.training.ensemble import Ensemble
    from bankgcn.training.evaluation import prediction_columns

    torch.set_num_threads(threads)
    check_output(out)
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = Ensemble.load(run)
    check_not_input(out, run=run, sources=(source, *ensemble.sources), data_root=data_root)
    keep_rows = _keeps_unreadable(flags, strict)
    found = read_input(
        ensemble, source, data_root, flags, part=part, ignore_targets=ignore_targets, keep_unreadable=keep_rows
    )
    predictions = found.predictions(ensemble, calibrate)
    task = ensemble.deciding(calibrate)
    columns = [
        *found.truth_columns(task),
        *found.line_up(prediction_columns(task, predictions.mean, predictions.spread)),
    ]
    write_columns(out, [*_kept(found, keep), *columns, *_reasons(found)], spreadsheet_safe)
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    to_stderr = is_standard_output(out)
    say(f"{len(found.graphs):,} predictions{models} are in {named(out)}", stderr=to_stderr)
    _show_unreadable(found)
    _show_scores(found, task, predictions.mean, to_stderr)


@with_settings({name: place for name, place in APPLYING.items() if name != "target"}, hidden=("skip_unreadable",))
def embed(
    run: OneRun,
    source: SourceArgument = None,
    out: Annotated[
        Path,
        typer.Option(help=f"Table to write: .csv, .parquet, .jsonl, or .npy for numbers alone; {OR_STANDARD_OUTPUT}"),
    ] = Path("embeddings.csv"),
    part: Part = None,
    keep: Keep = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    data_root: DataRoot = None,
    strict: Strict = False,
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
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = Ensemble.load(run)
    check_not_input(out, run=run, sources=(source, *ensemble.sources), data_root=data_root)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    keep_rows = _keeps_unreadable(flags, strict)
    found = read_input(ensemble, source, data_root, flags, part=part, keep_unreadable=keep_rows)
    kept = _kept(found, keep)
    vectors = embeddings_of(ensemble.first.net, ensemble.first.conform(found.graphs)).numpy()
    if ending_of(out) == ".npy":
        rows = np.full((found.num_rows, vectors.shape[1]), np.nan, vectors.dtype)
        rows[found.rows] = vectors
        with open_output(out) as file:
            np.save(file, rows, allow_pickle=False)
    else:
        numbers: Columns = [(f"e{number}", number_cells(column)) for number, column in enumerate(vectors.T)]
        write_columns(out, [*kept, *found.line_up(numbers), *_reasons(found)], spreadsheet_safe)
    shown = f"{len(found.graphs):,} vectors of {vectors.shape[1]} numbers are in {named(out)}"
    say(shown, stderr=is_standard_output(out))
    if ending_of(out) == ".npy":
        _show_unreadable(found, "the numbers of these rows are NaN")
    else:
        _show_unreadable(found)


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


def _keeps_unreadable(flags: dict[str, Any], strict: bool) -> bool:
    """Whether rows that cannot be read stay in the table: unless the user refuses them, by either name."""
    if strict and flags["skip_unreadable"]:
        raise ValueError("--strict and --skip-unreadable contradict each other: choose one")
    return not strict and flags["skip_unreadable"] is not False


def _show_unreadable(found: ModelInput, why: str = 'they are empty, and the column "unreadable" says why') -> None:
    if found.reasons:
        say(f"note: {len(found.reasons):,} of {found.num_rows:,} rows could not be read; {why}", stderr=True)


def _reasons(found: ModelInput) -> Columns:
    """The column of reasons. It is there whenever rows may be unreadable, so that every table has the same columns."""
    return [("unreadable", [found.reasons.get(row) for row in range(found.num_rows)])] if found.may_lack_graphs else []


def _show_scores(found: ModelInput, task: Task, mean: Tensor, to_stderr: bool) -> None:
    """Every score of the task, for the graphs whose targets are known."""
    try:
        known, y = found.truth(task)
    except ValueError as error:
        say(f"note: no score: {with_flags(error)}", stderr=True)
        return
    if len(known) and task.kind == "classes" and task.thresholds:
        say(f"threshold of {task.names[1]!r}  {task.thresholds[0]:.4g}", stderr=to_stderr)
    for name in dict.fromkeys((task.metric, *task.metrics)) if len(known) else ():  # the headline first
        score = task.score_predictions(mean[known], y, name)
        metric = METRICS[name]
        say(f"{metric.label}  {metric.text(score)}  ({len(known):,} graphs)", stderr=to_stderr)
