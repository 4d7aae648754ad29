"""chemprop on the tables of molecules, with its defaults: scores on the test molecules, and the times of its training.

python benchmarks/chemprop_runs.py --tables FOLDER --out scores.ndjson [--sets esol,bace] [--splits 0,1,2]

chemprop is installed into an environment of its own, in ``--environment``, so that its libraries do not meet those of
bankgcn. Every run is one line of ``--out``; runs that are there already are not repeated. All runs use one thread.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERSION = "2.3.1"
TORCH = "torch==2.13.0"  # the build for CPUs
TASKS = {"esol": "regression", "lipo": "regression", "bace": "classification", "tox21": "classification"}
METRICS = {"regression": "rmse", "classification": "roc"}
NOT_TARGETS = ("smiles", "split0", "split1", "split2")


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=Path, required=True, help="folder of esol.csv, lipo.csv and others")
    parser.add_argument("--out", type=Path, required=True, help="file for the scores, one line for each run")
    parser.add_argument("--sets", default="esol,bace,lipo,tox21")
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--environment", type=Path, default=Path(".chemprop"))
    arguments = parser.parse_args()
    program = installed(arguments.environment)
    done = {
        (row["set"], row["split"])
        for row in map(json.loads, arguments.out.read_text().splitlines() if arguments.out.exists() else [])
    }
    for split in map(int, arguments.splits.split(",")):
        for name in arguments.sets.split(","):
            if (name, split) not in done:
                row = {
                    "set": name,
                    "split": split,
                    "method": f"chemprop {VERSION}",
                    **run(program, arguments, name, split),
                }
                with arguments.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)


def installed(environment: Path) -> Path:
    """The program, installed if it is not there."""
    program = environment / "bin" / "chemprop"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, TORCH, f"chemprop=={VERSION}"], check=True)
    return program.absolute()


def run(program: Path, arguments: argparse.Namespace, name: str, split: int) -> dict[str, object]:
    """Train on one split; the mean score over the targets, seconds of the clock and of the processor."""
    table = arguments.tables / f"{name}.csv"
    with table.open(newline="") as file:
        targets = [column for column in next(csv.reader(file)) if column not in NOT_TARGETS]
    task = TASKS[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--data-path", table.absolute(), "--smiles-columns", "smiles"]
        command += ["--target-columns", *targets, "--task-type", task, "--splits-column", f"split{split}"]
        command += ["--metrics", METRICS[task], "--save-dir", folder, "--num-workers", "0", "--accelerator", "cpu"]
        started, before = time.perf_counter(), processor_seconds()
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=variables, check=False)
        times = {"seconds": time.perf_counter() - started, "processor_seconds": processor_seconds() - before}
        if ended.returncode:
            sys.exit(f"{name}, split {split}: {ended.stderr[-2000:]}")
        return {"metric": METRICS[task], "test": _score(Path(folder), table, targets, split, task), **times}


def processor_seconds() -> float:
    """The time that processors worked for programs which this one started and which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _score(folder: Path, table: Path, targets: list[str], split: int, task: str) -> float:
    """The mean score over the targets, from the predictions for the test molecules."""
    import numpy as np
    from sklearn.metrics import roc_auc_score, root_mean_squared_error

    with table.open(newline="") as file:
        truth = {
            row["smiles"]: [float(row[name] or "nan") for name in targets]
            for row in csv.DictReader(file)
            if row[f"split{split}"] == "test"
        }
    (path,) = folder.rglob("test_predictions.csv")
    with path.open(newline="") as file:
        rows = [(row["smiles"], [float(row[name]) for name in targets]) for row in csv.DictReader(file)]
    y, given = np.array([truth[smiles] for smiles, _ in rows]), np.array([values for _, values in rows])
    score = root_mean_squared_error if task == "regression" else roc_auc_score
    known = ~np.isnan(y)
    scores = [score(y[known[:, k], k], given[known[:, k], k]) for k in range(len(targets))]
    return float(np.mean(scores))


if __name__ == "__main__":
    main()
