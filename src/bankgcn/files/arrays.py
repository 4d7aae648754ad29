"""Named arrays in one file that can be read without copying and cannot run code.

The layout, all integers little-endian: 8 bytes of magic, format version (uint32), CRC-32 of the header (uint32), length
of the header (uint64), the header as JSON, then the arrays, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.files.atomic import atomic_write
from bankgcn.files.errors import FileError

MAGIC = b"\x89BANKGS\n"  # not text, and damaged by whatever rewrites line ends
VERSION = 1
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 64
DTYPES = {"|u1", "<u2", "<u4", "<u8", "<i8", "<f4"}


def write_arrays(path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write arrays, and what JSON can say, atomically."""
    content = {name: _little_endian(array) for name, array in arrays.items()}
    members: dict[str, dict[str, Any]] = {}
    end = 0
    for name, array in content.items():
        start = _aligned(end)
        end = start + array.nbytes
        members[name] = {
            "dtype": array.dtype.str,
            "shape": array.shape,
            "offset": start,
            "crc32": zlib.crc32(_bytes(array)),
        }
    header = json.dumps({"fields": fields, "arrays": members, "bytes": end}).encode()
    origin = _aligned(PREFIX.size + len(header))
    with atomic_write(path) as file:
        file.write(PREFIX.pack(MAGIC, VERSION, zlib.crc32(header), len(header)) + header)
        for name, array in content.items():
            file.write(bytes(origin + members[name]["offset"] - file.tell()))
            file.write(_bytes(array))
        file.write(bytes(max(origin + end - file.tell(), 0)))


def read_arrays(path: str | os.PathLike[str], verify: bool = False) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """What :func:`write_arrays` wrote; the arrays stay in the file until they are looked at.

    Changes to the arrays stay in memory: the file is never written.

    Args:
        path: The file.
        verify: Whether to read everything now and compare checksums.

    Raises:
        FileError: The file is of another kind, of a newer format, cut short or damaged.
    """
    header, origin = _read_header(path)
    size, expected = os.path.getsize(path), origin + header["bytes"]
    if size < expected:
        raise FileError(f"has {size} bytes, expected {expected}: it was cut short", path)
    # Copy-on-write, so that torch may take the arrays as its own; and plain arrays, because memmap's are slow to index.
    content = np.asarray(np.memmap(path, np.uint8, mode="c"))[origin:]
    arrays = {}
    for name, member in header["arrays"].items():
        count = math.prod(member["shape"]) * np.dtype(member["dtype"]).itemsize
        raw = content[member["offset"] : member["offset"] + count]
        if member["dtype"] not in DTYPES or len(raw) != count:
            raise FileError(f"has a header that does not fit its content ({name}: {member})", path)
        if verify and zlib.crc32(raw.data) != member["crc32"]:
            raise FileError(f"is damaged: the checksum of {name!r} differs", path)
        arrays[name] = raw.view(member["dtype"]).reshape(member["shape"])
    return header["fields"], arrays


def _read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    with open(path, "rb") as file:
        prefix = file.read(PREFIX.size)
        if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
            raise FileError("is not a set of graphs saved by bankgcn", path)
        if len(prefix) < PREFIX.size:
            raise FileError(f"has {len(prefix)} bytes: it was cut short", path)
        _, version, checksum, length = PREFIX.unpack(prefix)
        if version > VERSION:
            raise FileError(f"has format {version}, but this version of bankgcn reads only up to {VERSION}", path)
        header = file.read(min(length, os.path.getsize(path)))
    if len(header) < length:
        raise FileError(f"has {PREFIX.size + len(header)} bytes: it was cut short", path)
    if zlib.crc32(header) != checksum:
        raise FileError("is damaged: the checksum of its header differs", path)
    return json.loads(header), _aligned(PREFIX.size + length)


def _little_endian(array: NDArray) -> NDArray:
    array = np.ascontiguousarray(array)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _bytes(array: NDArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT
