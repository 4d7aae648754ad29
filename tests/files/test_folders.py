"""What is in a folder."""

from __future__ import annotations

from pathlib import Path

from bankgcn.files.folders import files_of, visible


def test_files_have_the_ending_in_any_case_and_no_dot_at_the_start(tmp_path: Path) -> None:
    for name in ("a.json", "b.JSON", ".c.json", "d.txt"):
        (tmp_path / name).touch()
    (tmp_path / "e.json").mkdir()
    (tmp_path / "f.json").symlink_to("absent")
    assert sorted(path.name for path in visible(tmp_path)) == ["a.json", "b.JSON", "d.txt", "e.json", "f.json"]
    assert sorted(path.name for path in files_of(tmp_path, (".json",))) == ["a.json", "b.JSON", "f.json"]
