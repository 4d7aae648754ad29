"""Speed and memory of bankgcn and of plain PyG, side by side in one run. Needs the extra ``pyg``."""

from bankgcn.bench.cases import CASES, case_named
from bankgcn.bench.growth import growth
from bankgcn.bench.measure import batching_seconds, measure_case
from bankgcn.bench.ours import OURS
from bankgcn.bench.peers import PEERS
from bankgcn.bench.products import PRODUCTS
from bankgcn.bench.protocol import FULL, QUICK, Protocol
from bankgcn.bench.result import CaseResult
from bankgcn.bench.threads import measure_threads

__all__ = [
    "CASES",
    "FULL",
    "OURS",
    "PEERS",
    "PRODUCTS",
    "QUICK",
    "CaseResult",
    "Protocol",
    "batching_seconds",
    "case_named",
    "growth",
    "measure_case",
    "measure_threads",
]
