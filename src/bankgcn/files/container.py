"""Reads the container in which version 0.1.0 saved arrays; :mod:`bankgcn.files.arrays` has replaced it.

The layout, all integers little-endian: 8 bytes of magic, format (uint32), CRC-32 of the header (uint32), length of the
header (uint64), the header as JSON, then the arrays, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.files.errors import FileError
from bankgcn.files.json_text import parse_json

MAGIC = b"\x89BANKGS\n"
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64


def read_container(path: str | os.PathLike[str], verify: bool) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The fields and the arrays of a container; the arrays are mapped into memory."""
    content = np.asarray(np.memmap(path, np.uint8, mode="c"))  # copy-on-write: the file is never written
    if len(content) < PREFIX.size:
        raise FileError(f"has {len(content)} bytes: it is cut short", path)
    magic, number, checksum, length = PREFIX.unpack(content[: PREFIX.size].tobytes())
    if (magic, number) != (MAGIC, 1):
        raise FileError(f"is damaged: its first bytes are {magic!r}, and its format is {number}", path)
    if PREFIX.size + length > len(content):
        raise FileError(f"has {len(content)} bytes: it is cut short", path)
    text = content[PREFIX.size : PREFIX.size + length].tobytes()
    if zlib.crc32(text) != checksum:
        raise FileError("is damaged: the checksum of its header differs", path)
    data = content[-(-(PREFIX.size + length) // ALIGNMENT) * ALIGNMENT :]
    try:
        header = parse_json(text)
        if len(data) < header["bytes"]:
            raise FileError(f"has {len(data)} bytes of arrays, expected {header['bytes']}: it is cut short", path)
        arrays = {name: _array(name, member, data, verify) for name, member in header["arrays"].items()}
        return dict(header["fields"]), arrays
    except FileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(f"is damaged: {error}", path) from error


def _array(name: str, member: Mapping[str, Any], data: NDArray[np.uint8], verify: bool) -> NDArray:
    """One of the arrays.

    Raises:
        ValueError: It is not within the data, is no array of numbers, or its checksum differs.
    """
    dtype, shape, offset = np.dtype(member["dtype"]), tuple(map(int, member["shape"])), int(member["offset"])
    size = math.prod(shape) * dtype.itemsize
    if dtype.kind not in "biuf" or min(shape, default=0) < 0 or not 0 <= offset <= offset + size <= len(data):
        raise ValueError(f"{name!r} has the type {dtype}, the shape {shape} and the place {offset}")
    raw = data[offset : offset + size]
    if verify and zlib.crc32(raw.data) != member["crc32"]:
        raise ValueError(f"the checksum of {name!r} differs")
    return raw.view(dtype).reshape(shape)
