"""The ending of the file decides which of the two readers of CIFAR-10 reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankgcn.data.readers import benchmark_sets


@pytest.mark.parametrize(
    ("name", "reader"),
    [("pack.npz", "read_superpixel_pack"), ("CIFAR10_v2.pt", "read_gnn_benchmark"), ("folder", "read_gnn_benchmark")],
)
def test_the_ending_chooses_the_reader(monkeypatch: pytest.MonkeyPatch, name: str, reader: str) -> None:
    for each in ("read_superpixel_pack", "read_gnn_benchmark"):
        monkeypatch.setattr(benchmark_sets, each, lambda path, each=each: (each, path))
    assert benchmark_sets.read_cifar10(Path(name)) == (reader, Path(name))
