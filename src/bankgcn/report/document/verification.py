"""How many records agreed when they were run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bankgcn.experiments.verify import AGREED
from bankgcn.report.document.wording import listed

COMMAND = "bankgcn verify results --sample 20 --json results/verify.json"


def verification(content: Mapping[str, Any] | None) -> str:
    """The outcome of ``bankgcn verify``, from the file that it wrote; ``None`` without one."""
    if content is None:
        return f"Not run yet: `{COMMAND}`."
    verdicts = Counter(check["verdict"] for check in content["checks"])
    agreed, total = sum(verdicts[verdict] for verdict in AGREED), sum(verdicts.values())
    words = [f"{number} {verdict}" for verdict, number in sorted(verdicts.items())]
    return (
        f"Of {total} records, drawn with seed {content['seed']} and run again by `{COMMAND}`, {agreed} agreed: "
        f"{listed(words)}."
    )
