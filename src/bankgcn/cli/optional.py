"""Check that optional libraries are installed, before a command starts its work."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

LIBRARIES = {
    "torch_geometric": ("PyTorch Geometric", "pyg"),
    "matplotlib": ("matplotlib", "plot"),
    "ray": ("Ray", "ray"),
}
"""Name and extra of each optional library, by module."""

NEED_PYG = {"gcn": "GCN", "sage": "GraphSAGE", "gin": "GIN", "gat": "GAT", "cheb": "ChebNet"}
"""Convolutions that PyTorch Geometric computes, with their labels."""


def require(module: str, user: str) -> None:
    """Check that a module is installed.

    Raises:
        ImportError: It is not; the message says what needs it, and how to install it.
    """
    if find_spec(module) is None:
        name, extra = LIBRARIES[module]
        raise ImportError(f"{user} needs {name}: pip install 'bankgcn[{extra}]'")


def require_for_models(convs: Iterable[str]) -> None:
    """Check that the libraries of these convolutions are installed."""
    for conv in dict.fromkeys(convs):
        if conv in NEED_PYG:
            require("torch_geometric", NEED_PYG[conv])
