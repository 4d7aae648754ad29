"""A training epoch of BankGCN whose subspaces weigh edges, beside BankGCN without them, and the same in plain PyG.

    python benchmarks/edge_features.py [--dataset Mutagenicity] [--graphs 2000] [--repetitions 7]

Contenders take turns. Times are those of the processor, which other programs on the machine disturb less than the
clock. The plain network is the same function with PyG's message passing: a test of the package compares its layer with
:class:`bankgcn.BankConv`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bankgcn.bench.peers import HIDDEN, LAYERS, ORDER, SUBSPACES
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import find_source
from bankgcn.training.checks import task_of
from bankgcn.training.config import ModelConfig, TrainConfig
from bankgcn.training.fitting import Context, Training


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dataset", default="Mutagenicity")
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    graphs = find_source(arguments.dataset).load()
    graphs = graphs[: arguments.graphs]
    print(graphs)
    contenders: dict[str, Any] = {
        f"ours, {edges}": Ours(graphs, edges) for edges in ("none", "weights", "both", "input")
    }
    contenders["PyG, weights"] = Plain(graphs)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(arguments.repetitions + 1):
        for name, training in contenders.items():
            elapsed = epoch_seconds(training)
            if turn:  # the first one warms up
                seconds[name].append(elapsed)
    for name in contenders:
        ratio = median(one / other for one, other in zip(seconds[name], seconds["ours, none"], strict=True))
        spread = f"{min(seconds[name]):.3f} to {max(seconds[name]):.3f}"
        print(f"{name:14} {median(seconds[name]):7.3f} s ({spread})   {ratio:5.2f} x ours without features")
    pairs = zip(seconds["PyG, weights"], seconds["ours, weights"], strict=True)
    print(f"plain PyG with weights takes {median(one / other for one, other in pairs):.1f} times as long as ours")


def epoch_seconds(training: Any) -> float:
    """Seconds of the processor that an epoch takes."""
    started = time.process_time()
    for _ in training.steps():
        pass
    return time.process_time() - started


class Ours:
    """Training as in ``bankgcn train``.

    Args:
        graphs: The training graphs.
        edges: How features of edges are used.
    """

    def __init__(self, graphs: GraphSet, edges: str):
        torch.manual_seed(0)
        model = ModelConfig(edges=edges)  # type: ignore[arg-type]
        net = model.build(graphs.num_features, graphs.num_classes, edge_dim=model.edge_dim(graphs))
        config = TrainConfig(gamma=0.0)
        context = Context(config=config, task=task_of(graphs, config), generator=torch.Generator().manual_seed(0))
        self.training = Training(net, graphs, graphs[:1], context)

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        yield from (None for _ in self.training.steps())


def plain_edge_conv(in_channels: int, out_channels: int, edge_dim: int) -> nn.Module:
    """BankConv with ``edge_dim`` in PyG's message passing: weights in every call, a tensor for every hop."""
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import degree

    class PlainEdgeConv(MessagePassing):
        def __init__(self) -> None:
            super().__init__(aggr="add", node_dim=0)
            self.lin, self.gate = nn.Linear(in_channels, out_channels), nn.Linear(edge_dim, SUBSPACES)
            self.alpha = nn.Parameter(torch.empty(SUBSPACES, ORDER + 1))
            nn.init.xavier_uniform_(self.alpha)
            nn.init.zeros_(self.gate.weight)
            nn.init.zeros_(self.gate.bias)

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
            row, col = edge_index
            w = 2 * torch.sigmoid(self.gate(edge_attr))
            sums = w.new_zeros(len(x), SUBSPACES).index_add(0, row, w)
            inverse = torch.where(degree(row, len(x)).unsqueeze(-1) > 0, sums.clamp(min=1e-12).rsqrt(), 0.0)
            weight = -inverse[row] * w * inverse[col]
            r = self.lin(x).view(-1, SUBSPACES, out_channels // SUBSPACES)
            previous, current = r, self.propagate(edge_index, x=r, weight=weight)
            alpha = self.alpha.unsqueeze(-1)
            h = r + alpha[:, 0] * previous + alpha[:, 1] * current
            for k in range(2, ORDER + 1):
                previous, current = current, 2 * self.propagate(edge_index, x=current, weight=weight) - previous
                h = h + alpha[:, k] * current
            return h.reshape(-1, out_channels)

        def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
            return weight.unsqueeze(-1) * x_j

    return PlainEdgeConv()


class Plain(nn.Module):
    """The same network and training in plain PyG.

    Args:
        graphs: The training graphs.
    """

    def __init__(self, graphs: GraphSet):
        from torch_geometric.data import Data
        from torch_geometric.loader import DataLoader

        super().__init__()
        torch.manual_seed(0)
        widths = [graphs.num_features] + [HIDDEN] * LAYERS
        features = graphs.num_edge_features
        self.convs = nn.ModuleList(plain_edge_conv(widths[i], widths[i + 1], features) for i in range(LAYERS))
        self.predict = nn.Linear(2 * LAYERS * HIDDEN, graphs.num_classes)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        singles = [graphs.batch([number]) for number in range(len(graphs))]
        data = [Data(x=one.x, edge_index=one.edge_index, edge_attr=one.edge_attr, y=one.y) for one in singles]
        self.loader: Any = DataLoader(data, batch_size=TrainConfig().batch_size, shuffle=True)

    def forward(self, batch: Any) -> Tensor:
        """Logits of every graph."""
        from torch_geometric.nn import global_max_pool, global_mean_pool

        x, layers = batch.x, []
        for conv in self.convs:
            x = F.relu(F.normalize(conv(x, batch.edge_index, batch.edge_attr), dim=-1))
            layers += [global_mean_pool(x, batch.batch), global_max_pool(x, batch.batch)]
        return self.predict(torch.cat(layers, dim=1))

    def steps(self) -> Iterator[None]:
        """One epoch; it yields after every step."""
        for batch in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self(batch), batch.y).backward()
            self.optimizer.step()
            yield


if __name__ == "__main__":
    main()
