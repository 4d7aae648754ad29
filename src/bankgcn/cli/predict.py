"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import bankgcn
from bankgcn.cli.errors import print_note
from bankgcn.cli.output import (
    FORMATS,
    OR_STANDARD_OUTPUT,
    SpreadsheetSafe,
    TableOutput,
    array_format,
    check_output,
    check_spreadsheet_safe,
    ending_of,
    is_standard_output,
    named,
    say,
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
    WorkersOption,
    with_settings,
)
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.files.tables import Columns, number_cells
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from torch import Tensor

    from bankgcn.cli.model_input import ModelInput, OpenedInput
    from bankgcn.cli.tally import Tally
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

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start again, where rows of this command are kept.")]


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
    overwrite: Overwrite = False,
    workers: WorkersOption = None,
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
    from bankgcn.cli.model_input import OpenedInput, Wanted, load_models
    from bankgcn.cli.tally import Tally
    from bankgcn.data.workers import Workers

    check_output(out)
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    _check_wanted(ensemble, interval, domain, calibrate)
    keep_rows = _keeps_unreadable(flags, strict)
    opened = OpenedInput(ensemble, source, folders, flags, Wanted(part, ignore_targets), keep_rows)
    chosen = _Chosen(keep, calibrate, interval, domain)
    made_from = {
        **chosen._asdict(),
        "part": part,
        "ignore_targets": ignore_targets,
        "device": device,
        "safe": spreadsheet_safe,
    }
    task = ensemble.deciding(calibrate)
    output = TableOutput(out, FORMATS[ending_of(out)], _made_from(opened, made_from), overwrite, spreadsheet_safe)
    with output, Workers(workers) as pool, _told_what_is_kept(output):
        tally = Tally(task, output.kept)
        for block in opened.blocks(pool, tally.rows, tally.digest):
            columns, mean = _columns(ensemble, block.inputs, chosen, tally)
            output.write(columns, tally.add(block, mean))
        output.finish()
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    to_stderr = is_standard_output(out)
    say(f"{tally.graphs:,} predictions{models} are in {named(out)}", stderr=to_stderr)
    _show_unreadable(tally)
    _show_scores(tally, to_stderr)


class _Chosen(NamedTuple):
    """What the table shall have."""

    keep: str | None
    calibrate: bool
    interval: float | None
    domain: bool


def _columns(ensemble: Ensemble, inputs: ModelInput, chosen: _Chosen, tally: Tally) -> tuple[Columns, Tensor]:
    """The columns for some rows, and the mean predictions for their graphs."""
    from bankgcn.training.evaluation import prediction_columns

    task = ensemble.deciding(chosen.calibrate)
    predictions = inputs.predictions(ensemble, chosen.calibrate)
    columns = [
        *inputs.truth_columns(task),
        *inputs.line_up(prediction_columns(task, predictions.mean, predictions.spread)),
    ]
    if chosen.interval is not None:
        found = ensemble.intervals(predictions, chosen.interval, inputs.voters)
        columns += inputs.line_up(found.columns(task))
        for note in found.notes:
            tally.note(note)
    if chosen.domain:
        columns += inputs.line_up(ensemble.nearness(inputs.graphs, inputs.voters).columns)
    return [*_kept(inputs, chosen.keep), *columns, *_reasons(inputs)], predictions.mean


def _made_from(opened: OpenedInput, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the rows of a table: whoever goes on with it must have the same."""
    return {
        "version": bankgcn.__version__,
        "models": opened.ensemble.content_hash,
        "source": opened.source.name,
        **opened.options.given,
        **{name: value for name, value in chosen.items() if value is not None},
    }


@contextmanager
def _told_what_is_kept(output: TableOutput) -> Iterator[None]:
    """Say, after an error, what is kept of a table and how it goes on."""
    try:
        yield
    except BaseException:
        if output.safe_blocks:
            print_note(
                f"{output.path}.partial keeps the rows so far: the same command goes on; --overwrite starts again"
            )
        raise


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
    overwrite: Overwrite = False,
    workers: WorkersOption = None,
    threads: Threads = 1,
    device: Device = "cpu",
    **flags: Any,
) -> None:
    """Write the vector by which the network represents each graph, before its last layer.

    Rows are those of the input, as in predict.
    """
    from bankgcn.cli.model_input import OpenedInput, Wanted, load_models
    from bankgcn.cli.tally import Tally
    from bankgcn.data.workers import Workers

    check_output(out, (*FORMATS, ".npy"))
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    keep_rows = _keeps_unreadable(flags, strict)
    opened = OpenedInput(ensemble, source, folders, flags, Wanted(part), keep_rows)
    as_array = ending_of(out) == ".npy"
    made_from = _made_from(
        opened, {"keep": keep, "part": part, "device": device, "safe": spreadsheet_safe, "vectors": True}
    )
    width = ensemble.first.network.embedding_channels
    format = array_format(width) if as_array else FORMATS[ending_of(out)]
    output = TableOutput(out, format, made_from, overwrite, spreadsheet_safe)
    with output, Workers(workers) as pool, _told_what_is_kept(output):
        tally = Tally(ensemble.task, output.kept)
        for block in opened.blocks(pool, tally.rows, tally.digest):
            inputs = block.inputs
            kept = _kept(inputs, keep)
            vectors = ensemble.embed(inputs.graphs)
            numbers: Columns = [(f"e{number}", number_cells(column)) for number, column in enumerate(vectors.T)]
            columns = inputs.line_up(numbers)
            output.write(columns if as_array else [*kept, *columns, *_reasons(inputs)], tally.add(block))
        output.finish()
    shown = f"{tally.graphs:,} vectors of {width} numbers are in {named(out)}"
    say(shown, stderr=is_standard_output(out))
    _show_unreadable(tally, *(("the numbers of these rows are NaN",) if as_array else ()))


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


def _show_unreadable(tally: Tally, why: str = 'they are empty, and the column "unreadable" says why') -> None:
    if tally.unreadable:
        print_note(f"{tally.unreadable:,} of {tally.rows:,} rows could not be read; {why}")


def _reasons(inputs: ModelInput) -> Columns:
    """The column of reasons. It is there whenever rows may be unreadable, so that every table has the same columns."""
    if not inputs.may_lack_graphs:
        return []
    return [("unreadable", [inputs.reasons.get(row) for row in range(inputs.num_rows)])]


def _show_scores(tally: Tally, to_stderr: bool) -> None:
    """Every score of the task, for the graphs whose targets are known."""
    task = tally.task
    if tally.no_score is not None:
        print_note(f"no score: {tally.no_score}")
        return
    mean, y = tally.known()
    if len(y) and task.kind == "classes" and task.thresholds:
        say(f"threshold of {task.names[1]!r}  {task.thresholds[0]:.4g}", stderr=to_stderr)
    for name in dict.fromkeys((task.metric, *task.metrics)) if len(y) else ():  # the headline first
        score = task.score_predictions(mean, y, name)
        metric = METRICS[name]
        say(f"{metric.label}  {metric.text(score)}  ({len(y):,} graphs)", stderr=to_stderr)
