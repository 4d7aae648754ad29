"""Graphs of a trained model with its predictions, for the commands that show single graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bankgcn.choices import pick
from bankgcn.cli.errors import with_flags
from bankgcn.cli.model_input import ModelInput, read_input
from bankgcn.cli.output import say
from bankgcn.report.page.graphs import Examined
from bankgcn.report.page.run_page import RunEvidence
from bankgcn.tasks import Task
from bankgcn.training.ensemble import Ensemble

PARTS = {"test": "test graphs", "valid": "validation graphs", "train": "training graphs"}
"""The parts of a split that a report may show, the first that has graphs; and their names."""


def examine(ensemble: Ensemble, found: ModelInput, skip_unknown: bool = False) -> Examined:
    """Predictions for the graphs of a source; targets only if all of them are known.

    Args:
        ensemble: The models.
        found: The graphs.
        skip_unknown: Whether to leave out graphs without a target, if others have one.
    """
    try:
        known, y = found.truth(ensemble.task)
    except ValueError as error:
        say(f"note: the targets are not shown: {with_flags(error)}", stderr=True)
        known, y = np.arange(0), np.empty(0)
    total = len(found.graphs)
    if skip_unknown and 0 < len(known) < total:
        say(f"note: {total - len(known):,} of {total:,} graphs have no target: left out", stderr=True)
        found = found.take(known)
    graphs = found.graphs
    smiles = graphs.names if graphs.feature_spec.get("kind") == "atoms" else None
    names = graphs.ids or (graphs.names if smiles is None else None)
    return Examined(
        graphs,
        found.predictions(ensemble).mean.numpy(),
        y if len(known) == len(graphs) and len(graphs) else None,
        names or tuple(numbered(row) for row in found.source_rows.tolist()),
        smiles or (None,) * len(graphs),
        found.voters,
    )


def output_number(task: Task, label: str | None) -> int | None:
    """The number of the class, value or label of this name."""
    kinds = {"classes": "class", "values": "value", "labels": "label"}
    return (
        None if label is None else pick({name: place for place, name in enumerate(task.names)}, label, kinds[task.kind])
    )


def numbered(row: int) -> str:
    """What a graph without an id is called."""
    return f"graph {row}"


def examine_run(
    run: Path, source: str | None, part: str | None, data_root: Path | None, flags: dict[str, Any]
) -> RunEvidence:
    """The models of a run, and the graphs to show with their predictions.

    Args:
        run: Folder of a run, or of several.
        source: Other graphs than those of the training.
        part: Part of the training graphs; by default the test graphs, or the next part that is not empty.
        data_root: Where to look for datasets first.
        flags: Options of the reader that were typed.
    """
    ensemble = Ensemble.load(run)
    if source is not None or part is not None:
        found = read_input(ensemble, source, data_root, flags, part=part)
        return RunEvidence.of(ensemble, examine(ensemble, found, skip_unknown=True), PARTS[part] if part else "graphs")
    for part, words in PARTS.items():
        found = read_input(ensemble, None, data_root, flags, part=part)
        if len(found.graphs):
            return RunEvidence.of(ensemble, examine(ensemble, found), words)
    raise ValueError(f"{run}: the run has no graphs to show")
