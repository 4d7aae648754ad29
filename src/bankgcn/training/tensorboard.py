"""The figures of each epoch as a log that TensorBoard shows.

Needs TensorBoard: ``pip install 'bankgcn[tensorboard]'``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bankgcn.extras import require
from bankgcn.files.checked import FileError
from bankgcn.training.callbacks import Callback
from bankgcn.training.fitting import Epoch, FitResult

if TYPE_CHECKING:  # an optional library, loaded when the first epoch is over
    from torch.utils.tensorboard import SummaryWriter

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
