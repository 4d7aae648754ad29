"""``bankgcn evaluate``: how good a trained model is on graphs whose targets are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankgcn.cli.messages import say
from bankgcn.cli.options import DataRoot, Threads, with_settings
from bankgcn.cli.output import OR_STANDARD_OUTPUT, is_standard_output, named, open_output
from bankgcn.cli.predict import APPLYING, Part, RunArgument, SourceArgument
from bankgcn.metrics import METRICS

if TYPE_CHECKING:  # PyTorch is loaded when the command is run
    from bankgcn.cli.model_input import ModelInput
    from bankgcn.training.assessment import Assessment
    from bankgcn.training.ensemble import Ensemble

Json = Annotated[Path | None, typer.Option("--json", help=f"File for the same figures as JSON; {OR_STANDARD_OUTPUT}")]


@with_settings(APPLYING)
def evaluate(
    run: RunArgument,
    source: SourceArgument = None,
    part: Part = None,
    json_file: Json = None,
    data_root: DataRoot = None,
    threads: Threads = 1,
    **flags: Any,
) -> None:
    """Score a model on graphs whose targets are known, beside a prediction that does not look at the graphs.

    Graphs are read as for training, unless other options are given. Those without a target are left out.
    """
    import torch

    from bankgcn.cli.model_input import read_input
    from bankgcn.training.ensemble import Ensemble

    torch.set_num_threads(threads)
    ensemble = Ensemble.load(run)
    found = read_input(ensemble, source, data_root, flags, part=part, need_targets=True)
    if not len(found.graphs):
        where = source if part is None else f"the part {part!r} of {run}"
        raise ValueError(f"there are no graphs to score in {where}")
    assessment = show_assessment(ensemble, found, to_stderr=is_standard_output(json_file))
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(assessment.to_dict(), indent=2, allow_nan=False).encode() + b"\n")
        say(f"the figures are in {named(json_file)}", stderr=True)


def show_assessment(ensemble: Ensemble, found: ModelInput, prefix: str = "", to_stderr: bool = False) -> Assessment:
    """Print how good models are on graphs whose targets are known.

    Args:
        ensemble: The models.
        found: The graphs.
        prefix: What stands before the first score.
        to_stderr: Whether standard output is needed for something else.

    Raises:
        ValueError: No target is known, or targets do not fit the models.
    """
    from bankgcn.cli.assessment_lines import assessment_lines, assessment_warnings
    from bankgcn.training.assessment import assess

    known, y = found.truth(ensemble.task)
    if not len(known):
        raise ValueError(f"{found.graphs.name} has no targets to compare with (--target NAME names their column)")
    mean, _ = found.take(known).predictions(ensemble)
    assessment = assess(ensemble.task, mean, y, ensemble.first.constant)
    if len(known) < found.num_rows:
        say(f"note: {found.num_rows - len(known):,} of {found.num_rows:,} rows have no graph or no target", stderr=True)
    metric = METRICS[assessment.metric]
    score = metric.text(assessment.score)
    say(f"{prefix}{metric.label}  {score}  ({assessment.graphs:,} graphs)", stderr=to_stderr)
    for line in assessment_lines(assessment):
        say(line, stderr=to_stderr)
    for warning in assessment_warnings(assessment):
        say(f"warning: {warning}", stderr=True)
    return assessment
