"""Tensors and JSON values in one safetensors file: written atomically, checked, and loaded without running code.

The metadata of the file hold the values as JSON (``bankgcn``), and the SHA-256 of this JSON and all tensors
(``sha256``). Files of version 0.1.0 have no checksum.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bankgcn.files.atomic import atomic_write
from bankgcn.files.checksums import SHA256, bytes_of, hash_of_parts
from bankgcn.files.errors import FileError
from bankgcn.files.json_text import check_regular, parse_json

KEY = "bankgcn"
FORMAT = 2  # 2 has a checksum
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError)
"""The errors of code that takes the values of a file for what they should be."""


def save_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors, and values that JSON can hold."""
    header = json.dumps({"format": FORMAT, "values": values})
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as file:
        file.write(save(contiguous, {KEY: header, SHA256: hash_of_parts(_parts(header, contiguous))}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote.

    Raises:
        FileError: The file is damaged, of another kind, or of a newer format.
    """
    tensors, metadata = map_tensors(path)
    if KEY not in metadata:
        raise FileError("was not written by bankgcn", path)
    if SHA256 in metadata and metadata[SHA256] != hash_of_parts(_parts(metadata[KEY], tensors)):
        raise FileError("is damaged: its content differs from its checksum", path)
    try:
        header = parse_json(metadata[KEY])
        number, values = header["format"], dict(header["values"])
        if number > FORMAT:
            raise FileError(f"has format {number}, newer than {FORMAT}: update bankgcn", path)
        if number > 1 and SHA256 not in metadata:
            raise FileError("is damaged: it has no checksum", path)
    except FileError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"is damaged: its metadata are not those of bankgcn ({error})", path) from error
    return tensors, values


def map_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file.

    The tensors are mapped into memory: the system reads a page of the file when it is first used, and processes share
    the pages. A change of a tensor stays in memory; the file is never written.

    Raises:
        FileError: The file is cut short, damaged or of another kind.
    """
    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118  no dict
    except (SafetensorError, OSError) as error:
        message = f"cannot be read as safetensors: it is cut short, damaged or of another kind ({error})"
        raise FileError(message, path) from error


def _parts(header: str, tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    """All that a file holds, in an order that does not depend on its layout."""
    yield header.encode()
    for name, tensor in sorted(tensors.items()):
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield bytes_of(tensor.reshape(-1).view(torch.uint8).numpy())
