"""The long tests run: each script with little to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options", "expected"),
    [
        ("kills.py", ["--kills", "3"], "all files as undisturbed, none left over"),
        ("stream_kills.py", ["--kills", "2", "--rows", "900"], "all files as undisturbed, none left over"),
        ("two_sweeps.py", ["--rounds", "1", "--kills", "2"], "every run done once"),
        ("memory.py", ["--epochs", "100", "--runs", "10"], "over 100 epochs"),
    ],
)
def test_a_script_with_little_to_do(script: str, options: list[str], expected: str, tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "soak"), *sys.path])
    ended = subprocess.run(
        [sys.executable, str(ROOT / "soak" / script), *options],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in ended.stdout, ended.stdout + ended.stderr
