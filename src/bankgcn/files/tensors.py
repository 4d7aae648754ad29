"""Named arrays or tensors and JSON fields in one safetensors file: written atomically, mapped into memory, checked.

The metadata of the file have one entry, ``bankgcn``: JSON with the kind of the file, the fields, the type, shape and
CRC-32 of each array, and the SHA-256 of all this. One entry, because safetensors writes several in a random order, and
equal models must be equal files. Any safetensors library can read the arrays, and loading a file runs no code of it.

Arrays are read and written without PyTorch.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from bankgcn.files.checked import (
    CURE,
    SHA256,
    FileError,
    atomic_write,
    check_name,
    check_regular,
    hash_of_parts,
    parse_json,
)

if TYPE_CHECKING:
    from torch import Tensor

KEY = "bankgcn"
FORMAT = 3
EARLIER_KEY = "bankgcn.arrays"  # of sets in format 2
EARLIER_START = b"\x89BANKGS\n"  # of sets in format 1
WEIGHTS = "file of weights"
"""The kind of the files of :func:`save_tensors`."""
MAX_HEADER = 100_000_000  # bytes; safetensors refuses a longer header
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError)
"""The errors of code that takes the values of a file for what they should be."""

_TYPES = {"BOOL": "bool", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64"}
_TYPES |= {
    f"{letter}{bits}": f"{name}{bits}" for letter, name in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)
}
"""What NumPy and PyTorch call the types of safetensors."""


class _Member(NamedTuple):
    """An array of a file: its type, as NumPy and PyTorch call it, its shape and its bytes."""

    dtype: str
    shape: tuple[int, ...]
    content: NDArray[np.uint8]

    @property
    def summary(self) -> list[Any]:
        return [self.dtype, list(self.shape)]

    @property
    def crc32(self) -> int:
        return zlib.crc32(self.content.data)


class _Description(NamedTuple):
    """The JSON in the metadata of a file: its fields, and type and shape and CRC-32 of each array."""

    fields: dict[str, Any]
    summaries: dict[str, list[Any]]
    checksums: dict[str, int]


def write_arrays(
    path: str | os.PathLike[str], kind: str, fields: Mapping[str, Any], arrays: Mapping[str, NDArray]
) -> None:
    """Write arrays, and fields that JSON can hold.

    Args:
        path: The file.
        kind: What the file is, such as ``set of graphs``; for error messages.
        fields: The fields.
        arrays: The arrays.
    """
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    members = {
        name: _Member(array.dtype.name, array.shape, array.reshape(-1).view(np.uint8))
        for name, array in contiguous.items()
    }
    _write(path, kind, fields, members, lambda metadata: save(contiguous, metadata))


def read_arrays(
    path: str | os.PathLike[str], kind: str, verify: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The fields and the arrays that :func:`write_arrays` wrote.

    The arrays are mapped into memory: the system reads a page of the file when it is first used, and processes share
    the pages. A change of an array stays in memory; the file is never written.

    Args:
        path: The file.
        kind: What the file should be.
        verify: Whether to read all arrays now and compare their checksums.

    Raises:
        FileError: The file is of another kind, of another format, cut short or damaged.
    """
    fields, members = _read(path, kind, verify)
    try:
        return fields, {name: one.content.view(one.dtype).reshape(one.shape) for name, one in members.items()}
    except TypeError as error:  # a type that NumPy does not know
        raise FileError(f"holds an array of another type ({error})", path) from error


def save_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors, and values that JSON can hold."""
    import torch
    from safetensors.torch import save

    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    members = {
        name: _Member(
            str(tensor.dtype).removeprefix("torch."),
            tuple(tensor.shape),
            tensor.reshape(-1).view(torch.uint8).numpy(),
        )
        for name, tensor in contiguous.items()
    }
    _write(path, WEIGHTS, values, members, lambda metadata: save(contiguous, metadata))


def load_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the values that :func:`save_tensors` wrote; mapped into memory as by :func:`read_arrays`.

    Raises:
        FileError: The file is of another kind, of another format, cut short or damaged.
    """
    import torch

    values, members = _read(path, WEIGHTS, verify=True)
    tensors = {
        name: torch.from_numpy(one.content).view(getattr(torch, one.dtype)).reshape(one.shape)
        for name, one in members.items()
    }
    return tensors, values


def is_array_file(path: str | os.PathLike[str]) -> bool:
    """Whether the first bytes of a file are those of a file of arrays, of this format or an earlier one."""
    start = _start(path)
    return start.startswith(EARLIER_START) or (len(start) == 9 and _starts_like_safetensors(start))


