"""bankgcn report, explain and figure RUN, as a user types them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.experiments import RunSpec
from bankgcn.experiments.store import Store
from csv_rows import rows
from fake_records import fake_record

SMILES = ["C" * n + end for n in range(1, 7) for end in ("O", "N", "Cl", "C(=O)O", "c1ccccc1")]


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs: classes, an ensemble, values and labels."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [f"{s},{len(s)}.5,{int('O' in s)},{int(len(s) > 4)},CMP-{n}" for n, s in enumerate(SMILES)]
    (folder / "mols.csv").write_text("\n".join(["smiles,size,o,long,id", *lines]))
    short = ("--epochs", 1, "--hidden", 16, "--layers", 2)
    torch.set_default_dtype(torch.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKGCN_KERNELS", "off")  # compiling takes longer than these runs
        for name, arguments in {
            "classes": ("MUTAG",),
            "ensemble": ("MUTAG", "--seeds", "0-1"),
            "pooled": ("MUTAG", "--model", "gcn", "--pooling", "topk"),
            "values": (folder / "mols.csv", "--target", "size"),
            "labels": (folder / "mols.csv", "--target", "o,long"),
        }.items():
            code, output = run("train", *arguments, *short, "--out", folder / name)
            assert code == 0, output
    return folder


@pytest.fixture(autouse=True)
def _as_a_user(_double_precision: None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float32)
    monkeypatch.setenv("BANKGCN_KERNELS", "off")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("classes", "Confusion matrix"),
        ("ensemble", "2 models: the predictions and scores are those of their mean"),
        ("pooled", "pools nodes between its layers"),
        ("values", "Predicted and true values"),
        ("labels", "ROC curve"),
    ],
)
def test_every_kind_of_run_has_a_page(runs: Path, tmp_path: Path, name: str, shown: str) -> None:
    code, output = run("report", runs / name, "--out", tmp_path / "page.html", "--graphs", 3)
    assert code == 0, output
    assert "open it in a browser" in output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert shown in page
    assert "Single graphs" in page
    assert len(page) < 6e6


def test_a_page_says_what_it_lacks_without_the_record(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "classes", tmp_path / "mine")
    (tmp_path / "mine" / "record.json").unlink()
    code, output = run("report", tmp_path / "mine", "--graphs", 0)
    assert code == 0, output
    page = (tmp_path / "mine" / "report.html").read_text(encoding="utf-8")
    assert "mine has no record that can be read, so this page lacks its validation score" in page
    (tmp_path / "mine" / "split.json").unlink()
    code, output = run("report", tmp_path / "mine", "--graphs", 0)
    assert (code, "split.json: is missing; restore it from a copy, or make it again" in output) == (1, True)


def test_the_page_lies_in_the_folder_of_the_run_and_shows_other_graphs_on_request(runs: Path) -> None:
    code, output = run("report", runs / "values", runs / "mols.csv", "--graphs", 2)
    assert code == 0, output
    page = (runs / "values" / "report.html").read_text(encoding="utf-8")
    assert f"Predictions for the {len(SMILES)} graphs" in page


def test_graphs_without_a_target_are_left_out_and_without_any_target_there_are_no_mistakes(
    runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "some.csv").write_text("smiles,size\nCCO,3.5\nCCN,\nCCC,3.5\n")
    (tmp_path / "none.csv").write_text("smiles\nCCO\nCCN\n")
    page = tmp_path / "page.html"
    code, output = run("report", runs / "values", tmp_path / "some.csv", "--out", page)
    assert (code, "1 of 3 graphs have no target: left out" in output) == (0, True)
    assert "Predictions for the 2 graphs." in page.read_text(encoding="utf-8")
    assert run("report", runs / "labels", tmp_path / "none.csv", "--out", page)[0] == 0
    assert "worst mistakes" not in page.read_text(encoding="utf-8")


def test_the_page_of_several_models_says_whose_validation_score_it_shows(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("report", runs / "ensemble", "--out", page, "--graphs", 0)[0] == 0
    assert "accuracy of seed-0, validation graphs" in page.read_text(encoding="utf-8")


def test_a_store_has_a_page(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for seed in range(2):
        for conv in ("bank", "gcn"):
            store.put(fake_record(RunSpec(dataset="MUTAG").with_(conv=conv, seed=seed)))
    code, output = run("report", "--store", tmp_path / "store")
    assert code == 0, output
    assert "Which model is best?" in (tmp_path / "store" / "report.html").read_text(encoding="utf-8")


def test_report_needs_one_folder(tmp_path: Path) -> None:
    for arguments in ((), (tmp_path, "--store", tmp_path)):
        code, output = run("report", *arguments)
        assert code == 1
        assert "bankgcn report RUN, or bankgcn report --store DIR" in output
    code, output = run("report", tmp_path / "nothing")
    assert code == 1
    assert "is not a run folder" in output


def test_explanations_add_up_in_the_table_and_are_the_same_in_json(runs: Path, tmp_path: Path) -> None:
    code, output = run("explain", runs / "classes", "MUTAG", "--graphs", "5,0", "--out", tmp_path / "e.csv")
    assert code == 0, output
    assert "Exact" in output
    found = rows(tmp_path / "e.csv")
    assert [row["graph"] for row in found if row["kind"] == "output"] == ["5", "0"]
    for graph in ("5", "0"):
        own = [row for row in found if row["graph"] == graph]
        parts = sum(float(row["adds_to_1"]) for row in own if row["kind"] in ("node", "constant"))
        assert parts == pytest.approx(float(own[-1]["adds_to_1"]), abs=1e-4)
    assert run("explain", runs / "classes", "MUTAG", "--graphs", "5,0", "--out", tmp_path / "e.json")[0] == 0
    first = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))[0]
    assert first["output"]["1"] == pytest.approx(
        float(next(r for r in found if r["kind"] == "output")["adds_to_1"]), 1e-4
    )
    assert first["nodes"][0]["label"] == "C"


def test_explanations_of_a_part_have_the_rows_of_the_source(runs: Path, tmp_path: Path) -> None:
    code, output = run("explain", runs / "values", "--part", "test", "--out", tmp_path / "e.html")
    assert code == 0, output
    assert "Explanations" in (tmp_path / "e.html").read_text(encoding="utf-8")
    split = json.loads((runs / "values" / "split.json").read_text(encoding="utf-8"))
    code, output = run("explain", runs / "values", "--part", "test", "--out", tmp_path / "e.csv")
    found = rows(tmp_path / "e.csv")
    assert sorted({int(row["graph"]) for row in found}) == sorted(split["test"])


def test_graphs_are_rows_and_ranges_of_them(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "e.csv"
    code, output = run("explain", runs / "classes", "MUTAG", "--graphs", "0-3, 2-4,9", "--out", out)
    assert code == 0, output
    assert [row["graph"] for row in rows(out) if row["kind"] == "output"] == ["0", "1", "2", "3", "4", "9"]
    split = json.loads((runs / "values" / "split.json").read_text(encoding="utf-8"))
    last = max(split["test"])
    assert run("explain", runs / "values", "--part", "test", "--graphs", f"0-{last}", "--out", out)[0] == 0
    assert {int(row["graph"]) for row in rows(out)} == set(split["test"])  # a range may span rows of other parts
    for wrong in ("3-0", "0-188", "1-2-3", "-1", "0-"):
        code, output = run("explain", runs / "classes", "MUTAG", f"--graphs={wrong}", "--out", out)
        assert (code, f"'{wrong}' is no id and no row with a graph" in " ".join(output.split())) == (1, True), wrong


def test_unknown_graphs_and_formats_are_refused(runs: Path, tmp_path: Path) -> None:
    code, output = run("explain", runs / "classes", "MUTAG", "--graphs", "3,999", "--out", tmp_path / "e.csv")
    assert code == 1
    assert "'999' is no id and no row with a graph; there are rows from 0 to 187" in output
    code, output = run("explain", runs / "classes", "MUTAG", "--graphs", "3,²", "--out", tmp_path / "e.csv")
    assert code == 1
    assert "'²' is no id and no row with a graph" in output
    code, output = run("explain", runs / "classes", "MUTAG", "--out", tmp_path / "e.pdf")
    assert code == 1
    assert "expected a name that ends in .csv, .json, .html" in output
    assert not list(tmp_path.iterdir())


def test_figures_of_a_run_are_images(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.cli.paper.IMAGES", dict.fromkeys(("png", "svg")))  # drawing takes its time
    code, output = run("paper", "figure", runs / "classes", "--out", tmp_path / "energy.svg", "--picture", "energy")
    assert code == 0, output
    assert b"<svg" in (tmp_path / "energy.svg").read_bytes()
    code, output = run("paper", "figure", runs / "values")
    assert code == 0, output
    names = {path.name for path in (runs / "values" / "figures").iterdir()}
    assert {"truth.png", "truth.svg", "filters.png", "energy.svg", "loss.png"} <= names
    assert (runs / "values" / "figures" / "filters.png").read_bytes()[1:4] == b"PNG"
    code, output = run("paper", "figure", runs / "classes", "--out", tmp_path / "x.svg", "--picture", "nothing")
    assert code == 1
    assert "expected one of confusion" in output


def test_graphs_are_named_and_chosen_by_their_ids_or_by_ranges_of_rows(runs: Path, tmp_path: Path) -> None:
    source = runs / "mols.csv"
    code, output = run("explain", runs / "values", source, "--graphs", "CMP-3,0-2", "--out", tmp_path / "e.csv")
    assert code == 0, output
    outputs = [row for row in rows(tmp_path / "e.csv") if row["kind"] == "output"]
    assert [(row["graph"], row["name"]) for row in outputs] == [(str(n), f"CMP-{n}") for n in (3, 0, 1, 2)]
    code, output = run("explain", runs / "values", source, "--graphs", "CMP-99", "--out", tmp_path / "e.csv")
    assert (code, "'CMP-99' is no id and no row with a graph" in output) == (1, True)
    page = tmp_path / "page.html"
    assert run("report", runs / "values", source, "--graphs", 2, "--out", page)[0] == 0
    assert '"name":"CMP-' in page.read_text(encoding="utf-8")


def test_a_molecule_without_an_id_is_named_by_its_row_on_a_page_and_by_its_smiles_in_a_table(
    runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain.csv").write_text("smiles\nCCO\nCCN\n")
    assert run("explain", runs / "values", tmp_path / "plain.csv", "--out", tmp_path / "e.html")[0] == 0
    assert '"name":"graph 1"' in (tmp_path / "e.html").read_text(encoding="utf-8")
    assert run("explain", runs / "values", tmp_path / "plain.csv", "--out", tmp_path / "e.csv")[0] == 0
    assert {row["name"] for row in rows(tmp_path / "e.csv")} == {"CCO", "CCN"}


def test_the_label_that_is_explained_can_be_chosen(runs: Path, tmp_path: Path) -> None:
    chosen = ("--graphs", "0", "--label", "long")
    source = runs / "mols.csv"
    assert run("explain", runs / "labels", source, *chosen, "--out", tmp_path / "e.csv")[0] == 0
    assert [name for name in rows(tmp_path / "e.csv")[0] if name.startswith("adds")] == ["adds_to_long"]
    assert run("explain", runs / "labels", source, *chosen, "--out", tmp_path / "e.json")[0] == 0
    (entry,) = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert list(entry["output"]) == ["long"]
    for command in ("explain", "report"):
        page = tmp_path / f"{command}.html"
        code, output = run(command, runs / "labels", source, "--label", "long", "--graphs", 2, "--out", page)
        assert code == 0, output
        assert '<option value="1" selected>long</option>' in page.read_text(encoding="utf-8")
        code, output = run(command, runs / "labels", source, "--label", "lonk", "--graphs", 2, "--out", page)
        assert (code, "unknown label 'lonk', expected one of o, long; did you mean 'long'?" in output) == (1, True)


def test_the_title_names_the_target_and_the_day_and_the_settings_have_the_metric_that_was_used(
    runs: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs / "values", tmp_path / "mine")
    for file in ("record.json", "model.safetensors"):
        os.utime(tmp_path / "mine" / file, (1_700_000_000, 1_700_000_000))
    pages = []
    for name in ("one.html", "two.html"):
        assert run("report", tmp_path / "mine", "--graphs", 0, "--out", tmp_path / name)[0] == 0
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    assert "<h1>BankGCN on mols: size, trained 2023-11-14</h1>" in pages[0]
    assert "<dt>train.metric</dt><dd>mae</dd>" in pages[0]
    assert pages[0] == pages[1]  # the day on which a page is made is no part of it


def test_explanations_as_a_page_name_what_needs_a_missing_library(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    code, output = run("explain", runs / "classes", "MUTAG", "--out", tmp_path / "e.html")
    assert code == 1
    assert "the page of bankgcn explain needs" in output
    assert "bankgcn report needs" not in output
