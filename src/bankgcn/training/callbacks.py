"""Watch a training and end it: callbacks, and one that writes the figures of each epoch for TensorBoard.

The log needs TensorBoard: ``pip install 'bankgcn[tensorboard]'``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bankgcn.extras import require
from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from bankgcn.training.fitting import Epoch, FitResult


class Callback:
    """Watches a training: subclass it and override what you need.

    A callback sees figures of training and validation graphs, never test graphs or the network, and so it cannot change
    what a training computes; it can only end it. To keep the best epoch so far, return ``True`` from
    :meth:`on_epoch_end`: the training ends as if its patience were exhausted. To abandon the training, raise an
    exception: ``fit`` writes its checkpoint, if it has one, and passes the exception on.

    If several processes train together, the first one alone calls the callbacks and decides for all.

    Example:
        >>> class StopAfter(Callback):
        ...     def __init__(self, epochs):
        ...         self.epochs = epochs
        ...
        ...     def on_epoch_end(self, epoch):
        ...         return epoch.number >= self.epochs
    """

    def on_epoch_end(self, epoch: Epoch) -> bool | None:
        """Called after each epoch. A resumed training starts with the first epoch that the checkpoint does not hold.

        Args:
            epoch: Number of the epoch, losses of training and validation, and score of the validation graphs.

        Returns:
            ``True`` to end the training.
        """
        return None

    def on_end(self, result: FitResult | None) -> None:
        """Called once, at the end of the training.

        Args:
            result: The outcome; ``None`` if an exception or an interrupt ended the training.
        """


class Callbacks(Callback):
    """Several callbacks as one. All are called, also if an earlier one ends the training.

    Args:
        callbacks: They are called in this order.
    """

    def __init__(self, callbacks: Sequence[Callback]):
        self.callbacks = callbacks

    def on_epoch_end(self, epoch: Epoch) -> bool:
        """Whether any of them ends the training."""
        answers = [callback.on_epoch_end(epoch) for callback in self.callbacks]  # all of them are asked
        return any(answers)

    def on_end(self, result: FitResult | None) -> None:
        """Tell all of them."""
        for callback in self.callbacks:
            callback.on_end(result)


class ProgressLine(Callback):
    """Shows the progress of a training in one line, which a terminal redraws; elsewhere, now and then, and at the end.

    Args:
        epochs: Most epochs of the training.
        file: Where to write; standard error by default.
    """

    def __init__(self, epochs: int, file: TextIO | None = None):
        self.epochs, self.file = epochs, file or sys.stderr
        self._line, self._width = "", 0
        self._written = time.monotonic()

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Show an epoch."""
        self._line = (
            f"epoch {epoch.number}/{self.epochs}: loss {epoch.train_loss:.4g}, validation {epoch.valid_loss:.4g}, "
            f"score {epoch.valid_score:.4g}"
        )
        if self.file.isatty():
            print(f"\r{self._line:<{self._width}}", end="", file=self.file, flush=True)
            self._width = len(self._line)
        elif time.monotonic() - self._written >= SECONDS_BETWEEN_LINES:
            self._end_line()

    def on_end(self, result: FitResult | None) -> None:
        """Show the last epoch, and end the line."""
        if self._line and self.file.isatty():
            print(file=self.file)
        elif self._line:
            self._end_line()

    def _end_line(self) -> None:
        print(self._line, file=self.file, flush=True)
        self._line, self._written = "", time.monotonic()


SECONDS_BETWEEN_LINES = 10.0  # where lines cannot be redrawn, as in a log
FIELD_OF_TAG = {
    "loss/train": "train_loss",
    "loss/validation": "valid_loss",
    "score/validation": "valid_score",
    "coherence": "coherence",
    "learning_rate": "learning_rate",
}


class TensorBoardLog(Callback):
    """Writes each epoch to a log. A resumed training continues the log in the same folder.

    Args:
        folder: Folder of the log; one for each training.

    Raises:
        ImportError: TensorBoard is not installed.
        FileError: The folder is a file.
    """

    def __init__(self, folder: Path):
        require("tensorboard", "A log for TensorBoard")
        if folder.exists() and not folder.is_dir():
            raise FileError("is a file, but the log for TensorBoard needs a folder", folder)
        self.folder = folder
        self.writer: SummaryWriter | None = None

    def on_epoch_end(self, epoch: Epoch) -> None:
        """Add a point to each curve."""
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # After a kill the log may be ahead of the checkpoint: readers forget what it says of this epoch and later.
            self.writer = SummaryWriter(str(self.folder), purge_step=epoch.number)
        for tag, field in FIELD_OF_TAG.items():
            self.writer.add_scalar(tag, getattr(epoch, field), epoch.number)
        self.writer.flush()  # a checkpoint must not be ahead of the log, or points would be missing

    def on_end(self, result: FitResult | None) -> None:
        """Close the log."""
        if self.writer is not None:
            self.writer.close()
