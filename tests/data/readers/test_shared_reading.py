"""A large file that several processes read becomes the same set, bit for bit, with the same notes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import find_source
from bankgcn.data.workers import Workers

pytest.importorskip("rdkit")

OPTIONS = ReadOptions(target="y", skip_unreadable=True, skip_missing=True, descriptors="rdkit,morgan")


@pytest.mark.parametrize("ending", [".csv", ".smi"])
@pytest.mark.parametrize("expected", [Expected(edges="any", task="values"), Expected(task="values")])
def test_molecules_that_several_processes_read_are_the_same_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, expected: Expected
) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("bankgcn.data.workers.SHORT", 4)
    texts = [f"{'C' * (n % 9 + 1)}{end}.[Na+]" for n in range(20) for end in ("O", "=O", "c1ccccc1")]
    texts[7:9], texts[30] = ["oops", ""], "C("
    lines = [f"{text}\t{'' if n % 11 == 5 else n}" for n, text in enumerate(texts)]
    (tmp_path / f"own{ending}").write_text("\n".join(["smiles\ty", *lines]) + "\n")
    source = find_source(tmp_path / f"own{ending}")
    for options in (OPTIONS, ReadOptions(target="y", standardize=True, skip_unreadable=True, fill_missing="3")):
        alone = source.load(options, expected)
        (tmp_path / f"own{ending}").touch()  # so that the cache does not answer
        with Workers(3) as workers:
            shared = source.load(options, expected, run=workers.run)
        for field in fields(GraphSet):
            one, other = getattr(shared, field.name), getattr(alone, field.name)
            if isinstance(one, np.ndarray):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
            else:
                assert one == other
        assert shared.fingerprint == alone.fingerprint
