"""Compare BankGCN with GCN and an MLP on a task that needs high frequencies, and draw the result.

A strong smooth signal hides a faint one, which is smooth in one class and alternates in the other. All networks train
on the same graphs; each tests the epoch with the best validation accuracy once.

    python examples/high_frequency.py [--epochs 30] [--out runs/high_frequency.png]
"""

from __future__ import annotations

import argparse
import copy
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import stratified_split
from bankgcn.nn import GraphNetwork
from bankgcn.spectral import Spectrum

MODELS = {"BankGCN": "bank", "GCN": "gcn", "MLP (no edges)": "mlp"}


def accuracy(net: GraphNetwork, graphs: GraphSet) -> float:
    """Fraction of the graphs that the network classifies correctly."""
    batch = graphs.batch()
    with torch.no_grad():
        logits = net(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
    return (logits.argmax(1) == batch.y).double().mean().item()


def train(conv: str, train_set: GraphSet, valid_set: GraphSet, epochs: int, seed: int) -> tuple[GraphNetwork, float]:
    """The network of the epoch with the best validation accuracy, and that accuracy."""
    torch.manual_seed(seed)
    net = GraphNetwork(train_set.num_features, train_set.num_classes, hidden_channels=16, conv=conv)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    best, best_accuracy = net, -1.0
    for _ in range(epochs):
        for batch in train_set.batches(32, shuffle=True):
            optimizer.zero_grad()
            logits = net(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs)
            F.cross_entropy(logits, batch.y).backward()
            optimizer.step()
        valid_accuracy = accuracy(net, valid_set)
        if valid_accuracy > best_accuracy:
            best, best_accuracy = copy.deepcopy(net), valid_accuracy
    return best, best_accuracy


def draw(graphs: GraphSet, net: GraphNetwork, scores: dict[str, float], path: Path) -> None:
    """Draw the signals, their energy, the responses of the filters, and the test accuracies."""
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    lam = torch.linspace(0, 2, 200)
    for label, name in enumerate(graphs.classes):
        chosen = graphs[graphs.y == label][:100]
        axes[0].plot(chosen[:1].attributes, ".-", label=name)
        spectra = [(Spectrum.of(single.shift), single.x) for single in chosen.batches(1)]
        energy = torch.stack([s.band_energy(x, 8).flatten() for s, x in spectra]).mean(0)
        axes[1].stairs((energy / energy.sum()).tolist(), torch.linspace(0, 2, 9).tolist(), label=name, linewidth=2)
    axes[0].set(title="one graph of each class", xlabel="node, along the ring", ylabel="signal")
    axes[1].set(title="energy of the signals", xlabel="frequency $\\lambda$", ylabel="share of energy", yscale="log")
    for response in net.convs[0].response(lam).detach():
        axes[2].plot(lam, response, linewidth=1)
    axes[2].set(title="learned filters, first layer", xlabel="frequency $\\lambda$", ylabel="response")
    bars = axes[3].barh(list(scores), [100 * score for score in scores.values()])
    axes[3].bar_label(bars, fmt="%.0f %%", padding=3)
    axes[3].axvline(50, color="grey", linestyle=":")
    axes[3].invert_yaxis()
    axes[3].set(title="test accuracy (chance: 50 %)", xlim=(0, 115))
    for axis in axes[:2]:
        axis.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, test, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/high_frequency.png"))
    arguments = parser.parse_args()

    graphs = smooth_or_alternating(num_graphs=600, seed=arguments.seed)
    split = stratified_split(graphs.y, seed=arguments.seed)
    print(f"{graphs}: {len(split.train)} to train, {len(split.valid)} to validate, {len(split.test)} to test")
    nets, scores = {}, {}
    for name, conv in MODELS.items():
        nets[name], valid = train(conv, graphs[split.train], graphs[split.valid], arguments.epochs, arguments.seed)
        scores[name] = accuracy(nets[name], graphs[split.test])
        print(f"{name:22} validation {valid:6.1%}   test {scores[name]:6.1%}", flush=True)
    draw(graphs, nets["BankGCN"], scores, arguments.out)
    print(f"picture: {arguments.out}")


if __name__ == "__main__":
    main()
