"""A callback that keeps what it is told."""

from __future__ import annotations

from bankgcn.training import Callback, Epoch, FitResult


class Recorder(Callback):
    """Keeps the epochs and the outcome; ends the training after an epoch if asked to."""

    def __init__(self, stop_after: int | None = None):
        self.epochs: list[Epoch] = []
        self.ends: list[FitResult | None] = []
        self.stop_after = stop_after

    def on_epoch_end(self, epoch: Epoch) -> bool:
        self.epochs.append(epoch)
        return epoch.number == self.stop_after

    def on_end(self, result: FitResult | None) -> None:
        self.ends.append(result)
