"""One run: from its configuration to its record."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bankgcn.data.features.signals import with_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source, find_source
from bankgcn.data.splits import Split, limit_training
from bankgcn.nn import BankConv, GraphNetwork, mutual_coherence
from bankgcn.nn.budget import layer_parameters
from bankgcn.training import Epoch, FitResult, evaluate, fit
from bankgcn.training.checks import check_run, class_notes
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec
from bankgcn.training.versions import versions

OnEpoch = Callable[[Epoch], None]


class Runner:
    """Runs one configuration after another, and keeps the last dataset for the next one.

    Args:
        data_root: Where to look for datasets first.
    """

    def __init__(self, data_root: str | Path | None = None):
        self.data_root = data_root
        self._loaded: tuple[str, Source, GraphSet] | None = None

    def __call__(self, config: RunSpec, on_epoch: OnEpoch | None = None) -> RunRecord:
        """See :func:`run`."""
        started = time.perf_counter()
        graphs, split = self._load(config)
        assert self._loaded is not None
        fingerprint = self._loaded[2].fingerprint  # of the graphs as they were read: the same for every split
        check_run(graphs, split, config.model, config.train)
        seeds = config.seeds
        with torch.random.fork_rng(devices=[]):  # nobody else's random numbers are disturbed
            torch.manual_seed(seeds.weights)
            net = config.model.build(graphs.num_features, graphs.num_classes)
            batches = torch.Generator().manual_seed(seeds.batches)
            train, valid = graphs[split.train], graphs[split.valid]
            trained = fit(net, train, valid, config.train, generator=batches, on_epoch=on_epoch)
        record = _record(config, net, trained, graphs, split)
        return replace(record, fingerprint=fingerprint, seconds=time.perf_counter() - started)

    def read(self, dataset: str) -> tuple[Source, GraphSet]:
        """A dataset as runs see it, and where it comes from."""
        if self._loaded is None or self._loaded[0] != dataset:
            source = find_source(dataset, self.data_root)
            self._loaded = (dataset, source, with_features(source.load()))
        return self._loaded[1:]

    def _load(self, config: RunSpec) -> tuple[GraphSet, Split]:
        """The graphs of a run, with signals fitted to those that train, and which train, validate and test."""
        source, graphs = self.read(config.dataset)
        split = source.split(graphs, config.seeds.split)
        if config.train_per_class is not None:
            assert graphs.y is not None  # or there would be no split
            split = limit_training(split, graphs.y, config.train_per_class, config.seeds.subset)
        return source.fitted(graphs, split.train), split


def run(config: RunSpec, data_root: str | Path | None = None, on_epoch: OnEpoch | None = None) -> RunRecord:
    """Split, train, restore the best weights, and look at the test graphs: once, and only now.

    On one machine and one thread, the same configuration gives the same record, its time apart.

    Args:
        config: What to run.
        data_root: Where to look for datasets first.
        on_epoch: Called after every epoch.

    Returns:
        The record; a loss that is not a finite number is one, too, and no error.

    Raises:
        ValueError: The dataset is not there or cannot be read, or the model does not fit to it.
    """
    return Runner(data_root)(config, on_epoch)


def _record(config: RunSpec, net: GraphNetwork, trained: FitResult, graphs: GraphSet, split: Split) -> RunRecord:
    """What is known after the training; without scores if there is no epoch with a finite loss."""
    known: dict[str, Any] = {
        "config": config,
        "status": trained.status,
        "metric": config.train.metric,
        "epochs": len(trained.epochs),
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "layer_parameters": layer_parameters(
            config.model.conv, config.model.hidden_channels, **config.model.conv_options
        ),
        "fingerprint": graphs.fingerprint,
        "split_hash": split.hash,
        "notes": (*graphs.notes, *class_notes(graphs)),
        "versions": versions(trained.path),
        "threads": torch.get_num_threads(),
    }
    if trained.status == "diverged":
        known["error"] = f"the loss of epoch {len(trained.epochs)} is not a finite number"
    if trained.best is None:
        return RunRecord(**known)
    test = evaluate(net, graphs[split.test], config.train.metric)
    banks = [conv.alpha.detach() for conv in net.convs if isinstance(conv, BankConv)]
    return RunRecord(
        **known,
        valid_score=trained.best.valid_score,
        valid_loss=trained.best.valid_loss,
        test_score=test.score,
        test_loss=test.loss,
        best_epoch=trained.best.number,
        coherence=tuple(mutual_coherence(alpha).item() for alpha in banks),
        alpha=tuple(map(tuple, banks[0].tolist())) if banks else (),
    )
