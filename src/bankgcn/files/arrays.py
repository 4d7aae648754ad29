"""Named arrays and JSON fields in one safetensors file: mapped into memory without a copy, and checked by checksums.

The metadata of the file have one entry, ``bankgcn.arrays``: JSON with the fields, the CRC-32 of each array, and the
SHA-256 of this JSON. One entry, because safetensors writes several in a random order. Any safetensors library can read
the arrays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from bankgcn.files.atomic import atomic_write
from bankgcn.files.checksums import CURE, SHA256, crc32_of, with_checksum, without_checksum
from bankgcn.files.container import MAGIC, read_container
from bankgcn.files.errors import FileError
from bankgcn.files.json_text import parse_json
from bankgcn.files.regular import check_regular
from bankgcn.files.tensors import map_tensors

KEY = "bankgcn.arrays"
FORMAT = 2  # format 1 is the container of version 0.1.0
MAX_HEADER = 100_000_000  # bytes; safetensors refuses a longer header


def write_arrays(path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write arrays, and fields that JSON can hold, atomically."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    summaries = {name: [*_type_and_shape(array), crc32_of(array)] for name, array in contiguous.items()}
    plain = json.loads(json.dumps({"format": FORMAT, "fields": fields, "arrays": summaries}))
    with atomic_write(path) as file:
        file.write(save(contiguous, {KEY: json.dumps(with_checksum(plain))}))


def read_arrays(path: str | os.PathLike[str], verify: bool = True) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The fields and the arrays that :func:`write_arrays` wrote.

    The arrays are mapped into memory, see :func:`bankgcn.files.tensors.map_tensors`.

    Args:
        path: The file.
        verify: Whether to read all arrays now and compare their checksums.

    Raises:
        FileError: The file is of another kind, of a newer format, cut short or damaged.
    """
    start = _start(path)
    if start and MAGIC.startswith(start[: len(MAGIC)]):
        return read_container(path, verify)
    if not _starts_like_safetensors(start):
        raise FileError("is not a set of graphs saved by bankgcn", path)
    tensors, metadata = map_tensors(path)
    header = _parse_header(metadata, path)
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    expected = {name: (dtype, shape) for name, (dtype, shape, _) in header.arrays.items()}
    if {name: _type_and_shape(array) for name, array in arrays.items()} != expected:
        raise FileError("is damaged: types and shapes of its arrays differ from those in its metadata", path)
    for name, (_, _, checksum) in header.arrays.items():
        if verify and crc32_of(arrays[name]) != checksum:
            raise FileError(f"is damaged: the checksum of {name!r} differs; {CURE}", path)
    return header.fields, arrays


def is_array_file(path: str | os.PathLike[str]) -> bool:
    """Whether the first bytes of a file are those of a file of arrays."""
    start = _start(path)
    return start.startswith(MAGIC) or (len(start) == 9 and _starts_like_safetensors(start))


def _start(path: str | os.PathLike[str]) -> bytes:
    """The first nine bytes: in a safetensors file the length of the header and its opening brace."""
    check_regular(path)
    with open(path, "rb") as file:
        return file.read(9)


def _starts_like_safetensors(start: bytes) -> bool:
    """Whether these may be the first bytes of a safetensors file, which may be cut short."""
    return bool(start) and int.from_bytes(start[:8], "little") <= MAX_HEADER and start[8:] in (b"", b"{")


class _Header(NamedTuple):
    fields: dict[str, Any]
    arrays: dict[str, tuple[str, tuple[int, ...], int]]  # type, shape and CRC-32


def _parse_header(metadata: Mapping[str, str], path: str | os.PathLike[str]) -> _Header:
    if KEY not in metadata:
        raise FileError("is not a set of graphs saved by bankgcn", path)
    try:
        header = parse_json(metadata[KEY])
        if SHA256 not in header:
            raise FileError("is damaged: its metadata have no checksum", path)
        header = without_checksum(header)
        number = header["format"]
        if number > FORMAT:
            raise FileError(f"has format {number}, but this version of bankgcn reads only up to {FORMAT}", path)
        arrays = {name: (dtype, tuple(shape), crc) for name, (dtype, shape, crc) in header["arrays"].items()}
        return _Header(dict(header["fields"]), arrays)
    except FileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"is damaged: its metadata are not those of bankgcn ({error})", path) from error


def _type_and_shape(array: NDArray) -> tuple[str, tuple[int, ...]]:
    return array.dtype.name, array.shape
