"""What the last bits of an outcome depend on."""

from __future__ import annotations

import contextlib
import platform
from importlib import metadata

import torch

import bankgcn
from bankgcn.kernels import fused_for

LIBRARIES = ("torch", "numpy", "numba", "torch-geometric")


def versions() -> dict[str, str]:
    """Versions of the libraries, the kind of machine, and whether fused passes are used."""
    known = {"bankgcn": bankgcn.__version__, "python": platform.python_version(), "machine": platform.machine()}
    known["kernels"] = "fused" if fused_for(torch.empty(0)) else "plain"
    for library in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            known[library] = metadata.version(library)
    return known
