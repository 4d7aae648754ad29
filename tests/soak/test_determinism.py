"""The same sweep gives the same records, whoever runs it and in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bankgcn.experiments import RunRecord, RunSpec, Store, sweep
from bankgcn.experiments.engines.base import Engine, Event, SerialEngine
from bankgcn.experiments.engines.local import LocalEngine

BASE = RunSpec(dataset="MUTAG").with_(max_epochs=3, hidden_channels=16, num_layers=2)
CONFIGS = [BASE, BASE.with_(seed=1), BASE.with_(conv="mlp"), BASE.with_(dropout=0.3)]


def without_time(records: tuple[RunRecord, ...]) -> dict[str, RunRecord]:
    return {record.config.key: replace(record, seconds=0.0) for record in records}


@pytest.mark.slow
def test_workers_order_and_interruption_change_no_record(tmp_path: Path) -> None:
    torch.set_default_dtype(torch.float32)

    def records(name: str, configs: list[RunSpec], engine: Engine) -> dict[str, RunRecord]:
        return without_time(sweep(configs, Store(tmp_path / name), engine).records)

    expected = records("here", CONFIGS, SerialEngine())
    assert len(expected) == len(CONFIGS)
    assert records("one worker, backwards", CONFIGS[::-1], LocalEngine(1)) == expected
    shuffled = [CONFIGS[place] for place in (2, 0, 3, 1)]

    def interrupt(event: Event) -> None:
        if event.kind == "finished":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(shuffled, Store(tmp_path / "two workers, resumed"), SerialEngine(), interrupt)
    assert records("two workers, resumed", shuffled, LocalEngine(2)) == expected
    for name in ("one worker, backwards", "two workers, resumed"):
        assert without_time(tuple(Store(tmp_path / name).records())) == expected, name
