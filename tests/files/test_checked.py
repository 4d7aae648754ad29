"""Pipes, devices and huge files are refused at once; checksums follow the content, not its layout."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.files.checked import (
    MAX_CONFIG_BYTES,
    FileError,
    check_regular,
    content_hash,
    hash_of_parts,
    read_json,
    read_regular,
    read_toml,
    with_checksum,
    without_checksum,
)
from bankgcn.files.tensors import save_tensors
from refusals import refused


def sparse(path: Path, size: int) -> Path:
    """A file of this size that takes no space."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_content_of_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(tmp_path / "a", 5) == b"12345"
    with refused(FileError, "5 bytes", 4, at="a"):
        read_regular(tmp_path / "a", 4)


@pytest.mark.parametrize("read", [read_toml, read_json, lambda path: read_regular(path, 10), check_regular])
def test_a_pipe_is_refused_and_nobody_waits_for_its_writer(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: is no regular file but a pipe or a device"):
        read(tmp_path / "pipe")  # type: ignore[operator]
    with pytest.raises(FileError, match="zero: is no regular file"):
        read(Path("/dev/zero"))  # type: ignore[operator]


def test_settings_of_a_gigabyte_are_not_read(tmp_path: Path) -> None:
    with refused(FileError, f"{MAX_CONFIG_BYTES:,}"):
        read_toml(sparse(tmp_path / "config.toml", 1 << 30))


def test_a_folder_and_a_missing_file_are_errors_of_the_system(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 10)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", 10)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_checksum_follows_the_content_and_not_its_layout() -> None:
    assert content_hash({"a": 1, "b": [2.0]}) == content_hash({"b": [2], "a": 1.0})
    assert content_hash({"a": 1}) != content_hash({"a": 2})
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_hash({"a": float("nan")})


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        content_hash(nested)


def test_a_changed_value_differs_from_the_checksum_beside_it() -> None:
    values = with_checksum({"a": 1, "b": "x"})
    assert without_checksum(values) == {"a": 1, "b": "x"} == without_checksum({"a": 1, "b": "x"})
    with pytest.raises(ValueError, match="was changed after it was written"):
        without_checksum(values | {"a": 2})


def test_parts_are_kept_apart() -> None:
    assert hash_of_parts([b"ab", b"c"]) != hash_of_parts([b"a", b"bc"])


def save(name: str) -> None:
    mutag()[:3].save(name + ".graphs")
    save_tensors(Path(name + ".safetensors"), {"b": torch.ones(2), "a": torch.zeros(3)}, {"x": 1, "y": [2.5]})


SAVE = f"""
import sys, torch
from pathlib import Path
from bankgcn.data.builtin import mutag
from bankgcn.files.tensors import save_tensors
{inspect.getsource(save)}
save(sys.argv[1])
"""


def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / "there")], check=True)
    torch.set_default_dtype(torch.float32)
    save(str(tmp_path / "here"))
    for suffix in (".graphs", ".safetensors"):
        assert (tmp_path / f"here{suffix}").read_bytes() == (tmp_path / f"there{suffix}").read_bytes()
