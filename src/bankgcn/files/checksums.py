"""Checksums that files carry. They find damage, not forgery: whoever can write a file can write its checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHA256 = "sha256"
"""Name of the field that holds the checksum of the fields beside it."""
CURE = "restore it from a copy, or make it again"
"""What to do with a damaged file."""


def content_hash(values: Any) -> str:
    """SHA-256 of values that JSON can hold. The order of names does not matter, and 1 equals 1.0.

    Raises:
        ValueError: A number is not finite, or the values are nested too deeply.
    """
    try:
        text = json.dumps(canonical(values), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: Any) -> Any:
    """A value as :func:`content_hash` sees it: equal values are the same JSON."""
    if isinstance(value, Mapping):
        return {str(name): canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, and after them a field with their checksum."""
    return {**values, SHA256: content_hash(values)}


def without_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without the checksum, which is compared if there is one.

    Raises:
        ValueError: The fields were changed after they were written.
    """
    rest = {name: value for name, value in values.items() if name != SHA256}
    if SHA256 in values and values[SHA256] != content_hash(rest):
        raise ValueError("was changed after it was written: its content differs from its checksum")
    return rest


def hash_of_parts(parts: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of byte strings, each after its length: no two lists of parts have the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def bytes_of(array: NDArray) -> memoryview:
    """The bytes of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8).data
