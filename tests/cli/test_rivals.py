"""A forest and a kernel as models of every command, and ensembles of several kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bankgcn
from bankgcn.cli import run_report
from bankgcn.files.checked import with_checksum
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.rivals import forest, kernel_machine
from bankgcn.training import rival
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)
TABLE = "smiles,y,one,two\n" + "".join(
    f"{'C' * n}{end},{n + 0.5 * (end == 'O') + 0.25},{n % 2},{'' if n == 3 else n // 2 % 2}\n"
    for n in range(1, 16)
    for end in ("O", "N")
)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "TREES", 20)
    monkeypatch.setattr(forest.Forest.fit, "__defaults__", (20, False))
    monkeypatch.setattr(kernel_machine, "MOST_DEPTH", 2)


@pytest.fixture
def table(folder: Path) -> str:
    (folder / "mine.csv").write_text(TABLE)
    return "mine.csv"


@pytest.mark.parametrize("model", ["forest", "wl-svm"])
def test_a_run_has_all_its_files_and_predict_gives_their_digits(command: Command, folder: Path, model: str) -> None:
    code, out, err = command("train", "--model", model, "--out", "run")
    assert code == 0, err
    assert "epoch" not in out + err
    record = json.loads((folder / "run" / "record.json").read_text())
    assert record["config"]["model"] == {"conv": model}
    assert record["config"]["train"] == {"metric": "accuracy"}
    assert (record["ended"], record["best_epoch"], record["epochs"]) == ("fitted", 1, 1)
    assert record["versions"]["kernels"] == "scikit-learn"
    assert "scored the test graphs once" in record["protocol"]
    assert record["protocol"].partition(";")[0] in out
    assert len(rows(folder / "run" / "history.csv")) == 1
    assert command("predict", "run", "--part", "test", "--out", "again.csv")[0] == 0
    assert (folder / "again.csv").read_text() == (folder / "run" / "test_predictions.csv").read_text()
    assert f"accuracy  {record['test_score']:.4f}" in command("evaluate", "run", "--part", "test")[1]
    before = (folder / "run" / "record.json").read_bytes(), (folder / "run" / "model.safetensors").read_bytes()
    assert command("train", "--config", "run/config.toml", "--out", "other")[0] == 0
    other = json.loads((folder / "other" / "record.json").read_text())
    assert {**other, "seconds": 0, "sha256": ""} == {**json.loads(before[0]), "seconds": 0, "sha256": ""}
    assert (folder / "other" / "model.safetensors").read_bytes() == before[1]


def test_networks_and_rivals_share_splits_and_tables(command: Command, folder: Path) -> None:
    some = ("--runs", 2, "--search-runs", 1, *QUICK, "--gammas", 0, "--weight-decays", "0,0.1", "--workers", 1)
    code, out, err = command("compare", "MUTAG", "--models", "forest,bank,wl-svm", *some, "--store", "store")
    assert code == 0, err
    assert "comparison: 7 runs" in err  # 2 + 2 of the rivals; of the network 2 candidates, and the winner once more
    assert [line.split()[0] for line in out.splitlines()[4:7]] == ["forest", "BankGCN", "WL-SVM"]
    records = [json.loads(file.read_text()) for file in (folder / "store").glob("*.json")]
    records = [one.get("record", one) for one in records]
    by_seed = {(one["config"]["seed"], one["split_hash"]) for one in records}
    assert len(by_seed) == 2
    widths = {one["config"]["model"].get("hidden_channels") for one in records}
    assert widths == {None, 16}  # the options of the command are those of the network
    assert command("report", "--store", "store", "--out", "store.html")[0] == 0


@pytest.mark.parametrize("model", ["forest", "wl-svm"])
@pytest.mark.parametrize(
    ("target", "options"),
    [("y", ()), ("one,two", ("--task", "labels", "--threshold", "validation", "--class-weight", "balanced"))],
)
def test_values_and_labels_of_molecules(
    command: Command, folder: Path, table: str, model: str, target: str, options: tuple[str, ...]
) -> None:
    code, _, err = command("train", table, "--target", target, "--model", model, *options, "--out", "run")
    assert code == 0, err
    assert command("predict", "run", table, "--out", "all.csv")[0] == 0
    assert command("predict", "run", "--part", "test", "--out", "test.csv")[0] == 0
    model_of_python = bankgcn.load_model(folder / "run")
    smiles = [row["smiles"] for row in rows(folder / "test.csv")]
    found = model_of_python.predict(smiles) if target == "y" else model_of_python.predict_proba(smiles)[:, 0]
    column = "predicted_y" if target == "y" else "p_one"
    for name in ("test.csv", "run/test_predictions.csv"):
        assert [float(row[column]) for row in rows(folder / name)] == found.tolist()


def test_what_needs_a_network_says_so(command: Command, folder: Path, table: str) -> None:
    assert command("train", table, "--target", "one", "--model", "forest", "--out", "run")[0] == 0
    for words in (("embed", "run", table), ("explain", "run", table), ("export", "run", "--onnx", "x.onnx")):
        code, _, err = command(*words)
        assert code == 1
        assert "needs a network, but the model is forest" in err
    code, _, err = command("train", table, "--target", "one", "--init-from", "run", "--out", "other")
    assert code == 1
    assert "holds a model without weights to start with: forest" in err
    code, _, err = command("tune", table, "--target", "one", "--model", "forest")
    assert code == 1
    assert "forest has no settings that trials vary" in err
    code, _, err = command("train", table, "--target", "one", "--model", "wl-svm", "--hidden", 3)
    assert "--hidden is no option of the model wl-svm" in err
    assert command("report", "run", "--out", "page.html")[0] == 0
    assert "forest is no network: there are no filters" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_missing_library_is_reported_before_any_work(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bankgcn.extras.is_installed", lambda module: module != "sklearn")
    for words in (("train", "--out", "run"), ("compare", "--runs", 1, "--store", "run")):
        models = ("--models", "bank,forest") if words[0] == "compare" else ("--model", "forest")
        code, _, err = command(*words, *models)
        assert code == 1
        assert "forest needs scikit-learn: pip install 'bankgcn[sklearn]'" in err
    assert not (folder / "run").exists()


def test_several_kinds_vote_with_the_weights_of_the_folder(command: Command, folder: Path) -> None:
    code, out, err = command("train", "--models", "bank,forest", "--seeds", "0-1", *QUICK, "--out", "mix")
    assert code == 0, err
    assert sorted(path.name for path in (folder / "mix").iterdir() if path.is_dir()) == [
        "bank-seed-0",
        "bank-seed-1",
        "forest-seed-0",
    ]
    assert "weights of the models: bank " in out
    stored = json.loads((folder / "mix" / "ensemble.json").read_text())
    assert set(stored["weights"]) == {"bank", "forest"}
    assert math.isclose(sum(stored["weights"].values()), 1)
    del stored["sha256"]
    stored["weights"] = {"bank": 0.2, "forest": 0.8}
    (folder / "mix" / "ensemble.json").write_text(json.dumps(with_checksum(stored)))
    single = {}
    for name in ("bank-seed-0", "bank-seed-1", "forest-seed-0"):
        command("predict", f"mix/{name}", "MUTAG", "--out", f"{name}.csv")
        single[name] = np.array([float(row["p_1"]) for row in rows(folder / f"{name}.csv")])
    assert command("predict", "mix", "MUTAG", "--out", "mix.csv")[0] == 0
    found = [float(row["p_1"]) for row in rows(folder / "mix.csv")]
    expected = 0.1 * (single["bank-seed-0"] + single["bank-seed-1"]) + 0.8 * single["forest-seed-0"]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    spread = np.sqrt(
        1.5 * sum(weight * (single[name] - expected) ** 2 for name, weight in zip(single, (0.1, 0.1, 0.8), strict=True))
    )
    np.testing.assert_allclose([float(row["p_1_sd"]) for row in rows(folder / "mix.csv")], spread, atol=1e-12)
    assert "weights of the models: bank 0.2, forest 0.8" in command("evaluate", "mix", "--part", "test")[1]
    assert "the first network is explained, mix/bank-seed-0" in command("explain", "mix", "--part", "test")[2]
    assert command("report", "mix", "--out", "page.html")[0] == 0
    stored["weights"] = {"bank": 1.0}
    (folder / "mix" / "ensemble.json").write_text(json.dumps(with_checksum(stored)))
    assert "ensemble.json: has no weight of forest" in command("predict", "mix", "MUTAG")[2]
    stored["weights"] = {"bank": -1.0, "forest": 2.0}
    (folder / "mix" / "ensemble.json").write_text(json.dumps(with_checksum(stored)))
    assert "the weight of bank is -1.0" in command("predict", "mix", "MUTAG")[2]


def test_kinds_vote_across_folds(command: Command, folder: Path) -> None:
    code, out, err = command("train", "--models", "gcn,wl-svm", "--folds", 3, *QUICK, "--out", "folds")
    assert code == 0, err
    stored = json.loads((folder / "folds" / "ensemble.json").read_text())
    assert stored["graphs"] == 188  # each graph validates one fold
    assert "all 6 models, each on its test graphs: test accuracy" in out


def test_intervals_of_a_mix_are_around_its_weighted_mean(command: Command, folder: Path, table: str) -> None:
    code, _, err = command("train", table, "--target", "y", "--models", "gcn,wl-svm", *QUICK, "--out", "mix")
    assert code == 0, err
    stored = json.loads((folder / "mix" / "ensemble.json").read_text())
    del stored["sha256"]
    stored["weights"] = {"gcn": 0.2, "wl-svm": 0.8}
    (folder / "mix" / "ensemble.json").write_text(json.dumps(with_checksum(stored)))
    assert command("predict", "mix", table, "--interval", 0.5, "--out", "p.csv")[0] == 0
    for row in rows(folder / "p.csv"):
        middle = (float(row["y_low"]) + float(row["y_high"])) / 2
        assert middle == pytest.approx(float(row["predicted_y"]), abs=1e-9)


def test_the_best_preset_trains_models_of_several_kinds(command: Command, folder: Path) -> None:
    best = ("--preset", "best", "--seed", 3, *QUICK)
    code, out, err = command("train", *best, "--out", "best")
    assert code == 0, err
    names = sorted(path.name for path in (folder / "best").iterdir() if path.is_dir())
    assert names == [*(f"bank-seed-{seed}" for seed in range(3, 8)), "forest-seed-3", "wl-svm-seed-3"]
    assert "weights of the models: bank " in out
    assert err.count("MUTAG: 188 graphs") == 1
    splits = {json.loads((folder / "best" / name / "split.json").read_text())["hash"] for name in names}
    assert len(splits) == 1
    repeated = ("--config", "best/bank-seed-4/config.toml", "--out", "again")
    assert command("train", *repeated)[0] == 0
    assert (folder / "again" / "record.json").exists()
    assert command("train", *best, "--model", "gcn", "--out", "single")[0] == 0
    assert (folder / "single" / "record.json").exists()


def test_the_best_preset_leaves_out_a_model_that_cannot_take_the_graphs(command: Command, folder: Path) -> None:
    edges = [{"source": n, "target": n + 1, "weight": 0.5 + n % 2} for n in range(3)]
    lines = [
        json.dumps({"nodes": [{"id": n, "a": n % (2 + g % 2)} for n in range(4)], "links": edges, "y": g % 2})
        for g in range(20)
    ]
    (folder / "own.jsonl").write_text("\n".join(lines))
    code, _, err = command("train", "own.jsonl", "--target", "y", "--preset", "best", *QUICK, "--out", "best")
    assert code == 0, err
    assert "note: without wl-svm: " in err
    assert not (folder / "best" / "wl-svm-seed-0").exists()
    plain = [json.dumps({**json.loads(line), "links": [{**edge, "weight": 1} for edge in edges]}) for line in lines]
    for name, text in (("ones", "\n".join(plain)), ("none", "\n".join(plain).replace(', "weight": 1', ""))):
        (folder / f"{name}.jsonl").write_text(text)
        assert command("predict", "best/forest-seed-0", f"{name}.jsonl", "--out", f"{name}.csv")[0] == 0
    assert (folder / "ones.csv").read_text() == (folder / "none.csv").read_text()  # no weight is a weight of 1
    code, _, err = command("train", "own.jsonl", "--target", "y", "--models", "gcn,wl-svm", *QUICK, "--out", "typed")
    assert code == 1
    assert "has edge weights, which the model wl-svm cannot use" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--models", "bank,forset"), "did you mean 'forest'"),
        (("--models", "bank,forest", "--model", "gcn"), "--model gcn and --models contradict each other"),
        (("--models", "forest,wl-svm", "--hidden", 8), "--hidden is no option of the models forest, wl-svm"),
    ],
)
def test_models_that_cannot_be_are_refused(command: Command, words: tuple[object, ...], message: str) -> None:
    code, _, err = command("train", *words)
    assert code == 1
    assert message in err


def test_after_own_data_comes_what_a_forest_has(
    command: Command, folder: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rival, "SHARE", 1e6)
    own = (table, "--target", "y", *QUICK)
    code, out, err = command("train", *own, "--out", "run")
    assert code == 0, err
    lines = [line for line in out.splitlines() if line.startswith("forest on the same split: MAE ")]
    assert len(lines) == 1
    monkeypatch.setattr(rival, "TREES", 20)
    assert "forest" not in command("train", *own, "--out", "run")[1]  # it is finished
    without = command("train", *own, "--no-rival", "--out", "other")[1]
    assert "forest" not in without
    records = [json.loads((folder / name / "record.json").read_text()) for name in ("run", "other")]
    for record in records:
        del record["seconds"], record["sha256"]
    assert records[0] == records[1]
    assert "forest" not in command("train", *QUICK, "--out", "mutag")[1]  # of the catalogue
    out = command("train", *own, "--seeds", "0-1", "--out", "several")[1]
    assert "(2 networks: " in out
    monkeypatch.setattr(rival, "SHARE", 0.0)
    _, out, err = command("train", *own, "--out", "third")
    assert "no forest beside it" in err
    assert "forest on" not in out


def test_the_forest_beside_a_network_is_that_of_train(
    command: Command, folder: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rival, "SHARE", 1e6)
    monkeypatch.setattr(rival, "TREES", 20)
    monkeypatch.setattr(run_report, "TREES", 20)
    out = command("train", table, "--target", "y", *QUICK, "--out", "run")[1]
    command("train", table, "--target", "y", "--model", "forest", "--out", "forest")
    record = json.loads((folder / "forest" / "record.json").read_text())
    assert f"forest on the same split: MAE {record['test_score']:.5g} (" in out


def change(path: Path, edit: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Write a model again with other tensors or values, and right checksums."""
    tensors, values = load_tensors(path)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    edit(tensors, values)
    save_tensors(path, tensors, values)


def test_a_damaged_or_hostile_file_is_refused(command: Command, folder: Path) -> None:
    assert command("train", "--model", "forest", "--out", "run")[0] == 0
    path = folder / "run" / "model.safetensors"
    whole = path.read_bytes()

    def endless(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        right = tensors["trees.0.right"]
        right[right > 0] = 1

    def far(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        tensors["trees.0.feature"][:] = 10**9

    def lost(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        del tensors["trees.0.value"]

    def other(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        values["config"]["conv"] = "wl-svm"

    def nothing(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        values["rival"] = None

    for edit in (endless, far, lost, other, nothing):
        path.write_bytes(whole)
        change(path, edit)
        code, _, err = command("predict", "run", "MUTAG")
        assert code == 1, edit
        assert "holds no model of this version" in err
    path.write_bytes(whole[:-100])
    assert "cut short" in command("predict", "run", "MUTAG")[2]
