"""Speed of bankgcn and of plain PyG, side by side in one run. Needs the extra ``pyg``."""

from bankgcn.bench.cases import CASES, case_named
from bankgcn.bench.measure import FULL, QUICK, CaseResult, Protocol, batching_seconds, measure_case
from bankgcn.bench.peers import OURS, PRODUCTS

__all__ = [
    "CASES",
    "FULL",
    "OURS",
    "PRODUCTS",
    "QUICK",
    "CaseResult",
    "Protocol",
    "batching_seconds",
    "case_named",
    "measure_case",
]
