"""Many runs: store their records, run what is missing, choose hyper-parameters, compare models."""

from typing import TYPE_CHECKING, Any

from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.engines.base import Event
from bankgcn.experiments.search import Selection, select
from bankgcn.experiments.store import Store
from bankgcn.experiments.sweep import SweepResult, sweep
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

if TYPE_CHECKING:
    from bankgcn.training.execute import run

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


def __getattr__(name: str) -> Any:
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bankgcn.training.execute import run  # with PyTorch, which a table of records does not need

    return run
