"""A comparison of models on one dataset: a table of one column, with the protocol of the paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.paper.layout import Column, Grid, Row, Table
from bankgcn.nn.convs import CONVS
from bankgcn.training.spec import RunSpec

NAME = "comparison"
NOTES = {"mlp": "The MLP ignores the edges: it shows how much they add."}
"""Notes for the reader on some models."""


def comparison_table(
    specs: Mapping[str, RunSpec], *, runs: int, search_runs: int | None = None, grid: Grid | None = None
) -> Table:
    """The comparison of these models. The first one is the reference.

    Args:
        specs: The run of each model, by the name of the model. They differ in the convolution and its options alone.
        runs: Number of seeds of each candidate.
        search_runs: Number of seeds that choose among the candidates; all of them by default.
        grid: The values from which hyper-parameters are chosen; the place of the normalisation is that of the runs.

    Raises:
        ValueError: There are no models.
    """
    if not specs:
        raise ValueError("there are no models to compare")
    first = next(iter(specs.values()))
    label = first.dataset if first.dataset in CATALOG else Path(first.dataset).name
    grid = grid or Grid()
    return Table(
        name=NAME,
        title=f"Models on {label}",
        rows=tuple(_row(name, spec) for name, spec in specs.items()),
        columns=(
            Column(
                name=label,
                label=label,
                dataset=first.dataset,
                runs=runs,
                settings=first,
                drawn_splits=draws_splits(first),
            ),
        ),
        reference=next(iter(specs)),
        grid=Grid(weight_decays=grid.weight_decays, gammas=grid.gammas, normalize=(first.model.normalize,)),
        search_runs=search_runs,
    )


def draws_splits(spec: RunSpec) -> bool:
    """Whether each seed has test graphs of its own."""
    options = spec.split
    entry = CATALOG.get(spec.dataset)
    official = entry is not None and entry.split == "official" and options.rule is None and options.ratios is None
    return not official and options.split_column is None and options.test is None and options.split_seed is None


def _row(name: str, spec: RunSpec) -> Row:
    notes = (NOTES[name],) if name in NOTES else ()
    model = spec.model
    return Row(name=name, label=CONVS[model.conv].label, conv=model.conv, options=dict(model.conv_options), notes=notes)
