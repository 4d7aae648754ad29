"""What the last bits of an outcome depend on."""

from __future__ import annotations

import contextlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

import torch

import bankgcn

LIBRARIES = ("torch", "numpy", "numba", "torch-geometric")


def versions(path: str) -> dict[str, str]:
    """Versions of the libraries, the processor, and the path that the training took (``FitResult.path``)."""
    known = {"bankgcn": bankgcn.__version__, "python": platform.python_version(), "machine": platform.machine()}
    known |= {"processor": processor(), "kernels": path}
    for library in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            known[library] = metadata.version(library)
    return known


@cache
def processor() -> str:
    """The processor's name with its vector instructions, for example ``AMD EPYC (AVX512)``.

    The name alone is not enough: virtual machines hide the model, and sums are rounded differently by vectors of
    different widths.
    """
    name = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()} ({torch.backends.cpu.get_cpu_capability()})"
