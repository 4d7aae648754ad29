"""Poolings by name, and what they say without PyG."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch

from bankgcn.nn import POOLINGS
from refusals import refused


@pytest.mark.parametrize("pooling", POOLINGS)
def test_without_pyg_a_pooling_says_what_to_install(monkeypatch: pytest.MonkeyPatch, pooling: str) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    spec = POOLINGS[pooling]
    for use in (spec.check_available, lambda: spec(8)):
        with refused(ImportError, spec.label, "pip install 'bankgcn[pyg]'"):
            use()


def test_asap_hides_the_warnings_of_pytorch_about_itself() -> None:
    pytest.importorskip("torch_geometric")
    ring = torch.stack([torch.arange(6), (torch.arange(6) + 1) % 6])
    torch.set_warn_always(True)  # else PyTorch warns once in a process
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            POOLINGS["asap"](4)(torch.rand(6, 4), torch.cat([ring, ring.flip(0)], 1), None, torch.zeros(6).long())
    finally:
        torch.set_warn_always(False)
    assert [str(one.message) for one in seen] == []
