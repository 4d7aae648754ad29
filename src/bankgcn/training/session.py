"""One run from graphs to a folder: train, score the test graphs once, keep everything."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from bankgcn.data.features.recipes import description
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.nn import BankConv, GraphNetwork, mutual_coherence
from bankgcn.training.checks import check_run
from bankgcn.training.config import TrainConfig
from bankgcn.training.evaluation import Evaluation, evaluate
from bankgcn.training.fitting import Epoch, FitResult, fit
from bankgcn.training.model import ModelConfig, TrainedModel
from bankgcn.training.parallel import ProcessGroup
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.seeds import Seeds
from bankgcn.training.versions import versions


@dataclass(frozen=True, kw_only=True)
class Run:
    """All that the outcome of a run depends on, the versions of the libraries apart.

    Args:
        graphs: The graphs.
        split: Which of them train, validate and test.
        model: What the network is made of.
        train: How it is trained.
        seed: What weights and batches are drawn with.
        about: What else to keep with the model and in the record, as JSON holds it.

    Raises:
        ValueError: The model cannot be trained on these graphs in this way; see
            :func:`~bankgcn.training.checks.check_run`.
    """

    graphs: GraphSet
    split: Split
    model: ModelConfig
    train: TrainConfig
    seed: int = 0
    about: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_run(self.graphs, self.split, self.model, self.train)

    def network(self) -> GraphNetwork:
        """The network before training."""
        torch.manual_seed(Seeds.of(self.seed).weights)
        return self.model.build(self.graphs.num_features, self.graphs.num_classes)


def train_run(
    run: Run,
    folder: RunFolder,
    *,
    on_epoch: Callable[[Epoch], None] | None = None,
    world: ProcessGroup | None = None,
) -> dict[str, Any]:
    """Train, or go on with a training that was interrupted, and leave all its files in the folder.

    Args:
        run: What to do.
        folder: Where to keep it.
        on_epoch: Called after each epoch.
        world: The processes that train together; the first of them writes.

    Returns:
        The record. If the loss became infinite or NaN, its status is ``"diverged"``: scores and model are those of the
        best epoch before that, and there are none if it was the first epoch.

    Raises:
        FileError: Another process trains in the folder.
    """
    world = world or ProcessGroup()
    with folder.lock() if world.rank == 0 else nullcontext():
        return _train_locked(run, folder, on_epoch, world)


def _train_locked(
    run: Run, folder: RunFolder, on_epoch: Callable[[Epoch], None] | None, world: ProcessGroup
) -> dict[str, Any]:
    started = time.monotonic()
    graphs, split = run.graphs, run.split
    net = run.network().to(world.device)
    generator = torch.Generator().manual_seed(Seeds.of(run.seed).batches)
    result = fit(
        net,
        graphs[split.train],
        graphs[split.valid],
        run.train,
        generator=generator,
        on_epoch=on_epoch,
        checkpoint=folder.checkpoint,
        keep_checkpoint=True,
        world=world,
    )
    if world.rank > 0:
        return {}
    test = evaluate(net, graphs[split.test], run.train.metric) if result.best and len(split.test) else None
    record = _record(run, net, result, test, world)
    folder.write_history(result.epochs)
    if result.best is not None:
        known = ("metric", "valid_score", "test_score", "graphs", "split")
        about = {**run.about, **{name: record[name] for name in known}, "signals": description(graphs)}
        TrainedModel(net, run.model, graphs.classes, graphs.num_features, about).save(folder.model)
    record["seconds"] = round(time.monotonic() - started, 3)
    folder.write_record(record)
    folder.checkpoint.unlink(missing_ok=True)
    return record


def _record(
    run: Run, net: GraphNetwork, result: FitResult, test: Evaluation | None, world: ProcessGroup
) -> dict[str, Any]:
    best, split = result.best, run.split
    with torch.no_grad():
        omegas = [mutual_coherence(conv.alpha).item() for conv in net.convs if isinstance(conv, BankConv)]
    computed = {
        "status": result.status,
        "metric": run.train.metric,
        "test_score": _finite(test.score) if test else None,
        "test_loss": _finite(test.loss) if test else None,
        "valid_score": _finite(best.valid_score) if best else None,
        "valid_loss": _finite(best.valid_loss) if best else None,
        "best_epoch": best.number if best else None,
        "epochs": len(result.epochs),
        "ended": result.ended,
        "coherence": omegas,
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "graphs": run.graphs.fingerprint,
        "split": split.hash,
        "split_sizes": [len(split.train), len(split.valid), len(split.test)],
        "seeds": Seeds.of(run.seed)._asdict(),
        "protocol": _protocol(run.train),
        "versions": versions(result.path),
        "threads": torch.get_num_threads(),
        "processes": world.size,
    }
    return computed | {name: value for name, value in run.about.items() if name not in computed}


def _protocol(config: TrainConfig) -> str:
    kept = "smallest loss" if config.select == "loss" else f"highest {config.metric}"
    return f"kept the epoch with the {kept} on the validation graphs; scored the test graphs once, with its weights"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
