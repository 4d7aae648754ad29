"""Many runs: what a run is, what is known after it, where that is kept, how many are run, and which wins."""

from bankgcn.experiments.config import RunConfig
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.engines.base import Event
from bankgcn.experiments.record import RunRecord
from bankgcn.experiments.run import run
from bankgcn.experiments.selection import Selection, select
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult, sweep

__all__ = [
    "Event",
    "RunConfig",
    "RunRecord",
    "Selection",
    "Store",
    "SweepResult",
    "make_engine",
    "run",
    "select",
    "sweep",
]
