"""Records of runs that never were, made from their configurations alone."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from bankgcn.experiments import RunRecord, RunSpec

BASE = {"mlp": 0.60, "gcn": 0.62, "bank": 0.68}


def fake_record(config: RunSpec, **changes: Any) -> RunRecord:
    """A plausible record: runs with the same seed share their split, and its ease."""
    rng = random.Random(config.key)
    ease = random.Random(f"{config.dataset} {config.seed}").gauss(0, 0.05)
    valid, test = (round((BASE.get(config.model.conv, 0.65) + ease + rng.gauss(0, 0.02)) * 60) / 60 for _ in range(2))
    values: dict[str, Any] = {
        "config": config,
        "status": "finished",
        "metric": config.train.metric,
        "valid_score": valid,
        "valid_loss": rng.random(),
        "test_score": test,
        "test_loss": 0.5,
        "best_epoch": 10,
        "epochs": 40,
        "coherence": (0.9, 0.8, 0.7, 0.6) if config.model.conv == "bank" else (),
        "parameters": 10_000,
        "layer_parameters": 4184,
        "fingerprint": f"graphs of {config.dataset}",
        "split_hash": f"split {config.seed}",
        "versions": {"bankgcn": "0", "torch": "2"},
        "seconds": 2.0,
    }
    return RunRecord(**{**values, **changes})


def fake_records(configs: Iterable[RunSpec], **changes: Any) -> dict[str, RunRecord]:
    """Such records by their keys."""
    return {config.key: fake_record(config, **changes) for config in configs}
