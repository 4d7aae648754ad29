"""The weights of kinds of models against a search by hand."""

from __future__ import annotations

import numpy as np
import torch

from bankgcn.tasks import Task
from bankgcn.training import mixture


def test_all_weights_of_a_simplex_are_tried() -> None:
    assert sorted(mixture._parts(2, 3)) == [(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    assert len(list(mixture._parts(10, 2))) == 11


def test_other_weights_than_equal_ones_must_be_clearly_better() -> None:
    random = np.random.default_rng(0)
    y = random.normal(size=200)
    task = Task(kind="values", names=("y",), metric="rmse", center=(0.0,), scale=(1.0,))
    good, bad = (torch.from_numpy(y + spread * random.normal(size=200))[:, None] for spread in (0.1, 2.0))
    equal = np.array([0.5, 0.5])
    first = np.array([1.0, 0.0])
    assert mixture._clearly_better(task, torch.stack([good, bad]), y, first, equal)
    near = torch.from_numpy(y + 0.1 * random.normal(size=200))[:, None]
    assert not mixture._clearly_better(task, torch.stack([good, near]), y, np.array([0.6, 0.4]), equal)
    score, uneven = mixture._key(task, torch.stack([good, bad]), y, first)
    assert np.isclose(score, np.sqrt(((good[:, 0].numpy() - y) ** 2).mean()))
    assert uneven == 0.5
