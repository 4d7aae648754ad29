"""What the last bits of an outcome depend on."""

from __future__ import annotations

import contextlib
import platform
from importlib import metadata

import bankgcn

LIBRARIES = ("torch", "numpy", "numba", "torch-geometric")


def versions(path: str) -> dict[str, str]:
    """Versions of the libraries, the kind of machine, and the path that the training took (``FitResult.path``)."""
    known = {"bankgcn": bankgcn.__version__, "python": platform.python_version(), "machine": platform.machine()}
    known["kernels"] = path
    for library in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            known[library] = metadata.version(library)
    return known
