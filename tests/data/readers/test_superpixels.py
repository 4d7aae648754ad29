"""CIFAR-10 from the pack: a miniature that can be checked by eye, and the real one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.readers.benchmark_sets import CIFAR10_CLASSES, cifar10_split, read_superpixel_pack
from bankgcn.files.checked import FileError
from refusals import refused

PACK = {
    "x": np.arange(25, dtype=np.uint16).reshape(5, 5) * 2000,
    "neighbors": np.array([[1], [0], [1], [2], [0]], np.uint8),
    "num_nodes": np.array([2, 3], np.uint8),
    "y": np.array([9, 0], np.uint8),
}


def _pack(folder: Path, **changes: np.ndarray | None) -> Path:
    path = folder / "superpixels.npz"
    arrays = {name: array for name, array in {**PACK, **changes}.items() if array is not None}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w") as member:
                np.save(member, array)
    return path


def test_neighbours_become_undirected_edges(tmp_path: Path) -> None:
    graphs = read_superpixel_pack(_pack(tmp_path))
    assert graphs.num_nodes.tolist() == [2, 3]
    assert [tuple(edge) for edge in graphs.batch().edge_index.T.tolist()] == [
        (0, 1), (1, 0), (2, 3), (2, 4), (3, 2), (3, 4), (4, 2), (4, 3)
    ]  # fmt: skip
    assert [graphs.classes[y] for y in graphs.y] == ["truck", "airplane"]
    assert "not its files" in graphs.notes[0]


def test_signals_lie_between_0_and_1(tmp_path: Path) -> None:
    whole = np.full((5, 5), 65535, np.uint16)
    assert (read_superpixel_pack(_pack(tmp_path, x=whole)).attributes == 1).all()
    graphs = read_superpixel_pack(_pack(tmp_path))
    assert graphs.attributes.dtype == np.float32
    assert np.allclose(graphs.attributes[1] * 65535, [2000, 12000, 22000, 32000, 42000], rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "has no array 'y', but neighbors.npy, num_nodes.npy, x.npy"),
        ({"y": np.array([9, 10], np.uint8)}, "image 1 has class 10"),
        ({"y": np.array([9], np.uint8)}, "do not fit together"),
        ({"num_nodes": np.array([2, 2], np.uint8)}, "do not fit together.*4 superpixels"),
        ({"x": np.zeros((5, 5))}, r"'x' has shape \(5, 5\) and dtype float64"),
        ({"x": np.zeros((5, 5), np.uint8)}, "do not fit together"),
        ({"x": np.zeros(25, np.uint16)}, r"'x' has shape \(25,\)"),
        (
            {"neighbors": np.array([[1], [0], [1], [3], [0]], np.uint8)},
            "superpixel 3 has neighbour 3, but image 1 has 3",
        ),
    ],
)
def test_a_pack_that_contradicts_itself_is_refused(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_superpixel_pack(_pack(tmp_path, **changes))


def test_a_pack_of_python_objects_is_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "superpixels.npz"
    np.savez(path, **{**PACK, "y": np.array([{}, 1], object)})
    with pytest.raises(FileError, match="'y' cannot be read"):
        read_superpixel_pack(path)


@pytest.mark.parametrize("keep", [0, 10, 200, 600])
def test_a_damaged_pack_is_refused(tmp_path: Path, keep: int) -> None:
    path = _pack(tmp_path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FileError, match="zip"):
        read_superpixel_pack(path)


def test_every_flipped_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    path = _pack(tmp_path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            read_superpixel_pack(path)
        except (FileError, GraphError):
            continue


def test_the_official_split_keeps_the_first_training_images_for_validation() -> None:
    split = cifar10_split()
    assert [len(split.train), len(split.valid), len(split.test)] == [45_000, 5_000, 10_000]
    assert (split.valid[0], split.valid[-1], split.train[0], split.test[0]) == (0, 4_999, 5_000, 50_000)
    with refused(GraphError, "60,000 images", "1,000"):
        cifar10_split(1_000)


@pytest.mark.datasets("CIFAR10/superpixels.npz")
@pytest.mark.slow
def test_the_real_pack_has_its_published_statistics(data_root: Path) -> None:
    graphs = read_superpixel_pack(data_root / "CIFAR10" / "superpixels.npz")
    assert len(graphs) == 60_000
    assert round(graphs.num_nodes.mean(), 2) == 117.63
    assert round(graphs.num_edges.mean(), 2) == 564.66
    assert graphs.num_features == 5
    assert np.bincount(graphs.y).tolist() == [6_000] * len(CIFAR10_CLASSES)
    assert graphs.edge_weight is None
    assert len(graphs.notes) == 1  # nothing had to be repaired
