"""Mutated SMILES through the reader of tables and through the service: each is read or refused, none crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rdkit")
pytest.importorskip("fastapi")

from smiles import check, fuzz, small_engine


def test_mutated_molecules_are_read_or_refused_by_reader_and_service(tmp_path: Path) -> None:
    engine = small_engine(tmp_path)
    outcome = fuzz(500, 1, tmp_path, engine)
    assert sum(outcome.values()) == 500
    assert min(outcome.values()) > 25  # some of both, else the test would test nothing


def test_molecules_that_once_crashed_are_refused(tmp_path: Path) -> None:
    crashed = ["[CH99999999]", "[CH256]", "[#999H65536] |LO:0:1.2.3|", "CC(é", "C1" + "C" * 5_000 + "C1"]
    assert check(["CC", *crashed], small_engine(tmp_path), tmp_path) == {"read": 1, "refused": len(crashed)}
