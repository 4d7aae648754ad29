"""One run, from its description to its outcome: load, split, build, fit, restore the best epoch, test once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bankgcn.data.features.signals import with_features
from bankgcn.data.features.spec import describe_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source, find_source
from bankgcn.data.splits import Split, limit_training
from bankgcn.data.weights import without_weights
from bankgcn.nn import BankConv, GraphNetwork, mutual_coherence
from bankgcn.nn.budget import layer_parameters
from bankgcn.nn.network import check_available
from bankgcn.tasks import Task
from bankgcn.training.checks import check_run, class_notes
from bankgcn.training.evaluation import Evaluation, evaluate
from bankgcn.training.fitting import Epoch, FitResult, fit
from bankgcn.training.model import TrainedModel
from bankgcn.training.parallel import ProcessGroup
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec
from bankgcn.training.versions import versions

OnEpoch = Callable[[Epoch], None]
Read = Callable[[Source, Mapping[str, Any]], GraphSet]


def read_source(source: Source, options: Mapping[str, Any]) -> GraphSet:
    """Read a source without showing progress."""
    return source.load(**options)


class Loader:
    """Reads the graphs of runs, and keeps the last set: runs that follow each other mostly share it.

    Args:
        data_root: Where to look for datasets first.
        read: Reads a source; a command passes one that shows its progress.
    """

    def __init__(self, data_root: str | Path | None = None, read: Read = read_source):
        self.data_root, self._read = data_root, read
        self._last: tuple[Any, Source, GraphSet] | None = None

    def __call__(self, spec: RunSpec) -> tuple[Source, GraphSet]:
        """The graphs of a run, before anything is fitted to a part of them, and where they come from."""
        wanted = (spec.dataset, spec.reader, spec.task)
        if self._last is None or self._last[0] != wanted:
            source = find_source(spec.dataset, self.data_root)
            if spec.reader.features and not source.holds_molecules:
                raise ValueError(f"features={spec.reader.features} is for molecules, which {source.name} does not hold")
            task = spec.task if "task" in source.options else None  # the targets of other sources are fixed
            graphs = self._read(source, spec.reader.keywords(task))
            if spec.reader.ignore_weights:
                graphs = without_weights(graphs)
            self._last = (wanted, source, with_features(graphs))
        return self._last[1:]


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A run whose graphs are read and whose network is built; nothing is trained yet.

    Args:
        spec: What to run.
        graphs: The graphs. What their features learn from data comes from the training graphs alone.
        fingerprint: That of the graphs as they were read, which is the same for every split.
        split: Which graphs train, validate and test.
        split_from: Where the split comes from, in words.
        task: What the network learns.
        net: The network before training.
    """

    spec: RunSpec
    graphs: GraphSet
    fingerprint: str
    split: Split
    split_from: str
    task: Task
    net: GraphNetwork


@dataclass(frozen=True)
class RunResult:
    """What a run yields: a store keeps the record, a run folder keeps all of it.

    Args:
        record: The outcome.
        epochs: What is known of every epoch.
        model: The trained model; ``None`` if no epoch had a finite loss.
    """

    record: RunRecord
    epochs: tuple[Epoch, ...]
    model: TrainedModel | None


def prepare(spec: RunSpec, load: Loader | None = None) -> PreparedRun:
    """Read and split the graphs, and build the network with its first weights.

    Raises:
        ImportError: A library that the network needs is not installed.
        ValueError: The graphs cannot be read, or a network of this kind cannot be trained on them in this way.
    """
    check_available(spec.model.conv, spec.model.pooling)
    source, as_read = (load or Loader())(spec)
    split = source.split(as_read, spec.seeds.split)
    if spec.train_per_class is not None:
        if as_read.y is None or not as_read.classes:
            raise ValueError(f"train_per_class={spec.train_per_class} needs classes, which {source.name} does not have")
        split = limit_training(split, as_read.y, spec.train_per_class, spec.seeds.subset)
    graphs = source.fitted(as_read, split.train)
    task = check_run(graphs, split, spec.model, spec.train, spec.task)
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(spec.seeds.weights)
        net = spec.model.build(graphs.num_features, task.out_channels)
    return PreparedRun(
        spec=spec,
        graphs=graphs,
        fingerprint=as_read.fingerprint,
        split=split,
        split_from=_split_from(source, task),
        task=task,
        net=net,
    )


