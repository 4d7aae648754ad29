"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.errors import print_note, with_flags
from bankgcn.cli.output import (
    FORMATS,
    OR_STANDARD_OUTPUT,
    SpreadsheetSafe,
    check_output,
    check_spreadsheet_safe,
    ending_of,
    is_standard_output,
    named,
    open_output,
    say,
    write_columns,
)
from bankgcn.cli.settings import (
    APPLYING,
    Calibrate,
    Device,
    Folders,
    IgnoreTargets,
    Interval,
    OneRun,
    Part,
    RunArgument,
    SourceArgument,
    Threads,
    with_settings,
)
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.files.tables import Columns, number_cells
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from torch import Tensor

    from bankgcn.cli.model_input import ModelInput
    from bankgcn.tasks import Task
    from bankgcn.training.ensemble import Ensemble

Keep = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Columns of the input to keep, separated by commas; all by default.", show_default=False
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse a source with a graph that cannot be read.", rich_help_panel="Data")
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
    interval: Interval = None,
    domain: Annotated[
        bool,
        typer.Option(
            "--domain", help="How near each graph is to the training graphs, and what of it was never seen there."
        ),
    ] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    folders: Folders = USUAL_FOLDERS,
    ignore_targets: IgnoreTargets = False,
    strict: Strict = False,
    threads: Threads = 1,
    device: Device = "cpu",
    **flags: Any,
) -> None:
    """Predict the classes, values or labels of graphs: one row for each row of the input, in its order.

    Graphs are read as for training, with the same columns and options, unless other options are given. They need no
    targets. Rows that cannot be read stay, without a prediction, and the column "unreadable" holds the reason; --strict
    refuses them.

    --interval 0.9 adds columns NAME_low and NAME_high, or "set"; --domain adds "similarity" (of molecules, to the
    nearest training molecule) or "distance_percentile", and "unseen".
    """
    from bankgcn.cli.model_input import load_models, read_input
    from bankgcn.training.evaluation import prediction_columns

    check_output(out)
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    _check_wanted(ensemble, interval, domain, calibrate)
    keep_rows = _keeps_unreadable(flags, strict)
    inputs = read_input(
        ensemble, source, folders, flags, part=part, ignore_targets=ignore_targets, keep_unreadable=keep_rows
    )
    predictions = inputs.predictions(ensemble, calibrate)
    task = ensemble.deciding(calibrate)
    columns = [
        *inputs.truth_columns(task),
        *inputs.line_up(prediction_columns(task, predictions.mean, predictions.spread)),
    ]
    if interval is not None:
        found = ensemble.intervals(predictions, interval, inputs.voters)
        columns += inputs.line_up(found.columns(task))
        for note in found.notes:
            print_note(note)
    if domain:
        columns += inputs.line_up(ensemble.nearness(inputs.graphs, inputs.voters).columns)
    write_columns(out, [*_kept(inputs, keep), *columns, *_reasons(inputs)], spreadsheet_safe)
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    to_stderr = is_standard_output(out)
    say(f"{len(inputs.graphs):,} predictions{models} are in {named(out)}", stderr=to_stderr)
    _show_unreadable(inputs)
    _show_scores(inputs, task, predictions.mean, to_stderr)


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
    folders: Folders = USUAL_FOLDERS,
    strict: Strict = False,
    threads: Threads = 1,
    device: Device = "cpu",
    **flags: Any,
) -> None:
    """Write the vector by which the network represents each graph, before its last layer.

    Rows are those of the input, as in predict.
    """
    import numpy as np

    from bankgcn.cli.model_input import load_models, read_input

    check_output(out, (*FORMATS, ".npy"))
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    keep_rows = _keeps_unreadable(flags, strict)
    inputs = read_input(ensemble, source, folders, flags, part=part, keep_unreadable=keep_rows)
    kept = _kept(inputs, keep)
    vectors = ensemble.embed(inputs.graphs)
    if ending_of(out) == ".npy":
        rows = np.full((inputs.num_rows, vectors.shape[1]), np.nan, vectors.dtype)
        rows[inputs.rows] = vectors
        with open_output(out) as file:
            np.save(file, rows, allow_pickle=False)
    else:
        numbers: Columns = [(f"e{number}", number_cells(column)) for number, column in enumerate(vectors.T)]
        write_columns(out, [*kept, *inputs.line_up(numbers), *_reasons(inputs)], spreadsheet_safe)
    shown = f"{len(inputs.graphs):,} vectors of {vectors.shape[1]} numbers are in {named(out)}"
    say(shown, stderr=is_standard_output(out))
    if ending_of(out) == ".npy":
        _show_unreadable(inputs, "the numbers of these rows are NaN")
    else:
        _show_unreadable(inputs)


def _check_wanted(ensemble: Ensemble, interval: float | None, domain: bool, calibrate: bool) -> None:
    """Raise, before graphs are read, if the models cannot give intervals or nearness."""
    if interval is not None:
        if not calibrate and ensemble.task.kind != "values":
            raise ValueError("--interval needs calibrated probabilities: leave out --no-calibrate")
        ensemble.check_intervals(interval)
    if domain:
        ensemble.check_domain()


def _kept(inputs: ModelInput, keep: str | None) -> Columns:
    """The columns of the input that the output repeats."""
    if keep is None:
        return inputs.columns
    names = [name.strip() for name in keep.split(",") if name.strip()]
    columns = dict(inputs.columns)
    for name in names:
        if name not in columns:
            listed = ", ".join(map(repr, columns))
            raise ValueError(f"the input has no column {name!r} to keep; its columns are {listed}")
    return [(name, columns[name]) for name in dict.fromkeys(names)]


def _keeps_unreadable(flags: dict[str, Any], strict: bool) -> bool:
    """Whether rows that cannot be read stay in the table: unless the user refuses them, by either name."""
    if strict and flags["skip_unreadable"]:
        raise ValueError("--strict and --skip-unreadable contradict each other: choose one")
    return not strict and flags["skip_unreadable"] is not False


def _show_unreadable(inputs: ModelInput, why: str = 'they are empty, and the column "unreadable" says why') -> None:
    if inputs.reasons:
        print_note(f"{len(inputs.reasons):,} of {inputs.num_rows:,} rows could not be read; {why}")


def _reasons(inputs: ModelInput) -> Columns:
    """The column of reasons. It is there whenever rows may be unreadable, so that every table has the same columns."""
    if not inputs.may_lack_graphs:
        return []
    return [("unreadable", [inputs.reasons.get(row) for row in range(inputs.num_rows)])]


def _show_scores(inputs: ModelInput, task: Task, mean: Tensor, to_stderr: bool) -> None:
    """Every score of the task, for the graphs whose targets are known."""
    try:
        with_target, y = inputs.truth(task)
    except ValueError as error:
        print_note(f"no score: {with_flags(error)}")
        return
    if len(with_target) and task.kind == "classes" and task.thresholds:
        say(f"threshold of {task.names[1]!r}  {task.thresholds[0]:.4g}", stderr=to_stderr)
    for name in dict.fromkeys((task.metric, *task.metrics)) if len(with_target) else ():  # the headline first
        score = task.score_predictions(mean[with_target], y, name)
        metric = METRICS[name]
        say(f"{metric.label}  {metric.text(score)}  ({len(with_target):,} graphs)", stderr=to_stderr)
