"""Our trainings, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bankgcn.data.graphs import GraphSet
from bankgcn.nn.convs import CONVS
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.checks import task_of
from bankgcn.training.fitting import Context, Training

OURS = "ours"


def our_name(model: str) -> str:
    """Name of our training of a model among the contenders: ``"ours"`` for BankGCN, ``"ours GCN"`` for GCN."""
    return OURS if model == "bank" else f"{OURS} {CONVS[model].label}"


class OurTraining:
    """Training as in ``bankgcn train``. Equal arguments give equal trainings.

    Args:
        graphs: The training graphs.
        batch_size: Graphs per step.
        model: A name in ``CONVS``.
    """

    def __init__(self, graphs: GraphSet, batch_size: int, model: str = "bank"):
        torch.manual_seed(0)
        net = ModelConfig(conv=model).build(graphs.num_features, graphs.num_classes)
        config = TrainConfig(batch_size=batch_size, gamma=0.0)
        batches = torch.Generator().manual_seed(0)
        context = Context(config=config, task=task_of(graphs, config), generator=batches)
        self.training = Training(net, graphs, graphs[:1], context)

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        yield from (None for _ in self.training.steps())