def execute(
    run: RunSpec | PreparedRun,
    *,
    load: Loader | None = None,
    on_epoch: OnEpoch | None = None,
    checkpoint: Path | None = None,
    group: ProcessGroup | None = None,
) -> RunResult | None:
    """Train, restore the best weights, and score the test graphs: once, and only now.

    On one machine, the same description gives the same record, apart from its time.

    Args:
        run: What to run, described or prepared.
        load: Where the graphs of a described run come from.
        on_epoch: Called after every epoch.
        checkpoint: A file that keeps the state of the training. If it is there, training resumes from it. The caller
            removes it when the result is safe.
        group: The processes that train together.

    Returns:
        The outcome; ``None`` in every process of a group but the first. A loss that is not finite is an outcome, too.

    Raises:
        ValueError: As :func:`prepare` does.
    """
    started = time.perf_counter()
    group = group or ProcessGroup()
    run = run if isinstance(run, PreparedRun) else prepare(run, load)
    spec, graphs, split = run.spec, run.graphs, run.split
    net = run.net.to(group.device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seeds.weights)
        fitted = fit(
            net,
            graphs[split.train],
            graphs[split.valid],
            spec.train,
            task=run.task,
            generator=torch.Generator().manual_seed(spec.seeds.batches),
            on_epoch=on_epoch,
            checkpoint=checkpoint,
            keep_checkpoint=checkpoint is not None,
            group=group,
        )
    if group.rank > 0:
        return None
    test = evaluate(net, graphs[split.test], run.task) if fitted.best and len(split.test) else None
    record = _record(run, fitted, test, group, time.perf_counter() - started)
    return RunResult(record, fitted.epochs, _model(run, record) if fitted.best else None)


def _split_from(source: Source, task: Task) -> str:
    if source.entry is not None and source.entry.split == "official":
        return "its authors"
    return "the seed: 8:1:1, stratified by class" if task.kind == "classes" else "the seed: 8:1:1"


def _protocol(run: PreparedRun) -> str:
    figure = "the smallest loss" if run.spec.train.select == "loss" else f"the best {run.task.scoring.label}"
    return f"selected the epoch with {figure} on the validation graphs; scored the test graphs once, with its weights"


def _record(
    run: PreparedRun, fitted: FitResult, test: Evaluation | None, group: ProcessGroup, seconds: float
) -> RunRecord:
    spec, split, best = run.spec, run.split, fitted.best
    banks = [conv.alpha.detach() for conv in run.net.convs if isinstance(conv, BankConv)]
    diverged = f"the loss of epoch {len(fitted.epochs)} is not a finite number" if fitted.status == "diverged" else ""
    return RunRecord(
        config=spec,
        status=fitted.status,
        metric=run.task.metric,
        valid_score=best.valid_score if best else None,
        valid_loss=best.valid_loss if best else None,
        test_score=test.score if test else None,
        test_loss=test.loss if test else None,
        best_epoch=best.number if best else None,
        epochs=len(fitted.epochs),
        ended=fitted.ended,
        protocol=_protocol(run),
        coherence=tuple(mutual_coherence(alpha).item() for alpha in banks) if best else (),
        alpha=tuple(map(tuple, banks[0].tolist())) if best and banks else (),
        parameters=sum(parameter.numel() for parameter in run.net.parameters()),
        layer_parameters=layer_parameters(spec.model.conv, spec.model.hidden_channels, **spec.model.conv_options),
        task=run.task.to_dict(),
        fingerprint=run.fingerprint,
        split_hash=split.hash,
        split_sizes=(len(split.train), len(split.valid), len(split.test)),
        split_from=run.split_from,
        notes=(*run.graphs.notes, *class_notes(run.graphs)),
        versions=versions(fitted.path),
        threads=torch.get_num_threads(),
        processes=group.size,
        seconds=seconds,
        error=diverged,
    )


def _model(run: PreparedRun, record: RunRecord) -> TrainedModel:
    return TrainedModel(
        net=run.net,
        config=run.spec.model,
        task=run.task,
        in_channels=run.graphs.num_features,
        metadata={
            "run": run.spec.to_dict(),
            "graphs": run.graphs.fingerprint,
            "split": record.split_hash,
            "valid_score": record.valid_score,
            "test_score": record.test_score,
            "signals": describe_features(run.graphs),
        },
    )


def run(spec: RunSpec, data_root: str | Path | None = None, on_epoch: OnEpoch | None = None) -> RunRecord:
    """The record of a run in this process; see :func:`execute`."""
    return Runner(data_root)(spec, on_epoch)


class Runner:
    """Runs one description after another, as engines need it.

    Args:
        data_root: Where to look for datasets first.
    """

    def __init__(self, data_root: str | Path | None = None):
        self.load = Loader(data_root)

    def __call__(self, spec: RunSpec, on_epoch: OnEpoch | None = None) -> RunRecord:
        """The record of a run."""
        result = execute(spec, load=self.load, on_epoch=on_epoch)
        assert result is not None  # this process is not one of a group
        return result.record
