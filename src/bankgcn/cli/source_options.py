"""The options of every command that reads graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

DataRoot = Annotated[
    Path | None,
    typer.Option(help="Where to look for datasets first; then in $BANKGCN_DATA, then in the user's cache folder."),
]
Smiles = Annotated[str | None, typer.Option(help="Column of a table that has the molecules.")]
Target = Annotated[str | None, typer.Option(help="Column of a table that has the targets.")]
SkipUnreadable = Annotated[bool, typer.Option("--skip-unreadable", help="Leave out molecules that cannot be read.")]
SkipMissing = Annotated[bool, typer.Option("--skip-missing", help="Leave out molecules without a target.")]
IgnoreTargets = Annotated[bool, typer.Option("--ignore-targets", help="Read no targets.")]
Symmetrise = Annotated[bool, typer.Option("--symmetrise", help="Add the missing reverses of edges.")]
IgnoreWeights = Annotated[
    bool, typer.Option("--ignore-weights", help="Count every edge as 1; always so if the run was trained so.")
]

OPTION_OF_KEYWORD = {
    'unreadable="skip"': "--skip-unreadable",
    'missing="skip"': "--skip-missing",
    'asymmetric="symmetrise"': "--symmetrise",
    'smiles="NAME"': "--smiles NAME",
    'target="NAME"': "--target NAME",
    'task="classes"': "--task classes",
    'task="values"': "--task values",
    'task="labels"': "--task labels",
    "has_target=False": "--ignore-targets",
    'select="loss"': "--select loss",
    "without_weights": "--ignore-weights",
}
"""What the library's messages advise, as it is written here."""


def reader_options(
    smiles: str | None,
    target: str | None,
    skip_unreadable: bool,
    symmetrise: bool,
    skip_missing: bool = False,
    ignore_targets: bool = False,
) -> dict[str, Any]:
    """What was asked for, as keywords of a reader; what was not is left to its defaults."""
    options = {
        "smiles": smiles,
        "target": target,
        "unreadable": "skip" if skip_unreadable else None,
        "missing": "skip" if skip_missing else None,
        "asymmetric": "symmetrise" if symmetrise else None,
        "has_target": False if ignore_targets else None,
    }
    return {name: value for name, value in options.items() if value is not None}
