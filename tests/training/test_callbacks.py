"""Callbacks watch a training and can end it, but never change it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.nn import GraphNetwork
from bankgcn.training import Callback, Epoch, FitResult, TrainConfig, fit
from bankgcn.training.callbacks import Callbacks
from bankgcn.training.execute import execute
from bankgcn.training.prepare import Loader, prepare
from bankgcn.training.spec import RunSpec
from recorder import Recorder

CONFIG = TrainConfig(max_epochs=5, batch_size=8, learning_rate=1e-2)


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def trained(*callbacks: Callback) -> tuple[GraphNetwork, FitResult]:
    torch.manual_seed(0)
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2, dropout=0.2)
    train, valid = smooth_or_alternating(24, seed=0), smooth_or_alternating(8, seed=1)
    generator = torch.Generator().manual_seed(1)
    return net, fit(net, train, valid, CONFIG, generator=generator, callbacks=callbacks)


class Drawing(Callback):
    """Draws from every generator that is global."""

    def on_epoch_end(self, epoch: Epoch) -> None:
        torch.manual_seed(epoch.number)
        torch.rand(3)
        np.random.seed(epoch.number)  # noqa: NPY002


class Failing(Callback):
    def on_epoch_end(self, epoch: Epoch) -> None:
        raise RuntimeError("abandoned")


def test_a_callback_sees_every_epoch_and_the_outcome_and_changes_nothing() -> None:
    recorder = Recorder()
    plain, expected = trained()
    watched, result = trained(recorder, Drawing())
    assert result == expected
    assert tuple(recorder.epochs) == result.epochs
    assert recorder.ends == [result]
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))


def test_returning_true_ends_the_training_and_keeps_the_best_epoch() -> None:
    _, whole = trained()
    later = Recorder()
    _, result = trained(Recorder(stop_after=3), later)
    assert (result.ended, result.status) == ("stopped", "finished")
    assert result.epochs == whole.epochs[:3]
    assert result.best == min(result.epochs, key=lambda epoch: epoch.valid_loss)
    assert len(later.epochs) == 3  # all callbacks see the last epoch


def test_a_training_that_a_callback_ended_is_over_also_if_it_is_resumed(tmp_path: Path) -> None:
    spec = RunSpec(dataset="MUTAG").with_(max_epochs=5, hidden_channels=8, num_layers=1, num_subspaces=2)
    checkpoint = tmp_path / "checkpoint"
    ended = execute(spec, callbacks=[Recorder(stop_after=2)], checkpoint=checkpoint)
    resumed = execute(spec, checkpoint=checkpoint)
    assert ended is not None
    assert resumed is not None
    assert checkpoint.exists()
    assert len(resumed.epochs) == len(ended.epochs) == 2
    assert resumed.record.test_loss == ended.record.test_loss


def test_an_exception_abandons_the_training_and_every_callback_is_told() -> None:
    recorder = Recorder()
    with pytest.raises(RuntimeError, match="abandoned"):
        trained(recorder, Failing())
    assert len(recorder.epochs) == 1
    assert recorder.ends == [None]


def test_several_callbacks_are_one_that_ends_if_any_does() -> None:
    epoch = Epoch(1, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert Callbacks([Recorder(), Recorder(stop_after=1)]).on_epoch_end(epoch)
    assert not Callbacks([Recorder(), Callback()]).on_epoch_end(epoch)


def test_the_end_is_told_before_the_test_graphs_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, order = Recorder(), []
    monkeypatch.setattr(
        "bankgcn.training.execute.score_held_out", lambda run: order.append(len(recorder.ends)) or pytest.fail("scored")
    )
    run = prepare(RunSpec(dataset="MUTAG").with_(max_epochs=1, hidden_channels=8, num_layers=1), Loader())
    with pytest.raises(pytest.fail.Exception, match="scored"):
        execute(run, callbacks=[recorder])
    assert order == [1]
