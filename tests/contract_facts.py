"""Facts that users and stored records rely on, as data in ``tests/contract``; ``test_contract.py`` compares them.

After a change that is wanted, write them again, and look at what ``git diff`` says::

    BANKGCN_DATA=... python tests/contract_facts.py [NAME ...]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import torch
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.cli.commands import load_commands
from bankgcn.training.prepare import Loader, prepare
from bankgcn.training.spec import RunSpec

CONTRACT = Path(__file__).parent / "contract"
RESULTS = Path(__file__).parents[1] / "results"
TABLES = ("table1", "table2", "table3", "table4", "figure3")
DATASETS = {
    "NCI1": "TU/NCI1.zip",
    "NCI109": "TU/NCI109.zip",
    "ENZYMES": "TU/ENZYMES.zip",
    "PROTEINS": "TU/PROTEINS.zip",
    "DD": "TU/DD.zip",
    "Mutagenicity": "TU/Mutagenicity.zip",
    "FRANKENSTEIN-rebuilt": "TU/FRANKENSTEIN-rebuilt.zip",
    "ogbg-molhiv": "ogbg_molhiv",
    "CIFAR-10": "CIFAR10",
}
"""Where the sets of the catalogue are that do not come with the package."""
BUILT_IN = ("MUTAG",)
SEEDS = (0, 1)
SMALL = "--epochs 1 --hidden 8 --layers 1"
MOLECULES = "smiles,one,two\n" + "".join(f"{'C' * n}{end},{n % 2},{n // 2 % 2}\n" for n in range(1, 11) for end in "ON")


def read(name: str) -> Any:
    """What was written for a fact."""
    return json.loads((CONTRACT / f"{name}.json").read_text())


def flags() -> dict[str, list[str]]:
    """Names of the arguments and flags of every command."""
    return {
        words: [name for row in command.params if not row.hidden for name in _names(row)]
        for words, command in load_commands()
    }


def _names(row: Any) -> list[str]:
    return [row.name.upper()] if row.param_type_name == "argument" else [*row.opts, *row.secondary_opts]


def run_files() -> dict[str, Any]:
    """Names of the files of runs, and keys of those files."""
    with _folder() as folder:
        (folder / "mine.csv").write_text(MOLECULES + "nothing,1,1\n")
        _call(f"train MUTAG {SMALL} --out classes")
        _call(f"train mine.csv --target one,two --task labels --skip-unreadable {SMALL} --out labels")
        _call(f"train MUTAG --folds 3 {SMALL} --out folds")
        names = {name: _written(folder / name) for name in ("classes", "labels", "folds")}
        keys = {f"{name}/{file}": _keys(folder / name / file) for name in ("classes", "labels") for file in names[name]}
    return {"files": names, "keys": {file: found for file, found in keys.items() if found}}


def _written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _keys(path: Path) -> list[str]:
    match path.suffix:
        case ".json":
            return list(dict.fromkeys(_paths(json.loads(path.read_text()))))
        case ".toml":
            return list(tomllib.loads(path.read_text()))
        case ".csv":
            return path.read_text().partition("\n")[0].split(",")
    return []


def _paths(value: Any, place: str = "") -> Iterator[str]:
    """The keys of a document with dots between them; names of classes are no keys."""
    for inner in value if isinstance(value, list) else ():
        yield from _paths(inner, f"{place}[]")
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key.isidentifier():
            yield f"{place}.{key}".lstrip(".")
            yield from _paths(inner, f"{place}.{key}")


def exit_codes() -> dict[str, int]:
    """The exit code of commands that succeed, fail, are wrong, or are interrupted."""
    lines = (
        "--help", "--version", "train --help", f"train MUTAG {SMALL} --out run", "predict run MUTAG", "data list",
        "train nothing.csv", "train MUTAG --model gnc", "train MUTAG --epochs 0", "predict nothing MUTAG",
        "predict run", "evaluate run nothing.csv", "train run --out run", "train --lr 1", "trian", "paper --help",
        "paper", "paper table table9", "table table1", "reproduce", "figure --help", "pack", "verify results",
    )  # fmt: skip
    with _folder():
        codes = {line: _call(line, any_code=True) for line in lines}
        return {**codes, "train, interrupted": _interrupted_training()}


def _interrupted_training() -> int:
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start background jobs without it
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 1.5, 20.0)  # again, if a callback of a library loses the first one
    try:
        return _call("train MUTAG --epochs 1000000 --patience 1000000 --hidden 8 --out endless", any_code=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, usual)


def loaded() -> dict[str, dict[str, Any]]:
    """What ``--help`` loads: the number of our modules, and the libraries beside Python's own."""
    code = (
        "import json, sys; before = set(sys.modules); from bankgcn.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)"
    )
    counts = {}
    for line in ("--help", "paper --help", "train --help"):
        words = [sys.executable, "-c", code, *line.split()]
        modules = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stderr)
        packages = {name.partition(".")[0] for name in modules if name[0] != "_"} - sys.stdlib_module_names
        own = [name for name in modules if name.partition(".")[0] == "bankgcn"]
        counts[line] = {"modules": len(own), "libraries": sorted(packages - {"bankgcn"})}
    return counts


