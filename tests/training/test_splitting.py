"""How the settings of a run become a split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.options import ReadOptions
from bankgcn.data.sources import find_source
from bankgcn.data.splits import scaffolds
from bankgcn.training.config import SplitOptions
from bankgcn.training.prepare import draw_split, prepare
from bankgcn.training.spec import RunSpec
from refusals import refused

RINGS = (
    "c1ccccc1",
    "C1CCCCC1",
    "c1ccncc1",
    "C1CCNCC1",
    "c1ccsc1",
    "c1ccoc1",
    "C1CC1",
    "C1CCC1",
    "C1CCCC1",
    "c1cc[nH]c1",
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{'C' * n}{ring},{'ab'[n % 2]},{n},{part}" for ring in RINGS for n, part in ((1, "Train"), (2, "dev"))]
    rows += [f"{'C' * n}O{ring},{'ab'[n % 2]},{n},test" for ring in RINGS for n in (3, 4)]
    (tmp_path / "own.csv").write_text("\n".join(["smiles,y,fold,part", *rows]) + "\n")
    return tmp_path / "own.csv"


def split_of(table: Path, seed: int = 0, **options: object) -> tuple:
    source = find_source(table)
    graphs = source.load(ReadOptions(target="y"))
    return graphs, *draw_split(RunSpec(dataset=str(table), seed=seed, split=SplitOptions(**options)), source, graphs)


def test_shares_are_those_of_the_ratios(table: Path) -> None:
    _, split, words = split_of(table, ratios="2,1,1")
    assert [len(part) for part in (split.train, split.valid, split.test)] == [20, 10, 10]
    assert words == "the seed: 2:1:1, stratified by class"
    assert (
        split_of(table)[1].hash == find_source(table).split(split_of(table)[0], RunSpec(dataset="own").seeds.split).hash
    )  # as earlier versions


def test_scaffolds_do_not_cross_the_split(table: Path) -> None:
    graphs, split, words = split_of(table, rule="scaffold", seed=3)
    found = np.array(scaffolds(graphs.names))
    parts = [set(found[part]) for part in (split.train, split.valid, split.test)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set(found))
    assert words == "the seed: 8:1:1, by scaffold"
    folds = [split_of(table, rule="scaffold", folds=5, fold=fold)[1] for fold in range(5)]
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(40))


def test_a_column_holds_the_parts_in_usual_words(table: Path) -> None:
    _, split, words = split_of(table, split_column="part")
    assert split.test.tolist() == list(range(20, 40))
    assert split.train.tolist() == list(range(0, 20, 2))
    assert words == "the column 'part'"


def test_a_column_holds_folds(table: Path) -> None:
    _, split, words = split_of(table, split_column="fold", folds=4, fold=3)
    assert split.test.tolist() == list(range(21, 40, 2))
    assert len(split.test) == len(split.valid) == 10
    assert words == "the column 'fold': '4' tests"


def test_every_graph_is_tested_in_one_fold(table: Path) -> None:
    folds = [split_of(table, folds=4, fold=fold)[1] for fold in range(4)]
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(40))
    assert all(len(fold.train) == 20 for fold in folds)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ratios": "8,1"}, ('ratios="8,1"', "8,1,1")),
        ({"ratios": "8,1,1", "test": "x.csv"}, ('ratios="8,1,1"', "8,1", "test=")),
        ({"ratios": "a,b,c"}, ('ratios="a,b,c"',)),
        ({"folds": 2}, ("folds=2", 3)),
        ({"folds": 3, "fold": 3}, ("fold=3", "folds=")),
        ({"fold": 0}, ("fold=0", "folds=")),
        ({"ratios": "8,1,1", "folds": 5}, ("ratios=", "folds=")),
        ({"rule": "scafold"}, ("'scafold'", "'scaffold'")),
    ],
)
def test_settings_that_contradict_each_other_are_refused(options: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        SplitOptions(**options)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"split_column": "fold"}, ("4 different", "'1', '2', '3', '4'", "folds=4")),
        ({"split_column": "nope"}, ("'nope'", "'smiles', 'y', 'fold', 'part'")),
        ({"folds": 5}, ("folds=5", "fold=")),
    ],
)
def test_splits_that_the_table_does_not_have_are_refused(table: Path, options: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        split_of(table, **options)


def test_scaffolds_need_molecules_and_enough_of_them(table: Path) -> None:
    mutag = find_source("MUTAG")
    with refused(ValueError, "MUTAG", split="scaffold"):
        draw_split(RunSpec(dataset="MUTAG", split=SplitOptions(rule="scaffold")), mutag, mutag.load())
    with refused(ValueError, split_column="fold"):
        draw_split(RunSpec(dataset="MUTAG", split=SplitOptions(split_column="fold")), mutag, mutag.load())
    table.write_text("smiles,y\n" + "".join(f"{'C' * n},{n % 2}\n" for n in range(1, 20)))
    with refused(ValueError, "19 molecules", "1 scaffolds", "valid", "test"):
        split_of(table, rule="scaffold")


def test_runs_with_one_split_seed_share_the_split_and_not_the_weights() -> None:
    runs = [RunSpec(dataset="MUTAG").with_(seed=seed, split_seed=7) for seed in (0, 1)]
    assert runs[0].seeds.split == runs[1].seeds.split == RunSpec(dataset="MUTAG", seed=7).seeds.split
    assert runs[0].seeds.weights != runs[1].seeds.weights


def test_settings_of_the_split_change_a_key_only_where_they_are_used() -> None:
    spec = RunSpec(dataset="MUTAG")
    assert "split" not in spec.to_dict()
    changed = spec.with_(ratios="7,2,1")
    assert changed.key != spec.key
    assert RunSpec.from_dict(changed.to_dict()) == changed


def test_test_graphs_may_come_from_a_source_of_their_own(table: Path) -> None:
    other = table.with_name("other.csv")
    other.write_text("smiles,y\nCCCCN,a\nCCCCS,b\n")
    spec = RunSpec(dataset=str(table)).with_(target="y", test=str(other))
    run = prepare(spec)
    assert len(run.graphs) == 42
    assert run.split.test.tolist() == [40, 41]
    assert len(run.split.train) + len(run.split.valid) == 40
    assert run.graphs.names[40:] == ("CCCCN", "CCCCS")
    assert run.split_from.endswith("test graphs: other.csv")
    other.write_text("smiles,y\nCCCCN,c\n")
    with refused(ValueError, "other", "c", "own"):
        prepare(spec)
    with refused(ValueError, "20 graphs", "own", test=...):
        prepare(spec.with_(split_column="part"))


def test_targets_of_test_graphs_are_of_the_kind_of_the_others(tmp_path: Path) -> None:
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    own.write_text("smiles,y\n" + "".join(f"{'C' * size},{size}.5\n" for size in range(1, 21)))
    other.write_text("smiles,y\nCCCCN,1\nCCCCS,2\n")
    run = prepare(RunSpec(dataset=str(own)).with_(test=str(other)))
    assert run.graphs.y[run.split.test].tolist() == [1.0, 2.0]
