"""Learn a spectral filter bank for your graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bankgcn.data import GraphSet
from bankgcn.extras import require
from bankgcn.nn import BankConv, BankGCN, mutual_coherence
from bankgcn.spectral import GraphShift

if TYPE_CHECKING:
    from bankgcn.data.sources import load_source as load
    from bankgcn.estimator import BankGCNClassifier, BankGCNRegressor
    from bankgcn.predictor import load_model

__version__ = "0.2.0.dev0"

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
    "BankGCNClassifier": ("bankgcn.estimator", "BankGCNClassifier", "sklearn"),
    "BankGCNRegressor": ("bankgcn.estimator", "BankGCNRegressor", "sklearn"),
    "load": ("bankgcn.data.sources", "load_source", None),
    "load_model": ("bankgcn.predictor", "load_model", None),
}
"""Names that are imported when they are first used, and the optional library that each needs.

A layer alone needs neither scikit-learn nor files.
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
