"""Draw the pictures of ``docs/filter-banks.md`` with the library itself.

python scripts/draw_filter_banks.py [docs/figures]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from torch import Tensor

from bankgcn import BankConv, GraphShift, mutual_coherence
from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.splits import stratified_split
from bankgcn.nn import GraphNetwork
from bankgcn.report.plots import COLORS, render
from bankgcn.spectral import Spectrum
from bankgcn.training import TrainConfig, evaluate, fit

LAM = torch.linspace(0, 2, 200)
LAMBDA = "frequency $\\lambda$"
LOW, BAND, HIGH = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])  # in Bernstein's polynomials of order 2


class Mesh:
    """A grid of points that are a little out of place; each is joined to those beside, above and below it."""

    def __init__(self, side: int = 9, seed: int = 0):
        place = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
        self.points = (place + np.random.default_rng(seed).uniform(-0.25, 0.25, place.shape)) / (side - 1)
        adjacent = abs(place[:, None] - place).sum(-1) == 1
        self.edges = np.argwhere(np.triu(adjacent))  # each edge once
        self.shift = GraphShift.of(torch.tensor(np.argwhere(adjacent).T), num_nodes=side**2)

    def draw(self, axis: Axes, signal: Tensor, title: str) -> None:
        """Nodes in the colours of a signal: blue below 0, red above, white at 0."""
        axis.add_collection(LineCollection(self.points[self.edges], colors="#bbbbbb", linewidths=0.6, zorder=1))
        largest = signal.abs().max().item()
        axis.scatter(
            *self.points.T, c=signal, cmap="RdBu_r", vmin=-largest, vmax=largest, s=34, edgecolors="#555555",
            linewidths=0.4, zorder=2,
        )  # fmt: skip
        axis.set(title=title, xticks=[], yticks=[], aspect="equal")
        axis.set_frame_on(False)


def filter_with(coefficients: list[float]) -> BankConv:
    """One filter with these values in Bernstein's polynomials, and nothing else: no projection, no shortcut."""
    conv = BankConv(2, 2, order=2, num_subspaces=1, basis="bernstein", shortcut=False, projection=torch.nn.Identity())
    conv.alpha.data[:] = torch.tensor(coefficients)
    return conv


def frequencies(figure: Figure) -> None:
    """Three eigenvectors of the Laplacian on the same graph."""
    mesh = Mesh()
    spectrum = Spectrum.of(mesh.shift)
    for axis, number, word in zip(figure.subplots(1, 3), (4, 36, 80), ("low", "middle", "highest"), strict=True):
        lam = spectrum.lam[number].item()
        mesh.draw(axis, spectrum.modes[:, number], f"{word} frequency, $\\lambda$ = {lam:.2f}")


def filters(figure: Figure) -> None:
    """A signal, and what three filters make of it."""
    mesh = Mesh()
    wave = torch.tensor(np.sin(3 * mesh.points[:, 0])) - 0.5
    signal = (wave + 0.5 * torch.randn(len(wave), generator=torch.Generator().manual_seed(0))).float()
    top, bottom = figure.subplots(2, 4, height_ratios=(1, 2))
    top[0].set_axis_off()
    mesh.draw(bottom[0], signal, "signal: a wave and noise")
    for column, (name, values) in enumerate({"low-pass": LOW, "band-pass": BAND, "high-pass": HIGH}.items(), start=1):
        conv = filter_with(values)
        top[column].plot(LAM, conv.response(LAM)[0].detach(), color=COLORS[column - 1], linewidth=2)
        top[column].set(title=name, xlabel=LAMBDA, xlim=(0, 2), ylim=(0, 1.05), yticks=[0, 1])
        out = conv(signal[:, None].repeat(1, 2), mesh.shift)[:, 0].detach()
        mesh.draw(bottom[column], out, "filtered")


def reach(figure: Figure) -> None:
    """The answer of filters of order 1, 2 and 4 to a signal on a single node."""
    mesh = Mesh()
    center = int(np.linalg.norm(mesh.points - 0.5, axis=1).argmin())
    impulse = torch.zeros(len(mesh.points), 2)
    impulse[center] = 1
    for axis, order in zip(figure.subplots(1, 3), (1, 2, 4), strict=True):
        torch.manual_seed(0)
        conv = BankConv(2, 2, order=order, num_subspaces=1, projection=torch.nn.Identity())
        answer = conv(impulse, mesh.shift)[:, 0].detach()
        answer = answer.sign() * (answer != 0) * answer.abs().clamp(min=0.05, max=0.3)  # small values stay visible
        mesh.draw(axis, answer, f"order {order}: reaches {order} hop{'s' if order > 1 else ''}")


