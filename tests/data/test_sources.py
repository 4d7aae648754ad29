"""Graphs by name or path."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data import sources
from bankgcn.data.catalog import CATALOG, DataFolders
from bankgcn.data.edge_data import is_edge_note
from bankgcn.data.graphs import GraphSet
from bankgcn.data.readers.json_graphs import write_jsonlines
from bankgcn.data.sources import Source, fetch_dataset, find_dataset, find_source, load_source
from bankgcn.data.splits import random_split
from bankgcn.files.archives import Archive
from bankgcn.files.checked import FileError
from bankgcn.files.downloads import FetchError
from refusals import refused

FILES = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "0\n1\n",
    "node_labels": "0\n1\n1\n0\n",
    "node_attributes": "5\n6\n7\n9\n",
}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data root, and a cache beside it."""
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BANKGCN_DATA", raising=False)
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def write_zip(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for part, text in FILES.items():
            archive.writestr(f"{name}//{name}_{part}.txt", text)
    os.utime(path, (1e9, 1e9))
    return path


def write_folder(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in FILES.items():
        (folder / f"{name}_{part}.txt").write_text(text)
    return folder


def test_a_dataset_is_read_as_the_catalogue_wants(root: Path) -> None:
    write_zip(root / "TU" / "ENZYMES.zip", "ENZYMES")
    graphs = load_source("enzymes", root)
    assert graphs.name == "ENZYMES"
    assert graphs.signals().tolist() == [[0, 1, 0], [0.25, 0, 1], [0.5, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("place", ["TU/NCI1", "NCI1", "NCI1/raw", "NCI1/NCI1/raw"])
def test_a_dataset_may_be_an_unpacked_folder(root: Path, place: str) -> None:
    write_folder(root / place, "NCI1")
    assert load_source("NCI1", root).num_features == 2  # the labels, not the attribute


def test_roots_are_searched_in_order(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_cache = write_zip(tmp_path / "cache" / "data" / "TU" / "NCI1.zip", "NCI1")
    assert find_dataset("NCI1").path == in_cache
    told = write_zip(tmp_path / "told" / "NCI1.zip", "NCI1")
    monkeypatch.setenv("BANKGCN_DATA", str(tmp_path / "told"))
    assert find_dataset("NCI1").path == told
    given = write_zip(root / "TU" / "NCI1.zip", "NCI1")
    assert find_dataset("NCI1", DataFolders(root)).path == given


def test_a_dataset_that_is_not_here_says_how_to_get_it(root: Path) -> None:
    with refused(ValueError, "NCI1", "TU/NCI1.zip", "bankgcn data fetch NCI1"):
        load_source("NCI1", root)
    with pytest.raises(ValueError, match="has no address to download it from"):
        load_source("FRANKENSTEIN-rebuilt", root)
    with pytest.raises(ValueError, match=r"by hand: unpack https://.*/hiv\.zip, and move its folder to .*ogbg_molhiv$"):
        load_source("ogbg-molhiv", root)


def test_another_set_under_the_name_of_a_dataset_is_refused(root: Path) -> None:
    write_zip(root / "TU" / "FRANKENSTEIN.zip", "FRANKENSTEIN-rebuilt")
    with refused(FileError, "FRANKENSTEIN-rebuilt", "FRANKENSTEIN", at="FRANKENSTEIN.zip"):
        load_source("FRANKENSTEIN", root)


def test_the_stand_in_is_labelled_even_under_another_file_name(root: Path) -> None:
    graphs = load_source(write_zip(root / "mine.zip", "FRANKENSTEIN-rebuilt"))
    assert "a stand-in for FRANKENSTEIN" in graphs.notes[0]


@pytest.mark.parametrize("name", ["MUTAG", "digits", "smooth-or-alternating"])
def test_what_comes_with_the_package_needs_no_files(name: str) -> None:
    source = find_source(name)
    graphs = source.load()
    assert source.path is None
    assert graphs.name == name
    split = source.split(graphs, seed=1)
    assert len(split.train) + len(split.valid) + len(split.test) == len(graphs)


def test_paths_of_every_kind_are_read(root: Path) -> None:
    packed = load_source(write_zip(root / "any.zip", "OWN"))
    unpacked = load_source(str(write_folder(root / "folder", "OWN")))
    packed.save(root / "saved.anything")
    saved = load_source(root / "saved.anything")
    assert packed.fingerprint == unpacked.fingerprint == saved.fingerprint
    assert packed.num_features == 3  # all signals there are


@pytest.mark.parametrize("source", ["./MUTAG", Path("MUTAG")])
def test_a_path_is_no_name_of_a_dataset(source: str | Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(root / "MUTAG", "OWN")
    monkeypatch.chdir(root)
    assert find_source(source).path == Path("MUTAG")


def test_a_table_of_smiles_is_read(root: Path) -> None:
    pytest.importorskip("rdkit")
    (root / "own.csv").write_text("smiles,active\nCCO,1\nc1ccccc1,0\n")
    graphs = load_source(root / "own.csv")
    assert graphs.num_nodes.tolist() == [3, 6]
    assert graphs.classes == ("0", "1")


def test_json_lines_are_read(root: Path) -> None:
    graphs = load_source("MUTAG")[:3]
    write_jsonlines(graphs, root / "own.jsonl")
    again = load_source(root / "own.jsonl")
    assert again.num_nodes.tolist() == graphs.num_nodes.tolist()
    assert again.num_edges.tolist() == graphs.num_edges.tolist()


def test_the_second_time_comes_from_the_cache(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_zip(root / "TU" / "NCI1.zip", "NCI1")
    first = load_source("NCI1", root)
    monkeypatch.setattr(Archive, "read", lambda *_: pytest.fail("the file was read again"))
    assert load_source("NCI1", root).fingerprint == first.fingerprint


def test_a_slip_in_a_name_gets_a_hint() -> None:
    with refused(ValueError, "'ENZYME'", "ENZYMES"):
        load_source("ENZYME")


def test_a_file_of_unknown_kind_is_refused(root: Path) -> None:
    (root / "graphs.docx").write_bytes(b"PK")
    with pytest.raises(
        FileError, match=r"graphs\.docx: cannot be read: expected a saved .* or zip .*, a \.csv, \.tsv, \.parquet or"
    ):
        load_source(root / "graphs.docx")


def test_a_compression_that_is_not_read_is_refused_with_advice(root: Path) -> None:
    (root / "graphs.csv.zst").write_bytes(b"\x28\xb5")
    with pytest.raises(FileError, match=r"graphs\.csv\.zst: is compressed .* \(\.gz, .* are\): unpack it first"):
        load_source(root / "graphs.csv.zst")


def test_a_damaged_compressed_file_is_refused(root: Path) -> None:
    (root / "graphs.csv.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(FileError, match=r"graphs\.csv\.gz: cannot be unpacked"):
        load_source(root / "graphs.csv.gz")


def test_a_folder_of_nothing_that_can_be_read_is_refused(root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes" / "todo.txt").touch()
    with pytest.raises(FileError, match=r"notes: cannot be read: expected .* or a folder of images"):
        find_source(root / "notes")


def test_options_reach_the_reader_and_others_are_refused(root: Path) -> None:
    folder = write_folder(root / "own", "OWN")
    (folder / "OWN_A.txt").write_text("1, 2\n3, 4\n")
    with refused(FileError, "1, 2", at="OWN_A.txt:1"):
        load_source(folder)
    assert load_source(folder, symmetrise=True).num_edges.tolist() == [1, 1]
    with refused(ValueError, smiles="x"):
        load_source(folder, smiles="x")
    with refused(ValueError, "MUTAG", target="x"):
        load_source("MUTAG", target="x")


def test_targets_can_be_left_out_of_every_source(root: Path) -> None:
    load_source("MUTAG").save(root / "saved.graphs")
    for source in ("MUTAG", root / "saved.graphs", write_folder(root / "own", "OWN")):
        graphs = load_source(source, ignore_targets=True)
        assert (graphs.y, graphs.classes, graphs.targets) == (None, (), ())
        assert len(graphs) == len(load_source(source))


def test_a_download_goes_to_its_place_and_is_then_found(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(url: str, target: Path, **options: object) -> Path:
        asked.append((url, options["sha256"]))
        return write_zip(target, "DD")

    monkeypatch.setattr(sources, "fetch", fake)
    assert fetch_dataset("dd", DataFolders(root)) == root / "TU" / "DD.zip"
    assert fetch_dataset("dd", DataFolders(root)) == root / "TU" / "DD.zip"
    assert asked == [("https://www.chrsmrrs.com/graphkerneldatasets/DD.zip", None)]
    assert len(load_source("DD", root)) == 2


def test_a_download_goes_to_the_cache_if_no_root_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "fetch", lambda url, target, **_: write_zip(target, "DD"))
    assert fetch_dataset("DD") == tmp_path / "cache" / "data" / "TU" / "DD.zip"


def test_what_must_be_unpacked_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(url: str, target: Path, **_: object) -> Path:
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr("hiv/raw/edge.csv.gz", b"1")
            archive.writestr("hiv/split/scaffold/test.csv.gz", b"2")
        return target

    monkeypatch.setattr(sources, "fetch", fake)
    folder = fetch_dataset("ogbg-molhiv", DataFolders(root))
    assert (folder / "raw" / "edge.csv.gz").read_bytes() == b"1"
    assert (folder / "split" / "scaffold" / "test.csv.gz").read_bytes() == b"2"
    assert [path.name for path in root.iterdir()] == ["ogbg_molhiv"]


def test_what_has_no_address_cannot_be_downloaded(root: Path) -> None:
    with pytest.raises(ValueError, match="MUTAG comes with the package and needs no download"):
        fetch_dataset("MUTAG", DataFolders(root))
    with pytest.raises(ValueError, match="FRANKENSTEIN-rebuilt cannot be downloaded"):
        fetch_dataset("FRANKENSTEIN-rebuilt", DataFolders(root))


def test_a_page_instead_of_a_zip_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = b"<html>log in"
    monkeypatch.setattr("bankgcn.files.downloads._download", lambda url, partial, *_: partial.stream.write(page))
    with pytest.raises(FetchError, match=r"what came is no such file: not a readable zip file"):
        fetch_dataset("DD", DataFolders(root))
    assert not list((root / "TU").iterdir())


def test_a_damaged_download_leaves_nothing_behind(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("hiv/raw/edge.csv.gz", b"bonds")
    damaged = content.getvalue().replace(b"bonds", b"bones")
    monkeypatch.setattr("bankgcn.files.downloads._download", lambda url, partial, *_: partial.stream.write(damaged))
    with pytest.raises(FetchError, match=r"what came is no such file: cannot be unpacked: Bad CRC-32"):
        fetch_dataset("ogbg-molhiv", DataFolders(root))
    assert not list(root.iterdir())


def test_a_set_without_targets_has_no_split(root: Path) -> None:
    GraphSet.from_edges([2], [[0, 1], [1, 0]]).save(root / "unknown.graphs")
    source = find_source(root / "unknown.graphs")
    with pytest.raises(ValueError, match="unknown has no targets to learn: there is nothing to split"):
        source.split(source.load())


@pytest.mark.parametrize("y", [np.arange(20) / 2, np.zeros((20, 3)), [[0, np.nan]] * 20])
def test_graphs_with_numbers_as_targets_are_split_at_random(root: Path, y: np.ndarray) -> None:
    GraphSet.from_edges([1] * 20, np.zeros((2, 0), int), y=y).save(root / "own.graphs")
    source = find_source(root / "own.graphs")
    split = source.split(source.load(), seed=3)
    assert split.hash == random_split(20, seed=3).hash
    assert (len(split.train), len(split.valid), len(split.test)) == (16, 2, 2)


def test_a_folder_of_images_is_a_source_and_tells_its_progress(tmp_path: Path) -> None:
    from PIL import Image

    random = np.random.default_rng(0)
    for number in range(4):
        file = tmp_path / "photos" / ("cats" if number % 2 else "dogs") / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (24, 24, 3), np.uint8)).save(file)
    told: list[tuple[int, int]] = []
    graphs = find_source(tmp_path / "photos").load(progress=lambda done, total: told.append((done, total)))
    assert graphs.classes == ("cats", "dogs")
    assert (len(graphs), graphs.num_features) == (4, 5)
    assert told[-1] == (4, 4)


def test_a_set_in_the_tu_format_stays_one_with_a_picture_beside_it(root: Path) -> None:
    folder = write_folder(root / "own", "OWN")
    plain = load_source(folder)
    (folder / "figure.png").write_bytes(b"no need to look into it")
    (folder / "plots").mkdir()
    source = find_source(folder)
    graphs = source.load()
    assert source.kind == "a set in the TU format"
    assert graphs.fingerprint == plain.fingerprint
    assert plain.notes == ()
    assert graphs.notes == ("read as a set in the TU format, not as a folder of images",)


def test_a_source_says_what_it_was_recognised_as(root: Path) -> None:
    (root / "photos").mkdir()
    (root / "photos" / "cat.jpg").touch()
    (root / "own.csv").write_text("smiles\nC\n")
    load_source("MUTAG")[:3].save(root / "saved")
    kinds = {"photos": "a folder of images", "own.csv": "a table of SMILES", "saved": "a saved set"}
    assert {name: find_source(root / name).kind for name in kinds} == kinds
    assert find_source("MUTAG").kind == "a set that comes with the package"


def test_edge_labels_of_a_dataset_of_the_catalogue_are_not_noted_but_those_of_the_same_files_by_path_are(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "TU" / "ENZYMES"
    folder.mkdir(parents=True)
    parts = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n",
        "node_labels": "0\n1\n0\n1\n", "node_attributes": "0\n1\n2\n3\n", "edge_labels": "0\n0\n1\n1\n",
    }  # fmt: skip
    for part, text in parts.items():
        (folder / f"ENZYMES_{part}.txt").write_text(text)
    published = Source("ENZYMES", "tu", folder, CATALOG["ENZYMES"]).load()
    own = Source("ENZYMES", "tu", folder).load()
    assert not any(map(is_edge_note, published.notes))
    assert any(map(is_edge_note, own.notes))
