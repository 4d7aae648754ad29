"""How many records agreed when they were run again."""

from __future__ import annotations

from collections import Counter

from bankgcn.experiments.verify import AGREED, draw_sample
from bankgcn.report.document.evidence import Evidence
from bankgcn.report.document.wording import counted, listed

COMMAND = "bankgcn verify results --sample {sample} --seed {seed} --json results/verify.json"


def verification(evidence: Evidence) -> str:
    """The outcome of ``bankgcn verify``, for the records that are here."""
    verified, records = evidence.verified, evidence.records
    if verified is None:
        return f"Not run yet: `{COMMAND.format(sample=20, seed=0)}`."
    checks = [check for check in verified.checks if check.key in records and check.is_of(records[check.key])]
    verdicts = Counter(check.verdict for check in checks)
    datasets = Counter(records[check.key].config.dataset for check in checks)
    agreed = sum(verdicts[verdict] for verdict in AGREED)
    command = COMMAND.format(sample=verified.drawn, seed=verified.seed)
    words = [f"Of {counted(len(checks), 'record')}, drawn and run again by `{command}`, {agreed} agreed"]
    if checks:
        words[0] += f": {listed([f'{number} {verdict}' for verdict, number in sorted(verdicts.items())])}"
        words.append(f"They are runs on {listed([f'{name} ({number})' for name, number in sorted(datasets.items())])}")
    if other := len(verified.checks) - len(checks):
        words.append(f"{other} more were checked that are not among the records of this page")
    now = {record.config.key for record in draw_sample(records, verified.drawn, verified.seed)}
    if not {check.key for check in verified.checks} <= now:
        words.append("They were drawn when there were other records: the same command draws others now")
    return " ".join(f"{sentence}." for sentence in words)
