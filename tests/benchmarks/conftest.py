"""The benchmark measures in single precision, as training does."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)
