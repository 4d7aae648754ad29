"""One model trained by several processes, each on its part of every batch; started by ``torchrun``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from bankgcn.data.batch import GraphBatch


@dataclass(frozen=True)
class World:
    """The processes that train together; by default this one alone.

    Args:
        rank: Number of this process.
        size: Number of processes.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def from_environment(cls) -> World:
        """The world that ``torchrun`` made, joined; or this process alone, if it was not started by it."""
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

    def part(self, batch: GraphBatch) -> tuple[GraphBatch, float]:
        """This process's part of a batch, and which share of the graphs it is."""
        if self.size == 1:
            return batch, 1.0
        part = GraphBatch(batch.source, batch.indices[self.rank :: self.size], batch.device)
        return part, part.num_graphs / batch.num_graphs

    def add(self, value: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def agree(self, values: Sequence[float]) -> list[float]:
        """What the first process has for these values: all must decide alike, and sums may differ in their last bit."""
        if self.size == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def wait(self) -> None:
        """Go on only when all processes are here."""
        if self.size > 1:
            dist.barrier()

    def leave(self) -> None:
        """End the cooperation, if there was one."""
        if self.size > 1:
            dist.destroy_process_group()
