"""The protocol of a training: what it refuses, and what it makes of NumPy's numbers."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from bankgcn.training import TrainConfig
from refusals import refused


def test_an_unknown_metric_is_named() -> None:
    with refused(ValueError, "metric", "'roc-auc'", "accuracy, roc_auc", "'roc_auc'"):
        TrainConfig(metric="roc-auc")


def test_numbers_of_numpy_become_pythons() -> None:
    given = TrainConfig(batch_size=np.int64(8), gamma=np.float32(0.5), decay_patience=np.uint8(3))
    plain = TrainConfig(batch_size=8, gamma=0.5, decay_patience=3)
    assert json.dumps(asdict(given)) == json.dumps(asdict(plain))
