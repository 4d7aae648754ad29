"""What happens before a training: reading, splitting, building."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import Source
from bankgcn.training.prepare import Loader, prepare
from bankgcn.training.spec import RunSpec
from refusals import refused

SPEC = RunSpec(dataset="MUTAG").with_(hidden_channels=8, num_layers=1)


@pytest.fixture
def reads() -> list[tuple[str, dict[str, Any]]]:
    """What a loader has read so far."""
    return []


@pytest.fixture
def load(reads: list[tuple[str, dict[str, Any]]]) -> Loader:
    def read(source: Source, options: ReadOptions, expected: Expected) -> GraphSet:
        reads.append((source.name, {**options.given, **({"task": expected.task} if expected.task else {})}))
        return source.load(options, expected)

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
    spec = RunSpec(dataset=str(tmp_path / "own.csv"), reader=ReadOptions(target="a"), task="classes")
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
    with refused(ValueError, task="values"):
        prepare(SPEC.with_(task="values"))


def test_features_of_atoms_need_molecules() -> None:
    with refused(ValueError, "MUTAG", features="onehot"):
        prepare(SPEC.with_(features="onehot"))


def write_table(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text("\n".join(["smiles,active", *(",".join(row) for row in rows)]))
    return str(path)


def molecules(first: int, last: int) -> list[tuple[str, str]]:
    """Chains of these lengths, each in two spellings, and their classes."""
    return [(text, "yes" if n % 2 else "no") for n in range(first, last) for text in (f"{'C' * n}O", f"O{'C' * n}")]


def test_equal_graphs_of_own_data_stay_in_one_part(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    run = prepare(SPEC.with_(dataset=write_table(tmp_path / "own.csv", molecules(1, 31))))
    parts = [set(part // 2) for part in (run.split.train, run.split.valid, run.split.test)]
    assert [len(part) for part in parts] == [24, 3, 3]
    assert len(set.union(*parts)) == 30
    assert run.split_from == "the seed: 8:1:1, stratified by class, equal graphs together"
    assert run.graphs.notes[-1] == (
        "30 of 60 graphs are equal to an earlier one; 0 of 30 groups of equal graphs have different targets; they stay "
        "in one part of the split (duplicates= is keep, group or merge)"
    )


def test_folds_keep_equal_graphs_together(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    own = SPEC.with_(dataset=write_table(tmp_path / "own.csv", molecules(1, 31)), folds=5)
    tested = [set(prepare(own.with_(fold=fold)).split.test // 2) for fold in range(5)]
    assert sorted(number for part in tested for number in part) == list(range(30))


def test_keep_says_that_the_score_flatters(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    own = SPEC.with_(dataset=write_table(tmp_path / "own.csv", molecules(1, 31)), duplicates="keep")
    notes = prepare(own).graphs.notes
    assert any("test graphs are equal to a training or validation graph: the test score flatters" in n for n in notes)


def test_merge_leaves_one_of_equal_graphs(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    own = SPEC.with_(dataset=write_table(tmp_path / "own.csv", molecules(1, 31)), duplicates="merge")
    run = prepare(own)
    assert len(run.graphs) == 30
    assert run.graphs.rows.tolist() == list(range(0, 60, 2))


def test_datasets_of_the_catalogue_stay_as_published() -> None:
    assert prepare(SPEC).split.hash == prepare(SPEC.with_(duplicates="keep")).split.hash
    assert prepare(SPEC).graphs.notes == ()
    assert prepare(SPEC.with_(duplicates="group")).split.hash != prepare(SPEC).split.hash


def test_test_graphs_that_are_training_graphs_are_left_out(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    own = write_table(tmp_path / "own.csv", molecules(1, 21))
    mixed = write_table(tmp_path / "mixed.csv", molecules(16, 26))
    run = prepare(SPEC.with_(dataset=own, test=mixed))
    assert run.split.test.tolist() == list(range(50, 60))
    assert run.graphs.notes[-1] == (
        "10 of 20 graphs of mixed.csv are equal to a training or validation graph and are left out of the test"
    )
    with refused(ValueError, "40 graphs", "own.csv", "training"):
        prepare(SPEC.with_(dataset=own, test=own))
    kept = prepare(SPEC.with_(dataset=own, test=own, duplicates="keep"))
    assert "40 of 40 test graphs are equal" in kept.graphs.notes[-1]


def test_too_few_different_graphs_are_split_as_they_are_with_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    own = SPEC.with_(dataset=write_table(tmp_path / "own.csv", molecules(1, 3) * 10))
    run = prepare(own)
    assert [len(part) for part in (run.split.train, run.split.valid, run.split.test)] == [32, 4, 4]
    few, seen, _ = run.graphs.notes[-3:]
    assert "too few are different to keep equal ones in one part of the split" in few
    assert "4 of 4 test graphs are equal to a training or validation graph" in seen


def test_a_given_split_stays_and_its_equal_graphs_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    parts = ["train", "valid", "test", "train"]
    lines = [f"{s},{a},{parts[i % 4]}" for i, (s, a) in enumerate(molecules(1, 21))]
    (tmp_path / "own.csv").write_text("\n".join(["smiles,active,part", *lines]))
    run = prepare(SPEC.with_(dataset=str(tmp_path / "own.csv"), target="active", split_column="part"))
    assert run.split.test.tolist() == list(range(2, 40, 4))
    given, seen, _ = run.graphs.notes[-3:]
    assert "the split is given, so they stay where it puts them" in given
    assert "10 of 10 test graphs are equal to a training or validation graph" in seen
