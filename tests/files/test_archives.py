"""Members of zips and files of folders: read when they are sound, refused by name when they are not."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from bankgcn.files import archives as archive
from bankgcn.files.archives import Archive, Folder, unpack
from bankgcn.files.checked import FileError
from refusals import refused


@pytest.fixture
def zip_of(tmp_path: Path):
    def make(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
        path = tmp_path / "set.zip"
        with zipfile.ZipFile(path, "w", compression) as stream:
            for name, content in members.items():
                stream.writestr(name, content)
        return path

    return make


def test_doubled_slashes_of_official_zips_are_single_ones(zip_of) -> None:
    files = Archive(zip_of({"NCI1//NCI1_A.txt": b"1, 2\n", "NCI1/": b""}))
    assert files.names == ("NCI1/NCI1_A.txt",)
    assert files.read("NCI1/NCI1_A.txt") == b"1, 2\n"
    assert files.where("NCI1/NCI1_A.txt").as_posix().endswith("set.zip/NCI1/NCI1_A.txt")


@pytest.mark.parametrize("name", ["../x_A.txt", "a/../../x_A.txt", "/etc/x_A.txt", "C:/x_A.txt", "c:x", "a\\..\\..\\x"])
def test_a_member_that_points_outside_is_refused(zip_of, name: str) -> None:
    with pytest.raises(FileError, match=r"set\.zip: member .* points outside"):
        Archive(zip_of({"fine": b"", name: b"1"}))


def test_a_member_without_a_name_is_refused(zip_of) -> None:
    with pytest.raises(FileError, match="a member has no name but"):
        Archive(zip_of({".": b"1"}))


def test_two_members_of_one_name_are_refused(zip_of) -> None:
    with pytest.raises(FileError, match="two members 'a/b'"):
        Archive(zip_of({"a/b": b"1", "a//b": b"2"}))


def test_too_many_members_are_refused(zip_of) -> None:
    with refused(FileError, "3 members", 2, at="set.zip"):
        Archive(zip_of({"a": b"", "b": b"", "c": b""}), max_members=2)


def test_too_many_bytes_are_refused_before_any_is_unpacked(zip_of) -> None:
    with refused(FileError, "2,000 bytes", "1,999"):
        Archive(zip_of({"a": b"0" * 1000, "b": b"1" * 1000}), max_bytes=1999)


def test_a_bomb_is_refused_by_its_ratio(zip_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "RATIO_MATTERS_FROM", 1 << 20)
    with refused(FileError, "'a'", "4,194,304 bytes", "200 times"):
        Archive(zip_of({"a": bytes(4 << 20)}))
    assert Archive(zip_of({"a": bytes(1 << 20)})).names == ("a",)  # as repetitive, but small


@pytest.mark.parametrize("claimed", [10, 9_000])
def test_a_member_of_another_size_than_it_declares_is_refused(zip_of, claimed: int) -> None:
    path = zip_of({"a": b"x" * 5_000})
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", claimed)
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"set\.zip/a: (cannot be unpacked|unpacks to)"):
        Archive(path).read("a")


def test_an_encrypted_member_is_refused(zip_of) -> None:
    path = zip_of({"a": b"1"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match="member 'a' is encrypted"):
        Archive(path)


def test_a_flipped_bit_is_found_by_the_checksum(zip_of) -> None:
    path = zip_of({"a": b"hello graphs"}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"hello", b"hallo"))
    with refused(FileError, at="set.zip/a", cause=zipfile.BadZipFile):
        Archive(path).read("a")


@pytest.mark.parametrize("kept", [0, 1, 30, 0.5, 0.9])
def test_a_truncated_zip_is_refused(zip_of, kept: float) -> None:
    path = zip_of({"a": b"1, 2\n" * 100})
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with refused(FileError, at="set.zip", cause=zipfile.BadZipFile):
        Archive(path)


def test_a_missing_zip_is_named(tmp_path: Path) -> None:
    with refused(FileError, at="none.zip", cause=FileNotFoundError):
        Archive(tmp_path / "none.zip")


def test_a_folder_shows_its_own_files_and_those_of_named_subfolders(tmp_path: Path) -> None:
    for name in ["a.txt", "raw/b.txt", "other/c.txt"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    files = Folder(tmp_path, inside=("raw", "absent"))
    assert files.names == ("a.txt", "raw/b.txt")
    assert files.read("raw/b.txt") == b"raw/b.txt"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with refused(FileError, at="absent", cause=FileNotFoundError):
        Folder(tmp_path / "absent")


def test_unpacking_leaves_out_the_one_top_folder(zip_of, tmp_path: Path) -> None:
    unpack(Archive(zip_of({"hiv/raw/a": b"1", "hiv//b": b"2"})), tmp_path / "new" / "set")
    assert (tmp_path / "new" / "set" / "raw" / "a").read_bytes() == b"1"
    assert (tmp_path / "new" / "set" / "b").read_bytes() == b"2"
    unpack(Archive(zip_of({"a/x": b"1", "b/x": b"2"})), tmp_path / "new" / "two")
    assert (tmp_path / "new" / "two" / "b" / "x").read_bytes() == b"2"


def test_unpacking_does_not_replace_a_folder(zip_of, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    with pytest.raises(FileError, match="set: cannot be written"):
        unpack(Archive(zip_of({"a/x": b"1"})), tmp_path / "set")
    assert [file.name for file in (tmp_path / "set").iterdir()] == ["mine"]


def test_unpacking_a_damaged_zip_leaves_nothing(zip_of, tmp_path: Path) -> None:
    path = zip_of({"a/one": b"fine", "a/two": b"hello"}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"hello", b"hallo"))
    with pytest.raises(FileError, match="Bad CRC-32"):
        unpack(Archive(path), tmp_path / "new" / "set")
    assert not list((tmp_path / "new").iterdir())
