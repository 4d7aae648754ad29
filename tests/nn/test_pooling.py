"""Poolings by name, and what they say without PyG."""

from __future__ import annotations

import sys

import pytest

from bankgcn.nn import POOLINGS


@pytest.mark.parametrize("pooling", POOLINGS)
def test_without_pyg_a_pooling_says_what_to_install(monkeypatch: pytest.MonkeyPatch, pooling: str) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    spec = POOLINGS[pooling]
    for use in (spec.check_available, lambda: spec(8)):
        with pytest.raises(ImportError, match=rf"^{spec.label} pooling needs .*: pip install 'bankgcn\[pyg\]'$"):
            use()
