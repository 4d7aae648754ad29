"""A saved set comes back as it was, and a file that is not one is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from bankgcn.data import GraphSet
from bankgcn.files import tensors
from bankgcn.files.checked import FileError, atomic_write
from random_sets import RandomSet, graph_sets

EDGE_ARRAYS = ["edge_ptr", "neighbor", "shift", "edge_weight", "edge_labels"]
ARRAYS = [*EDGE_ARRAYS, "node_ptr", "degree", "attributes", "labels", "y"]
SAVED_V010 = Path(__file__).parents[1] / "data" / "saved_v010.graphs"


def a_set() -> GraphSet:
    return GraphSet.from_edges(
        [3, 2],
        [[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]],
        edge_weight=[2, 2, 1, 1, 3, 3],
        edge_labels=[1, 1, 2, 2, 3, 3],
        attributes=np.arange(10).reshape(5, 2),
        labels=[0, 1, 2, 1, 0],
        y=[1, 0],
        classes=["nein", "déjà"],
        names=["first", "second"],
        name="pair",
        notes=["a stand-in"],
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    a_set().save(tmp_path / "folder" / "pair.graphs")
    return tmp_path / "folder" / "pair.graphs"


def test_a_saved_set_comes_back_as_it_was(saved: Path) -> None:
    loaded, graphs = GraphSet.load(saved, verify=True), a_set()
    for field in ("name", "notes", "names", "classes", "label_widths", "fingerprint"):
        assert getattr(loaded, field) == getattr(graphs, field), field
    for field in ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, field), getattr(graphs, field))
        assert getattr(loaded, field).dtype == getattr(graphs, field).dtype
    assert loaded[:].fingerprint == graphs.fingerprint
    assert torch.equal(loaded.batch([1, 0]).x, graphs.batch([1, 0]).x)
    assert [path.name for path in saved.parent.iterdir()] == ["pair.graphs"]


@pytest.mark.parametrize("earlier", [1, 2])
def test_a_set_of_an_earlier_format_is_refused_and_the_message_says_what_to_do(tmp_path: Path, earlier: int) -> None:
    path = SAVED_V010
    if earlier == 2:
        path = tmp_path / "set"
        save_file({"node_ptr": np.arange(2)}, path, {"bankgcn.arrays": '{"format": 2}'})
    assert tensors.is_array_file(path)
    with pytest.raises(FileError, match="format of an earlier version of bankgcn.*save the graphs from their source"):
        GraphSet.load(path)


def test_a_set_is_no_model_and_a_model_is_no_set(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a set of graphs, not a file of weights saved by bankgcn"):
        tensors.load_tensors(saved)
    tensors.save_tensors(tmp_path / "model", {"a": torch.ones(2)}, {})
    with pytest.raises(FileError, match="is a file of weights, not a set of graphs saved by bankgcn"):
        GraphSet.load(tmp_path / "model")


def test_tensors_of_all_types_and_shapes_come_back(tmp_path: Path) -> None:
    types = [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float32]
    written = {str(dtype): torch.arange(6).reshape(2, 3).to(dtype).T for dtype in (*types, torch.complex64)}
    written |= {"one": torch.tensor(2.5), "none": torch.ones(0, 3), "parameter": torch.nn.Parameter(torch.ones(2))}
    values = {"nan": float("nan"), "words": ["déjà"], "nested": {"1": [None, True]}}
    tensors.save_tensors(tmp_path / "file", written, values)
    found, found_values = tensors.load_tensors(tmp_path / "file")
    assert found.keys() == written.keys()
    for name, tensor in written.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name
    assert repr(found_values) == repr(values)


READ = """
import sys
import numpy as np
from bankgcn.files.tensors import read_arrays, write_arrays
write_arrays(sys.argv[1], "table", {"a": 1}, {"x": np.arange(3)})
fields, arrays = read_arrays(sys.argv[1], "table")
assert fields == {"a": 1} and arrays["x"].tolist() == [0, 1, 2]
assert "torch" not in sys.modules
"""


def test_arrays_are_read_and_written_without_pytorch(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", READ, str(tmp_path / "file")], check=True)


@given(drawn=graph_sets())
def test_any_set_comes_back(drawn: RandomSet, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sets") / "set"
    graphs = drawn.build()
    graphs.save(path)
    loaded = GraphSet.load(path)
    assert loaded[:].fingerprint == graphs.fingerprint
    assert torch.equal(loaded.batch().shift.weight, graphs.batch().shift.weight)


def test_arrays_stay_in_the_file_aligned_and_the_file_stays_as_it_is(saved: Path) -> None:
    before = saved.read_bytes()
    loaded = GraphSet.load(saved)
    for name in ARRAYS:
        array = getattr(loaded, name)
        assert not array.flags.owndata, name
        assert array.flags.aligned, name
    assert loaded.attributes is not None
    loaded.attributes[0] = 99
    assert saved.read_bytes() == before


def test_a_set_that_is_loaded_can_replace_its_own_file(saved: Path) -> None:
    loaded = GraphSet.load(saved)
    loaded[[1]].save(saved)
    assert loaded[:].fingerprint == a_set().fingerprint
    assert len(GraphSet.load(saved)) == 1


def test_a_file_cut_short_anywhere_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(0, len(content), 5):
        saved.write_bytes(content[:length])
        with pytest.raises(FileError, match="cut short" if length else "not a set of graphs") as raised:
            GraphSet.load(saved)
        assert raised.value.path == str(saved)


@given(place=st.integers(0, 10**6), change=st.integers(1, 255))
def test_a_changed_byte_is_found_or_harmless(place: int, change: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("changed") / "set"
    a_set().save(path)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= change
    path.write_bytes(content)
    try:
        loaded = GraphSet.load(path, verify=True)
    except FileError:
        return
    assert loaded[:].fingerprint == a_set().fingerprint  # it was a blank, or between two arrays


@pytest.mark.parametrize("content", [b"PK\x03\x04 a zip, not ours", b"1, 2\n2, 1\n", b"\x89PNG\r\n\x1a\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(FileError, match="other: is not a set of graphs saved by bankgcn"):
        GraphSet.load(tmp_path / "other")


def test_a_newer_format_is_refused_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(tensors, "FORMAT", 7)
        a_set().save(tmp_path / "newer.graphs")
    with pytest.raises(FileError, match="has format 7, newer than 3: update bankgcn"):
        GraphSet.load(tmp_path / "newer.graphs")


def test_a_file_that_is_missing_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing here"):
        GraphSet.load(tmp_path / "nothing here")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail() -> None:
        with atomic_write(tmp_path / "file") as file:
            file.write(b"half")
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="disk is full"):
        fail()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}
