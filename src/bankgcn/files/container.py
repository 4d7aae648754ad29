"""Reads the container in which version 0.1.0 saved arrays; :mod:`bankgcn.files.arrays` has replaced it.

The layout, all integers little-endian: 8 bytes of magic, format (uint32), CRC-32 of the header (uint32), length of the
header (uint64), the header as JSON, then the arrays, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.files.errors import FileError

MAGIC = b"\x89BANKGS\n"
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64


def read_container(path: str | os.PathLike[str], verify: bool) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The fields and the arrays of a container; the arrays are mapped into memory."""
    content = np.asarray(np.memmap(path, np.uint8, mode="c"))  # copy-on-write: the file is never written
    if len(content) < PREFIX.size:
        raise FileError(f"has {len(content)} bytes: it is cut short", path)
    _, _, checksum, length = PREFIX.unpack(content[: PREFIX.size].tobytes())
    text = content[PREFIX.size : PREFIX.size + length].tobytes()
    if len(text) < length:
        raise FileError(f"has {len(content)} bytes: it is cut short", path)
    if zlib.crc32(text) != checksum:
        raise FileError("is damaged: the checksum of its header differs", path)
    header = json.loads(text)
    data = content[-(-(PREFIX.size + length) // ALIGNMENT) * ALIGNMENT :]
    if len(data) < header["bytes"]:
        raise FileError(f"has {len(data)} bytes of arrays, expected {header['bytes']}: it is cut short", path)
    arrays = {}
    for name, member in header["arrays"].items():
        size = math.prod(member["shape"]) * np.dtype(member["dtype"]).itemsize
        raw = data[member["offset"] : member["offset"] + size]
        if verify and zlib.crc32(raw.data) != member["crc32"]:
            raise FileError(f"is damaged: the checksum of {name!r} differs", path)
        arrays[name] = raw.view(member["dtype"]).reshape(member["shape"])
    return header["fields"], arrays
