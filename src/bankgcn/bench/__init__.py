"""Speed and memory of bankgcn and of plain PyG, side by side in one run. Needs the extra ``pyg``."""

from bankgcn.bench.cases import CASES, case_named
from bankgcn.bench.growth import growth
from bankgcn.bench.measure import OURS, PRODUCTS, CaseResult, batching_seconds, measure_case
from bankgcn.bench.peers import PEERS

__all__ = [
    "CASES",
    "OURS",
    "PEERS",
    "PRODUCTS",
    "CaseResult",
    "batching_seconds",
    "case_named",
    "growth",
    "measure_case",
]
