"""Sets in the TU format: what they mean, and what is said of broken ones."""

from __future__ import annotations

import contextlib
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data import GraphError
from bankgcn.data.catalog import TUFeatures
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.readers.tu import read_tu
from bankgcn.files.archives import Archive, unpack
from bankgcn.files.checked import FileError
from refusals import refused

# A triangle and a path of two nodes.
SMALL = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "3\n3\n5\n3\n4\n",
    "node_attributes": "0.5, 10\n1.5, 20\n2.5, 30\n0.5, 10\n1, 10\n",
    "edge_labels": "1\n1\n2\n2\n1\n1\n1\n1\n",
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the small set to a folder, with some parts changed or (``None``) left out."""

    def write_parts(folder: Path = tmp_path / "SMALL", /, **changed: str | None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for part, text in {**SMALL, **changed}.items():
            if text is not None:
                (folder / f"SMALL_{part}.txt").write_text(text)
        return folder

    return write_parts


def test_everything_in_the_files_is_in_the_set(write: Write) -> None:
    graphs = read_tu(write())
    assert graphs.name == "SMALL"
    assert graphs.num_nodes.tolist() == [3, 2]
    assert graphs.num_edges.tolist() == [3, 1]
    assert graphs.classes == ("-1", "1")
    assert graphs.y is not None
    assert graphs.y.tolist() == [1, 0]
    assert graphs.label_widths == (3,)
    batch = graphs.batch()
    assert batch.x.tolist() == [
        [0.5, 10, 1, 0, 0],
        [1.5, 20, 1, 0, 0],
        [2.5, 30, 0, 0, 1],
        [0.5, 10, 1, 0, 0],
        [1.0, 10, 0, 1, 0],
    ]
    assert sorted(zip(*batch.edge_index.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (3, 4), (4, 3),
    ]  # fmt: skip
    assert graphs.edge_labels is not None
    assert graphs.edge_labels[:, 0].tolist() == [0, 0, 0, 1, 0, 1, 0, 0]  # by row, then column


def assert_equal_to_pyg(folder: Path, name: str) -> None:
    pyg = pytest.importorskip("torch_geometric.io")
    data, slices, _ = pyg.read_tu_data(str(folder), name)
    graphs = read_tu(folder)
    batch = graphs.batch()
    assert graphs.node_ptr.tolist() == slices["x"].tolist()
    torch.testing.assert_close(batch.x, data.x.float(), rtol=1e-6, atol=0)  # decimals may round otherwise
    assert batch.y.tolist() == data.y.tolist()
    local = data.edge_index + torch.from_numpy(graphs.node_ptr[:-1]).repeat_interleave(slices["edge_index"].diff())
    assert sorted(zip(*batch.edge_index.tolist(), strict=True)) == sorted(zip(*local.tolist(), strict=True))


def test_pyg_reads_the_same(write: Write) -> None:
    assert_equal_to_pyg(write(edge_labels=None), "SMALL")


@pytest.mark.datasets("TU/{name}.zip")
@pytest.mark.parametrize("name", ["ENZYMES", "PROTEINS", "MUTAG"])
def test_pyg_reads_the_same_from_real_files(name: str, data_root: Path, tmp_path: Path) -> None:
    unpack(Archive(data_root / "TU" / f"{name}.zip"), tmp_path / name)
    assert_equal_to_pyg(tmp_path / name, name)


def test_the_zip_and_every_kind_of_folder_hold_the_same_set(write: Write, tmp_path: Path) -> None:
    expected = read_tu(write()).fingerprint
    zipped = tmp_path / "any name.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for part, text in SMALL.items():
            archive.writestr(f"SMALL//SMALL_{part}.txt", text)
        archive.writestr("__MACOSX/SMALL/._SMALL_A.txt", b"\x00\x05")
    assert read_tu(zipped).fingerprint == expected
    assert read_tu(write(tmp_path / "pyg" / "raw").parent).fingerprint == expected
    assert read_tu(write(tmp_path / "twice" / "twice").parent).fingerprint == expected
    assert read_tu(write(tmp_path / "both" / "both" / "raw").parent.parent).fingerprint == expected


def test_features_are_those_asked_for(write: Write) -> None:
    folder = write()
    scaled = read_tu(folder, expected=Expected(published=TUFeatures(attributes="unit_range", labels=True)))
    assert scaled.batch().x[:, :2].tolist() == [[0, 0], [0.5, 0.5], [1, 1], [0, 0], [0.25, 0]]
    assert scaled.num_features == 5
    assert read_tu(folder, expected=Expected(published=TUFeatures(labels=True))).num_features == 3
    assert read_tu(folder, expected=Expected(published=TUFeatures(attributes="raw"))).num_features == 2


def test_a_feature_that_is_asked_for_but_absent_is_an_error(write: Write) -> None:
    with pytest.raises(FileError, match=r"SMALL_node_attributes\.txt: is missing"):
        read_tu(write(node_attributes=None), expected=Expected(published=TUFeatures(attributes="raw")))


def test_nodes_without_signals_get_degree_and_clustering(write: Write) -> None:
    graphs = read_tu(write(node_attributes=None, node_labels=None))
    x = graphs.batch().x
    degree_two, degree_one = x[0], x[3]
    assert (x[:3] == degree_two).all()
    assert (x[3:] == degree_one).all()
    assert not (degree_one == degree_two).all()


def test_columns_of_labels_each_have_their_own_range(write: Write) -> None:
    graphs = read_tu(
        write(node_labels="3, 0\n3, 1\n5, 0\n3, 0\n4, 1\n"), expected=Expected(published=TUFeatures(labels=True))
    )
    assert graphs.label_widths == (3, 2)


def test_graph_attributes_are_targets_where_there_are_no_classes(write: Write) -> None:
    graphs = read_tu(write(graph_labels=None, graph_attributes="0.5, 1\n2, 3\n"))
    assert graphs.y is not None
    assert graphs.y.tolist() == [[0.5, 1], [2, 3]]
    assert graphs.num_classes == 0


def test_the_task_chooses_between_graph_labels_and_graph_attributes(write: Write) -> None:
    assert read_tu(write(graph_labels="5\n7\n"), expected=Expected(task="values")).y.tolist() == [5, 7]
    path = write(graph_labels="5\n7\n", graph_attributes="0, 1\n1, 0\n")
    assert read_tu(path).classes == read_tu(path, expected=Expected(task="classes")).classes == ("5", "7")
    assert (
        read_tu(path, expected=Expected(task="values")).y.tolist()
        == read_tu(path, expected=Expected(task="labels")).y.tolist()
        == [[0, 1], [1, 0]]
    )


def test_targets_that_do_not_fit_the_task_are_refused(write: Write) -> None:
    with refused(FileError, "column 1", 3.0, at="SMALL_graph_attributes.txt:2"):
        read_tu(write(graph_labels=None, graph_attributes="0, 1\n1, 3\n"), expected=Expected(task="labels"))
    with pytest.raises(FileError, match=r"graph_labels\.txt: is missing"):
        read_tu(write(graph_labels=None, graph_attributes="0, 1\n1, 3\n"), expected=Expected(task="classes"))


def test_without_targets_there_are_none(write: Write) -> None:
    assert read_tu(write(graph_labels=None)).y is None


def test_a_repeated_edge_counts_once_and_is_told(write: Write) -> None:
    graphs = read_tu(write(A=SMALL["A"] + "1, 2\n2, 1\n", edge_labels=None))
    assert graphs.num_edges.tolist() == [3, 1]
    assert graphs.edge_weight is None
    assert graphs.notes == ("2 repeated edges left out",)


def test_edge_attributes_are_left_out_and_that_is_told(write: Write) -> None:
    notes = read_tu(write(edge_attributes="0.5\n" * 8)).notes
    assert "the edges carry labels and attributes, which no network uses" in notes[0]


def test_a_set_without_edge_labels_has_no_note_on_them(write: Write) -> None:
    assert not read_tu(write(edge_labels=None)).notes


def test_an_edge_without_its_reverse_is_refused_or_completed_with_a_count(write: Write) -> None:
    folder = write(A=SMALL["A"].replace("3, 2\n", "").replace("5, 4\n", ""), edge_labels=None)
    with refused(FileError, "2, 3", "3, 2", 1, at="SMALL_A.txt:3"):
        read_tu(folder)
    graphs = read_tu(folder, ReadOptions(symmetrise=True))
    assert graphs.num_edges.tolist() == [3, 1]
    assert any("2 edges had no reverse" in note for note in graphs.notes)


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "1, 2\n2, 1\n1, 6\n", ":3: there is no node 6: nodes are 1 to 5"),
        ("A", "1, 2\n0, 1\n", ":2: there is no node 0: nodes are 1 to 5"),
        ("A", "1, 2\n2, -1\n", ":2: there is no node -1: nodes are 1 to 5"),
        ("A", "1, 2\n2, 1\n3, 4\n4, 3\n", ":3: edge 3, 4 joins graph 1 to graph 2"),
        ("A", "1, 2\n2, 1, 3\n", ":2: has 3 value(s) where 2 should be"),
        ("A", "1, 2\n2, one\n", ":2: 'one' is not a whole number"),
        ("A", "", ": is empty"),
        ("graph_indicator", "1\n1\n2\n1\n2\n", ":4: graph 1 follows graph 2: graphs are numbered from 1, in order"),
        ("graph_indicator", "1\n1\n1\n3\n3\n", ":4: graph 3 follows graph 1: graphs are numbered from 1, in order"),
        ("graph_indicator", "2\n2\n2\n3\n3\n", ":1: graph 2 follows graph 0: graphs are numbered from 1, in order"),
        ("graph_indicator", "0\n0\n0\n1\n1\n", ":1: the first graph is numbered 0, expected 1"),
        ("graph_indicator", "1\n1\n1\n2\n2.5\n", ":5: '2.5' is not a whole number"),
        ("graph_labels", "1\n", ":1: 1 lines for 2 graphs in the indicator file"),
        ("graph_labels", "1\n-1\n1\n1\n", ":3: 4 lines for 2 graphs in the indicator file"),
        ("graph_labels", "1\nactive\n", ":2: 'active' is not a whole number"),
        ("node_labels", "3\n3\n5\n3\n", ":4: 4 lines for 5 nodes in the indicator file"),
        ("node_labels", "3\n3\n5\n3\n4\n4\n", ":6: 6 lines for 5 nodes in the indicator file"),
        ("node_labels", "3\n3\n50000\n3\n4\n", ":3: label 50000 is far from the others: labels from 3 to 50000"),
        ("node_attributes", "1\n2\nnan\n4\n5\n", ":3: 'nan' is not a finite number"),
        ("node_attributes", "1\n2\n3\ninf\n5\n", ":4: 'inf' is not a finite number"),
        ("node_attributes", "1, 2\n1\n3, 4\n5, 6\n7, 8\n", ":2: has 1 value(s) where 2 should be"),
        ("node_attributes", "1\n2\n3\n", ":3: 3 lines for 5 nodes in the indicator file"),
        ("edge_labels", "1\n1\n", ":2: 2 lines for 8 edges"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(write: Write, part: str, text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        read_tu(write(**{part: text}))
    assert str(caught.value).partition(f"SMALL_{part}.txt")[2].startswith(message)


@pytest.mark.parametrize("part", ["graph_indicator", "A"])
def test_a_missing_file_is_named(write: Write, part: str) -> None:
    with pytest.raises(FileError, match=f"SMALL_{part}.txt: is missing|no file NAME_A.txt"):
        read_tu(write(**{part: None}))


def test_two_sets_in_one_place_are_refused(write: Write) -> None:
    folder = write()
    (folder / "OTHER_A.txt").write_text("1, 1\n")
    with refused(FileError, "OTHER_A.txt, SMALL_A.txt"):
        read_tu(folder)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refused(FileError, at="none.zip"):
        read_tu(tmp_path / "none.zip")


SNIPPETS = [
    b"\n",
    b"\r",
    b",",
    b" ",
    b"-1",
    b"0",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"\x00",
    b"\xff",
    b"2147483648",
]


def mutate(content: bytes, rng: random.Random) -> bytes:
    """A few slips: bytes changed, cut out or put in, lines lost, doubled or swapped, the end missing."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(content) + 1)
        lines = content.split(b"\n")
        line = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
            case 1:
                content = content[:place] + content[place + rng.randint(1, 5) :]
            case 2:
                content = content[:place] + rng.choice(SNIPPETS) + content[place:]
            case 3:
                content = b"\n".join(lines[:line] + lines[line + 1 :])
            case 4:
                content = b"\n".join([*lines[:line], lines[line], *lines[line:]])
            case _:
                content = content[:place]
    return content


def test_a_thousand_mutated_files_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    rng, errors = random.Random(0), 0
    for part, text in SMALL.items():
        (tmp_path / f"SMALL_{part}.txt").write_text(text)
    started = time.perf_counter()
    for _ in range(1000):
        part = rng.choice(sorted(SMALL))
        file = tmp_path / f"SMALL_{part}.txt"
        file.write_bytes(mutate(SMALL[part].encode(), rng))
        try:
            graphs = read_tu(tmp_path, ReadOptions(symmetrise=rng.choice([False, True])))
            assert np.isfinite(graphs.batch().x.numpy()).all()
        except (FileError, GraphError):
            errors += 1
        file.write_text(SMALL[part])
    assert 300 < errors < 1000
    assert time.perf_counter() - started < 60


def test_mutated_zips_are_read_or_refused_but_never_crash(tmp_path: Path) -> None:
    rng, whole = random.Random(0), tmp_path / "SMALL.zip"
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in SMALL.items():
            archive.writestr(f"SMALL//SMALL_{part}.txt", text)
    content = whole.read_bytes()
    for _ in range(500):
        whole.write_bytes(mutate(content, rng))
        with contextlib.suppress(FileError):
            read_tu(whole)
