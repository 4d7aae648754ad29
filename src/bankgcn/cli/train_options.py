"""The options of ``bankgcn train``. Each is a key of its configuration file, too, with ``_`` for ``-``.

All are ``None`` unless they are typed, because what is typed overrides a file, and what is not must not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.settings import CHOICES, DEFAULTS, OF_DATASET


def _option(key: str, text: str, panel: str, *names: str) -> Any:
    """An option whose help tells its choices, and its default, which a dataset may have otherwise."""
    default = DEFAULTS[key]
    said = [f"default: {str(default).lower() if isinstance(default, bool) else default}"] if default != "" else []
    for value in dict.fromkeys(values[key] for values in OF_DATASET.values() if key in values):
        datasets = [name for name, values in OF_DATASET.items() if values.get(key) == value]
        said.append(f"{value} for {' and '.join(datasets)}")
    choices = f" {', '.join(filter(None, CHOICES[key]))}." if key in CHOICES else ""
    told = f" ({'; '.join(said)})" if said else ""
    return typer.Option(*names, help=f"{text}{choices}{told}", show_default=False, rich_help_panel=panel)


RUN, DATA, MODEL, TRAINING = "Run", "Data", "Model", "Training"

Source = Annotated[
    str | None,
    typer.Argument(
        help="A dataset's name, a folder or zip in the TU format, a .csv of SMILES, or a .jsonl of graphs.",
        show_default="MUTAG, which comes with the package",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the run. One that was interrupted is gone on with, as if nothing had happened.",
        show_default="runs/DATASET-MODEL-SEED, and what differs from the defaults",
        rich_help_panel=RUN,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with any of these options, such as the config.toml of another run; flags override it.",
        rich_help_panel=RUN,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace the run in the folder; its settings are not reused unless --config names its config.toml.",
        rich_help_panel=RUN,
    ),
]
Threads = Annotated[
    int, typer.Option(min=1, help="Threads; more than one pays only for large graphs.", rich_help_panel=RUN)
]
Seed = Annotated[
    int | None,
    _option("seed", "Number of the run: split, weights and order of batches follow from it.", RUN),
]

DataRoot = Annotated[
    Path | None,
    typer.Option(
        help="Where to look for datasets first; then in $BANKGCN_DATA, then in the user's cache folder.",
        rich_help_panel=DATA,
    ),
]
Smiles = Annotated[str | None, _option("smiles", "Column of a table that has the molecules.", DATA)]
Target = Annotated[str | None, _option("target", "Column of a table that has the targets.", DATA)]
SkipUnreadable = Annotated[
    bool | None,
    _option(
        "skip_unreadable", "Leave out molecules that cannot be read.", DATA, "--skip-unreadable/--no-skip-unreadable"
    ),
]
SkipMissing = Annotated[
    bool | None,
    _option("skip_missing", "Leave out molecules without a target.", DATA, "--skip-missing/--no-skip-missing"),
]
Symmetrise = Annotated[
    bool | None, _option("symmetrise", "Add the missing reverses of edges.", DATA, "--symmetrise/--no-symmetrise")
]
IgnoreWeights = Annotated[
    bool | None,
    _option(
        "ignore_weights",
        "Count every edge as 1, for models that take no weights; predict and embed then do the same.",
        DATA,
        "--ignore-weights/--no-ignore-weights",
    ),
]
Features = Annotated[
    str | None,
    _option(
        "features",
        "What molecules give for an atom: its nine integers as they are, one column for each of their values, or a "
        "learned vector for each:",
        DATA,
    ),
]
TrainPerClass = Annotated[
    int | None, _option("train_per_class", "Training graphs to keep of each class; 0 keeps all.", DATA)
]

Model = Annotated[str | None, _option("model", "The convolution:", MODEL)]
Hidden = Annotated[int | None, _option("hidden", "Width of every layer.", MODEL)]
Layers = Annotated[int | None, _option("layers", "Number of layers.", MODEL)]
Order = Annotated[
    int | None, _option("order", "Order K of the filters, which is their reach in hops (bank, cheb).", MODEL)
]
Subspaces = Annotated[int | None, _option("subspaces", "Filters in a layer, s (bank).", MODEL)]
Basis = Annotated[str | None, _option("basis", "Polynomials that filters are made of (bank):", MODEL)]
Projection = Annotated[str | None, _option("projection", "How signals get into the subspaces (bank):", MODEL)]
Shortcut = Annotated[
    bool | None,
    _option("shortcut", "Add the projected signal to the filtered one (bank).", MODEL, "--shortcut/--no-shortcut"),
]
Bias = Annotated[bool | None, _option("bias", "Projections learn an offset (bank).", MODEL, "--bias/--no-bias")]
InitialAlpha = Annotated[str | None, _option("initial_alpha", "How filters start (bank):", MODEL)]
Heads = Annotated[int | None, _option("heads", "Heads side by side (gat).", MODEL)]
Normalize = Annotated[str | None, _option("normalize", "Where the l2 normalisation stands to the ReLU:", MODEL)]
Readout = Annotated[str | None, _option("readout", "From the nodes to the graph:", MODEL)]
Pooling = Annotated[str | None, _option("pooling", "Between the layers:", MODEL)]

Epochs = Annotated[int | None, _option("epochs", "Most passes over the training graphs.", TRAINING)]
Patience = Annotated[int | None, _option("patience", "Epochs without improvement after which it ends.", TRAINING)]
BatchSize = Annotated[int | None, _option("batch_size", "Graphs in a step (of each process).", TRAINING)]
LearningRate = Annotated[float | None, _option("learning_rate", "Step size of Adam.", TRAINING)]
WeightDecay = Annotated[float | None, _option("weight_decay", "L2 penalty.", TRAINING)]
Gamma = Annotated[float | None, _option("gamma", "Weight of the filters' diversity, Omega (bank).", TRAINING)]
Coherence = Annotated[str | None, _option("coherence", "How Omega of the layers is put together (bank):", TRAINING)]
Select = Annotated[
    str | None,
    _option("select", "Which figure of the validation graphs picks the epoch:", TRAINING),
]
Metric = Annotated[str | None, _option("metric", "The score:", TRAINING)]
DecayPatience = Annotated[
    int | None,
    _option("decay_patience", "Epochs without improvement after which the step shrinks; 0: never.", TRAINING),
]
DecayFactor = Annotated[float | None, _option("decay_factor", "What it is multiplied by then.", TRAINING)]
MinLearningRate = Annotated[float | None, _option("min_learning_rate", "Where it stops shrinking.", TRAINING)]
