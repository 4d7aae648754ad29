"""The environment variable switches the kernels on and off; an unknown value is an error."""

from __future__ import annotations

import pytest
import torch

from bankgcn.kernels import fused_for, use_kernels
from refusals import refused


@pytest.mark.parametrize("value", ["off", "OFF", "0", "false", "False", "no", "No"])
def test_these_values_switch_kernels_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_KERNELS", value)
    assert not fused_for(torch.ones(2))


@pytest.mark.parametrize("value", ["", "on", "ON", "1", "true", "yes"])
def test_these_values_leave_kernels_on(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_KERNELS", value)
    assert fused_for(torch.ones(2))


def test_an_unknown_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_KERNELS", "offf")
    with refused(ValueError, "BANKGCN_KERNELS", "'offf'", "on, 1", "'off'"):
        fused_for(torch.ones(2))
    with use_kernels(True):
        assert fused_for(torch.ones(2))
