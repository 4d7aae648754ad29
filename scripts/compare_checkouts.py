"""Train the same descriptions with two checkouts on one machine, and compare what they write bit for bit.

python scripts/compare_checkouts.py OLD NEW [--quick] [--only PATTERN] [--work FOLDER] [--speed]

A line for each description says that all is equal, or which file and field differs; times and versions do not count.
The exit code is 1 if bits differ. Commands that must fail are compared, too: their exit codes and last lines are shown
if they differ, for somebody to look at, and do not count. ``--speed`` measures both checkouts in turns instead. Sets
that a catalogue names are read from ``$BANKGCN_DATA``.

With ``--work``, the files stay there, and runs of OLD that are there already, of the same commit, are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from guard_descriptions import DESCRIPTIONS, FAILURES, SMALL, Description
from guard_sources import write_sources
from guard_speed import compare_speed, environment

CHILD = Path(__file__).with_name("guard_child.py")
NOT_COMPARED = {"seconds", "sha256", "bankgcn", "python", "numpy", "torch", "numba", "torch-geometric"}
"""Keys of JSON and TOML files: times, checksums over times, and versions."""
LOGS = ("step*", "interrupted.*", "codes.json", "result.json")
SHOWN = 3


def main() -> int:
    """Compare, print, and say by the exit code whether bits differ."""
    arguments = _parser().parse_args()
    old, new = arguments.old.resolve(), arguments.new.resolve()
    for checkout in (old, new):
        if not (checkout / "src" / "bankgcn").is_dir():
            sys.exit(f"{checkout} is no checkout: it has no src/bankgcn")
    if arguments.speed:
        compare_speed(old, new)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        work = (arguments.work or Path(scratch)).resolve()
        return compare(old, new, work, chosen(arguments.quick, arguments.only))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--quick", action="store_true", help="about a third of the descriptions")
    parser.add_argument("--only", default="*", help="names of descriptions, such as 'json*'")
    parser.add_argument("--work", type=Path, help="folder for the files; a temporary one by default")
    parser.add_argument("--speed", action="store_true", help="measure times in turns instead")
    return parser


def chosen(quick: bool, pattern: str) -> list[Description]:
    """The descriptions to run; those whose dataset is not at hand are left out."""
    root = Path(os.environ.get("BANKGCN_DATA") or "nowhere")
    rows = [row for row in DESCRIPTIONS if fnmatch.fnmatch(row.name, pattern) and (row.quick or not quick)]
    missing = [row.name for row in rows if row.dataset and not (root / row.dataset).exists()]
    if missing:
        print(f"left out, because $BANKGCN_DATA has no such files: {', '.join(missing)}")
    return [row for row in rows if row.name not in missing]


def compare(old: Path, new: Path, work: Path, rows: list[Description]) -> int:
    """Run all descriptions with both checkouts; print a line for each."""
    sources = work / "sources"
    if not sources.exists():
        sources.mkdir(parents=True)
        write_sources(sources)
        _save_set(old, sources)
    shutil.rmtree(work / "new", ignore_errors=True)
    for _ in run(old, work / "old", sources, rows):
        pass
    differing = {}
    for name in run(new, work / "new", sources, rows):
        if name == "failures":
            continue
        differing[name] = list(differences(work / "old" / name, work / "new" / name))
        print(f"{name:18}", "; ".join(differing[name][:SHOWN]) or "equal", flush=True)
    show_failures(work)
    show_predictions(work, rows)
    bad = [name for name, found in differing.items() if found]
    print(f"{len(differing) - len(bad)} of {len(differing)} descriptions are equal bit for bit")
    if bad:
        print(f"different: {', '.join(bad)}")
    return int(bool(bad))


def _save_set(checkout: Path, sources: Path) -> None:
    code = "import bankgcn; bankgcn.load('graphs.jsonl').save('saved.graphs')"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(checkout, sources / "cache"), cwd=sources)


def run(checkout: Path, folder: Path, sources: Path, rows: list[Description]) -> Iterator[str]:
    """Run descriptions with a checkout; yields the name of each when it is done."""
    commit = _commit(checkout)
    jobs = [{**_job(row, folder / row.name), "commit": commit} for row in rows] + [_failures(folder, commit)]
    kept = [job["name"] for job in jobs if commit and _result(Path(job["out"])).get("job") == job]
    yield from kept
    missing = [job for job in jobs if job["name"] not in kept]
    for job in missing:
        shutil.rmtree(job["out"], ignore_errors=True)
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jobs.json").write_text(json.dumps(missing))
    command = [sys.executable, str(CHILD), str(folder / "jobs.json")]
    variables = environment(checkout, folder / "cache")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=sources, env=variables) as child:
        assert child.stdout is not None
        for line in child.stdout:
            print(f"{folder.name}: {line.strip()}", file=sys.stderr)
            yield line.strip()
    if child.returncode:
        sys.exit(f"the runs of {checkout} ended with code {child.returncode}")


def _commit(checkout: Path) -> str:
    """The commit of a checkout without changes; else nothing."""
    command = ["git", "-C", str(checkout)]
    changed = subprocess.run([*command, "status", "--porcelain", "--", "src"], capture_output=True, text=True)
    if changed.returncode or changed.stdout:
        return ""
    return subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()


def _job(row: Description, out: Path) -> dict[str, Any]:
    flags = row.flags.format(out=out).split()
    target = str(out / "run")
    if row.command == "estimator":
        steps = [["estimator", *flags, str(out)]]
    elif row.command != "train":
        steps = [[row.command, *_settled(flags)], *(step.format(out=out).split() for step in row.then)]
    else:
        new = row.new or flags[0]
        steps = [
            ["train", *_settled(flags), "--out", target],
            ["predict", target, new, "--ignore-targets", "--out", str(out / "predictions.csv")],
        ]
        single = not {"--folds", "--seeds"} & set(flags) or "--fold" in flags
        steps += [["predict", target, "--part", "test", "--out", str(out / "part.csv")]] if single else []
        steps += _further(target, new, out) if row.more else []
    return {**asdict(row), "out": str(out), "steps": steps}


def _settled(flags: list[str]) -> list[str]:
    """The flags after small settings, those apart that the flags have themselves."""
    small = [
        word for name, value in zip(SMALL[::2], SMALL[1::2], strict=True) if name not in flags for word in (name, value)
    ]
    return [flags[0], *small, *flags[1:]]


def _further(run: str, new: str, out: Path) -> list[list[str]]:
    return [
        ["evaluate", run, "--part", "test", "--json", str(out / "evaluation.json")],
        ["evaluate", run, new, "--json", str(out / "evaluation_of_all.json")],
        ["embed", run, new, "--out", str(out / "vectors.csv")],
        ["explain", run, new, "--graphs", "0,1,2", "--out", str(out / "explanation.csv")],
        ["report", run, "--out", str(out / "step.html")],
    ]


def _failures(folder: Path, commit: str) -> dict[str, Any]:
    """All commands that must fail, as one job."""
    steps = [line.format(runs=folder).split() for line in FAILURES.values()]
    out = folder / "failures"
    for number, step in enumerate(steps):
        if step[0] == "train" and "--out" not in step:
            step += ["--out", str(out / f"unexpected{number}")]
    named = asdict(Description("failures", "")) | {"commit": commit}
    return {**named, "out": str(out), "steps": steps}


def _result(out: Path) -> dict[str, Any]:
    path = out / "result.json"
    return json.loads(path.read_text()) if path.exists() else {}


def differences(old: Path, new: Path) -> Iterator[str]:
    """What differs between the files that two checkouts wrote for one description."""
    codes = [_result(out).get("codes") for out in (old, new)]
    if codes[0] != codes[1]:
        yield f"exit codes {codes[0]} and {codes[1]} ({_last_line(new)})"
    elif codes[0] is None or any(codes[0]):
        yield f"fails with both: exit codes {codes[0]} ({_last_line(new)})"
    names = [{str(path.relative_to(out)) for path in _written(out)} for out in (old, new)]
    for name in sorted(names[0] ^ names[1]):
        if not Path(name).name.startswith("model."):  # its format may change; its tensors are compared
            yield f"{name}: only {'old' if name in names[0] else 'new'} writes it"
    for name in sorted(names[0] & names[1]):
        yield from (f"{name}: {text}" for text in compare_files(old, new, name))


def _written(out: Path) -> Iterator[Path]:
    for path in out.rglob("*"):
        log = path.parent == out and any(path.match(pattern) for pattern in LOGS)
        if path.is_file() and not log and not path.match("failures/*"):
            yield path


def _last_line(out: Path) -> str:
    lines = [line for log in sorted(out.glob("step*.err")) for line in log.read_text().splitlines()]
    return lines[-1] if lines else ""


def compare_files(old: Path, new: Path, name: str) -> Iterator[str]:
    """What differs between two files of the same name."""
    if (old / name).read_bytes() == (new / name).read_bytes() or Path(name).name.startswith("model."):
        return
    match Path(name).suffix:
        case ".npz":
            yield from _compare_tensors(old / name, new / name)
        case ".json":
            yield from _compare_values(json.loads(_text(old, name)), json.loads(_text(new, name)), "")
        case ".toml":
            yield from _compare_values(tomllib.loads(_text(old, name)), tomllib.loads(_text(new, name)), "")
        case ".csv":
            yield _compare_tables(_text(old, name), _text(new, name))
        case _:
            yield "bytes differ"


def _text(out: Path, name: str) -> str:
    """The text of a file, without the folder of the checkout's runs: standard input is kept there."""
    return (out / name).read_text().replace(str(out.parent), "RUNS")


