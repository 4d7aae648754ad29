"""Shapes of 3-D point clouds, as nearest-neighbour graphs: BankGCN beside the same network with GCN's layers.

    python examples/point_clouds.py [--seeds 10] [--epochs 60]

A cloud has 64 points of a sphere, a cube, a torus or a cylinder, with noise, in any rotation. Each point is joined to
its eight nearest points, and carries three numbers that no rotation changes: its distance from the centre, and mean and
spread of its distances to its neighbours. Every seed draws clouds of its own. Both models choose width and learning
rate from the same grid by the validation clouds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from fair_comparison import Options, Score, compare_models, options_of

from bankgcn import GraphSet
from bankgcn.data.readers.images import nearest, undirected_edges
from bankgcn.data.splits import stratified_split
from bankgcn.nn import GraphNetwork
from bankgcn.training import TrainConfig, evaluate, fit

SHAPES = ("sphere", "cube", "torus", "cylinder")
POINTS, NEIGHBORS, NOISE, CLOUDS = 64, 8, 0.1, 75  # clouds: of each shape
MODELS = {"BankGCN": "bank", "GCN": "gcn"}
GRID = [{"width": width, "rate": rate} for width in (16, 32) for rate in (0.002, 0.01)]


def surface(shape: str, random: np.random.Generator) -> np.ndarray:
    """Points of a surface of about the size of the unit sphere, without noise."""
    u, v = random.uniform(0, 2 * np.pi, (2, POINTS))
    if shape == "sphere":
        points = random.normal(size=(POINTS, 3))
        return points / np.linalg.norm(points, axis=1, keepdims=True)
    if shape == "cube":
        points = random.uniform(-0.8, 0.8, (POINTS, 3))
        points[np.arange(POINTS), random.integers(0, 3, POINTS)] = random.choice((-0.8, 0.8), POINTS)
        return points
    if shape == "torus":
        ring = 0.9 + 0.35 * np.cos(v)
        return np.stack([ring * np.cos(u), ring * np.sin(u), 0.35 * np.sin(v)], 1)
    return np.stack([0.7 * np.cos(u), 0.7 * np.sin(u), random.uniform(-0.9, 0.9, POINTS)], 1)


@cache
def clouds(seed: int) -> GraphSet:
    """Clouds of every shape as graphs."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(SHAPES)), CLOUDS)
    signals, targets = [], []
    for label in labels:
        rotation, _ = np.linalg.qr(random.normal(size=(3, 3)))
        points = (surface(SHAPES[label], random) + random.normal(0, NOISE, (POINTS, 3))) @ rotation
        points -= points.mean(0)
        near = nearest(points, NEIGHBORS)
        distance = np.linalg.norm(points[near] - points[:, None], axis=-1)
        signals.append(np.stack([np.linalg.norm(points, axis=1), distance.mean(1), distance.std(1)], 1))
        targets.append(near.ravel())
    num_nodes, sources = np.full(len(labels), POINTS), np.tile(np.repeat(np.arange(POINTS), NEIGHBORS), len(labels))
    edges = undirected_edges(num_nodes, num_nodes * NEIGHBORS, sources, np.concatenate(targets))
    return GraphSet.from_edges(num_nodes, edges, attributes=np.concatenate(signals), y=labels)


def train(model: str, options: Options, seed: int, epochs: int) -> Score:
    """Train a network; the score of the epoch with the smallest validation loss."""
    graphs = clouds(seed)
    split = stratified_split(graphs.y, ratios=(6, 2, 2), seed=seed)
    torch.manual_seed(seed)
    net = GraphNetwork(graphs.num_features, len(SHAPES), hidden_channels=options["width"], conv=MODELS[model])
    config = TrainConfig(max_epochs=epochs, learning_rate=options["rate"], batch_size=32)
    fit(net, graphs[split.train], graphs[split.valid], config, generator=torch.Generator().manual_seed(seed))
    return Score(evaluate(net, graphs[split.valid]).score, evaluate(net, graphs[split.test]).score)


if __name__ == "__main__":
    arguments = options_of(__doc__.splitlines()[0], epochs=60).parse_args()
    compare_models(lambda *run: train(*run, arguments.epochs), tuple(MODELS), GRID, arguments.seeds, "accuracy")
