"""``bankgcn predict`` and ``bankgcn embed``: apply trained models to new graphs and write tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import bankgcn
from bankgcn.cli.best import BestRows, Ranking, best_format, ranking_of
from bankgcn.cli.errors import print_note
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, say
from bankgcn.cli.settings import (
    APPLYING,
    ROW_OPTIONS,
    Calibrate,
    Device,
    Folders,
    IgnoreTargets,
    Interval,
    OneRun,
    Part,
    RowReading,
    RunArgument,
    SourceArgument,
    Threads,
    takes,
    with_settings,
)
from bankgcn.cli.table_output import (
    FORMATS,
    SpreadsheetSafe,
    TableOutput,
    array_format,
    check_output,
    check_spreadsheet_safe,
    ending_of,
)
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.files.tables import Columns, number_cells
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when a command is run
    from torch import Tensor

    from bankgcn.cli.input_blocks import InputBlock, InputBlocks
    from bankgcn.cli.model_input import ModelInput
    from bankgcn.cli.tally import Tally
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

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start again, where rows of this command are kept.")]

Best = Annotated[
    int | None,
    typer.Option(
        "--best",
        metavar="K",
        min=1,
        help="Write the K best rows alone, the best first, with their numbers in the source (column row).",
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="The column of predictions that decides which rows are the best; by default the probability of the second "
        "of two classes, or the only value or label.",
        show_default=False,
    ),
]
Lowest = Annotated[bool, typer.Option("--lowest", help="Small numbers are the best.")]


@with_settings(APPLYING, hidden=("skip_unreadable",))
@takes("reading", RowReading, ROW_OPTIONS)
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
    best: Best = None,
    by: By = None,
    lowest: Lowest = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    folders: Folders = USUAL_FOLDERS,
    ignore_targets: IgnoreTargets = False,
    strict: Strict = False,
    overwrite: Overwrite = False,
    threads: Threads = 1,
    device: Device = "cpu",
    reading: RowReading = RowReading(),  # noqa: B008  it is frozen
    **flags: Any,
) -> None:
    """Predict the classes, values or labels of graphs: one row for each row of the input, in its order.

    Graphs are read as for training, with the same columns and options, unless other options are given. They need no
    targets. Rows that cannot be read stay, without a prediction, and the column "unreadable" holds the reason; --strict
    refuses them.

    --interval 0.9 adds columns NAME_low and NAME_high, or "set"; --domain adds "similarity" (of molecules, to the
    nearest training molecule) or "distance_percentile", and "unseen".

    A large table is predicted in blocks of rows. Whoever is interrupted goes on with the same command. SOURCE may also
    be a folder of tables, or a pattern in quotes, such as 'parts/*.csv'; then the column "file" names the file.
    """
    from bankgcn.cli.input_blocks import InputBlocks
    from bankgcn.cli.open_input import Wanted, load_models
    from bankgcn.cli.tally import Tally

    check_output(out)
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    _check_wanted(ensemble, interval, domain, calibrate)
    keep_rows = _keeps_unreadable(flags, strict)
    task = ensemble.deciding(calibrate)
    ranking = _ranking(task, best, by, lowest)
    wanted, kept = Wanted(part, ignore_targets), _kept_names(keep)
    graphs = InputBlocks(ensemble, source, folders, flags, wanted, keep_rows, kept)
    chosen = _Chosen(kept, calibrate, interval, domain, ranking)
    others = {"part": part, "ignore_targets": ignore_targets, "device": device, "safe": spreadsheet_safe}
    format = FORMATS[ending_of(out)]
    made_from = _made_from(graphs, {**chosen._asdict(), **others})
    output = TableOutput(
        out, format if ranking is None else best_format(format, ranking), made_from, overwrite, spreadsheet_safe
    )
    with output, reading.start() as pool, _told_what_is_kept(output):
        tally = Tally(task, output.kept)
        select = None if ranking is None else BestRows(ranking).candidates
        for block in graphs.read(pool, tally.rows, tally.digest):
            predicted, mean = _predicted_columns(ensemble, block.inputs, chosen, tally)
            repeated = _kept(block, kept)
            if select is None:
                columns = [*repeated, *predicted, *_reasons(block.inputs)]
            else:
                columns = select(repeated, predicted, block.inputs.first_row, tally.rows)
            output.write(columns, tally.add(block, mean))
        output.finish()
    models = f" by {len(ensemble.members)} models" if len(ensemble.members) > 1 else ""
    to_stderr = is_standard_output(out)
    if ranking is None:
        say(f"{tally.graphs:,} predictions{models} are in {named(out)}", stderr=to_stderr)
    else:
        count = min(ranking.rows, tally.graphs)
        say(f"the best {count:,} of {tally.graphs:,} predictions{models} are in {named(out)}", stderr=to_stderr)
    _show_unreadable(tally, *(() if ranking is None else ("they have no rank",)))
    _show_scores(tally, to_stderr)


def _ranking(task: Task, best: int | None, by: str | None, lowest: bool) -> Ranking | None:
    if best is None:
        if by is not None or lowest:
            raise ValueError("--by and --lowest say which rows are the best: add --best K")
        return None
    return ranking_of(task, best, by, lowest)


class _Chosen(NamedTuple):
    """What the table shall have."""

    keep: list[str] | None
    calibrate: bool
    interval: float | None
    domain: bool
    best: Ranking | None


def _predicted_columns(ensemble: Ensemble, inputs: ModelInput, chosen: _Chosen, tally: Tally) -> tuple[Columns, Tensor]:
    """The columns of predictions for some rows, and the mean predictions for their graphs."""
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
    return columns, predictions.mean


def _made_from(graphs: InputBlocks, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the rows of a table: whoever goes on with it must have the same."""
    return {
        "version": bankgcn.__version__,
        **graphs.made_from,
        **{name: value for name, value in chosen.items() if value is not None},
    }


