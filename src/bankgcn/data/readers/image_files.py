"""List the images of a folder, and read the pixels of an image file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bankgcn.extras import require
from bankgcn.files.atomic import files_of, visible
from bankgcn.files.checked import FileError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})


def image_files(folder: Path) -> list[Path]:
    """The images of a folder or of its subfolders, in order of their names; hidden files and folders are ignored."""
    try:
        own = sorted(files_of(folder, SUFFIXES))
        deeper = [file for inside in sorted(_subfolders(folder)) for file in sorted(files_of(inside, SUFFIXES))]
    except OSError as error:
        raise FileError(f"cannot be listed: {error.strerror}", folder) from error
    if own and deeper:
        raise FileError(
            f"has images itself ({own[0].name}) and in its subfolders ({deeper[0].parent.name}/{deeper[0].name}): "
            "subfolders are classes, and images outside them have none",
            folder,
        )
    if not own and not deeper:
        raise FileError(f"has no images, nor have its subfolders ({', '.join(sorted(SUFFIXES))})", folder)
    return own or deeper


def has_images(folder: Path) -> bool:
    """Whether there are images in a folder or in its subfolders."""
    return any(next(files_of(each, SUFFIXES), None) is not None for each in (folder, *_subfolders(folder)))


def _subfolders(folder: Path) -> Iterator[Path]:
    return (inside for inside in visible(folder) if inside.is_dir())


def read_image(path: Path) -> tuple[NDArray[np.uint8] | NDArray[np.uint16], bool]:
    """Red, green and blue of the pixels, shape ``(height, width, 3)``, and whether some are transparent.

    Grey images of 16 bits keep their depth; all others have 8 bits. Transparent pixels keep the colour that the file
    gives them.

    Raises:
        FileError: The file is not an image, or its pixels are real numbers or have 32 bits: no value means white there.
        ImportError: Pillow is not installed.
    """
    require("PIL", "reading images")
    from PIL import Image

    try:
        with Image.open(path) as image:
            return _pixels(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileError(f"cannot be read as an image: {error}", path) from error


def _pixels(image: Image) -> tuple[NDArray, bool]:
    # Converting 16 bits to RGB would make all values above 255 white. In some formats Pillow keeps 16 bits in 32.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        grey = np.asarray(image).astype(np.uint16)
        return np.repeat(grey[:, :, None], 3, axis=2), False
    if image.mode in ("I", "F"):
        raise ValueError(
            f"its pixels have Pillow's mode {image.mode!r}, in which no value means white; "
            "save it with 8 or 16 bits, or scale its pixels yourself and pass them to from_images"
        )
    rgba = np.asarray(image.convert("RGBA"))
    return rgba[:, :, :3], bool((rgba[:, :, 3] < 255).any())
