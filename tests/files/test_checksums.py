"""Checksums follow the content, not its layout; equal content is equal files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bankgcn.files.checksums import content_hash, hash_of_parts, with_checksum, without_checksum


def test_a_checksum_follows_the_content_and_not_its_layout() -> None:
    assert content_hash({"a": 1, "b": [2.0]}) == content_hash({"b": [2], "a": 1.0})
    assert content_hash({"a": 1}) != content_hash({"a": 2})
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_hash({"a": float("nan")})


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        content_hash(nested)


def test_a_changed_value_differs_from_the_checksum_beside_it() -> None:
    values = with_checksum({"a": 1, "b": "x"})
    assert without_checksum(values) == {"a": 1, "b": "x"} == without_checksum({"a": 1, "b": "x"})
    with pytest.raises(ValueError, match="was changed after it was written"):
        without_checksum(values | {"a": 2})


def test_parts_are_kept_apart() -> None:
    assert hash_of_parts([b"ab", b"c"]) != hash_of_parts([b"a", b"bc"])


SAVE = """
import sys, torch
from pathlib import Path
from bankgcn.data.builtin.mutag import mutag
from bankgcn.files.tensors import save_tensors
mutag()[:3].save(sys.argv[1] + ".graphs")
save_tensors(Path(sys.argv[1] + ".safetensors"), {"b": torch.ones(2), "a": torch.zeros(3)}, {"x": 1, "y": [2.5]})
"""


def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    for number in range(2):
        subprocess.run([sys.executable, "-c", SAVE, str(tmp_path / str(number))], check=True)
    for suffix in (".graphs", ".safetensors"):
        assert (tmp_path / f"0{suffix}").read_bytes() == (tmp_path / f"1{suffix}").read_bytes()