def keys() -> list[dict[str, Any]]:
    """Configurations, which stay as they are, and their keys."""
    return [{"key": RunSpec.from_dict(row["config"]).key, "config": row["config"]} for row in read("keys")]


def dataset(name: str) -> dict[str, Any]:
    """Fingerprint of a set, and hashes of the splits of its runs by seed."""
    load = Loader()
    runs = {seed: prepare(RunSpec(dataset=name, seed=seed), load) for seed in SEEDS}
    fingerprints = {run.fingerprint for run in runs.values()}
    return {"fingerprint": fingerprints.pop(), "splits": {str(seed): run.split.hash for seed, run in runs.items()}}


def sample() -> list[dict[str, Any]]:
    """Some records of ``results``: the first of each seed in each file that has all training graphs."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for path in sorted(RESULTS.glob("*/*.jsonl")):
        file = str(path.relative_to(RESULTS))
        for line in path.read_text().splitlines():
            record = json.loads(line)["record"]
            seed = record["config"]["seed"]
            if seed in SEEDS and record["config"]["train_per_class"] is None and (file, seed) not in rows:
                named = {"file": file, "dataset": record["config"]["dataset"], "seed": seed}
                hashes = {name: record[name] for name in ("fingerprint", "split_hash")}
                rows[file, seed] = {**named, "key": RunSpec.from_dict(record["config"]).key, **hashes}
    return list(rows.values())


def table(name: str) -> str:
    """A table of the paper from ``results`` as CSV."""
    return _output(f"paper table {name} --format csv --store {RESULTS}")


FACTS: dict[str, Callable[[], Any]] = {
    "flags": flags,
    "run_files": run_files,
    "exit_codes": exit_codes,
    "loaded": loaded,
    "keys": keys,
    "sample": sample,
}


@contextmanager
def _folder() -> Iterator[Path]:
    """An empty folder to run commands in, in single precision as for a user."""
    precision = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            yield Path(folder)
    finally:
        torch.set_default_dtype(precision)


def _call(line: str, any_code: bool = False) -> int:
    result = CliRunner().invoke(app, line.split())
    assert any_code or result.exit_code == 0, f"{line}: {result.stderr}"
    return result.exit_code


def _output(line: str) -> str:
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, f"{line}: {result.stderr}"
    return result.stdout


def write(names: list[str]) -> None:
    """Write facts again; all of them if none is named."""
    for name in names or [*FACTS, "datasets", *TABLES]:
        if name in TABLES:
            (CONTRACT / f"{name}.csv").write_bytes(table(name).encode())
            continue
        value = _datasets() if name == "datasets" else FACTS[name]()
        (CONTRACT / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")


def _datasets() -> dict[str, Any]:
    """Those that are at hand; the others stay as they were written."""
    root = Path(os.environ.get("BANKGCN_DATA", ""))
    path = CONTRACT / "datasets.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    at_hand = [*BUILT_IN, *(name for name, file in DATASETS.items() if (root / file).exists())]
    return {**before, **{name: dataset(name) for name in at_hand}}


if __name__ == "__main__":
    write(sys.argv[1:])
