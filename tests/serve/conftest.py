"""Networks of the service are in single precision, as a user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from serve_runs import Service, running, save_run, training_graphs


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of graphs in JSON that predicts classes."""
    return save_run(tmp_path_factory.mktemp("runs") / "one", training_graphs())


@pytest.fixture(scope="session")
def service(run: Path) -> Iterator[Service]:
    """A service of that run."""
    with running(run) as started:
        yield started
