"""Optional libraries: what to install for each, and the error that says so."""

from __future__ import annotations

import importlib.util
import shlex
from typing import NamedTuple


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
