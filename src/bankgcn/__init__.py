"""Learn a spectral filter bank for your graphs."""

from bankgcn.data import GraphSet
from bankgcn.nn import BankConv, BankGCN, mutual_coherence
from bankgcn.spectral import GraphShift

__version__ = "0.2.0.dev0"

__all__ = ["BankConv", "BankGCN", "GraphSet", "GraphShift", "mutual_coherence"]
