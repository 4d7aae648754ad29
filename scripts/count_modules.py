"""Count modules and lines by folder, the modules that a command calls, and the signatures that pass a parameter on.

python scripts/count_modules.py [CHECKOUT] [--static] [--json]

A module is called if one of its functions is: what runs when the module is imported does not count. ``--static``
leaves out what has to be run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

LARGE = 300  # lines
PARAMETERS = ("data_root", "group", "has_target")
SMALL = ["--epochs", "2", "--hidden", "16", "--layers", "2"]

RECORD = """
import inspect, os, runpy, sys, threading
package, output, *arguments = sys.argv[1:]
modules, seen = set(), set()
def is_import(frame):
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(package):
            return os.path.basename(code.co_filename) != "__main__.py"
        frame = frame.f_back
    return False
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code not in seen and code.co_filename.startswith(package):
        if code.co_flags & inspect.CO_OPTIMIZED and not is_import(frame):  # bodies of modules and classes are not
            seen.add(code)
            modules.add(code.co_filename)
sys.setprofile(note)
threading.setprofile(note)
try:
    if arguments[0] == "fit":
        from bankgcn import BankGCNClassifier
        smiles = ["C" * length + end for length in range(1, 21) for end in "ON"]
        BankGCNClassifier(epochs=2, hidden=16, layers=2).fit(smiles, [0, 1] * 20)
    else:
        sys.argv = ["bankgcn", *arguments]
        runpy.run_module("bankgcn", run_name="__main__")
except SystemExit as end:
    assert not end.code, arguments
finally:
    sys.setprofile(None)
    open(output, "w").write("\\n".join(sorted(modules)))
"""
"""Notes the files whose functions are called, unless an import calls them."""


def main() -> None:
    """Print the counts of a checkout, by default of this one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--static", action="store_true", help="run nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    package = arguments.checkout.resolve() / "src" / "bankgcn"
    counts: dict[str, Any] = {**count_lines(package), "signatures": count_signatures(package)}
    if not arguments.static:
        counts["called"] = {name: len(modules) for name, modules in called_modules(package).items()}
    print(json.dumps(counts, indent=1) if arguments.json else as_text(counts))


def count_lines(package: Path) -> dict[str, Any]:
    """Modules and lines of each folder and of all, and the share of lines in large modules."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(package.rglob("*.py"))}
    folders: dict[str, dict[str, int]] = defaultdict(lambda: {"modules": 0, "lines": 0, "lines_in_large": 0})
    for path, count in lines.items():
        inside = path.relative_to(package).parts
        for name in (inside[0] if len(inside) > 1 else "(root)", "all"):
            folders[name]["modules"] += 1
            folders[name]["lines"] += count
            folders[name]["lines_in_large"] += count if count >= LARGE else 0
    ordered = {name: folders[name] for name in (*sorted(set(folders) - {"all"}), "all")}
    return {"folders": ordered, "share_in_large": folders["all"]["lines_in_large"] / folders["all"]["lines"]}


def count_signatures(package: Path) -> dict[str, int]:
    """How many functions have each of :data:`PARAMETERS`."""
    counts = dict.fromkeys(PARAMETERS, 0)
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                for name in names.intersection(counts):
                    counts[name] += 1
    return counts


def called_modules(package: Path) -> dict[str, list[str]]:
    """The modules whose functions are called by ``train`` of a CSV, ``predict``, and the estimator's ``fit``."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = [f"{'C' * length}{end},{label}" for length in range(1, 21) for end, label in (("O", "yes"), ("N", "no"))]
        (Path(scratch) / "mine.csv").write_text("\n".join(["smiles,active", *rows]) + "\n")
        train = ["train", "mine.csv", "--target", "active", *SMALL, "--out"]
        _record(package, Path(scratch), [*train, "warm"])  # compiles, which calls more modules than later runs
        return {
            "train CSV": _record(package, Path(scratch), [*train, "run"]),
            "predict": _record(package, Path(scratch), ["predict", "run", "mine.csv", "--out", "out.csv"]),
            "fit": _record(package, Path(scratch), ["fit"]),
        }


def _record(package: Path, folder: Path, arguments: list[str]) -> list[str]:
    command = [sys.executable, "-c", RECORD, f"{package}{os.sep}", "modules.txt", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "BANKGCN_CACHE": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return (folder / "modules.txt").read_text().splitlines()


def as_text(counts: dict[str, Any]) -> str:
    """The counts as a table and a few lines."""
    lines = [f"{'folder':14}{'modules':>9}{'lines':>9}{'large':>8}"]
    for name, row in counts["folders"].items():
        share = row["lines_in_large"] / row["lines"] if row["lines"] else 0
        lines.append(f"{name:14}{row['modules']:9,}{row['lines']:9,}{share:8.1%}")
    lines.append(f"large: share of the lines that are in modules of {LARGE} or more")
    lines += [f"modules called by {name}: {count}" for name, count in counts.get("called", {}).items()]
    lines += [f"signatures with {name}: {count}" for name, count in counts["signatures"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
