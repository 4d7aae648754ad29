"""Images that can be drawn by hand, and the superpixels that they must have."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data import GraphError
from bankgcn.data.options import ReadOptions
from bankgcn.data.readers.images import Slicing, from_images, read_image_folder, superpixels
from bankgcn.files.checked import FileError
from refusals import refused

pytest.importorskip("skimage")
Image = pytest.importorskip("PIL.Image")

QUARTERS = np.zeros((32, 32, 3), np.uint8)  # black, red, green, blue
QUARTERS[:16, 16:, 0] = QUARTERS[16:, :16, 1] = QUARTERS[16:, 16:, 2] = 255


def _noise(*shape: int) -> np.ndarray:
    """Smooth noise, so that there is something to segment."""
    coarse = np.random.default_rng(0).random((shape[0], 8, 8, *shape[3:]))
    return coarse.repeat(shape[1] // 8, axis=1).repeat(shape[2] // 8, axis=2)


def test_four_quarters_are_four_superpixels_with_their_colours_and_centres() -> None:
    x = superpixels(QUARTERS, segments=4, compactness=0.1)
    centre = 7.5 / 32  # the mean of rows 0 to 15, in units of the side
    expected = [
        [0, 0, 0, centre, centre],
        [1, 0, 0, centre, 0.5 + centre],
        [0, 1, 0, 0.5 + centre, centre],
        [0, 0, 1, 0.5 + centre, 0.5 + centre],
    ]
    assert np.allclose(x[np.lexsort((x[:, 4], x[:, 3]))], expected, atol=1e-6)


def test_the_mean_colour_of_a_map_of_coordinates_is_the_centre() -> None:
    """Where red is the row and green the column, colour and position of a superpixel are the same two means."""
    image = np.dstack([*np.mgrid[:32, :32] / 32, np.zeros((32, 32))])
    x = superpixels(image, 150, 10)
    assert len(x) > 50
    assert np.allclose(x[:, :2], x[:, 3:], atol=1e-7)


@pytest.mark.parametrize("segments", [1, 5, 20, 75, 150])
def test_there_are_never_more_superpixels_than_allowed(segments: int) -> None:
    images = _noise(5, 32, 32, 3)
    graphs = from_images(images, slicing=Slicing(segments=segments))
    assert graphs.num_nodes.min() >= 1
    assert graphs.num_nodes.max() <= segments


def test_every_superpixel_has_its_neighbours_and_edges_both_directions() -> None:
    graphs = from_images(_noise(2, 32, 32, 3), slicing=Slicing(neighbors=8))
    assert graphs.degree.min() >= 8
    assert graphs.num_features == 5
    assert graphs.notes == ()


def test_grey_images_have_three_channels() -> None:
    grey = _noise(2, 32, 32)
    assert from_images(grey).num_features == 3
    assert from_images(grey).fingerprint == from_images(grey[..., None]).fingerprint


def test_integer_colours_are_scaled_and_real_ones_are_not() -> None:
    whole = np.full((1, 8, 8), 255, np.uint8)
    assert from_images(whole).attributes[:, 0] == pytest.approx(1)
    assert from_images(whole.astype(float)).attributes[:, 0] == pytest.approx(255)


def test_coordinates_keep_the_shape_of_an_oblong_image() -> None:
    x = superpixels(np.zeros((10, 40)), 40, 10)
    assert x[:, 1].max() < 0.25
    assert 0.75 < x[:, 2].max() < 1


def test_an_image_of_one_pixel_is_a_graph_of_one_node() -> None:
    graphs = from_images(np.ones((1, 1, 1)), ["dot"])
    assert (graphs.num_nodes.tolist(), graphs.num_edges.tolist(), graphs.classes) == ([1], [0], ("dot",))


def test_progress_is_told_after_each_image() -> None:
    told: list[tuple[int, int]] = []
    from_images(_noise(3, 8, 8), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("images", "y", "message"),
    [
        (np.zeros((0, 8, 8)), None, "no images"),
        (np.zeros((2, 8, 8, 4)), None, r"image 0: has shape \(8, 8, 4\)"),
        (np.zeros((2, 0, 8)), None, r"image 0: has shape \(0, 8, 1\)"),
        (np.zeros((2, 8, 8), np.int64), None, "image 0: has pixels of type int64"),
        (np.array([np.zeros((8, 8)), np.full((8, 8), np.nan)]), None, "image 1: has a pixel that is not a finite"),
        ([np.zeros((8, 8)), np.zeros((8, 8, 3))], None, "image 1 has 3 channels, the first 1"),
        (np.zeros((2, 8, 8)), [1], "2 images but 1 targets"),
        (np.zeros((2, 8, 8)), [1, None], "image 1: there is no target"),
    ],
)
def test_impossible_images_are_named(images: np.ndarray, y: list | None, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_images(images, y)


def test_an_impossible_recipe_is_refused() -> None:
    with refused(ValueError, "Slicing", segments=0):
        Slicing(segments=0)


def test_subfolders_are_classes(tmp_path: Path) -> None:
    for name, image in {"b/2.png": QUARTERS, "b/10.PNG": QUARTERS[:, :16], "a/x.jpg": QUARTERS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / name)
    (tmp_path / "b" / "notes.txt").write_text("no image")
    graphs = read_image_folder(tmp_path)
    assert graphs.names == ("a/x.jpg", "b/10.PNG", "b/2.png")
    assert [graphs.classes[y] for y in graphs.y] == ["a", "b", "b"]
    assert graphs.name == tmp_path.name
    assert (graphs[2:].attributes == from_images([QUARTERS]).attributes).all()


def test_hidden_files_and_folders_are_ignored_and_broken_links_are_not(tmp_path: Path) -> None:
    for name in ("a/x.png", ".ipynb_checkpoints/x.png"):
        (tmp_path / name).parent.mkdir()
        Image.fromarray(QUARTERS).save(tmp_path / name)
    (tmp_path / "a" / "._x.png").write_text("added by macOS")
    graphs = read_image_folder(tmp_path)
    assert (graphs.names, graphs.classes) == (("a/x.png",), ("a",))
    (tmp_path / "a" / "y.png").symlink_to("absent.png")
    with pytest.raises(FileError, match=r"y\.png: cannot be read as an image"):
        read_image_folder(tmp_path)


def test_a_flat_folder_has_no_classes_and_grey_or_transparent_images_become_colours(tmp_path: Path) -> None:
    Image.fromarray(QUARTERS[..., 0]).save(tmp_path / "grey.png")
    Image.fromarray(np.dstack([QUARTERS, QUARTERS[..., 0]])).save(tmp_path / "transparent.png")
    graphs = read_image_folder(tmp_path)
    assert graphs.y is None
    assert graphs.num_features == 5


def test_16_bits_of_grey_give_the_same_graph_as_8(tmp_path: Path) -> None:
    grey = (_noise(1, 32, 32)[0] * 255).astype(np.uint8)
    Image.fromarray(grey).save(tmp_path / "1.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "2.png")
    graphs = read_image_folder(tmp_path)
    assert np.allclose(graphs[0].attributes, graphs[1].attributes, atol=1e-6)


def test_transparent_images_are_noted(tmp_path: Path) -> None:
    for name, alpha in {"a.png": 255, "b.png": 0}.items():
        Image.fromarray(np.dstack([QUARTERS, np.full((32, 32), alpha, np.uint8)])).save(tmp_path / name)
    assert read_image_folder(tmp_path).notes == ("1 images have transparent pixels, which are read as opaque",)


def test_a_folder_in_doubt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no images"):
        read_image_folder(tmp_path)
    with refused(FileError, cause=FileNotFoundError):
        read_image_folder(tmp_path / "none")
    Image.fromarray(QUARTERS).save(tmp_path / "own.png")
    (tmp_path / "class").mkdir()
    Image.fromarray(QUARTERS).save(tmp_path / "class" / "deeper.png")
    with refused(FileError, "own.png", "class/deeper.png"):
        read_image_folder(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n"])
def test_a_broken_image_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.png").write_bytes(content)
    with refused(FileError, at="broken.png"):
        read_image_folder(tmp_path)


def test_broken_images_are_skipped_on_request_with_their_reasons(tmp_path: Path) -> None:
    for name in ("a/0.png", "b/1.png", "c/2.png"):
        (tmp_path / name).parent.mkdir()
        Image.fromarray(QUARTERS).save(tmp_path / name)
    (tmp_path / "b" / "1.png").write_bytes(b"no image")
    with refused(FileError, at="1.png", advice={"skip_unreadable": True}):
        read_image_folder(tmp_path)
    graphs = read_image_folder(tmp_path, ReadOptions(skip_unreadable=True))
    assert (graphs.names, graphs.classes) == (("a/0.png", "c/2.png"), ("a", "c"))
    assert graphs.rows.tolist() == [0, 2]
    ((row, reason),) = graphs.skipped
    assert row == 1
    assert "1.png: cannot be read as an image" in reason
    assert "unreadable" not in reason  # no advice that was followed
    (note,) = graphs.notes
    assert note.startswith(f"1 of 3 images could not be read and are left out; the first: {reason[:100]}")
    for name in ("a/0.png", "c/2.png"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileError, match="has no image that can be read: .*0.png"):
        read_image_folder(tmp_path, ReadOptions(skip_unreadable=True))


def test_without_scikit_image_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    with refused(ImportError, "pip install 'bankgcn[images]'"):
        from_images(np.zeros((1, 8, 8)))
