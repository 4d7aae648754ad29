"""Image files of every type that Pillow reads have the colours that they show, or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.readers.images import read_image
from bankgcn.files.checked import FileError
from refusals import refused

Image = pytest.importorskip("PIL.Image")

RAMP = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4  # grey, from black to almost white


@pytest.mark.parametrize("name", ["deep.png", "deep.tif", "deep.ppm"])
def test_grey_of_16_bits_keeps_its_levels(tmp_path: Path, name: str) -> None:
    Image.fromarray(RAMP.astype(np.uint16) * 257).save(tmp_path / name)
    pixels, transparent = read_image(tmp_path / name)
    assert pixels.dtype == np.uint16
    assert pixels.shape == (8, 8, 3)
    assert (pixels == RAMP[:, :, None].astype(np.uint16) * 257).all()
    assert not transparent


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "CMYK"])
def test_grey_of_8_bits_is_the_same_in_every_mode(tmp_path: Path, mode: str) -> None:
    grey = np.where(RAMP < 128, 0, 255).astype(np.uint8)
    Image.fromarray(grey).convert(mode).save(tmp_path / "grey.tif")
    pixels, transparent = read_image(tmp_path / "grey.tif")
    assert (pixels == grey[:, :, None]).all()
    assert not transparent


@pytest.mark.parametrize("alpha", [{}, {"transparency": bytes([0] * 32 + [255] * 32)}])
def test_the_colours_of_a_palette_are_looked_up(tmp_path: Path, alpha: dict[str, bytes]) -> None:
    image = Image.new("P", (8, 8))
    image.putdata(range(64))
    palette = np.random.default_rng(0).integers(0, 256, (64, 3), np.uint8)
    image.putpalette(palette.tobytes())
    image.save(tmp_path / "palette.png", **alpha)
    pixels, transparent = read_image(tmp_path / "palette.png")
    assert (pixels == palette.reshape(8, 8, 3)).all()
    assert transparent == bool(alpha)


def test_transparent_pixels_keep_their_colour_and_are_told(tmp_path: Path) -> None:
    rgba = np.dstack([RAMP, RAMP // 2, 255 - RAMP, RAMP])
    Image.fromarray(rgba).save(tmp_path / "glass.png")
    pixels, transparent = read_image(tmp_path / "glass.png")
    assert (pixels == rgba[:, :, :3]).all()
    assert transparent


@pytest.mark.parametrize(("dtype", "mode"), [(np.float32, "F"), (np.int32, "I")])
def test_pixels_whose_white_is_unknown_are_refused(tmp_path: Path, dtype: type, mode: str) -> None:
    Image.fromarray(RAMP.astype(dtype)).save(tmp_path / "real.tif")
    with refused(FileError, f"'{mode}'", "from_images", at="real.tif"):
        read_image(tmp_path / "real.tif")
