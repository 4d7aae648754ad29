"""Every test starts from the same seed, in float64 unless it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

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
