"""Learn a spectral filter bank for your graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankgcn.data import GraphSet
    from bankgcn.nn import BankConv, BankGCN, mutual_coherence
    from bankgcn.spectral import GraphShift

__version__ = "0.2.0.dev0"

__all__ = ["BankConv", "BankGCN", "GraphSet", "GraphShift", "mutual_coherence"]

_MODULES = {
    "BankConv": "bankgcn.nn",
    "BankGCN": "bankgcn.nn",
    "GraphSet": "bankgcn.data",
    "GraphShift": "bankgcn.spectral",
    "mutual_coherence": "bankgcn.nn",
}


def __getattr__(name: str) -> Any:
    """A public name, whose module is loaded now: ``bankgcn --help`` needs none of them, and PyTorch takes seconds."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
