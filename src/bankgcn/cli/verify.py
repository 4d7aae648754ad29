"""``bankgcn paper verify``: run recorded runs again, and compare."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from bankgcn.cli.designs import read_records
from bankgcn.cli.errors import FAILED, INTERRUPTED
from bankgcn.cli.output import JsonFile, check_not_input, is_standard_output, say, terminal_text, write_json
from bankgcn.cli.settings import Folders
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.experiments import RunRecord
from bankgcn.experiments.engines.base import RUNNER, make_runner
from bankgcn.experiments.verify import TOLERANCE, Check, Verdict, check, draw_sample
from bankgcn.metrics import METRICS

SECONDS_BETWEEN_LINES = 10.0
"""Where the output is not a terminal."""

KEY_DIGITS = 12
LINE = f"{{:<{KEY_DIGITS}}}  {{:<20}}  {{:<5}}  {{:>10}}  {{:>10}}  {{}}"


def verify_records(
    folder: Annotated[Path, typer.Argument(help="Store or packed folder.", metavar="STORE")],
    sample: Annotated[int, typer.Option(help="Number of records to draw.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", min=0)] = 0,
    tolerance: Annotated[
        float, typer.Option(help="Largest difference of a score or loss where versions or processor differ.", min=0.0)
    ] = TOLERANCE,
    json_file: JsonFile = None,
    folders: Folders = USUAL_FOLDERS,
) -> None:
    """Draw recorded runs at random, run them again, and compare scores and losses on validation and test graphs.

    They must be equal bit for bit if the versions of all libraries and the processor are those of the record.
    The exit code is 0 only if all records agree.
    """
    import torch

    check_not_input(json_file, store=folder)
    records = read_records(folder)
    drawn = draw_sample(records, sample, seed)
    if not drawn:
        raise ValueError(f"{folder}: there are no records to verify")
    torch.set_num_threads(1)
    to_stderr = is_standard_output(json_file)
    progress = _Progress(drawn)
    say(f"{len(drawn):,} of {len(records):,} records, drawn with seed {seed}; {progress.left()}", stderr=True)
    say(LINE.format("run", "dataset", "model", "test score", "again", "agreed?"), stderr=to_stderr)
    run = make_runner(RUNNER, folders.given)
    checks: list[Check] = []
    interrupted = False
    try:
        for record in drawn:
            with progress.running(record):
                checks.append(check(record, run, tolerance))
            for line in _lines(checks[-1], tolerance):
                say(line, stderr=to_stderr)
            progress.ended(record)
    except KeyboardInterrupt:
        interrupted = True
        say(f"interrupted: {len(checks):,} of {len(drawn):,} records were run again", stderr=True)
    if json_file is not None:
        content = {"seed": seed, "drawn": len(drawn), "tolerance": tolerance, "checks": [c.to_dict() for c in checks]}
        write_json(json_file, content, allow_nan=True)
    for line in _summary(checks, tolerance):
        say(line, stderr=to_stderr)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if not all(item.agreed for item in checks):
        raise typer.Exit(FAILED)


class _Progress:
    """Shows the run and the time left: on a terminal while it runs, elsewhere in a line from time to time."""

    def __init__(self, drawn: Sequence[RunRecord]):
        self._console = Console(stderr=True, highlight=False)
        self._drawn = len(drawn)
        self._done = 0
        self._seconds_left = sum(record.seconds for record in drawn)  # as recorded
        self._seconds_done = 0.0
        self._started = self._printed = time.monotonic()

    def running(self, record: RunRecord) -> Status:
        """A context that shows the run on a terminal."""
        run = f"{record.config.dataset}, {record.config.model.conv}, seed {record.config.seed}"
        return self._console.status(terminal_text(f"run {self._done + 1:,} of {self._drawn:,}: {run}; {self.left()}"))

    def ended(self, record: RunRecord) -> None:
        """Count a run as ended."""
        self._done += 1
        self._seconds_left -= record.seconds
        self._seconds_done += record.seconds
        now = time.monotonic()
        if not self._console.is_terminal and self._done < self._drawn and now - self._printed > SECONDS_BETWEEN_LINES:
            self._printed = now
            say(f"{self._done:,} of {self._drawn:,} runs done, {self.left()}", stderr=True)

    def left(self) -> str:
        """The time left, from the recorded times and the pace of this machine so far."""
        pace = (time.monotonic() - self._started) / self._seconds_done if self._seconds_done else 1.0
        return f"about {timedelta(seconds=round(pace * self._seconds_left))} left"


def _lines(item: Check, tolerance: float) -> list[str]:
    """The row of a record, and the reason if it does not agree."""
    config = item.recorded.config
    verdict = {"within tolerance": f"within {tolerance:g}", "differs": "NO"}.get(item.verdict, item.verdict)
    text = METRICS[item.recorded.metric].text
    pair = (item.recorded.test_score, item.again.test_score)
    scores = ("-" if score is None else text(score) for score in pair)
    row = LINE.format(config.key[:KEY_DIGITS], config.dataset, config.model.conv, *scores, verdict)
    reason = item.reason.splitlines()[-1] if item.reason else ""  # of a traceback, the error
    return [row, *textwrap.wrap(reason, 80, initial_indent="  ", subsequent_indent="  ")]


def _summary(checks: Sequence[Check], tolerance: float) -> list[str]:
    verdicts = Counter(item.verdict for item in checks)
    changed = sorted({name for item in checks if item.verdict == "within tolerance" for name in item.changed})
    lines = []
    if changed:
        lines.append(f"compared within {tolerance:g}, because these differ from the records: {', '.join(changed)}")
    agreed = sum(item.agreed for item in checks)
    share = f"{agreed} of {len(checks)} agreed" + (f" ({agreed / len(checks):.0%})" if checks else "")
    labels: dict[Verdict, str] = {
        "bit for bit": "bit for bit",
        "within tolerance": f"within {tolerance:g}",
        "differs": "different",
        "not checked": "not checked",
    }
    counts = [f"{verdicts[verdict]} {label}" for verdict, label in labels.items() if verdicts[verdict]]
    return [*lines, ": ".join(filter(None, (share, ", ".join(counts))))]
