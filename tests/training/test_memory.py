"""Freed memory is kept where the C library supports it, and nothing breaks elsewhere."""

from __future__ import annotations

import sys

import pytest

from bankgcn.training.fitting import reuse_memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_glibc_accepts_the_setting() -> None:
    assert reuse_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not reuse_memory.__wrapped__()
