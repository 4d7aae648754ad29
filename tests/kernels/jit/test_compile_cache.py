"""Compiled code is loaded from disk if no source has changed; a disk error does not stop a computation."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

from bankgcn.kernels.jit.compiler import KernelCache, digest_of, jit_cached
from kernel_package import run_module, write_package

HELPER = "from bankgcn.kernels.jit.compiler import jit_inner\n\n@jit_inner\ndef helper(x):\n    return {} * x\n"
CALLER = """
from bankgcn.kernels.jit.compiler import jit_cached
from bankgcn.kernels.below.helper import helper

@jit_cached
def caller(x):
    return helper(x)

if __name__ == "__main__":
    from bankgcn.kernels.caller import caller
    print(caller(21), sum(caller.stats.cache_hits.values()))
"""


def write_caller(folder: Path) -> Path:
    """A package with a compiled function, and its helper in a subfolder."""
    return write_package(folder, {"caller.py": CALLER, "below/helper.py": HELPER.format(2)})


def call(folder: Path) -> tuple[int, int]:
    """The result of the compiled function in a new process, and the number of cache hits."""
    result, hits = map(int, run_module(folder, "bankgcn.kernels.caller").split())
    return result, hits


@pytest.mark.slow
def test_a_change_in_a_file_that_a_compiled_function_calls_is_noticed(tmp_path: Path) -> None:
    kernels = write_caller(tmp_path)
    assert call(tmp_path) == (42, 0)
    assert call(tmp_path) == (42, 1)
    before = set(kernels.glob("__pycache__/*.nbc"))
    (kernels / "below" / "helper.py").write_text(HELPER.format(3))
    assert call(tmp_path) == (63, 0)
    assert call(tmp_path) == (63, 1)
    after = set(kernels.glob("__pycache__/*.nbc"))
    assert len(before) == len(after) == 1  # the file of the older sources is removed
    assert before.isdisjoint(after)


def test_the_digest_depends_on_names_and_contents_of_all_sources_and_on_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b.py").write_text("B")
    (tmp_path / "a.py").write_text("A")
    digests = [digest_of(tmp_path)]
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.nbi").write_text("index")
    assert digest_of(tmp_path) == digests[0]
    (tmp_path / "below" / "b.py").write_text("C")
    digests.append(digest_of(tmp_path))
    (tmp_path / "below" / "b.py").rename(tmp_path / "b.py")
    digests.append(digest_of(tmp_path))
    (tmp_path / "c.py").touch()
    digests.append(digest_of(tmp_path))
    assert len(set(digests)) == 4


def thrice(x):
    return 3 * x


def compiled_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.setattr(KernelCache, "warned", False)
    return jit_cached(thrice)


def test_a_full_disk_is_reported_once_and_the_code_is_used_without_saving_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def save(file: IndexDataCacheFile, key: Any, data: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as writing does, without the name of a file

    monkeypatch.setattr(IndexDataCacheFile, "save", save)
    function = compiled_in(tmp_path, monkeypatch)
    assert (function(2), function(2.5)) == (6, 7.5)
    (record,) = caplog.records
    (folder,) = tmp_path.iterdir()
    assert record.name == "bankgcn"
    assert record.message == (
        f"cannot save compiled code in {folder} (No space left on device), so every process compiles it again; "
        "free some disk space, or set NUMBA_CACHE_DIR to another folder"
    )


def test_a_missing_folder_is_named_and_the_code_is_still_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function = compiled_in(tmp_path / "cache", monkeypatch)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()
    assert function(2) == 6
    assert f"compiled code in {tmp_path / 'cache'}" in caplog.text