def _compare_tensors(old: Path, new: Path) -> Iterator[str]:
    with np.load(old) as first, np.load(new) as second:
        for name in sorted({*first.files} ^ {*second.files}):
            yield f"only {'old' if name in first.files else 'new'} has {name}"
        for name in sorted({*first.files} & {*second.files}):
            if (first[name].dtype, first[name].shape) != (second[name].dtype, second[name].shape):
                yield f"{name} has another shape or type"
            elif first[name].tobytes() != second[name].tobytes():
                yield f"{name} differs by up to {np.abs(first[name] - second[name]).max():.1e}"


def _compare_values(old: Any, new: Any, place: str) -> Iterator[str]:
    """What differs between two values of JSON, by place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (key for key in {**old, **new} if key not in NOT_COMPARED):
            inside = f"{place}.{key}".lstrip(".")
            if (key in old) != (key in new):
                yield f"only {'old' if key in old else 'new'} has {inside}"
            else:
                yield from _compare_values(old[key], new[key], inside)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _compare_values(first, second, f"{place}[{number}]")
    elif json.dumps(old) != json.dumps(new):
        yield f"{place} was {_short(old)}, is {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _compare_tables(old: str, new: str) -> str:
    """How many rows differ, where first, and by how much at most."""
    rows = [list(csv.reader(io.StringIO(text))) for text in (old, new)]
    if rows[0][:1] != rows[1][:1]:
        return f"the first line was {rows[0][:1]}, is {rows[1][:1]}"
    if len(rows[0]) != len(rows[1]):
        return f"had {len(rows[0])} rows, has {len(rows[1])}"
    pairs = [(number, a, b) for number, (a, b) in enumerate(zip(*rows, strict=True)) if a != b]
    if not pairs:
        return "the same table, written otherwise"
    number, first, second = pairs[0]
    cells = [(x, y) for _, a, b in pairs for x, y in zip(a, b, strict=False) if x != y]
    largest = max((_distance(x, y) for x, y in cells), default=0.0)
    cell = next((f"{x} became {y}" for x, y in zip(first, second, strict=False) if x != y), "length")
    return f"{len(pairs)} of {len(rows[0]) - 1} rows differ by up to {largest:.1e}, first row {number}: {cell}"


def _distance(old: str, new: str) -> float:
    try:
        return abs(float(old) - float(new))
    except ValueError:
        return float("inf")


def show_failures(work: Path) -> None:
    """Print the exit codes and last lines of commands that must fail where they differ."""
    old, new = work / "old", work / "new"
    results = [_result(folder / "failures").get("codes", []) for folder in (old, new)]
    count = 0
    for number, (name, line) in enumerate(FAILURES.items()):
        ends = []
        for folder, codes in zip((old, new), results, strict=True):
            log = folder / "failures" / f"step{number}.err"
            lines = log.read_text().splitlines() if log.exists() else []
            text = (lines or [""])[-1].replace(str(folder), "RUNS")
            ends.append(f"exit {codes[number] if number < len(codes) else None}: {text}")
        if ends[0] != ends[1]:
            count += 1
            print(f"look: {name} (bankgcn {line})\n  old {ends[0]}\n  new {ends[1]}")
    print(f"{len(FAILURES) - count} of {len(FAILURES)} commands that must fail end alike")


def show_predictions(work: Path, rows: list[Description]) -> None:
    """Print for how many descriptions ``predict --part test`` repeats the digits of ``test_predictions.csv``."""
    for folder in (work / "old", work / "new"):
        pairs = [(folder / row.name / "part.csv", folder / row.name / "run" / "test_predictions.csv") for row in rows]
        pairs = [pair for pair in pairs if all(path.exists() for path in pair)]
        same = sum(_shared_columns(*pair) for pair in pairs)
        print(
            f"{folder.name}: predict --part test repeats test_predictions.csv for {same} of {len(pairs)} descriptions"
        )


def _shared_columns(first: Path, second: Path) -> bool:
    tables = [list(csv.DictReader(io.StringIO(path.read_text()))) for path in (first, second)]
    if len(tables[0]) != len(tables[1]):
        return False
    shared = [name for name in tables[0][0] if name in tables[1][0] and name.startswith(("p_", "predicted"))]
    return all(a[name] == b[name] for a, b in zip(*tables, strict=True) for name in shared)


if __name__ == "__main__":
    sys.exit(main())
