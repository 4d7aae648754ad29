"""The runs behind the page: the commands that repeat them, what they cost, and how many were run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Column
from bankgcn.experiments.paper import BEST, TABLES
from bankgcn.experiments.search import needed_configs
from bankgcn.experiments.verify import AGREED, draw_sample
from bankgcn.report.results import Results
from bankgcn.report.sheet import counted
from reproduction.evidence import PROTOCOLS, Evidence, Part, planned_rows, settings_of
from reproduction.markdown import NOT_YET, bullets, listed, table_lines


def cost(evidence: Evidence) -> str:
    """Runs and core hours of each table and dataset; machine and versions of all records."""
    counted_runs: set[str] = set()
    lines = list(_lines(evidence, counted_runs))
    others = len(evidence.records.keys() - counted_runs)
    header = ["", "setting", "dataset", "runs needed", "recorded", "missing", "diverged", "core hours"]
    records = list(evidence.records.values())
    return "\n\n".join(
        [
            table_lines(header, lines) if lines else NOT_YET,
            "Each run is counted once, in the first line that needs it. A failed run leaves no record, and the next "
            "sweep repeats it: a lost run counts as missing. Core hours are the time of the runs, with one thread "
            "each; with N processes, the wall time is about an N-th of it.",
            f"All records together: {counted(len(records), 'run')}, {_hours(records):.1f} core hours"
            f"{_left_out(others)}.",
            bullets([f"{number:,} records: {words}." for words, number in sorted(_machines(records).items())]),
        ]
    )


def _lines(evidence: Evidence, counted_runs: set[str]) -> Iterator[list[str]]:
    """The lines of the table; adds their runs to the counted ones."""
    for table in TABLES:
        for setting in settings_of(table):
            results = evidence.all_results(table, setting)
            for column in results.design.columns:
                needed = _needed(results, column) - counted_runs
                records = [evidence.records[key] for key in sorted(needed) if key in evidence.records]
                if records:
                    counted_runs |= needed
                    yield [table, setting.label, column.label, *_counts(len(needed), records)]


def _needed(results: Results, column: Column) -> set[str]:
    cells = [results.at(row, column) for row in planned_rows(results.design, column)]
    if not any(cell.done for cell in cells):
        return set()
    table = results.design
    return {config.key for cell in cells for config in needed_configs(table, cell.row, column, cell.chosen)}


def _counts(needed: int, records: list[RunRecord]) -> list[str]:
    diverged = sum(record.status == "diverged" for record in records)
    return [f"{needed:,}", f"{len(records):,}", f"{needed - len(records):,}", str(diverged), f"{_hours(records):.2f}"]


def _left_out(others: int) -> str:
    return f"; {others:,} of the runs are in no line, because no cell in these settings needs them" if others else ""


def _hours(records: Iterable[RunRecord]) -> float:
    return sum(record.seconds * record.threads for record in records) / 3600


def _machines(records: Iterable[RunRecord]) -> Counter[str]:
    """How many records were made with which versions, apart from the path that the training took."""
    return Counter(
        ", ".join(f"{name} {value}" for name, value in sorted(record.versions.items()) if name != "kernels")
        for record in records
    )


COMMAND = "bankgcn paper verify results --sample {sample} --seed {seed} --json results/verify.json"


def verification(evidence: Evidence) -> str:
    """The outcome of ``bankgcn paper verify``, for the records that are here."""
    verified, records = evidence.verified, evidence.records
    if verified is None:
        return f"Not run yet: `{COMMAND.format(sample=20, seed=0)}`."
    checks = [check for check in verified.checks if check.key in records and check.is_of(records[check.key])]
    verdicts = Counter(check.verdict for check in checks)
    datasets = Counter(records[check.key].config.dataset for check in checks)
    agreed = sum(verdicts[verdict] for verdict in AGREED)
    command = COMMAND.format(sample=verified.drawn, seed=verified.seed)
    sentences = [f"Of {counted(len(checks), 'record')}, drawn and run again by `{command}`, {agreed} agreed"]
    if checks:
        sentences[0] += f": {listed([f'{number} {verdict}' for verdict, number in sorted(verdicts.items())])}"
        sentences.append(
            f"They are runs on {listed([f'{name} ({number})' for name, number in sorted(datasets.items())])}"
        )
    if other := len(verified.checks) - len(checks):
        sentences.append(f"{other} more were checked that are not among the records of this page")
    now = {record.config.key for record in draw_sample(records, verified.drawn, verified.seed)}
    if not {check.key for check in verified.checks} <= now:
        sentences.append("They were drawn when there were other records: the same command draws others now")
    return " ".join(f"{sentence}." for sentence in sentences)


TEXT = """\
```bash
# Run what is missing in results/.
{runs}
bankgcn paper reproduce figure3 --datasets NCI109 --known results

# Add the new records to results/, here those of Table 1; write this page; run some of the records again.
bankgcn paper pack table1 --setting best --out results
python scripts/reproduction_page.py results --out docs/reproduction.md
bankgcn paper verify results --sample 20

# A table with all p-values.
bankgcn paper table table1 --setting best --search-runs {search_runs} --store results
```

`--setting best` runs l2 before and after the ReLU, and so contains the runs of `--setting as-paper`, the default."""


def commands(search_runs: int) -> str:
    """The commands, with the options of each table.

    Args:
        search_runs: Number of seeds that choose hyper-parameters.
    """
    lines = [
        f"bankgcn paper reproduce {name} {words} --known results" for name, words in reproduce_options(search_runs)
    ]
    return TEXT.format(runs="\n".join(lines), search_runs=search_runs)


def reproduce_options(search_runs: int) -> Iterator[tuple[str, str]]:
    """The name of each table with the options of ``paper reproduce``, once for each part that is run by itself."""
    for name in TABLES:
        protocol = PROTOCOLS[name]
        options = [f"--setting {BEST.name}"] if BEST in settings_of(name) else []
        options += [f"--search-runs {search_runs}"] if protocol.searches else []
        for option, values in protocol.values.items():
            options.append(f"--{option.replace('_', '-')} {','.join(f'{value:g}' for value in values)}")
        for part in protocol.parts or (None,):
            yield name, " ".join([*_restriction(part), *options])


def _restriction(part: Part | None) -> list[str]:
    if part is None:
        return []
    rows = [f"--models {','.join(part.rows)}"] if part.rows else []
    epochs = [f"--epochs {part.max_epochs}"] if part.max_epochs else []
    return [f"--datasets {','.join(part.columns)}", *rows, f"--runs {part.runs}", *epochs]
