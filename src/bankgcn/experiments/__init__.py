"""Many runs: what a run is, what is known after it, where that is kept, and how many are run."""

from bankgcn.experiments.config import RunConfig
from bankgcn.experiments.record import RunRecord

__all__ = ["RunConfig", "RunRecord"]
