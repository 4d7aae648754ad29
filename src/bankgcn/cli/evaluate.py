"""``bankgcn evaluate``: how good a trained model is on graphs whose targets are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.errors import print_warning
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, say, write_json
from bankgcn.cli.settings import (
    APPLYING,
    ROW_OPTIONS,
    Device,
    Folders,
    Interval,
    Part,
    RowReading,
    RunArgument,
    SourceArgument,
    Threads,
    takes,
    with_settings,
)
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when the command is run
    from bankgcn.cli.model_input import Answered
    from bankgcn.training.ensemble import Ensemble

Json = Annotated[Path | None, typer.Option("--json", help=f"File for the same figures as JSON; {OR_STANDARD_OUTPUT}")]


@with_settings(APPLYING)
@takes("reading", RowReading, ROW_OPTIONS)
def evaluate(
    run: RunArgument,
    source: SourceArgument = None,
    part: Part = None,
    interval: Interval = None,
    json_file: Json = None,
    folders: Folders = USUAL_FOLDERS,
    threads: Threads = 1,
    device: Device = "cpu",
    reading: RowReading = RowReading(),  # noqa: B008  it is frozen
    **flags: Any,
) -> None:
    """Score a model on graphs whose targets are known, beside a prediction that does not look at the graphs.

    Graphs are read as for training, unless other options are given. Those without a target are left out. --interval 0.9
    says how often intervals or sets of this level hold the truth, and how wide they are.
    """
    from bankgcn.cli.input_blocks import InputBlocks
    from bankgcn.cli.model_input import Answered
    from bankgcn.cli.open_input import Wanted, load_models
    from bankgcn.cli.run_report import show_assessment, show_coverage

    ensemble = load_models(run, json_file, source, folders, threads, device)
    if interval is not None:
        ensemble.check_intervals(interval)
    graphs = InputBlocks(ensemble, source, folders, flags, Wanted(part, need_targets=True))
    with reading.start() as pool:
        blocks = (block.inputs for block in graphs.read(pool))
        answered = Answered.joined([inputs.answered(ensemble, seen=part is None) for inputs in blocks])
    if not answered.num_graphs:
        where = source if part is None else f"the part {part!r} of {run}"
        raise ValueError(f"there are no graphs to score in {where}")
    to_stderr = is_standard_output(json_file)
    assessment = show_assessment(ensemble, answered, to_stderr=to_stderr)
    figures = assessment.to_dict()
    if interval is not None:
        figures["intervals"] = show_coverage(ensemble, answered, interval, to_stderr)
    if part is None:
        figures["unseen"] = _show_unseen(ensemble, answered, to_stderr)
    if json_file is not None:
        write_json(json_file, figures, indent=2)
        say(f"the figures are in {named(json_file)}", stderr=True)


def _show_unseen(ensemble: Ensemble, answered: Answered, to_stderr: bool) -> dict[str, Any]:
    """Print the score without the graphs that are equal to training or validation graphs, if there are any.

    Returns:
        The number of seen graphs, and the same figures without them; ``None`` if all graphs are seen, or none is.
    """
    from bankgcn.training.assessment import assess

    seen = answered.seen
    count, total = int(seen.sum()), len(seen)
    if not count:
        return {"seen_graphs": 0, "without_them": None}
    learned = f"{count:,} of {total:,} graphs are equal to graphs that the model was trained or selected on"
    if count == total:
        print_warning(f"{learned}: this score says nothing about new graphs")
        return {"seen_graphs": count, "without_them": None}
    without = assess(ensemble.task, answered.predictions.mean[~seen], answered.y[~seen], ensemble.first.constant)
    print_warning(f"{learned}, so the score above flatters")
    metric = METRICS[without.metric]
    say(f"without them: {metric.label}  {metric.text(without.score)}  ({total - count:,} graphs)", stderr=to_stderr)
    return {"seen_graphs": count, "without_them": without.to_dict()}
