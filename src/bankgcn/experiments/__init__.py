"""Many runs: store their records, run what is missing, choose hyper-parameters, compare models."""

from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.engines.base import Event
from bankgcn.experiments.selection import Selection, select
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult, sweep
from bankgcn.training.execute import run
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

__all__ = [
    "Event",
    "RunRecord",
    "RunSpec",
    "Selection",
    "Store",
    "SweepResult",
    "make_engine",
    "run",
    "select",
    "sweep",
]
