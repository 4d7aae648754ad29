"""All tests of whole networks cover quotient graphs."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _merged(small_sets_are_merged: None) -> None:
    """Use the fixture in every test of this folder."""
