"""Freed memory is kept where the C library can be told so, and nothing breaks where it cannot."""

from __future__ import annotations

import sys

import pytest

from bankgcn.training.memory import reuse_memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_glibc_can_be_told() -> None:
    assert reuse_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not reuse_memory.__wrapped__()
