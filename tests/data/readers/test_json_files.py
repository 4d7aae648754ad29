"""Graphs in .json: an array in one file, a folder of files, and the options that JSON lines have, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.json_graphs import read_json, read_jsonlines
from bankgcn.files.checked import FileError
from refusals import refused


def document(element: str | None = "C", charge: float | None = 0.5, **metadata: Any) -> dict[str, Any]:
    node = {"element": element, "charge": charge}
    nodes = [{"id": 0, "element": "N", "charge": 1.0}, {"id": 1, **{k: v for k, v in node.items() if v is not None}}]
    return {"nodes": nodes, "edges": [{"source": 0, "target": 1}], "graph": metadata}


DOCUMENTS = [document(y="a", size=1), document("O", y="b", size=2.5), document(y="a", size=3)]


def lines(path: Path, documents: list) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return path


def test_an_array_a_folder_and_lines_hold_the_same_graphs(tmp_path: Path) -> None:
    expected = read_jsonlines(lines(tmp_path / "x.jsonl", DOCUMENTS))
    (tmp_path / "x.json").write_text(json.dumps(DOCUMENTS))
    (tmp_path / "object.json").write_text(json.dumps({"graphs": DOCUMENTS}))
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, each in enumerate(DOCUMENTS):
        (folder / f"g{number}.json").write_text(json.dumps(each))
    (folder / "readme.txt").touch()
    for path in (tmp_path / "x.json", tmp_path / "object.json", folder):
        assert read_json(path).fingerprint == expected.fingerprint
    assert read_json(folder).names == ("g0", "g1", "g2")
    assert read_json(tmp_path / "x.json").names is None


def test_hidden_files_are_ignored_and_broken_links_are_not(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps(DOCUMENTS[0]))
    (tmp_path / "._g.json").write_text("added by macOS")
    assert read_json(tmp_path).names == ("g",)
    (tmp_path / "h.json").symlink_to("absent.json")
    with refused(FileError, at="h.json", cause=OSError):
        read_json(tmp_path)


def test_any_key_may_hold_the_target(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", DOCUMENTS)
    assert read_jsonlines(path, ReadOptions(target="size")).y.tolist() == [1, 2.5, 3]
    both = read_jsonlines(
        lines(path, [document(size=1, mass=2), document(size=2, mass=None)]), ReadOptions(target="size, mass")
    )
    assert both.targets == ("size", "mass")
    with refused(FileError, "'sise'", "'mass', 'size'"):
        read_jsonlines(path, ReadOptions(target="sise"))
    outside = {**document(), "activity": "high"}
    assert (
        read_jsonlines(
            lines(path, [outside, {**outside, "activity": "low"}]), ReadOptions(target="activity")
        ).num_classes
        == 2
    )


def test_graphs_that_cannot_be_read_are_skipped_with_their_reasons(tmp_path: Path) -> None:
    bad = [{"nodes": 3}, document(charge=None, y="a"), document(element=7, y="b")]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([DOCUMENTS[0], *bad, DOCUMENTS[1]]))
    with refused(FileError, "graph 1", "'nodes'", 3, at="x.json"):
        read_json(path)
    graphs = read_json(path, ReadOptions(skip_unreadable=True))
    assert graphs.rows.tolist() == [0, 4]
    reasons = dict(graphs.skipped)
    assert "'nodes' is 3" in reasons[1]
    assert reasons[2].endswith("node 1 has no 'charge', but every node needs it")  # no advice that was followed
    assert "'element' of node 1 is 7, but words came before" in reasons[3]
    assert graphs.notes[0].startswith("3 of 5 graphs could not be read and are left out; the first: ")
    path.write_text(json.dumps(bad[:1]))
    with pytest.raises(FileError, match="has no graph that can be read: .*'nodes' is 3"):
        read_json(path, ReadOptions(skip_unreadable=True))


def test_missing_entries_of_nodes_are_filled(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", [document(y="a"), document(charge=None, y="b")])
    with refused(
        FileError, "node 1", "'charge'", at="x.jsonl:2", advice={"skip_unreadable": True, "fill_missing": "VALUE"}
    ):
        read_jsonlines(path)
    assert read_jsonlines(path, ReadOptions(fill_missing="-1")).attributes[:, 0].tolist() == [1, 0.5, 1, -1]
    null = document(y="b")
    null["nodes"][1]["charge"] = None
    assert read_jsonlines(lines(path, [document(y="a"), null]), ReadOptions(fill_missing="-1")).attributes[3, 0] == -1
    words = read_jsonlines(lines(path, [document(y="a"), document(None, y="b")]), ReadOptions(fill_missing="none"))
    assert words.feature_spec["words"] == {"element": ["C", "N", "none"]}
    with refused(FileError, "'charge'", fill_missing="none"):
        read_jsonlines(lines(path, [document(y="a"), document(charge=None, y="b")]), ReadOptions(fill_missing="none"))


@pytest.mark.parametrize("word", ["Na", "007", "1.50"])
def test_a_missing_word_is_filled_with_the_word_as_it_is_written(tmp_path: Path, word: str) -> None:
    path = lines(tmp_path / "x.jsonl", [document(y="a"), document(None, y="b")])
    assert word in read_jsonlines(path, ReadOptions(fill_missing=word)).feature_spec["words"]["element"]


def test_graphs_without_a_target_are_refused_or_skipped_unless_no_target_is_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "x.jsonl", [document(y="a"), document(), document(y="b")])
    with refused(FileError, at="x.jsonl:2", advice={"skip_missing": True, "ignore_targets": True}):
        read_jsonlines(path)
    skipped = read_jsonlines(path, ReadOptions(skip_missing=True))
    assert (skipped.y.tolist(), skipped.skipped) == ([0, 1], ((1, "no target"),))
    unread = read_jsonlines(path, expected=Expected(has_target=False))
    assert (unread.y, len(unread), unread.skipped) == (None, 3, ())


@pytest.mark.parametrize(
    ("content", "message"),
    [("[", "is not JSON, at column"), ("[]", "has no graphs"), ("3", "has no graphs"), ('{"graphs": 1}', "no graphs")],
)
def test_a_file_without_an_array_of_graphs_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(FileError, match=message):
        read_json(tmp_path / "x.json")
