"""Learn a spectral filter bank for your graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bankgcn.extras import require

if TYPE_CHECKING:
    from bankgcn.data import GraphSet
    from bankgcn.data.sources import load_source as load
    from bankgcn.estimator import BankGCNClassifier, BankGCNRegressor
    from bankgcn.nn import BankConv, BankGCN, mutual_coherence
    from bankgcn.spectral import GraphShift
    from bankgcn.training.ensemble import load_model

__version__ = "0.2.0"

__all__ = [
    "BankConv",
    "BankGCN",
    "BankGCNClassifier",
    "BankGCNRegressor",
    "GraphSet",
    "GraphShift",
    "load",
    "load_model",
    "mutual_coherence",
]

_LAZY = {
    "BankConv": ("bankgcn.nn", "BankConv", None),
    "BankGCN": ("bankgcn.nn", "BankGCN", None),
    "BankGCNClassifier": ("bankgcn.estimator", "BankGCNClassifier", "sklearn"),
    "BankGCNRegressor": ("bankgcn.estimator", "BankGCNRegressor", "sklearn"),
    "GraphSet": ("bankgcn.data", "GraphSet", None),
    "GraphShift": ("bankgcn.spectral", "GraphShift", None),
    "load": ("bankgcn.data.sources", "load_source", None),
    "load_model": ("bankgcn.training.ensemble", "load_model", None),
    "mutual_coherence": ("bankgcn.nn", "mutual_coherence", None),
}
"""Module and name of each public name, and the optional library that it needs.

Modules are loaded when a name is first used: ``bankgcn --help`` needs none of them, and PyTorch takes seconds.
"""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute, library = _LAZY[name]
    if library is not None:
        require(library, name)
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
