"""Kill predictions of large tables at random moments, go on, and compare with no kills.

Half of the kills hit the whole command, half one of its worker processes: that one is replaced, and no row may be lost.
After each kill of the command the same one runs again. At last the file must be that of the undisturbed command, byte
for byte, and nothing else may be there. The tables are CSV, Parquet, JSON lines and the best rows alone, from a file, a
folder of files and a compressed one.

    python soak/stream_kills.py --kills 50
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import torch

from bankgcn.cli import app
from bankgcn.files import row_blocks
from children import kill, start, wait

ENDS = ("O", "N", "Cl", "C(=O)O", "c1ccccc1", "(", "C#N")  # one of them is no molecule
TRAIN = ("--target", "size", "--task", "values", "--epochs", "2", "--hidden", "8", "--layers", "1")


def write_tables(folder: Path, rows: int) -> None:
    """The same molecules as a file, as a compressed file and as a folder of files."""
    lines = [f"m{n},{'C' * (n % 40 + 1)}{ENDS[n % len(ENDS)]},{n if n % 5 else ''}" for n in range(rows)]
    head = "id,smiles,size"
    table = "\n".join([head, *lines]) + "\n"
    (folder / "own.csv").write_text(table)
    (folder / "own.csv.gz").write_bytes(gzip.compress(table.encode()))
    (folder / "parts").mkdir()
    for part in range(3):
        some = lines[part * rows // 3 : (part + 1) * rows // 3]
        (folder / "parts" / f"{part}.csv").write_text("\n".join([head, *some]) + "\n")


def commands(folder: Path, work: Path) -> list[list[str]]:
    """What is typed, again and again."""
    run = str(folder / "run")
    predict = ["predict", run, str(folder / "own.csv"), "--workers", "2"]
    return [
        [*predict, "--out", str(work / "p.csv")],
        [*predict, "--best", "50", "--out", str(work / "best.csv")],
        ["predict", run, str(folder / "own.csv.gz"), "--workers", "2", "--out", str(work / "p.parquet")],
        ["predict", run, str(folder / "parts"), "--workers", "2", "--out", str(work / "p.jsonl")],
        ["embed", run, str(folder / "own.csv"), "--workers", "2", "--out", str(work / "e.npy")],
    ]


def run_command(command: list[str]) -> None:
    """Type a command in this process."""
    try:
        app(command, standalone_mode=True)
    except SystemExit as ended:
        if ended.code:
            raise


def kill_a_worker(command: int, rng: random.Random) -> bool:
    """Kill one of the processes that read rows for a command; whether there was one."""
    found = subprocess.run(["pgrep", "-P", str(command)], capture_output=True, text=True, check=False)
    workers = found.stdout.split()
    if workers:
        kill(int(rng.choice(workers)))
    return bool(workers)


def main() -> None:
    """Kill and go on until there were as many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    torch.set_num_threads(1)
    row_blocks.ROWS = 150
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        work, log = folder / "work", folder / "log"
        os.environ["BANKGCN_CACHE"] = str(folder / "cache")
        write_tables(folder, options.rows)
        train = ["train", str(folder / "own.csv"), "--skip-unreadable", "--skip-missing", "--out", str(folder / "run")]
        run_command([*train, *TRAIN])
        kills: Counter[str] = Counter()
        for command in commands(folder, work):
            out = Path(command[-1])
            work.mkdir()
            started = time.monotonic()
            assert wait(start(partial(run_command, command), log)) == 0, log.read_text()
            seconds, expected = time.monotonic() - started, out.read_bytes()
            wanted = kills.total() + options.kills // 5
            while kills.total() < wanted:
                out.unlink(missing_ok=True)
                kills += chain(command, log, seconds, rng)
                assert out.read_bytes() == expected, f"{out.name} differs after {dict(kills)}"
                others = [path.name for path in work.iterdir() if path != out]
                assert not others, f"{others} are left over"
                print(f"{kills.total()} kills: {out.name} as undisturbed", flush=True)
            shutil.rmtree(work)
        print(f"{dict(kills)}: all files as undisturbed, none left over")


def chain(command: list[str], log: Path, seconds: float, rng: random.Random) -> Counter[str]:
    """Kill a command a few times, and let it go on to the end."""
    kills: Counter[str] = Counter()
    for _ in range(rng.randint(1, 4)):
        child = start(partial(run_command, command), log)
        time.sleep(rng.uniform(0, seconds))
        if rng.random() < 0.5 and kill_a_worker(child, rng):
            kills["of a worker"] += 1
            code = wait(child)
            assert code == 0, f"exit code {code}\n{log.read_text()[-3000:]}"
            continue
        kill(child)
        code = wait(child)
        assert code in (0, -9), f"exit code {code}\n{log.read_text()[-3000:]}"
        kills["of the command"] += code == -9
    code = wait(start(partial(run_command, command), log))
    assert code == 0, f"the last one ended with {code}\n{log.read_text()[-3000:]}"
    return kills


if __name__ == "__main__":
    main()
