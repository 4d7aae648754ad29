"""The page on the reproduction, from records alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bankgcn.experiments import RunRecord
from bankgcn.experiments.design import Grid
from bankgcn.experiments.paper import TABLE_1, TABLE_3, TABLE_4, figure3
from bankgcn.experiments.verify import FIGURES, StoredCheck, Verdict, Verification, draw_sample
from fake_records import fake_record, fake_records
from reproduction.evidence import AS_PAPER, BEST, Evidence
from reproduction.page import answer, missing, write_document
from reproduction.runs import cost, verification
from reproduction.sections import against_baselines, data, filters, studies, table1

SCORES = {"bank": 0.70, "mlp": 0.60}
SEARCH_RUNS = 1


def records_of(
    datasets: list[str], places: tuple[str, ...], scores: Mapping[str, float] = SCORES
) -> dict[str, RunRecord]:
    """All records of Table 1 on these datasets: every model has its score on every split."""
    table = TABLE_1.restricted(datasets=datasets, grid=Grid(normalize=places), search_runs=SEARCH_RUNS)
    configs = [config for config in table.configs() if config.seed < SEARCH_RUNS or config.train.weight_decay == 0]
    return {
        config.key: fake_record(
            config,
            test_score=scores.get(config.model.conv, 0.65),
            valid_score=0.8 - config.train.weight_decay - config.train.gamma / 100,
        )
        for config in configs
        if config.seed < SEARCH_RUNS or config.train.gamma == 0
    }


def stored_check(record: RunRecord, verdict: Verdict) -> StoredCheck:
    """A check of this record, as a file keeps it."""
    return StoredCheck(record.config.key, verdict, {name: getattr(record, name) for name in FIGURES})


(PAPER,) = AS_PAPER.grid.normalize


@pytest.fixture(scope="module")
def as_paper() -> dict[str, RunRecord]:
    return records_of(["ENZYMES"], (PAPER,))


@pytest.fixture(scope="module")
def both() -> dict[str, RunRecord]:
    return records_of(["ENZYMES"], ("before", "after")) | records_of(["PROTEINS"], (PAPER,))


def test_the_claim_is_counted_over_complete_datasets(as_paper: dict[str, RunRecord]) -> None:
    text = answer(Evidence(as_paper, SEARCH_RUNS))
    place, start = "in the paper's setting", "By a paired test, BankGCN (K=2, s=8) is ahead of every baseline"
    assert f"{start} on 1 of 1 complete dataset and behind one on 0 {place}." in text
    assert f"By the same test, BankGCN (K=2, s=8) is ahead of all others on ENZYMES {place}." in text
    assert f"No model is ahead of an MLP without edges on 0 of 1 complete dataset {place}." in text
    assert "at its best" not in text
    alike = records_of(["ENZYMES"], (PAPER,), {"bank": 0.65, "mlp": 0.65})
    text = answer(Evidence(alike, SEARCH_RUNS))
    assert f"{start} on 0 of 1 complete dataset and behind one on 0 {place}." in text
    assert f"By the same test, no kind of model is ahead of all others on any of 1 dataset {place}." in text
    assert f"No model is ahead of an MLP without edges on 1 of 1 complete dataset {place}." in text


def test_settings_that_agree_are_said_once(both: dict[str, RunRecord]) -> None:
    enzymes = {key: record for key, record in both.items() if record.config.dataset == "ENZYMES"}
    text = answer(Evidence(enzymes, SEARCH_RUNS))
    assert "on 1 of 1 complete dataset and behind one on 0, in both settings of Table 1." in text
    assert "at its best" not in text
    text = answer(Evidence(both, SEARCH_RUNS))
    place, best = "in the paper's setting", "with each model at its best by validation"
    assert f"on 2 of 2 complete datasets and behind one on 0 {place}; " in text
    assert f"on 1 of 1 complete dataset and behind one on 0 {best}." in text
    assert "on 0, in both settings" not in text


def test_bankgcn_is_compared_with_each_baseline_and_with_the_papers_difference() -> None:
    records = records_of(["ENZYMES", "PROTEINS"], (PAPER,), {"bank": 0.70, "mlp": 0.60, "cheb": 0.75, "gcn": 0.70})
    text = against_baselines(Evidence(records, SEARCH_RUNS))
    # The paper: 68.00 and 75.67 for BankGCN, 66.75 and 74.64 for ChebNet, 62.75 and 74.87 for GCN.
    assert "| ChebNet (K=2) | As the paper | 4,184 | -5.00 ± 0.00 | +1.14 | none | ENZYMES and PROTEINS |" in text
    assert "| GCN | As the paper | 4,184 | +0.00 ± 0.00 | +3.02 | none | none |" in text
    assert "| GIN | As the paper | 4,184 | +5.00 ± 0.00 | +3.84 | ENZYMES and PROTEINS | none |" in text
    assert "As the paper: 2 datasets, ENZYMES and PROTEINS." in text
    assert "Best by validation" not in text
    # Without any spread over the seeds, every difference but 0 is shown.
    assert "| ChebNet (K=2) | -5.00 ± 0.00; +1.25 | -5.00 ± 0.00; +1.03 |" in text
    assert (
        "does not contain 0: 8 of 10 differences. If ours were as large as the paper's, it would show 10. 0 of" in text
    )
    mean = (
        "In the mean over the datasets, it is ahead of GraphSAGE, GIN and GAT and behind ChebNet (K=2) in the paper's"
    )
    assert f"{mean} setting. Of the paper's 10 differences to a baseline, the test would show 10." in answer(
        Evidence(records, SEARCH_RUNS)
    )
    behind = "behind one on 2 (ENZYMES and PROTEINS) in the paper's setting."
    assert behind in answer(Evidence(records, SEARCH_RUNS))


def test_the_best_mean_rank_is_named_with_the_models_that_it_is_separated_from() -> None:
    text = table1(Evidence(records_of(["ENZYMES", "PROTEINS"], (PAPER,)), SEARCH_RUNS), {})
    # Ranks 1.5 and 1.5 for BankGCN, 8 for the MLP; over two datasets, the critical difference is 7.4.
    start = "BankGCN (K=2, s=8) has the best mean rank, 1.5; the Nemenyi test separates it from"
    assert f"{start} no other model." in text
    many = ["ENZYMES", "PROTEINS", "NCI1", "NCI109", "DD"]  # 4.7
    assert f"{start} MLP (no edges)." in table1(Evidence(records_of(many, (PAPER,)), SEARCH_RUNS), {})


def test_a_dataset_with_a_missing_run_does_not_count(as_paper: dict[str, RunRecord]) -> None:
    lost = next(key for key, r in as_paper.items() if r.config.model.conv == "gcn" and r.config.seed == 19)
    part = {key: record for key, record in as_paper.items() if key != lost}
    assert answer(Evidence(part, SEARCH_RUNS)) == "No dataset of Table 1 is complete yet."
    text = write_document(part, SEARCH_RUNS).text
    assert "| GCN | not run | not run |" in text
    assert "| table1 | As the paper | ENZYMES | 188 | 187 | 1 | 0 | 0.10 |" in text


def test_the_best_setting_needs_both_places(both: dict[str, RunRecord]) -> None:
    evidence = Evidence(both, SEARCH_RUNS)
    names = {
        setting.name: [c.column.name for c in evidence.results("table1", setting).cells.values() if c.spread.count]
        for setting in (AS_PAPER, BEST)
    }
    assert set(names["as-paper"]) == {"ENZYMES", "PROTEINS"}
    assert set(names["best"]) == {"ENZYMES"}
    text = write_document(both, SEARCH_RUNS).text
    assert "Not run yet: Table 1, as the paper: DD, NCI1, NCI109 and Mutagenicity; Table 1, best by" in text
    assert "best by validation: DD, NCI1, PROTEINS, NCI109 and Mutagenicity; Table 2: ENZYMES, DD," in text
    assert "Table 4: CIFAR-10, CIFAR-10 (1000), ogbg-molhiv and ogbg-molhiv (embedded). Data not" in text
    assert "Data not available: FRANKENSTEIN. Table 4 has only some of the models on CIFAR-10, ogbg-molhiv and" in text
    assert "Of 1 dataset with at least two places" in text
    assert "| MLP (no edges) | before 80.00 = after 80.00 | before 80.00 |" in text


def test_pictures_are_shown_only_if_they_are_drawn(both: dict[str, RunRecord], as_paper: dict[str, RunRecord]) -> None:
    document = write_document(both, SEARCH_RUNS)
    assert set(document.pictures) == {"table1-as-paper.svg", "ranks-as-paper.svg", "table1-best.svg"}
    for name in document.pictures:
        assert document.text.count(f"](figures/{name})") == 1
    assert document.text.count("](figures/") == len(document.pictures)
    assert "ranks-as-paper.svg" not in write_document(as_paper, SEARCH_RUNS).text


def test_differences_to_the_paper_have_a_standing_and_a_reason(as_paper: dict[str, RunRecord]) -> None:
    text = write_document(as_paper, SEARCH_RUNS).text
    assert "| BankGCN (K=2, s=8) | +2.00 within | +2.00 |" in text  # 70 beside the paper's 68.00 ± 5.23
    higher = records_of(["ENZYMES"], (PAPER,), {"bank": 0.9, "mlp": 0.6})
    text = write_document(higher, SEARCH_RUNS).text
    assert "| BankGCN (K=2, s=8) | +22.00 above |" in text
    assert "- BankGCN (K=2, s=8) on ENZYMES: +22.00. A choice by test score" in text
    assert "would raise ours by 0.00 more; other places of l2 are not run." in text
    lower = records_of(["ENZYMES"], (PAPER,), {"bank": 0.5, "mlp": 0.6}) | records_of(["ENZYMES"], ("after",))
    text = write_document(lower, SEARCH_RUNS).text
    assert "- BankGCN (K=2, s=8) on ENZYMES: -18.00." in text
    assert "which does not explain it; l2 after the ReLU is nearer (2.00)." in text


def test_the_same_records_give_the_same_bytes_in_any_order(both: dict[str, RunRecord]) -> None:
    turned = {key: both[key] for key in sorted(both, reverse=True)}
    first, second = write_document(both, SEARCH_RUNS), write_document(turned, SEARCH_RUNS)
    assert first == second


def test_each_run_is_counted_once_in_the_cost(both: dict[str, RunRecord]) -> None:
    text = cost(Evidence(both, SEARCH_RUNS))
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| table")]
    assert {line[2] for line in lines} == {"ENZYMES", "PROTEINS"}
    others = len(both) - sum(int(line[4].replace(",", "")) for line in lines)
    assert others > 0  # the seeds of models whose place of l2 was not chosen
    assert f"All records together: {len(both):,} runs, 0.3 core hours; {others} of the runs are in no line" in text


def test_the_outcome_of_verify_is_shown(as_paper: dict[str, RunRecord]) -> None:
    assert "Not run yet: `bankgcn paper verify" in verification(Evidence(as_paper))
    drawn = draw_sample(as_paper, 4, seed=7)
    checks = [stored_check(record, "differs" if number == 1 else "bit for bit") for number, record in enumerate(drawn)]
    text = verification(Evidence(as_paper, verified=Verification(7, 4, tuple(checks))))
    assert "Of 4 records, drawn and run again by `bankgcn paper verify results --sample 4 --seed 7 --json" in text
    assert "3 agreed: 3 bit for bit and 1 differs. They are runs on ENZYMES (" in text
    assert "They were drawn" not in text
    half = Verification(7, 4, tuple(checks[:2]))  # interrupted
    assert "They were drawn" not in verification(Evidence(as_paper, verified=half))


def test_checks_of_records_that_are_not_here_do_not_count(as_paper: dict[str, RunRecord]) -> None:
    checks = [stored_check(record, "bit for bit") for record in draw_sample(as_paper, 3, seed=7)]
    other = checks[0]._replace(key="of another run")
    earlier = checks[1]._replace(recorded={**checks[1].recorded, "test_score": 0.123})
    text = verification(Evidence(as_paper, verified=Verification(7, 3, (other, earlier, checks[2]))))
    assert "Of 1 record, drawn" in text
    assert "2 more were checked that are not among the records of this page." in text
    assert "They were drawn when there were other records" in text


def test_a_stand_in_has_a_table_without_the_papers_figures_and_its_notes_on_the_data() -> None:
    name = "FRANKENSTEIN-rebuilt"
    table = TABLE_1.restricted(datasets=[name], runs=5, grid=AS_PAPER.grid, search_runs=SEARCH_RUNS)
    records = {config.key: fake_record(config, notes=("other atoms",)) for config in table.configs()}
    evidence = Evidence(records, SEARCH_RUNS)
    text = table1(evidence, {})
    _, _, below = text.partition(f"### {name} (stand-in)")
    assert "Each model has 5 runs." in below
    assert "All figures are ours" in below
    assert "| GCN | " in below
    assert "| paper |" not in below
    assert data(evidence).endswith(f"\n\n- {name}: other atoms.")


def test_filters_are_shown_for_each_place_that_has_been_run() -> None:
    figure = figure3(["NCI109"], normalize="after")
    records = {c.key: fake_record(c, alpha=[[1.0] * (c.model.conv_options["order"] + 1)] * 8) for c in figure.configs()}
    text = filters(Evidence(records), {"figure3-after.svg": b""})
    assert "### L2 after the relu" not in text
    assert "### l2 after the ReLU\n\n![" in text
    assert "before" not in text
    assert "| (a) NCI109, K=2, gamma=0 | 0.900 ± 0.000 | 0.997 |" in text


def test_without_records_the_page_says_so() -> None:
    document = write_document({})
    assert "No dataset of Table 1 is complete yet." in document.text
    assert document.pictures == {}
    assert "nan" not in document.text


def test_the_first_screen_says_what_table_4_shows(as_paper: dict[str, RunRecord]) -> None:
    grid, scores = Grid(weight_decays=(0.0,), gammas=(0.1,)), {"bank": 0.44, "mlp": 0.44, "gin": 0.46}
    configs = TABLE_4.restricted(datasets=["CIFAR-10-1000"], grid=grid, runs=3).configs()
    large = {c.key: fake_record(c, test_score=scores.get(c.model.conv, 0.36) + c.seed / 1000) for c in configs}
    text = answer(Evidence(as_paper | large, SEARCH_RUNS))
    claim = " In Table 4 with 3 runs, BankGCN (K=2, s=16) is ahead of 5 of 6 baselines on CIFAR-10 (1000)"
    assert f"{claim}, and behind 1 on CIFAR-10 (1000)." in text
    assert " On CIFAR-10 (1000), GIN is ahead of it." in text
    # Ours are 36.10, 44.10 for BankGCN and 46.10 for GIN. The paper has 36.08 ± 0.04 for GAT, 36.47 ± 0.31 for GCN.
    assert " In Table 4, 1 of 8 lie within one standard deviation; the mean absolute difference is 3.3 points." in text
    names = {"datasets": ["ogbg-molhiv"], "models": ["gcn", "gin", "cheb-K2", "bank-K2-s16"]}
    more = TABLE_4.restricted(**names, grid=grid, runs=3).configs()
    both = large | {c.key: fake_record(c, test_score=scores.get(c.model.conv, 0.36) + c.seed / 1000) for c in more}
    text = answer(Evidence(as_paper | both, SEARCH_RUNS))
    assert f"{claim} and 2 of 3 baselines on ogbg-molhiv, and behind 1 on CIFAR-10 (1000) and 1 on ogbg-molhiv." in text
    del large[configs[0].key]
    assert "CIFAR" not in answer(Evidence(as_paper | large, SEARCH_RUNS))


def test_a_dataset_of_table_4_is_missing_until_all_models_that_run_on_it_have_their_runs(
    as_paper: dict[str, RunRecord],
) -> None:
    grid, models = Grid(weight_decays=(0.0,), gammas=(0.1,)), ["gcn", "cheb-K2", "bank-K2-s16"]
    table = TABLE_4.restricted(datasets=["CIFAR-10"], models=models, grid=grid, runs=1, max_epochs=100)
    configs = table.configs()
    records = as_paper | fake_records(configs)
    assert "Table 4: CIFAR-10 (1000), ogbg-molhiv and ogbg-molhiv (embedded)" in missing(Evidence(records, SEARCH_RUNS))
    assert "CIFAR" not in answer(Evidence(records, SEARCH_RUNS))  # one run allows no test
    line = "| table4 | As the paper | CIFAR-10 (100 epochs) | 3 |"
    assert f"{line} 3 | 0 | 0 |" in cost(Evidence(records, SEARCH_RUNS))
    del records[configs[0].key]
    assert "Table 4: CIFAR-10, CIFAR-10 (1000), ogbg-molhiv" in missing(Evidence(records, SEARCH_RUNS))
    assert f"{line} 2 | 1 | 0 |" in cost(Evidence(records, SEARCH_RUNS))


def test_tables_2_and_3_have_figures_differences_and_curves() -> None:
    assert studies(Evidence({}), {}) == "Not run yet."
    better = {0.0: 0.66, 0.1: 0.70}  # 100 is worse, the others are alike
    table = TABLE_3.restricted(datasets=["ENZYMES"], grid=AS_PAPER.grid, search_runs=SEARCH_RUNS)
    records = {
        config.key: fake_record(
            config,
            test_score=0.60 if config.train.gamma == 100 else better.get(config.train.gamma, 0.66),
            valid_score=0.8 - config.train.weight_decay,
        )
        for config in table.configs()
    }
    first = "2 of 5 comparisons with gamma = 0 show a difference"
    found = "gamma = 0.1 is ahead on ENZYMES; gamma = 100 is behind on ENZYMES."
    assert f" In Table 3, {first}: {found}" in answer(Evidence(records_of(["NCI1"], (PAPER,)) | records, SEARCH_RUNS))
    document = write_document(records, SEARCH_RUNS)
    assert "![Test accuracy of BankGCN over gamma, beside the paper's figures.](figures/table3-gamma.svg)" in (
        document.text
    )
    assert "table3-gamma.svg" in document.pictures
    text = studies(Evidence(records, SEARCH_RUNS), document.pictures)
    assert "| paper | 65.83±6.66 |" in text
    # The paper: 65.83 for gamma 0, 68.00 for 0.1, 67.08 for 100.
    assert "| gamma = 0.1 | +4.00 ± 0.00 | +2.17 | ENZYMES | none |" in text
    assert "| gamma = 1 | +0.00 ± 0.00 | +0.59 | none | none |" in text
    assert "| gamma = 100 | -6.00 ± 0.00 | +1.25 | none | ENZYMES |" in text
    assert "Of 5 pairs of a row and a dataset, the test shows a difference to gamma = 0 in 2." in text