@contextmanager
def _told_what_is_kept(output: TableOutput) -> Iterator[None]:
    """Say, after an error, what is kept of a table and how it goes on."""
    try:
        yield
    except BaseException:
        output.keep()
        if output.kept_in is not None:
            print_note(f"{output.kept_in} keeps the rows so far: the same command goes on; --overwrite starts again")
        raise


@with_settings({name: place for name, place in APPLYING.items() if name != "target"}, hidden=("skip_unreadable",))
@takes("reading", RowReading, ROW_OPTIONS)
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
    threads: Threads = 1,
    device: Device = "cpu",
    reading: RowReading = RowReading(),  # noqa: B008  it is frozen
    **flags: Any,
) -> None:
    """Write the vector by which the network represents each graph, before its last layer.

    Rows are those of the input, as in predict.
    """
    from bankgcn.cli.input_blocks import InputBlocks
    from bankgcn.cli.open_input import Wanted, load_models
    from bankgcn.cli.tally import Tally

    check_output(out, (*FORMATS, ".npy"))
    check_spreadsheet_safe(out, spreadsheet_safe)
    ensemble = load_models(run, out, source, folders, threads, device)
    if len(ensemble.members) > 1:
        raise ValueError(
            f"{run} holds {len(ensemble.members)} models, and the vectors of different networks cannot be compared: "
            f"name one of them, such as {next(iter(ensemble.members))}"
        )
    keep_rows = _keeps_unreadable(flags, strict)
    kept = _kept_names(keep)
    graphs = InputBlocks(ensemble, source, folders, flags, Wanted(part), keep_rows, kept)
    as_array = ending_of(out) == ".npy"
    chosen = {"keep": kept, "part": part, "device": device, "safe": spreadsheet_safe, "vectors": True}
    made_from = _made_from(graphs, chosen)
    width = ensemble.first.network.embedding_channels
    format = array_format(width) if as_array else FORMATS[ending_of(out)]
    output = TableOutput(out, format, made_from, overwrite, spreadsheet_safe)
    with output, reading.start() as pool, _told_what_is_kept(output):
        tally = Tally(ensemble.task, output.kept)
        for block in graphs.read(pool, tally.rows, tally.digest):
            inputs = block.inputs
            repeated = _kept(block, kept)
            vectors = ensemble.embed(inputs.graphs)
            numbers: Columns = [(f"e{number}", number_cells(column)) for number, column in enumerate(vectors.T)]
            columns = inputs.line_up(numbers)
            output.write(columns if as_array else [*repeated, *columns, *_reasons(inputs)], tally.add(block))
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


def _kept_names(keep: str | None) -> list[str] | None:
    """The columns of the input to keep; ``None``: all."""
    return None if keep is None else list(dict.fromkeys(name.strip() for name in keep.split(",") if name.strip()))


def _kept(block: InputBlock, names: Sequence[str] | None) -> Columns:
    """The columns of the input that the output repeats, and the file if there are several."""
    columns = dict(block.inputs.columns)
    for name in names or ():
        if name not in columns:
            listed = ", ".join(map(repr, columns))
            raise ValueError(f"the input has no column {name!r} to keep; its columns are {listed}")
    file: Columns = [] if block.file is None else [("file", [str(block.file)] * block.rows)]
    return [*file, *((name, columns[name]) for name in (columns if names is None else names))]


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
