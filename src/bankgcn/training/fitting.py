"""Training with early stopping, on training and validation graphs alone: test graphs are out of reach."""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.parameter import is_lazy

from bankgcn.data.graphs import GraphSet
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import UNREADABLE, load_tensors, save_tensors
from bankgcn.nn.network import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training.callbacks import Callback, Callbacks
from bankgcn.training.checks import LossWeights, check_selection, known_weight, task_of
from bankgcn.training.config import TrainConfig
from bankgcn.training.evaluation import Evaluation, Inference, evaluate_outputs, predict_logits
from bankgcn.training.stepper import ProcessGroup, make_stepper

CHECKPOINT_SECONDS = 20.0

Ended = Literal["patience", "max_epochs", "diverged", "stopped", "fitted"]
"""Why a training ended: ``"stopped"`` by a callback; ``"fitted"``: no network, which no epochs train."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT_BYTES = 1 << 30
MAX_MMAP_THRESHOLD = 32 << 20  # the most that glibc allows


class CheckpointError(FileError):
    """A file that a training cannot resume from."""


@dataclass(frozen=True)
class Epoch:
    """The figures of one pass over the training graphs."""

    number: int
    train_loss: float
    valid_loss: float
    valid_score: float
    coherence: float
    learning_rate: float


@dataclass(frozen=True)
class FitResult:
    """The outcome of a training. The network has the weights of the best epoch, if there is one."""

    best: Epoch | None
    epochs: tuple[Epoch, ...]
    ended: Ended
    path: str  # see Stepper.path
    earlier_seconds: float = field(default=0.0, compare=False)  # of the training before it was resumed
    choice: str = ""  # what was fitted and chosen, in words, if it is no network

    @property
    def status(self) -> Literal["finished", "diverged"]:
        """``"diverged"`` if the last loss is not finite, even if an earlier best epoch was restored."""
        return "diverged" if self.ended == "diverged" else "finished"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a training needs beside its network and its graphs. :func:`fit` makes it; what happens inside takes it.

    Args:
        config: The protocol.
        task: What is learned.
        generator: Where the order of the batches comes from.
        dropout_seed: What the dropout follows from, with the number of the step and of the process.
        weights: Weight of each training graph in the loss, with that of its class, or of each of its labels; all graphs
            count equally by default.
        valid_weights: The same for the validation graphs.
        group: The processes that train together.
        callbacks: They watch the training and can end it early.
        checkpoint: A file that keeps the state of the training.
        keep_checkpoint: Whether to write it at the end, instead of removing it.
        needs_checkpoint: Whether a checkpoint that cannot be written is an error.
    """

    config: TrainConfig
    task: Task
    generator: torch.Generator
    dropout_seed: int = 0
    weights: NDArray[np.float64] | None = None
    valid_weights: NDArray[np.float64] | None = None
    group: ProcessGroup = field(default_factory=ProcessGroup)
    callbacks: Sequence[Callback] = ()
    checkpoint: Path | None = None
    keep_checkpoint: bool = False
    needs_checkpoint: bool = True


