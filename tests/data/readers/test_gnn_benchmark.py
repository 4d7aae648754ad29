"""The file of PyG's GNNBenchmarkDataset, in miniature."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
import torch

from bankgcn.data.readers.benchmark_sets import read_gnn_benchmark
from bankgcn.files.checked import FileError
from refusals import refused


def _graph(shade: float, y: object, edges: list[list[int]]) -> dict[str, object]:
    return {
        "x": torch.full((3, 3), shade, dtype=torch.float32),
        "pos": torch.arange(6, dtype=torch.float32).reshape(3, 2) / 10,
        "edge_index": torch.tensor(edges),
        "edge_attr": torch.ones(len(edges[0]), 1),
        "y": y,
    }


def _content() -> tuple[list, list, list]:
    train = [_graph(0.1, torch.tensor([3]), [[0, 1, 2], [1, 0, 1]]), _graph(0.2, 4, [[0], [1]])]
    return train, [_graph(0.3, 5, [[0], [2]])], [_graph(0.4, 6, [[1], [2]])]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "CIFAR10" / "raw"
    folder.mkdir(parents=True)
    torch.save(_content(), folder / "CIFAR10_v2.pt")
    return folder / "CIFAR10_v2.pt"


def test_graphs_come_in_the_order_of_cifar10_with_undirected_edges(file: Path) -> None:
    graphs = read_gnn_benchmark(file)
    assert [graphs.classes[y] for y in graphs.y] == ["dog", "cat", "deer", "frog"]
    assert graphs.attributes[:, 0].tolist() == pytest.approx([0.3] * 3 + [0.1] * 3 + [0.2] * 3 + [0.4] * 3)
    assert graphs.attributes[1].tolist() == pytest.approx([0.3, 0.3, 0.3, 0.2, 0.3])
    assert graphs.batch([1]).edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graphs.edge_weight is None


def test_a_folder_a_zip_and_an_old_file_give_the_same(file: Path, tmp_path: Path) -> None:
    expected = read_gnn_benchmark(file).fingerprint
    assert read_gnn_benchmark(tmp_path).fingerprint == expected
    assert read_gnn_benchmark(tmp_path / "CIFAR10").fingerprint == expected
    archive = tmp_path / "CIFAR10_v2.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.write(file, "CIFAR10_v2.pt")
    assert read_gnn_benchmark(archive).fingerprint == expected
    torch.save(_content(), file, _use_new_zipfile_serialization=False)
    assert read_gnn_benchmark(file).fingerprint == expected


class _Attack:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("attacked",)


def test_code_in_the_file_is_not_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(([_Attack()], [], []), file)
    with pytest.raises(FileError, match="is not a file of tensors"):
        read_gnn_benchmark(file)
    assert not (tmp_path / "attacked").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"x": torch.ones(1)}, "three lists"),
        (([], []), "three lists"),
        (([{"x": torch.ones(3, 3)}], [], []), "training graph 0 has no x"),
        (([], [], [7]), "test graph 0 has no x"),
        (([], [_graph(0, 1, [[0], [3]])], []), "validation graph 0 has an edge to a missing node: it has 3 nodes"),
        (([], [_graph(0, 1, [[-1], [0]])], []), "validation graph 0 has an edge to a missing node"),
        (([], [_graph(0, 10, [[0], [1]])], []), "class 10: the classes are 0 to 9"),
        (([], [_graph(0, torch.tensor([1, 2]), [[0], [1]])], []), r"class \[1, 2\]"),
    ],
)
def test_other_content_is_refused(file: Path, content: object, message: str) -> None:
    torch.save(content, file)
    with pytest.raises(FileError, match=message):
        read_gnn_benchmark(file)


def test_what_cannot_be_read_says_why(file: Path, tmp_path: Path) -> None:
    with refused(FileError, at="none.pt", cause=FileNotFoundError):
        read_gnn_benchmark(tmp_path / "none.pt")
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(FileError, match="is not a file of tensors"):
        read_gnn_benchmark(file)
    file.unlink()
    with refused(FileError, "CIFAR10_v2.pt", "CIFAR10_v2.zip"):
        read_gnn_benchmark(tmp_path)
