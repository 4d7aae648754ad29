"""What happens before a training: reading, splitting, building."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import Source
from bankgcn.training.prepare import Loader, prepare
from bankgcn.training.spec import ReaderOptions, RunSpec

SPEC = RunSpec(dataset="MUTAG").with_(hidden_channels=8, num_layers=1)


@pytest.fixture
def reads() -> list[tuple[str, dict[str, Any]]]:
    """What a loader has read so far."""
    return []


@pytest.fixture
def load(reads: list[tuple[str, dict[str, Any]]]) -> Loader:
    def read(source: Source, options: Mapping[str, Any]) -> GraphSet:
        reads.append((source.name, dict(options)))
        return source.load(**options)

    return Loader(read=read)


def test_runs_on_the_same_graphs_read_them_once(load: Loader, reads: list) -> None:
    first = prepare(SPEC, load)
    second = prepare(SPEC.with_(seed=1, order=3, gamma=1.0), load)
    assert reads == [("MUTAG", {})]
    assert first.fingerprint == second.fingerprint
    assert first.split.hash != second.split.hash
    prepare(SPEC.with_(dataset="smooth-or-alternating"), load)
    assert [name for name, _ in reads] == ["MUTAG", "smooth-or-alternating"]


def test_other_options_of_the_reader_read_again(load: Loader, reads: list, tmp_path: Path) -> None:
    rows = [f"{'C' * n}O,{n % 2},{n + 0.5}" for n in range(1, 21)]
    (tmp_path / "own.csv").write_text("\n".join(["smiles,a,b", *rows]))
    spec = RunSpec(dataset=str(tmp_path / "own.csv"), reader=ReaderOptions(target="a"), task="classes")
    assert prepare(spec, load).task.names == ("0", "1")
    assert prepare(spec.with_(target="b", task="values"), load).task.names == ("b",)
    assert reads == [("own", {"target": "a", "task": "classes"}), ("own", {"target": "b", "task": "values"})]


def test_the_callers_random_numbers_stay_as_they_are() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    nets = [prepare(SPEC).net, prepare(SPEC).net]
    assert torch.equal(torch.rand(3), expected)
    for one, other in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(one, other)


def test_a_task_that_the_targets_do_not_allow_is_refused() -> None:
    assert prepare(SPEC.with_(task="classes")).task.kind == "classes"
    with pytest.raises(ValueError, match="task=values needs numbers as targets, but these are classes"):
        prepare(SPEC.with_(task="values"))


def test_features_of_atoms_need_molecules() -> None:
    with pytest.raises(ValueError, match="features=onehot is for molecules, which MUTAG does not hold"):
        prepare(SPEC.with_(features="onehot"))
