"""Runs descriptions with the ``bankgcn`` that Python finds; ``compare_checkouts.py`` starts it once for each checkout.

python scripts/guard_child.py JOBS.json

Libraries are loaded once; every description then has a process of its own, forked from this one. The name of a job is
printed when it is done.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "torch", "numba", "rdkit.Chem", "torch_geometric", "bankgcn.cli")
PAPER = ("reproduce", "table", "figure", "pack", "verify")
"""Commands that may be called ``bankgcn paper NAME``."""
FIRST_EPOCH = "epoch 1"  # what train prints then
CRASHED, NOT_INTERRUPTED = 70, 71
MOST_SECONDS = 900


def main(jobs: Path) -> None:
    """Run the jobs of a file, one after the other."""
    for library in LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    for job in json.loads(jobs.read_text()):
        out = Path(job["out"])
        out.mkdir(parents=True)
        codes = [interrupted(job)] if job["interrupt"] else []
        forked(lambda job=job: run_job(job))
        done = json.loads((out / "codes.json").read_text()) if (out / "codes.json").exists() else [CRASHED]
        (out / "result.json").write_text(json.dumps({"job": job, "codes": codes + done}))
        print(job["name"], flush=True)


def forked(action: Callable[[], None]) -> int:
    """Start an action in a process of its own and wait for it; returns its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(start(action), 0)[1])


def start(action: Callable[[], None]) -> int:
    """Start an action in a process of its own; returns its id."""
    process = os.fork()
    if process:
        return process
    signal.alarm(MOST_SECONDS)
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
        code = CRASHED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def interrupted(job: dict[str, Any]) -> int:
    """Start the first step, and interrupt it when its first epoch is over; the code is 0 if it could be."""
    out = Path(job["out"])
    log = out / "interrupted.err"
    process = start(lambda: sys.exit(run_step(job["steps"][0], log, "")))
    while not log.exists() or FIRST_EPOCH not in log.read_text():
        time.sleep(0.005)
        if os.waitpid(process, os.WNOHANG)[0]:
            return NOT_INTERRUPTED
    os.kill(process, signal.SIGINT)
    os.waitpid(process, 0)
    return NOT_INTERRUPTED if (out / "run" / "record.json").exists() else 0


def run_job(job: dict[str, Any]) -> None:
    """Run the steps of a job in this process, then write the tensors of its models."""
    os.environ.update(variable.split("=", 1) for variable in job["environment"])
    out = Path(job["out"])
    codes = [run_step(step, out / f"step{number}", job["stdin"]) for number, step in enumerate(job["steps"])]
    for record in sorted(out.rglob("record.json")):
        write_tensors(record.parent, out / "tensors" / f"{record.parent.relative_to(out)}.npz")
    (out / "codes.json").write_text(json.dumps(codes))


def run_step(arguments: list[str], log: Path, stdin: str) -> int:
    """Run a command line with its output in files; returns its exit code."""
    for number, path, flags in (
        (0, Path(stdin or os.devnull), os.O_RDONLY),
        (1, log.with_suffix(".out"), os.O_WRONLY | os.O_CREAT),
        (2, log.with_suffix(".err"), os.O_WRONLY | os.O_CREAT),
    ):
        file = os.open(path, flags, 0o644)
        os.dup2(file, number)
        os.close(file)
    if arguments[0] == "estimator":
        return estimator(*arguments[1:])
    code = call(arguments)
    return call(["paper", *arguments]) if code == 2 and arguments[0] in PAPER else code


def call(arguments: list[str]) -> int:
    """What ``python -m bankgcn`` does with these arguments."""
    sys.argv = ["bankgcn", *arguments]
    try:
        runpy.run_module("bankgcn", run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return CRASHED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def estimator(table: str, target: str, out: str) -> int:
    """Fit a classifier and a regressor to the molecules of a table, save them, and write what they predict."""
    import csv

    import numpy

    from bankgcn import BankGCNClassifier, BankGCNRegressor

    with Path(table).open() as file:
        rows = list(csv.DictReader(file))
    smiles = [row["smiles"] for row in rows]
    small = {"epochs": 3, "hidden": 16, "layers": 2, "random_state": 0}
    classifier = BankGCNClassifier(**small).fit(smiles, [row[target] for row in rows])
    regressor = BankGCNRegressor(**small).fit(smiles, [len(text) / 7 for text in smiles])
    numpy.savetxt(Path(out) / "probabilities.csv", classifier.predict_proba(smiles), "%.17g", delimiter=",")
    numpy.savetxt(Path(out) / "values.csv", regressor.predict(smiles), "%.17g", delimiter=",")
    numpy.savetxt(Path(out) / "vectors.csv", classifier.transform(smiles), "%.17g", delimiter=",")
    classifier.save(Path(out) / "run")
    write_tensors(Path(out) / "run", Path(out) / "tensors" / "run.npz")
    return 0


def write_tensors(run: Path, target: Path) -> None:
    """Write the parameters of a run's model to a file that NumPy reads, whatever the format of the model's own file."""
    import numpy

    from bankgcn import load_model

    networks = find_networks(load_model(run))
    tensors = {
        f"{number}.{name}": value.numpy(force=True)
        for number, network in enumerate(networks)
        for name, value in network.state_dict().items()
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    numpy.savez(target, **tensors)


def find_networks(value: Any, depth: int = 6) -> list[Any]:
    """The networks that an object holds, however its attributes are called."""
    from torch.nn import Module

    if isinstance(value, Module):
        return [value]
    inner = list(value.values()) if isinstance(value, dict) else []
    inner += value if isinstance(value, list | tuple) else []
    if type(value).__module__.startswith("bankgcn"):
        inner += vars(value).values() if hasattr(value, "__dict__") else []
    networks = [network for each in inner if depth for network in find_networks(each, depth - 1)]
    return list({id(network): network for network in networks}.values())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