def _write(
    path: str | os.PathLike[str],
    kind: str,
    fields: Mapping[str, Any],
    members: Mapping[str, _Member],
    save: Callable[[dict[str, str]], bytes],
) -> None:
    arrays = {name: [*member.summary, member.crc32] for name, member in members.items()}
    description = {"format": FORMAT, "kind": kind, "fields": fields, "arrays": arrays}
    text = json.dumps({**description, SHA256: _checksum(description)})
    with atomic_write(path) as file:
        file.write(save({KEY: text}))


def _read(path: str | os.PathLike[str], kind: str, verify: bool) -> tuple[dict[str, Any], dict[str, _Member]]:
    """The fields of a file, and its arrays as bytes."""
    check_name(path)
    start = _start(path)
    if start and EARLIER_START.startswith(start[: len(EARLIER_START)]):
        raise _earlier(path)
    if not _starts_like_safetensors(start):
        raise FileError(f"is not a {kind} saved by bankgcn", path)
    metadata, members = _map(path)
    description = _parse_description(metadata, kind, path)
    if {name: member.summary for name, member in members.items()} != description.summaries:
        raise FileError(f"is damaged: types and shapes of its arrays differ from those in its metadata; {CURE}", path)
    for name, member in members.items():
        if verify and member.crc32 != description.checksums[name]:
            raise FileError(f"is damaged: the checksum of {name!r} differs; {CURE}", path)
    return description.fields, members


def _start(path: str | os.PathLike[str]) -> bytes:
    """The first nine bytes: in a safetensors file the length of the header and its opening brace."""
    check_regular(path)
    with open(path, "rb") as file:
        return file.read(9)


def _starts_like_safetensors(start: bytes) -> bool:
    """Whether these may be the first bytes of a safetensors file, which may be cut short."""
    return bool(start) and int.from_bytes(start[:8], "little") <= MAX_HEADER and start[8:] in (b"", b"{")


def _map(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, _Member]]:
    """The metadata of a safetensors file, and its arrays, mapped into memory."""
    try:
        with safe_open(path, framework="numpy"):  # checks that the header fits the file
            pass
        content = np.asarray(np.memmap(path, np.uint8, mode="c"))  # copy-on-write: the file is never written
        end = 8 + int.from_bytes(content[:8].tobytes(), "little")
        header = parse_json(content[8:end].tobytes())
        metadata = header.pop("__metadata__", {})
        return metadata, {name: _member(entry, content[end:]) for name, entry in header.items()}
    except (SafetensorError, OSError, *UNREADABLE) as error:
        message = f"cannot be read as safetensors: it is cut short, damaged or of another kind ({error}); {CURE}"
        raise FileError(message, path) from error


def _member(entry: Mapping[str, Any], data: NDArray[np.uint8]) -> _Member:
    start, end = entry["data_offsets"]
    return _Member(_TYPES[entry["dtype"]], tuple(entry["shape"]), data[start:end])


def _parse_description(metadata: Mapping[str, str], kind: str, path: str | os.PathLike[str]) -> _Description:
    if EARLIER_KEY in metadata:
        raise _earlier(path)
    if KEY not in metadata:
        raise FileError(f"is not a {kind} saved by bankgcn", path)
    try:
        content = parse_json(metadata[KEY])
        _check_format(content["format"], path)
        if content.pop(SHA256) != _checksum(content):
            raise FileError(f"is damaged: its metadata differ from their checksum; {CURE}", path)
        if content["kind"] != kind:
            raise FileError(f"is a {content['kind']}, not a {kind} saved by bankgcn", path)
        summaries = {name: summary for name, (*summary, _) in content["arrays"].items()}
        checksums = {name: crc for name, (*_, crc) in content["arrays"].items()}
        return _Description(dict(content["fields"]), summaries, checksums)
    except FileError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise FileError(f"is damaged: its metadata are not those of bankgcn ({error!r})", path) from error


def _check_format(number: Any, path: str | os.PathLike[str]) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise FileError(f"is damaged: its format is {number!r}", path)
    if number > FORMAT:
        raise FileError(f"has format {number}, newer than {FORMAT}: update bankgcn", path)
    if number < FORMAT:
        raise _earlier(path)


def _checksum(description: Mapping[str, Any]) -> str:
    """SHA-256 of the JSON of a description, whatever its layout in the file."""
    return hash_of_parts([json.dumps(description).encode()])


def _earlier(path: str | os.PathLike[str]) -> FileError:
    message = "has the format of an earlier version of bankgcn, which this one does not read: make it again"
    return FileError(f"{message} (save the graphs from their source, or train the model again)", path)
