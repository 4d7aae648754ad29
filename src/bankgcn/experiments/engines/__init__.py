"""Engines run many configurations: in local processes, on a Ray cluster, or in this process. One module each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bankgcn.experiments.engines.base import Engine, SerialEngine
from bankgcn.experiments.engines.cluster import RayEngine
from bankgcn.experiments.engines.local import LocalEngine
from bankgcn.settings import pick


def make_engine(
    name: str = "local",
    *,
    workers: int | None = None,
    data_root: str | Path | None = None,
    address: str | None = None,
    checkpoints: str | Path | None = None,
) -> Engine:
    """The engine of that name.

    Args:
        name: ``"local"``: processes on this machine. ``"ray"``: a Ray cluster. ``"serial"``: in this process.
        workers: Maximum number of parallel runs; the number of cores by default.
        data_root: Folder to search first for datasets.
        address: Address of the Ray cluster.
        checkpoints: Folder for the states of unfinished runs, from which they resume: that of the store. A cluster has
            none, because its machines may have no folder in common.

    Raises:
        ValueError: The engine is unknown, or does not take one of the arguments.
    """
    makers: dict[str, Callable[[], Engine]] = {
        "local": lambda: LocalEngine(workers, data_root, checkpoints=checkpoints),
        "ray": lambda: RayEngine(address, workers, data_root),
        "serial": lambda: SerialEngine(data_root, checkpoints=checkpoints),
    }
    make = pick(makers, name, "engine")
    if address is not None and name != "ray":
        raise ValueError(f"address={address!r}: only the engine 'ray' has an address, not {name!r}")
    if name == "serial" and workers not in (None, 1):
        raise ValueError(f"workers={workers}: the engine 'serial' uses this process alone")
    return make()
