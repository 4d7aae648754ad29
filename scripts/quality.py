"""How good the presets are on tables of molecules and sets of graphs, and the page about it.

python scripts/quality.py measure --tables FOLDER [--methods paper,standard] [--sets esol] [--repetitions 0,1,2]
python scripts/quality.py page

``measure`` trains by the command line on one thread and takes the time of the clock, with all methods of a repetition
in turns. Every run is one line of ``results/quality/methods.jsonl``; those that are there are not repeated. ``page``
writes ``docs/quality.md`` from these lines, from the scores of chemprop (``benchmarks/chemprop_runs.py``), and from the
records of the ablation (``scripts/study.py``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import study

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "quality"
RUNS, CHEMPROP = RESULTS / "methods.jsonl", RESULTS / "chemprop.jsonl"
PAGE = ROOT / "docs" / "quality.md"


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
        started = time.perf_counter()
        bankgcn(*command)
        seconds = time.perf_counter() - started
        parts = {}
        for part in ("valid", "test"):
            bankgcn("evaluate", f"{folder}/run", "--part", part, "--interval", "0.9", "--json", f"{folder}/{part}.json")
            parts[part] = json.loads(Path(folder, f"{part}.json").read_text())
        scores = {part: values["scores"][task.metric] for part, values in parts.items()}
        return {"metric": task.metric, **scores, "seconds": seconds, "intervals": parts["test"].get("intervals", {})}


def bankgcn(*arguments: str) -> None:
    """Run a command; the script ends with its messages if it fails."""
    ended = subprocess.run([sys.executable, "-m", "bankgcn", *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"bankgcn {' '.join(arguments)}\n{ended.stderr[-3000:]}")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; none if it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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
    part.set_defaults(run=lambda _: PAGE.write_text("\n".join(page()) + "\n"))
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
