"""Every test starts from the same seed, in float64 unless it says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)  # tiny kernels on several threads are many times slower under contention
settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("reproducible")


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def small_sets_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge equal nodes in sets of any size, not only in large ones."""
    monkeypatch.setattr("bankgcn.kernels.network.quotient.MIN_NODES", 0)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Where the real datasets lie, for the tests that want them."""
    folder = os.environ.get("BANKGCN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real datasets: set BANKGCN_DATA to their folder")
    return Path(folder)
