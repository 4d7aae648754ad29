"""A small package with our compiler and its own kernels, to test the cache of compiled code in new processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bankgcn.kernels.jit import compiler


def write_package(folder: Path, sources: dict[str, str]) -> Path:
    """Write a package of the name ``bankgcn``; ``sources`` are files in ``bankgcn/kernels``. Returns that folder."""
    kernels = folder / "bankgcn" / "kernels"
    for package in (kernels.parent, kernels, kernels / "jit", *{(kernels / path).parent for path in sources}):
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
    for module in (compiler,):
        shutil.copy(str(module.__file__), kernels / "jit")
    for path, source in sources.items():
        (kernels / path).write_text(source)
    return kernels


def run_module(folder: Path, module: str) -> str:
    """What a module of the package prints in a new process, which caches compiled code beside the sources."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = str(folder)
    command = [sys.executable, "-m", module]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
