"""Run recorded runs again, and compare the outcomes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from bankgcn.files.checked import FileError, read_json
from bankgcn.settings import pick
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec

FIGURES = {
    "valid_score": "validation score",
    "valid_loss": "validation loss",
    "test_score": "test score",
    "test_loss": "test loss",
}
"""The figures that are compared, with their names in messages."""

TOLERANCE = 0.2
"""Largest difference of a figure where versions or processor differ; for figures above 1, relative to their size.

Differences in the last digit grow during a training, and can change the epoch that is selected. With compiled kernels
and without, 13 runs on MUTAG, ENZYMES and PROTEINS differed by up to 0.14.
"""

Verdict = Literal["bit for bit", "within tolerance", "differs", "not checked"]
VERDICTS: dict[str, Verdict] = {verdict: verdict for verdict in get_args(Verdict)}
AGREED: tuple[Verdict, ...] = ("bit for bit", "within tolerance")


@dataclass(frozen=True, kw_only=True)
class Check:
    """A recorded run beside its repetition.

    Args:
        recorded: The record.
        again: The record of the repetition; its status is ``"failed"`` if the run cannot be repeated here.
        verdict: ``"bit for bit"`` or ``"within tolerance"``: they agree. ``"differs"``: they do not. ``"not checked"``:
            the run cannot be repeated here, for example because its data are missing.
        reason: Why they do not agree; empty if they do.
    """

    recorded: RunRecord
    again: RunRecord
    verdict: Verdict
    reason: str = ""

    @property
    def agreed(self) -> bool:
        """Whether the repetition confirms the record."""
        return self.verdict in AGREED

    @property
    def changed(self) -> dict[str, tuple[str | None, str | None]]:
        """The versions that differ, then and now; ``None`` where one is unknown."""
        then, now = self.recorded.versions, self.again.versions
        names = sorted({*then, *now})
        return {name: (then.get(name), now.get(name)) for name in names if then.get(name) != now.get(name)}

    def to_dict(self) -> dict[str, Any]:
        """The check as plain values, as JSON holds them."""
        config = self.recorded.config
        return {
            "key": config.key,
            "dataset": config.dataset,
            "model": config.model.conv,
            "seed": config.seed,
            "verdict": self.verdict,
            "reason": self.reason,
            "recorded": {name: getattr(self.recorded, name) for name in FIGURES},
            "again": {name: getattr(self.again, name) for name in FIGURES},
            "changed": {name: list(pair) for name, pair in self.changed.items()} if self.again.versions else {},
        }


class StoredCheck(NamedTuple):
    """What a file keeps of a check."""

    key: str
    verdict: Verdict
    recorded: Mapping[str, float | None]  # the names are those of FIGURES

    def is_of(self, record: RunRecord) -> bool:
        """Whether it checked this record, and not an earlier one of the same run."""
        return all(self.recorded[name] == getattr(record, name) for name in FIGURES)


class Verification(NamedTuple):
    """The outcome of ``bankgcn paper verify --json``."""

    seed: int
    drawn: int  # more than there are checks, if it was interrupted
    checks: tuple[StoredCheck, ...]


def read_verification(path: Path) -> Verification:
    """Read what ``bankgcn paper verify --json`` wrote.

    Raises:
        FileError: The file holds something else.
    """
    try:
        content = read_json(path)
        checks = tuple(
            StoredCheck(
                str(item["key"]),
                pick(VERDICTS, item["verdict"], "verdict"),
                {name: item["recorded"][name] for name in FIGURES},
            )
            for item in content["checks"]
        )
        return Verification(int(content["seed"]), int(content["drawn"]), checks)
    except FileError:
        raise
    except (ValueError, TypeError, LookupError) as error:
        raise FileError(f"is not a file of 'bankgcn paper verify --json' ({error}); run it again", path) from error


def draw_sample(records: Mapping[str, RunRecord], size: int, seed: int) -> list[RunRecord]:
    """Draw records at random, ordered by dataset, so that each is read once.

    Args:
        records: Records by the keys of their runs.
        size: Number of records to draw; all if there are fewer.
        seed: The same seed draws the same records.
    """
    keys = random.Random(seed).sample(sorted(records), min(size, len(records)))
    return sorted((records[key] for key in keys), key=lambda record: (record.config.dataset, record.config.key))


def check(record: RunRecord, run: Callable[[RunSpec], RunRecord], tolerance: float = TOLERANCE) -> Check:
    """Run the configuration of a record again, and compare scores and losses.

    They must be equal bit for bit if all versions and the processor are those of the record. Otherwise they may differ
    by the tolerance. Records of version 0.1.0 do not name the processor: they may differ, too.

    Args:
        record: The record.
        run: Runs a configuration, and returns a failed record if it cannot.
        tolerance: See ``TOLERANCE``.
    """
    again = run(record.config)
    verdict, reason = _compare(record, again, tolerance)
    return Check(recorded=record, again=again, verdict=verdict, reason=reason)


def _compare(recorded: RunRecord, again: RunRecord, tolerance: float) -> tuple[Verdict, str]:
    if again.status == "failed":
        return "not checked", again.error
    if again.fingerprint != recorded.fingerprint:
        return "differs", f"{recorded.config.dataset} has other graphs here than in the record"
    if again.split_hash != recorded.split_hash:
        return "differs", "the split is not that of the record"
    if again.status != recorded.status:
        return "differs", f"the recorded run {recorded.status}, the repeated one {again.status}"
    if all(getattr(recorded, name) == getattr(again, name) for name in FIGURES):
        return "bit for bit", ""
    same = dict(recorded.versions) == dict(again.versions)
    differing = [
        f"{label} {_figure(then)}, again {_figure(now)}"
        for name, label in FIGURES.items()
        if not _agree(then := getattr(recorded, name), now := getattr(again, name), 0.0 if same else tolerance)
    ]
    return ("differs", "; ".join(differing)) if differing else ("within tolerance", "")


def _agree(then: float | None, now: float | None, tolerance: float) -> bool:
    if then is None or now is None:
        return then is now
    return abs(then - now) <= tolerance * max(1.0, abs(then), abs(now))


def _figure(value: float | None) -> str:
    return "unknown" if value is None else repr(value)