def layer(figure: Figure) -> None:
    """The steps of a layer, from left to right."""
    axis = figure.subplots()
    axis.set(xlim=(0, 10), ylim=(-0.2, 4))
    axis.set_axis_off()

    def box(x: float, y: float, text: str, color: str = "#eeeeee") -> None:
        style = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "#555555"}
        axis.text(x, y, text, ha="center", va="center", bbox=style, fontsize=9)

    def arrow(start: tuple[float, float], end: tuple[float, float], **options: object) -> None:
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#555555", **options})

    box(0.6, 2.1, "signal\n$X$")
    box(9.2, 2.1, "filtered\nsignal $H$")
    for name, y, color in zip(("1", "2", "s"), (3.5, 2.1, 0.7), COLORS, strict=False):
        box(2.9, y, f"subspace {name}\n$R_{{{name}}} = X W_{{{name}}} + b_{{{name}}}$", color + "33")
        box(5.5, y, f"filter {name}\n$\\sum_k \\alpha_{{{name}}}^{{(k)}} T_k(\\tilde L)$", color + "33")
        box(7.3, y, "+")
        arrow((1.05, 2.1), (1.95, y))
        arrow((3.75, y), (4.7, y))
        arrow((6.25, y), (7.02, y))
        arrow((3.3, y - 0.38), (7.2, y - 0.24), linestyle="--", connectionstyle="arc3,rad=0.13")
        arrow((7.58, y), (8.5, 2.1))
    axis.text(5.2, -0.02, "dashed: the shortcut adds the subspace itself", ha="center", va="top", fontsize=8)


def learned(figure: Figure) -> None:
    """Energy of the classes, and the filters before and after the training."""
    graphs = smooth_or_alternating(num_graphs=600, seed=0)
    split = stratified_split(graphs.y, seed=0)
    torch.manual_seed(0)
    net = GraphNetwork(1, 2, hidden_channels=8, conv="bank")
    before = net.convs[0].response(LAM).detach()
    config = TrainConfig(max_epochs=60, learning_rate=0.01)
    fit(net, graphs[split.train], graphs[split.valid], config, generator=torch.Generator().manual_seed(0))
    score = evaluate(net, graphs[split.test]).score
    energy_axis, *axes = figure.subplots(1, 3)
    for label, name in enumerate(graphs.classes):
        chosen = graphs[graphs.y == label][:100]
        bands = [Spectrum.of(one.shift).band_energy(one.x, 8).flatten() for one in chosen.batches(1)]
        share = torch.stack(bands).mean(0)
        edges = torch.linspace(0, 2, 9).tolist()
        energy_axis.stairs((share / share.sum()).tolist(), edges, label=name, linewidth=2, color=COLORS[label])
    energy_axis.set(title="two classes of graphs", xlabel=LAMBDA, ylabel="share of energy", yscale="log")
    energy_axis.legend(frameon=False)
    titles = "8 filters at the start", f"after training: test accuracy {score:.0%}"
    for axis, title, responses in zip(axes, titles, (before, net.convs[0].response(LAM).detach()), strict=True):
        for response, color in zip(responses, COLORS, strict=False):
            axis.plot(LAM, response, color=color, linewidth=1.5)
        axis.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        axis.set(title=title, xlabel=LAMBDA, ylabel="gain", ylim=(-2.6, 2.6))


def diversity(figure: Figure) -> None:
    """Two banks of three filters: similar ones, and ones that differ."""
    banks = {
        "similar filters": [[1.0, 0.6, 0.2], [0.9, 0.5, 0.0], [1.0, 0.4, 0.3]],
        "different filters": [LOW, BAND, HIGH],
    }
    for axis, (name, values) in zip(figure.subplots(1, 2), banks.items(), strict=True):
        conv = BankConv(3, 3, order=2, num_subspaces=3, basis="bernstein")
        conv.alpha.data[:] = torch.tensor(values)
        for response, color in zip(conv.response(LAM).detach(), COLORS, strict=False):
            axis.plot(LAM, response, color=color, linewidth=2)
        omega = mutual_coherence(conv.alpha).item()
        axis.set(title=f"{name}: $\\Omega$ = {omega:.2f}", xlabel=LAMBDA, ylabel="gain", xlim=(0, 2), ylim=(0, 1.05))


PICTURES: dict[str, tuple[tuple[float, float], Callable[[Figure], None]]] = {
    "bank-frequencies": ((9, 3.2), frequencies),
    "bank-filters": ((10, 4), filters),
    "bank-reach": ((9, 3.2), reach),
    "bank-layer": ((8, 3.2), layer),
    "bank-learned": ((10, 3), learned),
    "bank-diversity": ((7, 2.6), diversity),
}


def main(folder: Path) -> None:
    """Draw all pictures into a folder."""
    for name, (size, paint) in PICTURES.items():
        (folder / f"{name}.svg").write_bytes(render(name, size, paint, "svg"))
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures"))
