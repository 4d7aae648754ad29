"""Compressed files are read like others, and none of them can fill the memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from functools import partial
from pathlib import Path

import pytest

from bankgcn.files.archives import RATIO_MATTERS_FROM, open_plain, plain_ending, plain_stem
from bankgcn.files.checked import FileError
from bankgcn.files.tables import read_table
from refusals import refused

CONTENT = b"smiles,y\nCCO,1\n"


def zipped(content: bytes, path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("inside.csv",):
            archive.writestr(name, content)


def write(folder: Path, ending: str, content: bytes = CONTENT) -> Path:
    path = folder / f"table.csv{ending}"
    if ending == ".zip":
        zipped(content, path)
    else:
        fast_xz = partial(lzma.compress, preset=0)
        compress = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": fast_xz}[ending]
        path.write_bytes(compress(content))
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zip"])
def test_the_content_is_the_same_however_it_is_compressed(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, ending)
    with open_plain(path) as file:
        assert file.read() == CONTENT
    assert plain_ending(path) == ".csv"
    assert read_table(path).column("smiles") == ["CCO"]


def test_the_name_of_a_set_has_neither_ending() -> None:
    assert plain_stem(Path("some/table.csv.gz")) == "table"
    assert plain_stem(Path("some/table.v2.csv")) == "table.v2"


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_content_beyond_the_bound_is_refused(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, ending, b"0" * 5_000_000)
    with pytest.raises(FileError, match="unpacks to more than 1,000,000 bytes: unpack it first"):
        open_plain(path, largest=1_000_000)
    with open_plain(path, largest=5_000_000) as file:
        assert len(file.read()) == 5_000_000


def test_content_far_larger_than_its_file_is_refused_early(tmp_path: Path) -> None:
    path = write(tmp_path, ".xz", b"0" * 80_000_000)
    with refused(FileError, f"{RATIO_MATTERS_FROM:,} bytes"):
        open_plain(path)


def test_a_zip_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ".zip", b"0" * 5_000_000)
    with refused(FileError, "5,000,000 bytes", "1,000,000"):
        open_plain(path, largest=1_000_000)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_damaged_content_is_refused(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, ending, CONTENT * 100)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(FileError, match=rf"table\.csv\{ending}: cannot be unpacked"):
        read_table(path)


def test_a_zip_of_several_files_has_no_content_of_its_own(tmp_path: Path) -> None:
    zipped(CONTENT, tmp_path / "two.zip", "a.csv", "b.csv")
    zipped(CONTENT, tmp_path / "mac.zip", "a.csv", "__MACOSX/._a.csv")
    assert plain_ending(tmp_path / "two.zip") == ".zip"
    assert plain_ending(tmp_path / "mac.zip") == ".csv"


def test_a_missing_compressed_file_cannot_be_opened(tmp_path: Path) -> None:
    with refused(FileError, at="gone.csv.gz", cause=FileNotFoundError):
        read_table(tmp_path / "gone.csv.gz")
