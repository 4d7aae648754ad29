"""Optional libraries, what to install for each, and names of a package that are loaded when they are first used.

PyTorch takes seconds to load, and ``bankgcn train --help`` does not need it. So packages import nothing heavy at first.
"""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple


class Library(NamedTuple):
    """An optional library.

    Args:
        name: Its name in words.
        requirement: What ``pip install`` takes.
    """

    name: str
    requirement: str


OPTIONAL: dict[str, Library] = {
    "torch_geometric": Library("PyTorch Geometric", "bankgcn[pyg]"),
    "matplotlib": Library("Matplotlib", "bankgcn[plot]"),
    "rdkit": Library("RDKit", "bankgcn[molecules]"),
    "PIL": Library("Pillow", "bankgcn[images]"),
    "skimage": Library("scikit-image", "bankgcn[images]"),
    "sklearn": Library("scikit-learn", "bankgcn[sklearn]"),
    "ray": Library("Ray", "bankgcn[ray]"),
    "optuna": Library("Optuna", "bankgcn[tune]"),
    "pyarrow": Library("pyarrow", "bankgcn[parquet]"),
    "openpyxl": Library("openpyxl", "bankgcn[excel]"),
    "tensorboard": Library("TensorBoard", "bankgcn[tensorboard]"),
    "onnx": Library("ONNX", "bankgcn[onnx]"),
    "onnxscript": Library("ONNX Script", "bankgcn[onnx]"),
    "onnxruntime": Library("ONNX Runtime", "bankgcn[onnx]"),
    "fastapi": Library("FastAPI", "bankgcn[serve]"),
    "uvicorn": Library("uvicorn", "bankgcn[serve]"),
    "httptools": Library("httptools", "bankgcn[serve]"),
    "orjson": Library("orjson", "bankgcn[serve]"),
    "prometheus_client": Library("prometheus_client", "bankgcn[serve]"),
    "networkx": Library("NetworkX", "networkx"),
    "plotly": Library("Plotly", "bankgcn[report]"),
    "jinja2": Library("Jinja", "bankgcn[report]"),
}
"""Each optional library by the module that is imported."""


def require(module: str, purpose: str) -> None:
    """Raise if an optional library is not installed. Nothing is imported.

    Args:
        module: A name in ``OPTIONAL``.
        purpose: What needs the library, as the subject of the message: ``"GCN"``, ``"reading molecules"``.

    Raises:
        ImportError: The message has the line to type: ``GCN needs PyTorch Geometric: pip install 'bankgcn[pyg]'``.
    """
    library = OPTIONAL[module]
    if not is_installed(module):
        raise ImportError(
            f"{purpose} needs {library.name}: pip install {shlex.quote(library.requirement)}", name=module
        )


def is_installed(module: str) -> bool:
    """Whether an optional library, a name in ``OPTIONAL``, is installed. Nothing is imported."""
    return importlib.util.find_spec(module) is not None


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The function ``__getattr__`` of a package.

    Args:
        package: Name of the package.
        modules: The names that each of its modules provides.

    Example:
        >>> lazy_names("bankgcn", {"settings": ("pick",)})("pick").__name__
        'pick'
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return load
