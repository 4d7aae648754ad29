"""What runs many configurations: local processes, a Ray cluster, or this process. One module each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bankgcn.choices import pick
from bankgcn.experiments.engines.base import Engine, SerialEngine
from bankgcn.experiments.engines.cluster import RayEngine
from bankgcn.experiments.engines.local import LocalEngine


def make_engine(
    name: str = "local",
    *,
    workers: int | None = None,
    data_root: str | Path | None = None,
    address: str | None = None,
) -> Engine:
    """The engine of that name.

    Args:
        name: ``"local"``: processes on this machine. ``"ray"``: a Ray cluster. ``"serial"``: in this process.
        workers: Most runs at a time; as many as there are cores by default.
        data_root: Where to look for datasets first.
        address: Of the Ray cluster.

    Raises:
        ValueError: There is no such engine, or it has no use for what is given.
    """
    makers: dict[str, Callable[[], Engine]] = {
        "local": lambda: LocalEngine(workers, data_root),
        "ray": lambda: RayEngine(address, workers, data_root),
        "serial": lambda: SerialEngine(data_root),
    }
    make = pick(makers, name, "engine")
    if address is not None and name != "ray":
        raise ValueError(f"address={address!r}: the engine {name!r} has none, only 'ray' does")
    if name == "serial" and workers not in (None, 1):
        raise ValueError(f"workers={workers}: the engine 'serial' is this process alone")
    return make()
