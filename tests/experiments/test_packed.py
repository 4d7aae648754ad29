"""Packed records: few small files, the same bytes for the same records, and no line that is not checked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.experiments.paper import TABLE_1, figure3
from bankgcn.experiments.store import compact, is_packed, pack, read_packed
from bankgcn.files.checked import FileError, content_hash
from fake_records import fake_record
from refusals import refused

CONFIGS = TABLE_1.restricted(datasets=["MUTAG", "NCI1"], models=["gcn", "bank-K2-s8"], runs=2).configs()
ALPHA = ((0.1, 1 / 3, 0.5),) * 8
REAL = {
    "alpha": ALPHA,
    "test_loss": 0.1 + 0.2,
    "protocol": "selected the epoch with the smallest loss on the validation graphs",
    "split_from": "the seed: 8:1:1, stratified by class",
    "task": {"kind": "classes", "names": ["-1", "1"]},
    "fingerprint": "188-3371-3721-05b97c718a8ad4a8933f38e5f215b3247b85555b6e1a653e4cee087f7077c0a7",
    "split_hash": "a6275ca6c59d9e165c2f5eb3e334837270a699f362e78b72a518066dbbc6ae6f",
    "ended": "patience",
    "versions": {f"library-{number}": "2.13.0+cpu" for number in range(9)},
}


def record(config: RunSpec, **changes: object) -> RunRecord:
    return fake_record(config, **{**REAL, **changes})


RECORDS = [record(config) for config in CONFIGS]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_records_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    pack(RECORDS, tmp_path / "a" / "table1")
    pack(RECORDS[::-1], tmp_path / "b" / "table1")
    pack(RECORDS, tmp_path / "b" / "table1")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert list(contents(tmp_path / "a")) == ["table1/MUTAG.jsonl", "table1/NCI1.jsonl"]
    lines = contents(tmp_path / "a")["table1/NCI1.jsonl"].splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert keys == sorted(config.key for config in CONFIGS if config.dataset == "NCI1")


def test_what_is_packed_is_read_again_to_the_last_digit(tmp_path: Path) -> None:
    diverged = record(CONFIGS[0].with_(seed=9), status="diverged", valid_score=None, error="the loss of epoch 3")
    pack([*RECORDS, diverged], tmp_path / "results" / "table1")
    found = read_packed(tmp_path / "results")
    assert list(found) == sorted(r.config.key for r in (*RECORDS, diverged))
    for original in (*RECORDS, diverged):
        again = found[original.config.key]
        same = {
            "alpha": original.alpha,
            **{name: getattr(original, name) for name in ("task", "protocol", "split_from")},
        }
        assert replace(again, **same) == original
    assert read_packed(tmp_path / "results" / "table1") == found


def test_filters_are_kept_where_the_figure_shows_them_and_nowhere_else(tmp_path: Path) -> None:
    drawn = {panel.config.key for dataset in ("MUTAG", "NCI1") for panel in figure3([dataset]).panels}
    kept = {key for key, r in ((r.config.key, compact(r)) for r in RECORDS) if r.alpha == ALPHA}
    assert kept == drawn & {r.config.key for r in RECORDS}
    assert len(kept) == 2 * 3  # K = 3 is not in Table 1
    short = CONFIGS[0].with_(max_epochs=7)
    assert {bool(compact(record(panel.config)).alpha) for panel in figure3(["MUTAG"], 7).panels} == {True}
    assert not compact(record(short.with_(seed=1))).alpha


def test_ten_thousand_records_are_smaller_than_20_megabytes(tmp_path: Path) -> None:
    pack(RECORDS, tmp_path)
    size = sum(map(len, contents(tmp_path).values()))
    assert size / len(RECORDS) < 1600  # of them, one of eight has its filters; in a whole table one of a hundred


def test_a_packed_file_is_updated_and_loses_nothing(tmp_path: Path) -> None:
    first, changed, new = RECORDS[0], replace(RECORDS[1], valid_score=0.25), record(CONFIGS[0].with_(seed=5))
    pack(RECORDS[:2], tmp_path)
    (file,) = pack([changed, new], tmp_path)
    assert (file.path.name, file.records, file.added, file.replaced) == ("MUTAG.jsonl", 3, 1, 1)
    found = read_packed(tmp_path)
    assert found[first.config.key] == compact(first)
    assert found[changed.config.key].valid_score == 0.25
    assert new.config.key in found


def damage(line: bytes, how: str) -> bytes:
    content = json.loads(line)
    values = content["record"]
    if how == "cut short":
        return line[:-20]
    if how == "other json":
        return b"[1, 2]"
    if how == "better score":
        values["test_score"] = 0.99
        return json.dumps(content).encode()
    changes = {
        "other run": {"config": {**values["config"], "seed": 77}},
        "unknown field": {"colour": "red"},
        "no status": {"status": None},
        "a word for a score": {"valid_score": "high"},
        "newer format": {"format": 99},
    }
    values |= changes[how]
    content["sha256"] = content_hash(values)[:20]
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("cut short", "the line is not complete JSON"),
        ("other json", "the line is not a packed record: expected key, sha256 and record"),
        ("better score", "the record of run [0-9a-f]{20} was changed after it was written"),
        ("other run", "the record has the key [0-9a-f]{20}, but its configuration has [0-9a-f]{20}"),
        ("unknown field", "colour"),
        ("no status", "status=None"),
        ("a word for a score", "is no record of a run"),
        ("newer format", "has format 99, newer than 2: update bankgcn"),
    ],
)
def test_a_line_that_cannot_be_trusted_is_named(tmp_path: Path, how: str, reason: str) -> None:
    pack(RECORDS, tmp_path / "table1")
    path = tmp_path / "table1" / "MUTAG.jsonl"
    lines = path.read_bytes().splitlines()
    lines[2] = damage(lines[2], how)
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(FileError, match=f"^{re.escape(str(path))}:3: .*{reason}"):
        read_packed(tmp_path)
    before = path.read_bytes()
    with pytest.raises(FileError, match="MUTAG.jsonl:3"):
        pack(RECORDS, tmp_path / "table1")
    assert path.read_bytes() == before


def test_one_run_may_be_in_two_tables_but_with_one_outcome(tmp_path: Path) -> None:
    pack(RECORDS, tmp_path / "table1")
    pack(RECORDS[:3], tmp_path / "table3")
    assert len(read_packed(tmp_path)) == len(RECORDS)
    pack([replace(RECORDS[0], valid_score=0.1)], tmp_path / "table3")
    with refused(FileError, f"other values of run {RECORDS[0].config.key}", at="table3/MUTAG.jsonl:2"):
        read_packed(tmp_path)


def test_a_run_that_is_twice_in_a_file_is_named(tmp_path: Path) -> None:
    (file,) = pack(RECORDS[:1], tmp_path)
    file.path.write_bytes(2 * file.path.read_bytes())
    with refused(FileError, RECORDS[0].config.key, at="MUTAG.jsonl:2"):
        read_packed(tmp_path)


def test_a_store_and_an_absent_folder_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "a.json").write_text("{}")
    assert not is_packed(tmp_path / "store")
    assert not is_packed(tmp_path / "gone")
    pack(RECORDS[:1], tmp_path / "results" / "table1")
    assert is_packed(tmp_path / "results")
    assert is_packed(tmp_path / "results" / "table1")


@pytest.mark.parametrize("dataset", ["../outside", "/tmp/outside", "a/b"])
def test_a_record_cannot_lead_out_of_the_folder(dataset: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only runs on named datasets can be packed"):
        pack([fake_record(RunSpec(dataset=dataset))], tmp_path / "results")
    assert list(tmp_path.iterdir()) == []
