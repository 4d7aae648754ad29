"""``bankgcn train``: from graphs to a trained model in a folder."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import typer

from bankgcn.cli import train_options as option
from bankgcn.cli.errors import INTERRUPTED
from bankgcn.cli.messages import say
from bankgcn.cli.progress import TrainingProgress
from bankgcn.cli.reading import load_graphs
from bankgcn.cli.settings import DEFAULTS, Settings, in_these_words
from bankgcn.data.features.signals import with_features
from bankgcn.data.sources import Source, find_source
from bankgcn.data.splits import Split, limit_training
from bankgcn.files.errors import FileError
from bankgcn.files.toml_file import Value, read_toml, write_toml
from bankgcn.training.checks import class_notes
from bankgcn.training.parallel import ProcessGroup
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.seeds import Seeds
from bankgcn.training.session import Run, train_run

RUNS = Path("runs")


def train(
    context: typer.Context,
    source: option.Source = None,
    out: option.Out = None,
    config: option.Config = None,
    overwrite: option.Overwrite = False,
    seed: option.Seed = None,
    threads: option.Threads = 1,
    data_root: option.DataRoot = None,
    smiles: option.Smiles = None,
    target: option.Target = None,
    skip_unreadable: option.SkipUnreadable = None,
    skip_missing: option.SkipMissing = None,
    symmetrise: option.Symmetrise = None,
    ignore_weights: option.IgnoreWeights = None,
    features: option.Features = None,
    train_per_class: option.TrainPerClass = None,
    model: option.Model = None,
    order: option.Order = None,
    subspaces: option.Subspaces = None,
    hidden: option.Hidden = None,
    layers: option.Layers = None,
    basis: option.Basis = None,
    projection: option.Projection = None,
    shortcut: option.Shortcut = None,
    bias: option.Bias = None,
    initial_alpha: option.InitialAlpha = None,
    heads: option.Heads = None,
    normalize: option.Normalize = None,
    readout: option.Readout = None,
    pooling: option.Pooling = None,
    epochs: option.Epochs = None,
    patience: option.Patience = None,
    batch_size: option.BatchSize = None,
    learning_rate: option.LearningRate = None,
    weight_decay: option.WeightDecay = None,
    gamma: option.Gamma = None,
    coherence: option.Coherence = None,
    select: option.Select = None,
    metric: option.Metric = None,
    decay_patience: option.DecayPatience = None,
    decay_factor: option.DecayFactor = None,
    min_learning_rate: option.MinLearningRate = None,
) -> None:
    """Train a model, score it once on test graphs it has not seen, and keep it in a folder.

    Without arguments it trains on MUTAG, which comes with the package. Defaults are the paper's.
    """
    torch.set_num_threads(threads)
    world = ProcessGroup.from_environment()
    try:
        flags = _flags(context.params)
        settings, folder = _settle(flags, config, out, overwrite)
        record = folder.read_record() if folder.finished and not overwrite else None
        if record is None:
            record = _train(settings, folder, overwrite, world)
        elif world.rank == 0:
            say(f"this run is finished already; to train it again: {_again(folder)}", stderr=True)
        if world.rank == 0:
            _tell_outcome(record, folder)
        world.barrier()  # a process that leaves early aborts the others
    finally:
        world.close()


def _flags(params: dict[str, Any]) -> dict[str, Value]:
    """What was typed of the settings."""
    flags = {key: value for key, value in params.items() if key in DEFAULTS and value is not None}
    if "data_root" in flags:
        flags["data_root"] = str(flags["data_root"])
    return flags


def _settle(
    flags: dict[str, Value], config: Path | None, out: Path | None, overwrite: bool
) -> tuple[Settings, RunFolder]:
    """The settings and the folder of the run.

    A run in the folder is resumed with its own settings, and conflicting flags raise an error; with ``overwrite`` its
    settings do not count.
    """
    named = RunFolder(out) if out is not None else None
    resumed = named is not None and named.started and not overwrite
    file = config or (named.config if named is not None and resumed else None)
    settings = Settings.resolve(flags, read_toml(file) if file else None, str(file))
    folder = named or RunFolder(RUNS / settings.name)
    folder.check_free()
    if folder.started and not overwrite:
        before = Settings.resolve({}, read_toml(folder.config), str(folder.config))
        for key in settings.differing(before)[:1]:
            raise ValueError(
                f"{folder.path} holds a run with {key} = {before.values.get(key)}, not {settings.values.get(key)}: "
                "name another folder by --out, or give up that run by --overwrite"
            )
    return settings, folder


def _train(settings: Settings, folder: RunFolder, overwrite: bool, world: ProcessGroup) -> dict[str, Any]:
    with in_these_words():
        run = _run(settings)
        run.network()  # what cannot be built is told before anything is written
    with folder.lock() if world.rank == 0 else nullcontext():
        return _train_locked(run, settings, folder, overwrite, world)


def _train_locked(
    run: Run, settings: Settings, folder: RunFolder, overwrite: bool, world: ProcessGroup
) -> dict[str, Any]:
    if world.rank == 0:
        _prepare(folder, settings, run, overwrite)
    world.barrier()
    before = folder.epochs()
    if world.rank == 0:
        _tell_start(run, folder, len(before))
    try:
        with TrainingProgress(run.train, before, shown=world.rank == 0) as progress:
            return train_run(run, folder, on_epoch=progress, world=world)
    except KeyboardInterrupt:
        if world.rank == 0:
            done = f"after epoch {progress.last.number}" if progress.last else "before the first epoch was over"
            say(f"interrupted {done}; to go on: bankgcn train --out {_quoted(folder)}", stderr=True)
        raise typer.Exit(INTERRUPTED) from None


def _run(settings: Settings) -> Run:
    source = find_source(settings["source"], settings["data_root"] or None)
    if settings["features"] and source.reader not in ("smiles", "molhiv"):
        raise ValueError(f"features = {settings['features']} is for molecules, but {source.name} is of another kind")
    graphs = with_features(load_graphs(source, settings["ignore_weights"], **settings.reader))
    if graphs.y is not None and not graphs.classes:
        raise ValueError(f"the targets of {source.name} are numbers, but only classes can be learned")
    split = _split(source, settings, graphs)
    graphs = source.fitted(graphs, split.train)
    official = source.entry is not None and source.entry.split == "official"
    about = {
        "dataset": source.name,
        "split_from": "its authors" if official else "the seed: 8:1:1, stratified by class",
        "config": dict(settings.values),
    }
    return Run(
        graphs=graphs, split=split, model=settings.model, train=settings.train, seed=settings["seed"], about=about
    )


def _split(source: Source, settings: Settings, graphs: Any) -> Split:
    seeds = Seeds.of(settings["seed"])
    split = source.split(graphs, seeds.split)
    per_class = settings["train_per_class"]
    return limit_training(split, graphs.y, per_class, seeds.subset) if per_class else split


def _prepare(folder: RunFolder, settings: Settings, run: Run, overwrite: bool) -> None:
    """Leave the folder as a training that begins, or goes on, wants it."""
    if overwrite:
        folder.clear()
    if folder.split.exists():
        kept = Split.load(folder.split, run.graphs.fingerprint)
        if kept.hash != run.split.hash:
            raise FileError(f"is not the split that this version makes; to train again: {_again(folder)}", folder.split)
    folder.remove_scraps()
    aside = folder.set_damaged_aside()
    if aside is not None:
        say(f"note: the checkpoint cannot be read and is now {aside}; the training begins anew", stderr=True)
    write_toml(folder.config, settings.values, f"bankgcn train --config {folder.config.name} repeats this run")
    run.split.save(folder.split, run.graphs.fingerprint)


def _tell_start(run: Run, folder: RunFolder, epochs: int) -> None:
    sizes = " / ".join(f"{len(part):,}" for part in (run.split.train, run.split.valid, run.split.test))
    for note in (*run.graphs.notes, *class_notes(run.graphs)):
        say(f"note: {note}", stderr=True)
    what = f"{len(run.graphs):,} graphs, {len(run.graphs.classes)} classes; train / validation / test: {sizes}"
    say(f"{run.about['dataset']}: {what}", stderr=True)
    say(f"going on after epoch {epochs} in {folder.path}" if epochs else f"training in {folder.path}", stderr=True)


def _tell_outcome(record: dict[str, Any], folder: RunFolder) -> None:
    if record["best_epoch"] is None:
        raise ValueError(
            "the training diverged: the loss was not a finite number in the first epoch, so there is no model; a "
            f"smaller --learning-rate may help (record: {folder.record})"
        )
    metric = record["metric"].replace("_", "-")
    if record["ended"] == "diverged":
        say(
            f"note: the training diverged: the loss of epoch {record['epochs']} is not a finite number; the model has "
            f"the weights of epoch {record['best_epoch']}, the best one before; a smaller --learning-rate may help",
            stderr=True,
        )
    sizes = record["split_sizes"]
    scores = {"test": (record["test_score"], sizes[2]), "validation": (record["valid_score"], sizes[1])}
    for part, (score, size) in scores.items():
        told = "unknown" if score is None else f"{score:.4f}"
        say(f"{part} {metric}  {told}  ({size:,} graphs)")
    say(f"best epoch {record['best_epoch']} of {record['epochs']}, in {record['seconds']:.1f} s")
    say(f"files: {folder.path}")
    say(f"next: bankgcn predict {_quoted(folder)} NEW_GRAPHS")


def _again(folder: RunFolder) -> str:
    """The command that repeats the run of a folder from its first epoch."""
    return f"bankgcn train --config {shlex.quote(str(folder.config))} --out {_quoted(folder)} --overwrite"


def _quoted(folder: RunFolder) -> str:
    return shlex.quote(str(folder.path))
