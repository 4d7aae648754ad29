"""Tensors and JSON values in one safetensors file: written atomically, checked, and loaded without running code.

The metadata of the file have one entry, ``bankgcn``: JSON with the values, and the SHA-256 of values and tensors. Files
of version 0.1.0 have no checksum. One entry, because safetensors writes several in a random order, and equal models
must be equal files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bankgcn.files.atomic import atomic_write
from bankgcn.files.checksums import CURE, SHA256, bytes_of, hash_of_parts
from bankgcn.files.errors import FileError
from bankgcn.files.json_text import parse_json
from bankgcn.files.regular import check_name, check_regular

KEY = "bankgcn"
FORMAT = 2  # 2 has a checksum
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError)
"""The errors of code that takes the values of a file for what they should be."""


def save_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors, and values that JSON can hold."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = {"format": FORMAT, SHA256: _checksum(values, contiguous), "values": values}
    with atomic_write(path) as file:
        file.write(save(contiguous, {KEY: json.dumps(header)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote.

    Raises:
        FileError: The file is damaged, of another kind, or of a newer format.
    """
    tensors, metadata = map_tensors(path)
    if KEY not in metadata:
        raise FileError("was not written by bankgcn", path)
    try:
        header = parse_json(metadata[KEY])
        number, values = header["format"], dict(header["values"])
        if isinstance(number, bool) or not isinstance(number, int):
            raise FileError(f"is damaged: its format is {number!r}", path)
        if number > FORMAT:
            raise FileError(f"has format {number}, newer than {FORMAT}: update bankgcn", path)
        if (number > 1 or SHA256 in header) and header[SHA256] != _checksum(values, tensors):
            raise FileError(f"is damaged: its content differs from its checksum; {CURE}", path)
    except FileError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"is damaged: its metadata are not those of bankgcn ({error!r})", path) from error
    return tensors, values


def map_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file.

    The tensors are mapped into memory: the system reads a page of the file when it is first used, and processes share
    the pages. A change of a tensor stays in memory; the file is never written.

    Raises:
        FileError: The file is cut short, damaged or of another kind.
    """
    check_regular(path)
    check_name(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118  no dict
    except (SafetensorError, OSError) as error:
        message = f"cannot be read as safetensors: it is cut short, damaged or of another kind ({error}); {CURE}"
        raise FileError(message, path) from error


def _checksum(values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of all that a file holds, whatever its layout."""
    parts: list[bytes | memoryview] = [json.dumps(values).encode()]
    for name, tensor in sorted(tensors.items()):
        parts.append(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        parts.append(bytes_of(tensor.reshape(-1).view(torch.uint8).numpy()))
    return hash_of_parts(parts)
