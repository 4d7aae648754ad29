"""How many records agreed when they were run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bankgcn.experiments.verify import AGREED
from bankgcn.report.document.wording import listed

COMMAND = "bankgcn verify results --sample {sample} --seed {seed} --json results/verify.json"


def verification(content: Mapping[str, Any] | None) -> str:
    """The outcome of ``bankgcn verify``, from the file that it wrote; ``None`` without one."""
    if content is None:
        return f"Not run yet: `{COMMAND.format(sample=20, seed=0)}`."
    verdicts = Counter(check["verdict"] for check in content["checks"])
    agreed, total = sum(verdicts[verdict] for verdict in AGREED), sum(verdicts.values())
    words = [f"{number} {verdict}" for verdict, number in sorted(verdicts.items())]
    command = COMMAND.format(sample=total, seed=content["seed"])
    return f"Of {total} records, drawn and run again by `{command}`, {agreed} agreed: {listed(words)}."
