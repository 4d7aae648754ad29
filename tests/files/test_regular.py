"""Files that others may have put there: pipes, devices and huge files are refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bankgcn.files.errors import FileError
from bankgcn.files.json_text import read_json
from bankgcn.files.regular import MAX_CONFIG_BYTES, check_regular, read_regular
from bankgcn.files.toml_file import read_toml


def sparse(path: Path, size: int) -> Path:
    """A file of this size that takes no space."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_content_of_a_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(tmp_path / "a", 5) == b"12345"
    with pytest.raises(FileError, match="a: has 5 bytes, more than the limit of 4"):
        read_regular(tmp_path / "a", 4)


@pytest.mark.parametrize("read", [read_toml, read_json, lambda path: read_regular(path, 10), check_regular])
def test_a_pipe_is_refused_and_nobody_waits_for_its_writer(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: is no regular file but a pipe or a device"):
        read(tmp_path / "pipe")  # type: ignore[operator]
    with pytest.raises(FileError, match="zero: is no regular file"):
        read(Path("/dev/zero"))  # type: ignore[operator]


def test_settings_of_a_gigabyte_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=f"more than the limit of {MAX_CONFIG_BYTES:,}"):
        read_toml(sparse(tmp_path / "config.toml", 1 << 30))


def test_a_folder_and_a_missing_file_are_errors_of_the_system(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 10)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", 10)
    assert len(os.listdir("/proc/self/fd")) == before
