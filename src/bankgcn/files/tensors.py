"""Tensors and JSON values in one safetensors file: written atomically, and loaded without running code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bankgcn.files.atomic import atomic_write
from bankgcn.files.errors import FileError

FORMAT = 1


def save_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors, and values that JSON can hold."""
    header = {"bankgcn": json.dumps({"format": FORMAT, "values": values})}
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as file:
        file.write(save(contiguous, header))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote.

    Raises:
        FileError: The file is damaged, of another kind, or of a newer format.
    """
    tensors, metadata = map_tensors(path)
    if "bankgcn" not in metadata:
        raise FileError("was not written by bankgcn", path)
    header = json.loads(metadata["bankgcn"])
    if header["format"] > FORMAT:
        raise FileError(f"has format {header['format']}, newer than {FORMAT}: update bankgcn", path)
    return tensors, header["values"]


def map_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file.

    The tensors are mapped into memory: the system reads a page of the file when it is first used, and processes share
    the pages. A change of a tensor stays in memory; the file is never written.

    Raises:
        FileError: The file is cut short, damaged or of another kind.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118  no dict
    except (SafetensorError, OSError) as error:
        message = f"cannot be read as safetensors: it is cut short, damaged or of another kind ({error})"
        raise FileError(message, path) from error
