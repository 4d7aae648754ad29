"""Tensors and values in one file: safetensors with JSON in its header. No pickle, written whole or not at all."""

from __future__ import annotations

import json
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
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (SafetensorError, OSError) as error:
        raise FileError(f"cannot be read as safetensors: {error}", path) from error
    if "bankgcn" not in metadata:
        raise FileError("was not written by bankgcn", path)
    header = json.loads(metadata["bankgcn"])
    if header["format"] > FORMAT:
        raise FileError(f"has format {header['format']}, newer than {FORMAT}: update bankgcn", path)
    return tensors, header["values"]
