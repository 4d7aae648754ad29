"""Measurements on one set of graphs, and the figures that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bankgcn.bench.ours import OURS, our_name
from bankgcn.bench.peers import peer_name
from bankgcn.bench.products import PRODUCTS, products_name


@dataclass(frozen=True)
class CaseResult:
    """Measurements on one set of graphs.

    Args:
        name: Name of the case.
        models: Names of the models.
        steps: Number of steps in an epoch.
        seconds: Seconds of an epoch, by contender, one value for each repetition.
        peak_bytes: Memory that a training step adds, by contender, if it is measured and the system reports it.
        notes: Notes of the graphs.
    """

    name: str
    models: tuple[str, ...]
    steps: int
    seconds: Mapping[str, list[float]]
    peak_bytes: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def medians(self) -> dict[str, float]:
        """Median seconds of each contender."""
        return {name: median(times) for name, times in self.seconds.items()}

    def figures(self, model: str) -> dict[str, float]:
        """A model, ours and PyG's: medians, PyG's time by ours, and our time by that of the model's matrix products."""
        medians = self.medians
        ours, pyg, products = (medians[name(model)] for name in (our_name, peer_name, products_name))
        return {"ours_s": ours, "pyg_s": pyg, "ratio": pyg / ours, "gemm_s": products, "gemm_ratio": ours / products}

    def to_dict(self) -> dict[str, Any]:
        """The values that ``bankgcn bench --json`` writes.

        ``models`` compares each model of ours with the same model of PyG. ``ours_s``, ``gemm_s`` and ``ratios`` compare
        our BankGCN with all models of PyG; without BankGCN, ``ours_s`` is ``None`` and ``ratios`` is empty.
        """
        medians = self.medians
        peers = {peer_name(model): medians[peer_name(model)] for model in self.models}
        ours, products = medians.get(OURS), medians.get(PRODUCTS)
        ratios = {}
        if ours is not None and products is not None:
            ratios = {peer: seconds / ours for peer, seconds in peers.items()} | {"gemm": ours / products}
        return {
            "name": self.name,
            "steps": self.steps,
            "models": {model: self.figures(model) for model in self.models},
            "ours_s": ours,
            "peers": peers,
            "gemm_s": products,
            "ratios": ratios,
            "seconds": {name: list(times) for name, times in self.seconds.items()},
            "peak_bytes": dict(self.peak_bytes),
            "notes": list(self.notes),
        }
