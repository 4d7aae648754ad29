"""How good the presets are on tables of molecules and sets of graphs, and the page about it.

python scripts/quality.py measure --tables FOLDER [--methods paper,standard] [--sets esol] [--repetitions 0,1,2]
python scripts/quality.py page

``measure`` trains by the command line on one thread and takes the time of the clock and of the processor, with all
methods of a repetition in turns. Every run is one line of ``results/quality/methods.ndjson``; those that are there are
not repeated. ``page`` writes ``docs/quality.md`` and the table of the README from these lines, from the scores of
chemprop (``benchmarks/chemprop_runs.py``), and from the records of the ablation (``scripts/study.py``).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import study
from bankgcn.experiments.store import read_packed
from bankgcn.metrics import METRICS
from bankgcn.training.record import RunRecord

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "quality"
RUNS, CHEMPROP = RESULTS / "methods.ndjson", RESULTS / "chemprop.ndjson"
PAGE, README = ROOT / "docs" / "quality.md", ROOT / "README.md"
MARKS = "<!-- written by scripts/quality.py -->", "<!-- until here -->"
SHORT = ("standard", "best", "forest")
"""The methods in the table of the README, beside those that are not ours."""


INTRODUCTION = """# How good it is

Written by `python scripts/quality.py page` from `results/quality`; no figure is typed by hand. Tables of molecules have
three public scaffold splits; each run trains on the training part, chooses by the validation part, and scores the test
part once. Sets of graphs have a random split 8:1:1 for each seed. `paper`, `standard` and `best` are the presets of
[`--preset`](options.md#presets); `forest` and `wl-svm` are the [rivals](rivals.md); chemprop has its defaults. A small
RMSE is good, and a large ROC-AUC or accuracy.
""".splitlines()
HOW_COVERAGE = """## Intervals

How many of the test graphs the intervals of 90 % hold, or the sets of classes, mean over the repetitions. Scaffold
splits draw test molecules of other kinds than the validation molecules, so nothing promises 90 % there; on random
splits it holds ([measured](intervals.md#measured)).
""".splitlines()
HOW_ABLATION = """## What each part gives

The recipe is the `standard` preset before its parts were chosen; each row changes one thing of it. The figures are
differences of the *validation* score, by which the parts were chosen, so that larger is better everywhere. The spread
over seeds is about as large as most of them: what counts is in how many sets a change helps. `standard` is the row
"Adam alone". Wider networks, feed-forward blocks and descriptors validate better on molecules, and take longer.
""".splitlines()
HOW_OTHERS = """## Graphs that are no molecules

The same for parts that are added to the paper's settings, on sets with other features than those of atoms. Differences
are mostly smaller than the spread over these few seeds, so there is no evidence for another `standard` than that of
molecules, which has dropout, too.
""".splitlines()
HOW_LEFT_OUT = """A check of the choice: each set is left out once, the change with the largest mean gain on the
others (in units of their spread) is chosen, and scored on the test graphs of the set that was left out.
""".splitlines()
WHEN_NOT = """## When not to use it

- **A few hundred molecules, and the question is which class.** A forest on Morgan counts and descriptors is as good or
  better there, and takes seconds: see BACE above. `bankgcn train` prints its score beside that of the network, and
  `--preset best` mixes both.
- **Thousands of graphs with labels of nodes, such as NCI1.** Compare with the Weisfeiler-Lehman kernel, `--model
  wl-svm`, before you choose a network; `--preset best` lets both vote.
- **You need a guarantee for molecules of a new kind.** No interval has one: look at `--domain`.
- **Millions of training molecules and a GPU.** This is a CPU library; the compiled code does not run on a GPU.
""".splitlines()


@dataclass(frozen=True)
class Task:
    """Graphs to learn.

    Args:
        label: Name on the page.
        metric: Name of the score, as ``evaluate`` writes it.
        arguments: Of the command that trains.
        table: Whether they are a table with public splits; a repetition is then a split, and else a seed.
        higher_is_better: Whether large scores are good.
    """

    label: str
    metric: str
    arguments: Sequence[str] = ()
    table: bool = True
    higher_is_better: bool = True


REPETITIONS = 3
"""Splits of a table of molecules."""
SETS = {
    "esol": Task("ESOL", "rmse", ["--target", "logSolubility"], higher_is_better=False),
    "lipo": Task("Lipo", "rmse", ["--target", "lipo"], higher_is_better=False),
    "bace": Task("BACE", "roc_auc", ["--target", "Class"]),
    "tox21": Task("Tox21", "roc_auc", ["--target", study.ASSAYS, "--task", "labels", "--skip-unreadable"]),
    **{name: Task(name, "accuracy", table=False) for name in ("ENZYMES", "PROTEINS", "NCI1", "NCI109", "Mutagenicity")},
}
METHODS: dict[str, Sequence[str]] = {
    "paper": ["--preset", "paper"],
    "standard": ["--preset", "standard"],
    "best": ["--preset", "best"],
    "forest": ["--model", "forest"],
    "wl-svm": ["--model", "wl-svm"],
}
"""Arguments of the command, by the name of the method."""


def measure(arguments: argparse.Namespace) -> None:
    """Run what is missing, all methods of a repetition in turns."""
    done = {(row["set"], row["repetition"], row["method"]) for row in rows_of(RUNS)}
    RESULTS.mkdir(parents=True, exist_ok=True)
    for repetition in map(int, arguments.repetitions.split(",")):
        for name in arguments.sets.split(","):
            for method in arguments.methods.split(","):
                if (name, repetition, method) in done or (method == "wl-svm" and SETS[name].metric == "rmse"):
                    continue
                row = {"set": name, "repetition": repetition, "method": method}
                row |= run(SETS[name], name, repetition, METHODS[method], arguments.tables)
                with RUNS.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), flush=True)


def run(task: Task, name: str, repetition: int, method: Sequence[str], tables: Path) -> dict[str, Any]:
    """Train and evaluate by the command line."""
    with tempfile.TemporaryDirectory() as folder:
        source = str(tables / f"{name}.csv") if task.table else name
        which = ["--split-column", f"split{repetition}"] if task.table else ["--split-seed", str(repetition)]
        seed = [] if task.table or "best" in method else ["--seed", str(repetition)]
        command = ["train", source, *task.arguments, *which, *seed, *method, "--no-rival", "--out", f"{folder}/run"]
        started, before = time.perf_counter(), processor_seconds()
        bankgcn(*command)
        times = {"seconds": time.perf_counter() - started, "processor_seconds": processor_seconds() - before}
        parts = {}
        for part in ("valid", "test"):
            bankgcn("evaluate", f"{folder}/run", "--part", part, "--interval", "0.9", "--json", f"{folder}/{part}.json")
            parts[part] = json.loads(Path(folder, f"{part}.json").read_text())
        scores = {part: values["scores"][task.metric] for part, values in parts.items()}
        return {"metric": task.metric, **scores, **times, "intervals": parts["test"].get("intervals", {})}


def processor_seconds() -> float:
    """The time that processors worked for programs which this one started and which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def bankgcn(*arguments: str) -> None:
    """Run a command; the script ends with its messages if it fails."""
    ended = subprocess.run([sys.executable, "-m", "bankgcn", *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"bankgcn {' '.join(arguments)}\n{ended.stderr[-3000:]}")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; none if it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def page() -> Iterable[str]:
    """The lines of the page."""
    rows = all_rows()
    yield from [*INTRODUCTION, ""]
    yield from _scores(rows)
    yield from _times(rows)
    yield from _coverage(rows)
    for text, names, left_out in ((HOW_ABLATION, RECIPES, True), (HOW_OTHERS, ["others"], False)):
        yield from ["", *text, ""]
        yield from _ablation(names, left_out)
    yield from WHEN_NOT


def _of(rows: Sequence[Mapping[str, Any]], name: str, method: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if (row["set"], row["method"]) == (name, method)]


def _methods(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys([*METHODS, *(row["method"] for row in rows)]))


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| :-- |{' --: |' * (len(head) - 1)}"
    for cells in body:
        yield f"| {' | '.join(cells)} |"
    yield ""


def _scores(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    methods = [name for name in _methods(rows) if any(row["method"] == name for row in rows)]

    def cells(name: str, task: Task) -> Iterable[str]:
        scores = {method: [row["test"] for row in _of(rows, name, method)] for method in methods}
        means = {method: mean(values) for method, values in scores.items() if values}
        best = max(means, key=lambda method: means[method] * (1 if task.higher_is_better else -1), default="")
        yield f"{task.label} ({METRICS[task.metric].label})"
        for method, values in scores.items():
            spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
            text = f"{mean(values):.3f}{spread} ({len(values)})" if values else ""
            yield f"**{text}**" if method == best else text

    body = [list(cells(name, task)) for name, task in SETS.items() if any(row["set"] == name for row in rows)]
    yield from _table(["test score, mean ± standard deviation (runs)", *methods], body)


def short_table(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """The table of the README: mean scores on the sets on which all its methods have all repetitions of our own."""
    others = [
        method
        for method in _methods(rows)
        if method not in METHODS and any(len(_of(rows, name, method)) >= REPETITIONS for name in SETS)
    ]
    head = ["mean test score", *(f"`{name}`" if name != "forest" else name for name in SHORT), *others]
    body = []
    for name, task in SETS.items():
        scores = [[row["test"] for row in _of(rows, name, method)] for method in (*SHORT, *others)]
        if min(map(len, scores[: len(SHORT)])) < REPETITIONS:
            continue
        means = [mean(values) if len(values) >= REPETITIONS else None for values in scores]
        sign = 1 if task.higher_is_better else -1
        best = max(sign * value for value in means if value is not None)
        cells = ["" if value is None else f"{value:.3f}" for value in means]
        marked = [
            f"**{cell}**" if value is not None and sign * value == best else cell
            for cell, value in zip(cells, means, strict=True)
        ]
        body.append(
            [f"{task.label} ({METRICS[task.metric].label}, {'higher' if sign > 0 else 'lower'} is better)", *marked]
        )
    yield from _table(head, body)


def with_short_table(readme: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The README with its table written again."""
    start, end = MARKS
    before, _, rest = readme.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n" + "\n".join(short_table(rows)) + f"{end}{after}"


def all_rows() -> list[dict[str, Any]]:
    """The scores of all methods; a split of chemprop's runs is a repetition."""
    return [*rows_of(RUNS), *({**row, "repetition": row["split"]} for row in rows_of(CHEMPROP))]


def write() -> None:
    """Write the page and the table of the README."""
    PAGE.write_text("\n".join(page()) + "\n")
    README.write_text(with_short_table(README.read_text(), all_rows()))


def _times(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    methods = [name for name in _methods(rows) if any(row["method"] == name for row in rows)]
    yield "Median seconds of the processor for one training, on one thread, with the start of the program and reading:"
    yield ""
    body = []
    for name, task in SETS.items():
        seconds = [[row["processor_seconds"] for row in _of(rows, name, method)] for method in methods]
        if any(seconds):
            body.append([task.label, *(f"{median(values):.0f}" if values else "" for values in seconds)])
    yield from _table(["seconds", *methods], body)


def _coverage(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    held = [row for row in rows if row.get("intervals")]
    methods = [name for name in METHODS if any(row["method"] == name for row in held)]
    yield from [*HOW_COVERAGE, ""]
    body = []
    for name, task in SETS.items():
        shares = [[row["intervals"]["coverage"] for row in _of(held, name, method)] for method in methods]
        if any(shares):
            body.append([task.label, *(f"{100 * mean(values):.0f} %" if values else "" for values in shares)])
    yield from _table(["held by intervals or sets of 90 %", *methods], body)


@dataclass(frozen=True)
class Ablation:
    """The validation gain of each change of the recipe on one set, in its own unit and as a share of the spread.

    Args:
        gains: Mean over the repetitions, larger is better, by the name of the change.
        tests: Mean test score of each variant.
        metric: Name of the score.
        runs: The largest number of repetitions that a gain is the mean of.
    """

    gains: Mapping[str, float]
    tests: Mapping[str, float]
    metric: str
    runs: int

    def scaled(self, change: str) -> float | None:
        """The gain in units of the root mean square of all gains on this set; ``None`` if it was not run."""
        gain = self.gains.get(change)
        scale = mean(value**2 for value in self.gains.values()) ** 0.5
        return None if gain is None else gain / scale


RECIPES = ("recipe-small", "recipe-large", "recipe-others")
"""The studies that change the recipe."""


def ablations(studies: Sequence[str]) -> dict[str, Ablation]:
    """The ablation of each set that has records of at least one repetition of the first variant and another one."""
    found = {}
    for name in studies:
        records = read_packed(RESULTS / name) if (RESULTS / name).exists() else {}
        design = study.STUDIES[name]
        for dataset in design.datasets:
            runs = design.runs(dataset)
            first = next(iter(runs))
            gains, tests, metric, most = {}, {}, "", 0
            for variant, specs in runs.items():
                pairs = [
                    (records.get(spec.key), records.get(of.key)) for spec, of in zip(specs, runs[first], strict=True)
                ]
                both = [(one, two) for one, two in pairs if one is not None and two is not None]
                if both:
                    metric, most = both[0][0].metric, max(most, len(both))
                    sign = 1 if METRICS[metric].higher_is_better else -1
                    gains[variant] = sign * mean(_valid(one) - _valid(two) for one, two in both)
                    tests[variant] = mean(one.test_score for one, _ in both if one.test_score is not None)
            if len(gains) > 1:
                del gains[first]
                found[Path(dataset).stem] = Ablation(gains, tests, metric, most)
    return found


def _valid(record: RunRecord) -> float:
    worst = METRICS[record.metric].worst
    return worst if record.valid_score is None else record.valid_score


def _ablation(studies: Sequence[str], left_out: bool) -> Iterable[str]:
    sets = ablations(studies)
    changes = list(dict.fromkeys(change for one in sets.values() for change in one.gains))

    def cells(change: str) -> Iterable[str]:
        yield change
        for one in sets.values():
            yield f"{one.gains[change]:+.3f}" if change in one.gains else ""
        gains = [one.gains[change] for one in sets.values() if change in one.gains]
        yield f"{sum(gain > 0 for gain in gains)} of {len(gains)}"

    body = sorted((list(cells(change)) for change in changes), key=lambda row: -_mean_scaled(sets.values(), row[0]))
    labels = [SETS[name].label if name in SETS else name for name in sets]
    yield from _table(
        ["change", *(f"{label} ({one.runs})" for label, one in zip(labels, sets.values(), strict=True)), "better on"],
        body,
    )
    if left_out:
        yield from _left_out(sets)


def _mean_scaled(sets: Iterable[Ablation], change: str) -> float:
    values = [value for one in sets if (value := one.scaled(change)) is not None]
    return mean(values) if values else float("-inf")


def _left_out(sets: Mapping[str, Ablation]) -> Iterable[str]:
    """What the other sets would choose for each set, and what it gives there."""
    yield from [*HOW_LEFT_OUT, ""]
    body = []
    for name, one in sets.items():
        others = [other for key, other in sets.items() if key != name]
        candidates = [change for change in one.gains if change != "paper"]
        if not candidates:
            continue
        chosen = max(candidates, key=lambda change: _mean_scaled(others, change))
        change = chosen if _mean_scaled(others, chosen) > 0 else "recipe"
        tests = [one.tests[variant] for variant in (change, "recipe", "paper")]
        body.append([SETS[name].label, change, *(f"{test:.3f}" for test in tests)])
    yield from _table(["set left out", "chosen on the others", "its test score", "recipe", "paper"], body)


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("measure")
    part.add_argument("--tables", type=Path, required=True, help="folder of esol.csv, lipo.csv, bace.csv and tox21.csv")
    part.add_argument("--methods", default="paper,standard,best,forest")
    part.add_argument("--sets", default="esol,bace,lipo,tox21")
    part.add_argument("--repetitions", default="0,1,2")
    part.set_defaults(run=measure)
    part = parts.add_parser("page")
    part.set_defaults(run=lambda _: write())
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
