"""The page of a store, from invented records."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.experiments import RunRecord, RunSpec
from bankgcn.report.page.page import Figure, Table, write_html
from bankgcn.report.page.store_page import best_by_value, duration, hyper_figures, store_page
from bankgcn.report.results import collect_found, short_names
from fake_records import fake_record

RECORDS = [
    fake_record(RunSpec(dataset=dataset).with_(conv=conv, seed=seed, weight_decay=decay), split_sizes=(80, 10, 10))
    for dataset in ("MUTAG", "NCI1")
    for conv in ("bank", "gcn", "mlp")
    for decay in (0.0, 1e-4)
    for seed in range(4)
]


def test_cells_are_means_of_the_runs_that_validation_chose() -> None:
    page = store_page(RECORDS, "bankgcn report --store DIR")
    scores = next(item for item in page.sections[0].items if isinstance(item, Table))
    runs = [r for r in RECORDS if (r.config.dataset, r.config.model.conv) == ("MUTAG", "gcn")]
    by_decay = {decay: [r for r in runs if r.config.train.weight_decay == decay] for decay in (0.0, 1e-4)}
    best = max(by_decay.values(), key=lambda found: np.mean([r.valid_score for r in found]))
    row = next(row for row in scores.rows if row[0] == "GCN")
    assert row[1].startswith(f"{100 * np.mean([r.test_score for r in best]):.2f} ± ")
    assert row[1].endswith("(4)")
    assert sorted(scores.marks.values()) == ["best", "best"]


def test_others_are_compared_with_the_filter_bank_on_shared_splits() -> None:
    page = store_page(RECORDS, "")
    (table,) = page.sections[1].items
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["GCN", "MLP"]
    counts = table.rows[0][1].split("; ")[1].strip(")").split("/")
    assert sum(map(int, counts)) == 4


def test_p_values_are_adjusted_for_the_models_of_a_dataset() -> None:
    # The differences of both models to the filter bank are 4, 5, 6, 7: one p-value, which Holm's method doubles.
    scores = {"bank": (0.5,) * 4, "gcn": (0.54, 0.55, 0.56, 0.57), "gin": (0.54, 0.55, 0.56, 0.57)}
    runs = [
        fake_record(RunSpec(dataset="MUTAG").with_(conv=conv, seed=seed), test_score=score, split_sizes=(80, 10, 10))
        for conv, found in scores.items()
        for seed, score in enumerate(found)
    ]
    alone = _first_p([run for run in runs if run.config.model.conv != "gin"])
    assert _first_p(runs) == pytest.approx(2 * alone, abs=1e-3)


def test_test_graphs_that_all_seeds_share_need_no_correction_for_overlap() -> None:
    def runs(name: str) -> list[RunRecord]:
        specs = [RunSpec(dataset=name, train_per_class=5).with_(seed=seed) for seed in range(3)]
        scores = zip(specs, (0.5, 0.6, 0.7), ("a", "b", "c"), strict=True)
        return [fake_record(s, test_score=score, split_hash=h, split_sizes=(10, 1, 100)) for s, score, h in scores]

    cells = collect_found([*runs("CIFAR-10"), *runs("NCI1")]).cells.values()
    assert [cell.overlap for cell in cells] == [0, 10]


def _first_p(runs: list[RunRecord]) -> float:
    (table,) = store_page(runs, "").sections[1].items
    assert isinstance(table, Table)
    return float(table.rows[0][1].split("(p ")[1].split(";")[0])


def test_curves_show_every_setting_that_varies_with_the_others_at_their_best() -> None:
    figures = {figure.name: figure for figure in hyper_figures(RECORDS)}
    assert list(figures) == ["over-weight_decay"]
    assert figures["over-weight_decay"].choices[0].labels == ("MUTAG", "NCI1")
    runs = [r for r in RECORDS if (r.config.dataset, r.config.model.conv) == ("MUTAG", "bank")]
    found = best_by_value(runs, "weight_decay")
    expected = 100 * np.mean([r.valid_score for r in runs if r.config.train.weight_decay == 0])
    assert list(found) == [0.0, 1e-4]
    assert found[0.0][0] == pytest.approx(expected)


def test_candidates_with_more_seeds_have_no_advantage() -> None:
    base = RunSpec(dataset="MUTAG")
    runs = [fake_record(base.with_(seed=seed), valid_score=0.5) for seed in range(2)]
    runs += [fake_record(base.with_(seed=2), valid_score=1.0)]  # a seed that the other candidate lacks
    runs += [fake_record(base.with_(seed=seed, gamma=1.0), valid_score=0.6) for seed in range(2)]
    assert {value: mean for value, (mean, _) in best_by_value(runs, "gamma").items()} == {0.1: 50.0, 1.0: 60.0}


def test_values_stand_in_their_order_also_none_and_those_of_one_model_alone() -> None:
    values = {"bank": (None, 5, 20), "gcn": (10, 20)}
    specs = [
        RunSpec(dataset="MUTAG").with_(conv=conv, decay_patience=value)
        for conv, found in values.items()
        for value in found
    ]
    (figure,) = hyper_figures(map(fake_record, specs))
    assert figure.charts[0].x.words == ("none", "5", "10", "20")
    assert [series.x for series in figure.charts[0].series] == [["none", "5", "20"], ["10", "20"]]


def test_a_store_without_finished_runs_is_refused_and_one_run_is_enough() -> None:
    with pytest.raises(ValueError, match="no finished runs"):
        store_page([], "")
    page = store_page(RECORDS[:1], "")
    assert all(isinstance(item, Figure | Table) or item.rows for section in page.sections for item in section.items)
    assert b"MUTAG" in write_html(page)


def test_datasets_of_files_have_short_names_and_times_have_the_unit_that_fits() -> None:
    assert short_names(["/data/long/a/mols.csv", "MUTAG"]) == {"/data/long/a/mols.csv": "mols", "MUTAG": "MUTAG"}
    assert short_names(["/d/a/x.csv", "/d/b/x.csv", "/d/x.smi"]) == {
        "/d/a/x.csv": "a/x.csv",
        "/d/b/x.csv": "b/x.csv",
        "/d/x.smi": "x.smi",
    }
    assert short_names(["C:\\mine\\set.csv"]) == {"C:\\mine\\set.csv": "set"}
    assert [duration(s) for s in (0.34, 37.2, 600, 5400, 154800)] == ["0.3 s", "37 s", "10 min", "1.5 h", "43.0 h"]
    long = "/a/very/long/path/to/mols.csv"
    runs = [fake_record(RunSpec(dataset=long).with_(seed=seed), seconds=4.0) for seed in range(2)]
    page = store_page(runs, "")
    assert {tile.label: tile.value for tile in page.tiles}["time of training"] == "8.0 s"
    assert page.subtitle == "2 runs of 1 model on 1 dataset"
    assert long.encode() not in write_html(page)