class Training:
    """The state of a training between two epochs: everything the next epoch depends on. A checkpoint holds the same.

    Args:
        net: The network; it is changed in place.
        train: Graphs to learn from.
        valid: Graphs that decide when to stop and which epoch to keep.
        context: What else it needs.
    """

    def __init__(self, net: GraphNetwork, train: GraphSet, valid: GraphSet, context: Context):
        reuse_memory()
        self.net, self.train, self.valid, self.context = net, train, valid, context
        if any(map(is_lazy, net.parameters())):
            predict_logits(net, train[:1])  # gives every parameter its shape
        self.frozen = net.first_layers(context.config.freeze)
        parameters = (parameter for module in self.frozen for parameter in module.parameters())
        self.frozen_parameters = [parameter for parameter in parameters if parameter.requires_grad]
        for parameter in self.frozen_parameters:
            parameter.requires_grad_(False)
        self.stepper, self.inference = make_stepper(net, train, context), Inference(net)
        self.device = self.stepper.parameters.vector.device
        self.optimizer = self.stepper.optimizer
        self.epochs: list[Epoch] = []
        self.best: Epoch | None = None
        self.best_weights: dict[str, Tensor] = self._weights()
        self.stopped = False
        self.started, self.earlier_seconds = time.perf_counter(), 0.0

    @property
    def ended(self) -> Ended | None:
        """Why the training is over; ``None`` if it is not."""
        if self.epochs and not math.isfinite(self.epochs[-1].train_loss + self.epochs[-1].valid_loss):
            return "diverged"
        since = len(self.epochs) - (self.best.number if self.best else 0)
        if since >= self.context.config.patience:
            return "patience"
        if len(self.epochs) >= self.context.config.max_epochs:
            return "max_epochs"
        return "stopped" if self.stopped else None

    def run_epoch(self) -> Epoch:
        """Train on all training graphs once, and evaluate the validation graphs."""
        total: Tensor | float = 0.0
        for loss in self.steps():
            total = total + loss
        total = self.context.group.all_reduce(torch.as_tensor(total, device=self.device))
        train_loss = total.item() / len(self.train)
        valid = self._validate()
        with torch.no_grad():
            coherence = self.net.coherence("mean").item()
        rate = self.optimizer.rate(self.optimizer.steps_taken - 1)
        epoch = Epoch(len(self.epochs) + 1, train_loss, valid.loss, valid.score, coherence, rate)
        self.epochs.append(epoch)
        if self.optimizer.plateau is not None and math.isfinite(valid.loss):
            self.optimizer.plateau.step(valid.loss)
        if math.isfinite(train_loss + valid.loss) and self._improves(epoch):
            self.best, self.best_weights = epoch, self._weights()
        return epoch

    def stop_if(self, asked: bool) -> None:
        """End the training in all processes if the first one asks for it."""
        self.stopped = bool(self.context.group.broadcast([asked])[0])

    def _validate(self) -> Evaluation:
        """Loss and score on the validation graphs, computed by the first process for all."""
        context, evaluation = self.context, Evaluation(math.nan, math.nan)
        if context.group.rank == 0:
            outputs = self.inference.logits(self.valid).cpu()
            evaluation = evaluate_outputs(outputs, cast(NDArray, self.valid.y), context.task, context.valid_weights)
        return Evaluation(*context.group.broadcast([evaluation.loss, evaluation.score]))

    def result(self) -> FitResult:
        """The outcome, with the best weights restored."""
        self.net.load_state_dict(self.best_weights)
        self.stepper.parameters.release()
        for parameter in self.frozen_parameters:
            parameter.requires_grad_(True)
        ended = self.ended
        assert ended is not None
        return FitResult(self.best, tuple(self.epochs), ended, self.stepper.path, self.earlier_seconds)

    def steps(self) -> Iterator[Tensor | float]:
        """Take one step for every batch, and yield this process's part of the sum of its task losses."""
        self.net.train()
        for module in self.frozen:
            module.eval()  # a batch normalisation would go on to learn means and variances
        group, generator, size = self.context.group, self.context.generator, self.context.config.batch_size
        if group.size == 1:
            several = size * self.stepper.batches_per_call
            for batches in self.train.batches(several, shuffle=True, generator=generator):
                yield from self.stepper.step(batches.to(self.device))
            return
        gradient = self.stepper.parameters.gradient
        counts = known_weight(cast(NDArray, self.train.y), self.context.weights)
        for whole in self.train.batches(size * group.size, shuffle=True, generator=generator):
            batch, share = group.shard(whole.to(self.device), counts)
            gradient.zero_()
            loss = self.stepper.add_gradient(batch, share) if batch.num_graphs else 0.0
            group.all_reduce(gradient)
            self.stepper.update()
            yield loss * whole.num_graphs

    def _improves(self, epoch: Epoch) -> bool:
        if self.best is None:
            return True
        if self.context.config.select == "loss":
            return epoch.valid_loss < self.best.valid_loss
        return self.context.task.scoring.improves(epoch.valid_score, self.best.valid_score)

    def _weights(self) -> dict[str, Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.net.state_dict().items()}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything the next epoch depends on: tensors, and values that JSON can hold."""
        optimizer, plateau = self.optimizer.adam.state_dict(), self.optimizer.plateau
        tensors = {f"net.{name}": tensor for name, tensor in self._weights().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
        for number, moments in optimizer["state"].items():
            tensors |= {f"adam.{number}.{name}": value.clone() for name, value in moments.items()}
        tensors["generator"] = self.context.generator.get_state()
        values = {
            "config": asdict(self.context.config),
            "processes": self.context.group.size,
            "epochs": [list(asdict(epoch).values()) for epoch in self.epochs],
            "best": None if self.best is None else self.best.number,
            "groups": optimizer["param_groups"],
            "schedule": None if plateau is None else plateau.state_dict(),
            "stopped": self.stopped,
            "seconds": self.earlier_seconds + time.perf_counter() - self.started,
        }
        return tensors, values

    def resume(self, checkpoint: Path) -> None:
        """Restore the state in a file.

        Raises:
            CheckpointError: The file holds no state of this training.
        """
        try:
            self.restore(*load_tensors(checkpoint))
        except FileError as error:
            raise CheckpointError(error.message, error.path) from error
        except UNREADABLE as error:
            raise CheckpointError(f"cannot be resumed: {error}", checkpoint) from error

    def restore(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Restore a state. The resumed training ends, bit for bit, as one without an interruption."""
        config, processes = self.context.config, self.context.group.size
        if TrainConfig(**values["config"]) != config:  # a checkpoint may lack settings that a later version added
            raise ValueError("the checkpoint belongs to a training with other settings")
        if values["processes"] != processes:
            raise ValueError(
                f"the training was started by {values['processes']} processes and can only be resumed by as many, "
                f"not by {processes}: a step takes {values['processes']} x {config.batch_size} graphs"
            )
        parts: dict[str, dict[str, Tensor]] = {"net": {}, "best": {}, "adam": {}, "generator": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        self.net.load_state_dict(parts["net"])
        self.best_weights = {name: tensor.to(self.device) for name, tensor in parts["best"].items()}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["adam"].items():
            number, _, moment = name.partition(".")
            moments.setdefault(int(number), {})[moment] = tensor
        self.optimizer.adam.load_state_dict({"state": moments, "param_groups": values["groups"]})
        if self.optimizer.plateau is not None:
            self.optimizer.plateau.load_state_dict(values["schedule"])
        self.context.generator.set_state(parts["generator"][""])
        self.epochs = [Epoch(*epoch) for epoch in values["epochs"]]
        self.best = None if values["best"] is None else self.epochs[values["best"] - 1]
        self.stopped = values.get("stopped", False)  # a checkpoint of version 0.2.0 lacks this and the next one
        self.earlier_seconds = values.get("seconds", 0.0)


def fit(
    net: GraphNetwork,
    train: GraphSet,
    valid: GraphSet,
    config: TrainConfig,
    *,
    generator: torch.Generator,
    task: Task | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Path | None = None,
    keep_checkpoint: bool = False,
    needs_checkpoint: bool = True,
    group: ProcessGroup | None = None,
    dropout_seed: int = 0,
    weights: ArrayLike | None = None,
    valid_weights: ArrayLike | None = None,
) -> FitResult:
    """Train until validation no longer improves, and restore the weights of the best epoch.

    Args:
        net: The network; it is changed in place. It learns in training mode, which it is left in.
        train: Graphs to learn from.
        valid: Graphs that decide when to stop and which epoch to keep.
        config: The protocol.
        generator: Where the order of the batches comes from.
        task: What the network learns; by default what the targets of the training graphs look like.
        callbacks: Called after each epoch and at the end; they see no test graphs and can end the training early.
        checkpoint: A file that keeps the state of the training. If it exists, training resumes from it and ends, bit
            for bit, as without an interruption. The file is removed at the end.
        keep_checkpoint: Whether to write it at the end instead. The caller removes it when the results are safe.
        needs_checkpoint: Whether a checkpoint that cannot be written is an error. Otherwise, training goes on without
            one.
        group: The processes that train together.
        dropout_seed: What the dropout follows from, if the network has any.
        weights: Weight of each training graph in the loss, shape ``(len(train),)``: the loss of a batch is the sum of
            the weighted losses, divided by the sum of the weights. By default all graphs count equally. They multiply
            the weights of the classes, see ``class_weight`` of :class:`TrainConfig`.
        valid_weights: The same for the validation graphs.
    """
    task = task or task_of(train, config)
    check_selection(valid.y, config, task)
    of_classes = LossWeights(config, task, cast(NDArray, train.y))
    context = Context(
        config=config,
        task=task,
        generator=generator,
        dropout_seed=dropout_seed,
        weights=of_classes.of(cast(NDArray, train.y), weights),
        valid_weights=of_classes.of(cast(NDArray, valid.y), valid_weights),
        group=group or ProcessGroup(),
        callbacks=callbacks,
        checkpoint=checkpoint,
        keep_checkpoint=keep_checkpoint,
        needs_checkpoint=needs_checkpoint,
    )
    return run_training(net, train, valid, context)


def run_training(net: GraphNetwork, train: GraphSet, valid: GraphSet, context: Context) -> FitResult:
    """What :func:`fit` does, once its arguments are checked and the graphs have their weights."""
    training, first = Training(net, train, valid, context), context.group.rank == 0
    if context.checkpoint is not None and context.checkpoint.exists():
        training.resume(context.checkpoint)
    context.group.barrier()  # nobody may write or remove it before all have read it
    writer = _Writer(context.checkpoint if first else None, context.needs_checkpoint)
    watching = Callbacks(context.callbacks if first else ())
    result = None
    try:
        while training.ended is None:
            epoch = training.run_epoch()
            writer.keep(training)
            training.stop_if(watching.on_epoch_end(epoch))
        if training.stopped:  # also if it is resumed
            writer.keep(training)
        result = training.result()
    except BaseException:
        writer.write()
        raise
    finally:
        watching.on_end(result)
    if context.keep_checkpoint:
        writer.write()
    else:
        writer.remove()
    return result


class _Writer:
    """Keeps the state after the last whole epoch, and writes it every ``CHECKPOINT_SECONDS``.

    An interrupt comes in the middle of an epoch, so the state is copied between epochs: it never holds half of one.
    """

    def __init__(self, path: Path | None, required: bool):
        self.path, self.required = path, required
        self.state: tuple[dict[str, Tensor], dict[str, Any]] | None = None
        self.written = time.monotonic()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)

    def keep(self, training: Training) -> None:
        if self.path is not None:
            self.state = training.state()
            if time.monotonic() - self.written > CHECKPOINT_SECONDS:
                self.write()

    def write(self) -> None:
        if self.path is not None and self.state is not None:
            try:
                if not self.path.parent.is_dir():  # writing would make it anew, with nothing in it but a checkpoint
                    raise FileError("was removed during the training", self.path.parent)
                save_tensors(self.path, *self.state)
            except (OSError, FileError):
                if self.required:
                    raise
            self.state, self.written = None, time.monotonic()

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


@cache
def reuse_memory() -> bool:
    """Let the C library keep up to a gibibyte of freed memory of this process; returns whether it accepts the setting.

    The signals of a batch are larger than what glibc keeps by default, so each step would request fresh, zeroed pages
    for every intermediate result, which takes a quarter of the time of small steps.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(MMAP_THRESHOLD, MAX_MMAP_THRESHOLD) and libc.mallopt(TRIM_THRESHOLD, KEPT_BYTES))
    except (OSError, AttributeError):  # another C library
        return False
