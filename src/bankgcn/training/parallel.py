"""Train one model with several processes, each on its shard of every batch; ``torchrun`` starts them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from bankgcn.data.batch import GraphBatch


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together; by default this one alone.

    Args:
        rank: Number of this process.
        size: Number of processes.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def from_environment(cls) -> ProcessGroup:
        """Join the group that ``torchrun`` started; without ``torchrun``, the group is this process alone."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls()
        if not dist.is_initialized():
            gpu = torch.cuda.is_available()
            if gpu:
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            dist.init_process_group("nccl" if gpu else "gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def device(self) -> torch.device:
        """The device of this process: a GPU of its own where there are GPUs."""
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))

    def shard(self, batch: GraphBatch, weights: NDArray[np.float64] | None = None) -> tuple[GraphBatch, float]:
        """The graphs of a batch that this process trains on, and their fraction of the batch.

        Args:
            batch: The batch.
            weights: How much each graph of its source counts in the loss, if they do not count equally.
        """
        if self.size == 1:
            return batch, 1.0
        shard = GraphBatch(batch.source, batch.indices[self.rank :: self.size], batch.device)
        total = 0.0 if weights is None else weights[batch.indices].sum()
        if weights is None or total == 0:
            return shard, shard.num_graphs / batch.num_graphs
        return shard, float(weights[shard.indices].sum() / total)

    def all_reduce(self, value: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """The values of the first process.

        All processes must take the same decisions, but their own sums may differ in the last bit.
        """
        if self.size == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def barrier(self) -> None:
        """Wait until all processes reach this point."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1:
            dist.destroy_process_group()
