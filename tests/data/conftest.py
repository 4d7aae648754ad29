"""Where the real datasets lie, for the tests that want them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_root() -> Path:
    folder = os.environ.get("BANKGCN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real datasets: set BANKGCN_DATA to their folder")
    return Path(folder)
