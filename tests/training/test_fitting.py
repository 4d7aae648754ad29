"""Training: its objective, when it stops, what it keeps, and that an interruption leaves no trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bankgcn import BankConv, BankGCN
from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.graphs import GraphSet
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.kernels.network.executor import train
from bankgcn.nn import PLAIN_CONVS, GraphNetwork, mutual_coherence
from bankgcn.nn.layers import dropout_key
from bankgcn.tasks import Task
from bankgcn.training import (
    Callback,
    Epoch,
    Evaluation,
    FitResult,
    TrainConfig,
    embed,
    evaluate,
    fit,
    fitting,
    predict_logits,
)
from bankgcn.training.fitting import Context, Training, reuse_memory
from bankgcn.training.stepper import ProgramStepper, logits_of, objective
from recorder import Recorder
from refusals import refused

CONFIG = TrainConfig(max_epochs=6, batch_size=8, learning_rate=1e-2, gamma=0.5, decay_patience=1)
SCHEDULED = replace(CONFIG, optimizer="adamw", weight_decay=0.1, schedule="cosine", warmup=2, clip_norm=0.1)

TASK = Task(names=("smooth", "alternating"))
CONTEXT = Context(config=CONFIG, task=TASK, generator=torch.Generator())


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def graphs(seed: int = 0, count: int = 40) -> GraphSet:
    return smooth_or_alternating(count, seed=seed)


def network(conv: str = "bank", seed: int = 0) -> GraphNetwork:
    torch.manual_seed(seed)
    return GraphNetwork(1, 2, hidden_channels=16, num_layers=2, conv=conv)


def run(
    config: TrainConfig = CONFIG, make: Callable[[], GraphNetwork] = network, **options
) -> tuple[GraphNetwork, FitResult]:
    net = make()
    generator = torch.Generator().manual_seed(1)
    return net, fit(net, graphs(0), graphs(1), config, generator=generator, **options)


def same_weights(one: GraphNetwork, other: GraphNetwork) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_objective_is_cross_entropy_plus_weighted_diversity() -> None:
    net, batch = network(), graphs().batch()
    omegas = [mutual_coherence(conv.alpha) for conv in net.convs]
    cross_entropy = F.cross_entropy(net(batch.x, batch.edge_index, batch.batch), batch.y)
    for coherence, omega in (("sum", sum(omegas)), ("mean", sum(omegas) / 2)):
        loss, task = objective(net, batch, replace(CONFIG, gamma=10.0, coherence=coherence), TASK)
        torch.testing.assert_close(task, cross_entropy)
        torch.testing.assert_close(loss, cross_entropy + 10.0 * omega)


@pytest.mark.parametrize("conv", PLAIN_CONVS)
def test_every_network_takes_a_batch_of_the_set(conv: str) -> None:
    net, batch = network(conv), graphs().batch()
    torch.testing.assert_close(logits_of(net, batch), net(batch.x, batch.edge_index, batch.batch))


def test_prediction_in_batches_keeps_the_order() -> None:
    net, some = network(), graphs(count=11)
    whole = predict_logits(net, some)
    torch.testing.assert_close(predict_logits(net, some, batch_size=3), whole)
    torch.testing.assert_close(net.predict(embed(net, some, batch_size=4)), whole)
    assert predict_logits(net, some[[]]).shape == (0, 2)
    evaluation = evaluate(net, some)
    assert evaluation.score == np.mean(whole.argmax(1).numpy() == some.y)
    assert evaluation.loss == pytest.approx(F.cross_entropy(whole, torch.from_numpy(some.y)).item())


def test_the_best_epoch_is_restored() -> None:
    net, result = run(replace(CONFIG, max_epochs=12))
    losses = [epoch.valid_loss for epoch in result.epochs]
    assert result.best == result.epochs[int(np.argmin(losses))]
    assert evaluate(net, graphs(1)).loss == pytest.approx(result.best.valid_loss, rel=1e-6)
    assert [epoch.number for epoch in result.epochs] == list(range(1, 13))
    assert result.ended == "max_epochs"


@pytest.mark.parametrize(
    ("select", "losses", "scores", "epochs", "best"),
    [
        ("loss", [5, 4, 4, 3, 4, 4, 4, 1], [0] * 8, 7, 4),
        ("loss", [1, 2, 2, 2, 0], [0] * 5, 4, 1),
        ("score", [1] * 8, [0.1, 0.1, 0.5, 0.4, 0.5, 0.5, 0.9, 0.9], 6, 3),
    ],
)
def test_patience_counts_epochs_without_improvement(
    monkeypatch: pytest.MonkeyPatch, select: str, losses: list, scores: list, epochs: int, best: int
) -> None:
    script = iter(zip(losses, scores, strict=True))
    monkeypatch.setattr(fitting, "evaluate_outputs", lambda *_: Evaluation(*next(script)))
    _, result = run(replace(CONFIG, max_epochs=99, patience=3, select=select, decay_patience=None))
    assert (len(result.epochs), result.best.number, result.ended) == (epochs, best, "patience")


def test_learning_rate_falls_when_validation_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "evaluate_outputs", lambda *_: Evaluation(1.0, 0.0))
    config = replace(CONFIG, max_epochs=12, decay_patience=2, learning_rate=1e-3, min_learning_rate=1e-5)
    _, result = run(config)
    rates = [epoch.learning_rate for epoch in result.epochs]
    assert rates[0] == 1e-3
    assert rates[-1] == pytest.approx(1e-5)
    assert sorted(rates, reverse=True) == rates
    assert len({round(rate, 9) for rate in rates}) == 3


def test_a_loss_that_is_not_finite_ends_the_training_with_the_best_weights() -> None:
    net = network()
    context = Context(config=CONFIG, task=TASK, generator=torch.Generator().manual_seed(1))
    training = Training(net, graphs(0), graphs(1), context)
    training.run_epoch()
    kept = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    with torch.no_grad():
        net.predict.bias.fill_(float("nan"))
    training.run_epoch()
    result = training.result()
    assert result.ended == "diverged"
    assert result.best.number == 1
    assert all(torch.equal(tensor, kept[name]) for name, tensor in net.state_dict().items())


def test_the_same_seeds_give_the_same_training_bit_for_bit() -> None:
    (net, result), (twin, again) = run(), run()
    assert result == again
    assert same_weights(net, twin)


def normalizing_network() -> GraphNetwork:
    """A network with batch normalisation in its projections, which keeps running statistics."""

    def conv(in_channels: int, out_channels: int) -> nn.Module:
        projection = nn.Sequential(nn.Linear(in_channels, out_channels), nn.BatchNorm1d(out_channels))
        return BankConv(in_channels, out_channels, projection=projection)

    return GraphNetwork(1, 2, hidden_channels=16, num_layers=2, conv=conv)


def test_the_network_learns_in_training_mode_and_is_validated_in_evaluation_mode() -> None:
    net, modes = normalizing_network().eval(), []
    net.convs[0].project.register_forward_hook(
        lambda module, *_: modes.append((module.training, torch.is_grad_enabled()))
    )
    fit(net, graphs(0), graphs(1), replace(CONFIG, max_epochs=2), generator=torch.Generator().manual_seed(1))
    learning, validating = (True, True), (False, False)
    assert modes == ([learning] * 5 + [validating]) * 2
    assert net.training


def test_validation_graphs_leave_no_trace_in_running_statistics() -> None:
    nets = []
    for seed in (1, 2):
        torch.manual_seed(0)
        net = normalizing_network()
        fit(net, graphs(0), graphs(seed), replace(CONFIG, max_epochs=1), generator=torch.Generator().manual_seed(1))
        nets.append(net)
    one, other = (net.state_dict() for net in nets)
    assert one["convs.0.project.1.num_batches_tracked"] == 5
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("projection", ["linear", "mlp"])
def test_a_lazy_network_can_be_trained(projection: str) -> None:
    net = BankGCN(-1, 2, hidden_channels=16, num_layers=2, projection=projection)
    result = fit(net, graphs(0), graphs(1), CONFIG, generator=torch.Generator())
    assert net.convs[0].in_channels == 1
    assert result.epochs[-1].train_loss < result.epochs[0].train_loss


def network_with_options() -> GraphNetwork:
    """A network with running statistics, and dropout in every place."""
    torch.manual_seed(0)
    options = {"norm": "batch", "residual": True, "feed_forward": 1, "dropout": 0.3, "head": "mlp"}
    return GraphNetwork(1, 2, hidden_channels=16, num_layers=2, **options)


def test_each_step_has_the_dropout_of_its_number_in_the_whole_training(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []

    def watched(net, batch, config, task, key, *rest):
        keys.append(key)
        return objective(net, batch, config, task, key, *rest)

    monkeypatch.setattr("bankgcn.training.stepper.objective", watched)
    run(replace(CONFIG, max_epochs=2), network_with_options, dropout_seed=7)
    assert keys == [dropout_key(7, step) for step in range(2 * 5)]
    keys.clear()
    options = {"hidden_channels": 16, "num_layers": 2, "norm": "batch"}
    run(replace(CONFIG, max_epochs=1), lambda: GraphNetwork(1, 2, **options), dropout_seed=7)
    assert keys == [None] * 5  # nothing is dropped


@pytest.mark.parametrize("dropout", [0.3, 0.0])
def test_steps_by_program_have_the_same_dropout(dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[int | None] = []

    def watched(graphs, batch_ptr, *arguments, dropout_keys, **options):
        keys.extend([None] * (len(batch_ptr) - 1) if dropout_keys is None else dropout_keys.tolist())
        return train(graphs, batch_ptr, *arguments, dropout_keys=dropout_keys, **options)

    monkeypatch.setattr("bankgcn.kernels.network.executor.train", watched)
    options = {"hidden_channels": 16, "num_layers": 2, "dropout": dropout}
    run(replace(CONFIG, max_epochs=2), lambda: GraphNetwork(1, 2, **options), dropout_seed=7)
    assert keys == [dropout_key(7, step) if dropout else None for step in range(2 * 5)]


def test_the_dropout_of_a_training_follows_from_its_seed_alone() -> None:
    _, result = run(make=network_with_options, dropout_seed=3)
    net = network_with_options()
    torch.rand(5)  # whatever else is drawn
    state = torch.get_rng_state()
    _, again = run(make=lambda: net, dropout_seed=3)
    assert again == result
    assert torch.equal(torch.get_rng_state(), state)
    _, other = run(make=network_with_options, dropout_seed=4)
    assert other.epochs[0].train_loss != result.epochs[0].train_loss


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("make", [network, network_with_options])
@pytest.mark.parametrize(("epoch", "config"), [(1, CONFIG), (3, CONFIG), (5, CONFIG), (1, SCHEDULED), (4, SCHEDULED)])
def test_an_interrupted_training_ends_as_if_it_had_not_been(
    tmp_path: Path, epoch: int, config: TrainConfig, make: Callable[[], GraphNetwork]
) -> None:
    checkpoint = tmp_path / "training.safetensors"
    net, result = run(config, make, dropout_seed=3)

    class Interrupting(Callback):
        def on_epoch_end(self, seen: Epoch) -> None:
            if seen.number == epoch:
                raise Interrupted

    with pytest.raises(Interrupted):
        run(config, make, dropout_seed=3, checkpoint=checkpoint, callbacks=[Interrupting()])
    assert checkpoint.exists()
    recorder = Recorder()
    resumed, again = run(config, make, dropout_seed=3, checkpoint=checkpoint, callbacks=[recorder])
    assert recorder.epochs[0].number == epoch + 1
    assert again == result
    assert same_weights(resumed, net)
    assert all(torch.equal(a, b) for a, b in zip(resumed.buffers(), net.buffers(), strict=True))
    assert not checkpoint.exists()


def test_an_interrupt_within_an_epoch_loses_only_that_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = tmp_path / "training.safetensors"
    monkeypatch.setattr("bankgcn.training.stepper.MAX_CALL_NODES", 0)  # one batch per call
    net, result = run()
    calls = []

    step = ProgramStepper.step

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 13:  # five batches an epoch: in the middle of the third
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(ProgramStepper, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=checkpoint)
    _, values = load_tensors(checkpoint)
    assert len(values["epochs"]) == 2
    monkeypatch.setattr(ProgramStepper, "step", step)
    resumed, again = run(checkpoint=checkpoint)
    assert again == result
    assert same_weights(resumed, net)


def test_a_checkpoint_without_settings_that_came_later_is_restored() -> None:
    training = Training(network(), graphs(0), graphs(1), CONTEXT)
    tensors, values = training.state()
    del values["config"]["loss"]
    training.restore(tensors, values)
    assert training.epochs == []


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    training = Training(network(), graphs(0), graphs(1), CONTEXT)
    save_tensors(tmp_path / "c", *training.state())
    with pytest.raises(ValueError, match="a training with other settings"):
        run(replace(CONFIG, gamma=0.0), checkpoint=tmp_path / "c")


def test_damaged_foreign_and_newer_checkpoints_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.safetensors"
    save_tensors(path, {"a": torch.ones(3)}, {"b": 1})
    assert load_tensors(path)[1] == {"b": 1}
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(FileError, match=r"c\.safetensors: cannot be read"):
        load_tensors(path)
    path.write_bytes(b"not at all")
    with pytest.raises(FileError, match="is not a file of weights saved by bankgcn"):
        load_tensors(path)
    monkeypatch.setattr("bankgcn.files.tensors.FORMAT", 99)
    save_tensors(path, {"a": torch.ones(3)}, {})
    monkeypatch.undo()
    with refused(FileError, "format 99"):
        load_tensors(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("batch_size", 0),
        ("patience", 0),
        ("gamma", -1.0),
        ("learning_rate", 0.0),
        ("select", "test"),
        ("coherence", "x"),
    ],
)
def test_bad_protocols_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{field}={value!r}|unknown {field} {value!r}"):
        TrainConfig(**{field: value})


def test_graphs_without_classes_cannot_be_trained_on() -> None:
    with refused(ValueError, "0 validation"):
        fit(network(), graphs(), graphs()[[]], CONFIG, generator=torch.Generator())
    with refused(ValueError, "0 training"):
        fit(network(), graphs()[[]], graphs(), CONFIG, generator=torch.Generator())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_glibc_accepts_the_setting() -> None:
    assert reuse_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not reuse_memory.__wrapped__()
