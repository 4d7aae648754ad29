"""One run, from its description to its outcome: prepare, fit, restore the best epoch, test once."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch

import bankgcn
from bankgcn.data.catalog import CATALOG, DataFolders
from bankgcn.data.features.spec import describe_features
from bankgcn.files.tables import Columns
from bankgcn.kernels.jit.switch import fused_for
from bankgcn.nn import BankConv, GraphNetwork, mutual_coherence
from bankgcn.nn.budget import layer_parameters
from bankgcn.rivals import Rival
from bankgcn.tasks import LIKELY
from bankgcn.training.assessment import HeldOut, constant_prediction, score_held_out
from bankgcn.training.callbacks import Callback
from bankgcn.training.checks import class_notes, data_warnings
from bankgcn.training.domain import Domain
from bankgcn.training.evaluation import Inference, inference_of, true_targets
from bankgcn.training.fitting import CheckpointError, Context, Epoch, FitResult, run_training
from bankgcn.training.intervals import LEVEL, Conformal, Group, TooFewGraphs, ValidationPredictions, coverage
from bankgcn.training.model import TrainedModel
from bankgcn.training.prepare import Loader, PreparedRun, prepare
from bankgcn.training.record import RunRecord, checkpoint_path
from bankgcn.training.rival import PATH as RIVAL_PATH
from bankgcn.training.rival import fit_rival
from bankgcn.training.spec import RunSpec
from bankgcn.training.stepper import ProcessGroup

LIBRARIES = ("torch", "numpy", "numba", "torch-geometric")
RIVAL_LIBRARIES = ("scikit-learn", "scipy", "rdkit")
"""On which models that are no networks depend, too."""


@dataclass(frozen=True)
class RunResult:
    """What a run yields: a store keeps the record, a run folder keeps all of it.

    Args:
        record: The outcome.
        epochs: What is known of every epoch.
        model: The trained model; ``None`` if no epoch had a finite loss.
        test_table: Predictions for the test graphs, beside the truth; empty without them, and if one is not finite.
    """

    record: RunRecord
    epochs: tuple[Epoch, ...]
    model: TrainedModel | None
    test_table: Columns = field(default_factory=list)


def execute(
    run: RunSpec | PreparedRun,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: Path | None = None,
    needs_checkpoint: bool = True,
    group: ProcessGroup | None = None,
    for_new_graphs: bool = False,
) -> RunResult | None:
    """Train, restore the best weights, and score the test graphs: once, and only now.

    On one machine, the same description gives the same record, apart from its time.

    Args:
        run: What to run, described or prepared.
        callbacks: They watch the training and can end it early.
        checkpoint: A file that keeps the state of the training. If it is there, training resumes from it. The caller
            removes it when the result is safe.
        needs_checkpoint: Whether a checkpoint that cannot be written is an error.
        group: The processes that train together.
        for_new_graphs: Whether the model keeps what intervals and the domain of new graphs need, and the record says
            how often intervals hold the targets of test graphs. The runs of a sweep have records alone.

    Returns:
        The outcome; ``None`` in every process of a group but the first. A loss that is not finite is an outcome, too.

    Raises:
        ValueError: As :func:`prepare` does.
    """
    started = time.perf_counter()
    run = run if isinstance(run, PreparedRun) else prepare(run)
    context = replace(
        context_of(run),
        callbacks=callbacks,
        checkpoint=checkpoint,
        keep_checkpoint=checkpoint is not None,
        needs_checkpoint=needs_checkpoint,
        group=group or ProcessGroup(),
    )
    fitted = fit_run(run, context)
    if context.group.rank > 0:
        return None
    run.net.to("cpu")  # the test graphs get the digits that the model gives later, on any machine
    tested = score_held_out(run) if fitted.best else HeldOut(run.task)
    run = replace(run, task=tested.task)
    kept = _kept(run, tested) if for_new_graphs and fitted.best else _Kept()
    seconds = fitted.earlier_seconds + time.perf_counter() - started
    record = replace(_record(run, fitted, tested, context.group, seconds), intervals=dict(kept.coverage))
    model = replace(_model(run, record), validation=kept.validation, domain=kept.domain) if fitted.best else None
    return RunResult(record, fitted.epochs, model, tested.table)


class _Kept(NamedTuple):
    """What a trained model keeps for new graphs, and how often its intervals hold the targets of test graphs."""

    validation: ValidationPredictions | None = None
    domain: Domain | None = None
    coverage: Mapping[str, Any] = MappingProxyType({})


def _kept(run: PreparedRun, tested: HeldOut) -> _Kept:
    inference, graphs, split = inference_of(run.net), run.graphs, run.split
    keeps_domain = run.spec.dataset not in CATALOG
    embed = inference.embeddings if isinstance(inference, Inference) else None
    domain = Domain.of(graphs[split.train], embed, split.hash) if keeps_domain else None
    validation = _validation_predictions(run, inference, tested.temperature)
    if validation is None or tested.predictions is None:
        return _Kept(validation, domain)
    group = Group(validation.predictions, None, validation.y)
    predictions = tested.predictions.numpy()
    decided = None if run.task.kind == "values" else run.task.decide(tested.predictions).numpy()
    try:
        intervals = Conformal(run.task, [group], LEVEL).apply([(predictions, None)], decided)
    except TooFewGraphs:  # whoever asks for intervals is told so
        return _Kept(validation, domain)
    return _Kept(validation, domain, coverage(run.task, intervals, true_targets(run.task, graphs[split.test])))


def _validation_predictions(
    run: PreparedRun, inference: Inference | Rival, temperature: float
) -> ValidationPredictions | None:
    """What the model predicts for its validation graphs, with the digits of predict; ``None`` if one is not finite."""
    valid = run.graphs[run.split.valid]
    outputs = inference.apply(valid)[0].double()
    if not outputs.isfinite().all():
        return None
    predictions = run.task.predictions(outputs / temperature).numpy()
    y = true_targets(run.task, valid)
    return ValidationPredictions(
        predictions,
        y if run.task.kind == "classes" else y.reshape(predictions.shape).astype(np.float64),
        run.split.hash,
    )


def context_of(run: PreparedRun) -> Context:
    """What the training of a run needs, in this process alone, unwatched and without a checkpoint."""
    return Context(
        config=run.spec.train,
        task=run.task,
        generator=torch.Generator().manual_seed(run.spec.seeds.batches),
        dropout_seed=run.spec.seeds.dropout,
        weights=run.loss_weights(run.split.train),
        valid_weights=run.loss_weights(run.split.valid),
    )


def fit_run(run: PreparedRun, context: Context) -> FitResult:
    """Train the model of a prepared run by its training and validation graphs."""
    graphs, split = run.graphs, run.split
    if isinstance(run.net, Rival):
        return fit_rival(run.net, graphs[split.train], graphs[split.valid], context, run.spec.seeds.weights)
    net = run.net.to(context.group.device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.spec.seeds.weights)
        return run_training(net, graphs[split.train], graphs[split.valid], context)


def _protocol(run: PreparedRun, choice: str) -> str:
    figure = "the smallest loss" if run.spec.train.select == "loss" else f"the best {run.task.scoring.label}"
    thresholds = run.task.thresholds
    one = "the threshold" if len(thresholds) == 1 else "the threshold of each label"
    any_chosen = any(threshold != LIKELY for threshold in thresholds)
    where = "the validation graphs" if choice else "them"
    chosen = f"chose {one} with the largest MCC on {where}; " if any_chosen else ""
    if choice:
        return f"{choice}; {chosen}scored the test graphs once"
    return (
        f"selected the epoch with {figure} on the validation graphs; {chosen}scored the test graphs once, with its "
        "weights"
    )


def _record(run: PreparedRun, fitted: FitResult, tested: HeldOut, group: ProcessGroup, seconds: float) -> RunRecord:
    spec, split, best, test = run.spec, run.split, fitted.best, tested.evaluation
    banks = [] if isinstance(run.net, Rival) else [c.alpha.detach() for c in run.net.convs if isinstance(c, BankConv)]
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
        protocol=_protocol(run, fitted.choice),
        coherence=tuple(mutual_coherence(alpha).item() for alpha in banks) if best else (),
        alpha=tuple(map(tuple, banks[0].tolist())) if best and banks else (),
        parameters=_num_parameters(run.net),
        layer_parameters=_layer_parameters(run),
        task=run.task.to_dict(),
        fingerprint=run.fingerprint,
        split_hash=split.hash,
        split_sizes=(len(split.train), len(split.valid), len(split.test)),
        split_from=run.split_from,
        notes=(*run.graphs.notes, *class_notes(run.graphs), *tested.notes),
        warnings=data_warnings(run.graphs, spec),
        versions={**versions(fitted.path), **_gpu(group.device)},
        threads=torch.get_num_threads(),
        processes=group.size,
        assessment=tested.assessment.to_dict() if tested.assessment else {},
        temperature=tested.temperature,
        seconds=seconds,
        error=diverged,
        parent=run.parent,
    )


def _num_parameters(net: GraphNetwork | Rival) -> int:
    return net.size if isinstance(net, Rival) else sum(parameter.numel() for parameter in net.parameters())


def _layer_parameters(run: PreparedRun) -> int:
    if isinstance(run.net, Rival):
        return 0
    model = run.spec.model
    options = {**model.conv_options, **({"edge_dim": run.net.edge_dim} if run.net.weighs_edges else {})}
    of_block = sum(parameter.numel() for parameter in run.net.feed_forwards[:1].parameters())
    return layer_parameters(model.conv, model.hidden_channels, **options) + of_block


def _model(run: PreparedRun, record: RunRecord) -> TrainedModel:
    assert run.graphs.y is not None
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
            "signals": describe_features(run.graphs, run.net.edge_dim is not None),
            **({"graph_features": dict(run.graphs.graph_spec)} if run.graphs.graph_spec else {}),
            **({"encodings": dict(run.graphs.encoding_spec)} if run.graphs.encoding_spec else {}),
            "temperature": record.temperature,
            "constant": list(constant_prediction(run.task, run.graphs.y[run.split.train])),
        },
        edge_dim=run.net.edge_dim,
    )


def run(spec: RunSpec, data_root: str | Path | None = None, callbacks: Sequence[Callback] = ()) -> RunRecord:
    """The record of a run in this process; see :func:`execute`."""
    return Runner(data_root)(spec, callbacks)


class Runner:
    """Runs one description after another, as engines need it.

    Args:
        data_root: Where to look for datasets first.
        checkpoints: Folder for the states of unfinished runs. A run whose state is there resumes. The caller removes
            the states when the records are safe; see :mod:`bankgcn.training.record`.
    """

    def __init__(self, data_root: str | Path | None = None, checkpoints: str | Path | None = None):
        self.load = Loader(DataFolders(data_root))
        self.checkpoints = None if checkpoints is None else Path(checkpoints)

    def __call__(self, spec: RunSpec, callbacks: Sequence[Callback] = ()) -> RunRecord:
        """The record of a run."""
        started = time.perf_counter()
        run = prepare(spec, self.load)
        seconds = time.perf_counter() - started
        checkpoint = self._checkpoint(run)
        try:
            # On a full disk, it is the record that cannot be stored: the sweep ends then, with a message for the user.
            result = execute(run, callbacks=callbacks, checkpoint=checkpoint, needs_checkpoint=False)
        except CheckpointError as error:
            Path(error.path).unlink()
            return self(spec, callbacks)  # from the start
        assert result is not None  # this process is not one of a group
        return replace(result.record, seconds=seconds + result.record.seconds)

    def _checkpoint(self, run: PreparedRun) -> Path | None:
        """The file for the state of a run."""
        if self.checkpoints is None:
            return None
        kernels = "on" if fused_for() else "off"
        depends_on = [run.fingerprint, run.split.hash, versions(kernels), torch.get_num_threads()]
        return checkpoint_path(self.checkpoints, run.spec.key, depends_on)


def versions(path: str) -> dict[str, str]:
    """Versions of the libraries, the processor, and the path that the training took (``FitResult.path``)."""
    parts = {
        "bankgcn": bankgcn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    parts |= {"processor": processor(), "kernels": path}
    for library in (*LIBRARIES, *(RIVAL_LIBRARIES if path == RIVAL_PATH else ())):
        with contextlib.suppress(metadata.PackageNotFoundError):
            parts[library] = metadata.version(library)
    return parts


def _gpu(device: torch.device) -> dict[str, str]:
    """The name of the GPU that trained, if one did."""
    return {"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}


@cache
def processor() -> str:
    """The processor's name with its vector instructions, for example ``AMD EPYC (AVX512)``.

    The name alone is not enough: virtual machines hide the model, and sums are rounded differently by vectors of
    different widths.
    """
    name = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()} ({torch.backends.cpu.get_cpu_capability()})"
