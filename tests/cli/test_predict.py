"""``bankgcn predict`` and ``embed``: new graphs are described as those of training, by whatever file they come."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.graphs import GraphSet
from bankgcn.data.sources import load_source
from bankgcn.training import TrainedModel, embed, predict_logits
from csv_rows import rows

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


def write_tu(graphs: GraphSet, folder: Path, targets: bool = True) -> Path:
    """Graphs with one label a node and classes that are whole numbers, as text files."""
    folder.mkdir()
    batch = graphs.batch()
    columns = {
        "A": [f"{i + 1}, {j + 1}" for i, j in batch.edge_index.T.tolist()],
        "graph_indicator": (batch.batch + 1).tolist(),
        "node_labels": graphs.labels[:, 0].tolist(),
    }
    if targets:
        columns["graph_labels"] = [graphs.classes[number] for number in graphs.y]
    for part, lines in columns.items():
        (folder / f"OWN_{part}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_predictions_are_those_of_the_model(command: Command, folder: Path, mutag_run: Path) -> None:
    assert command("predict", mutag_run, "MUTAG", "--no-calibrate", "--out", "raw.csv")[0] == 0
    code, out, err = command("predict", mutag_run, "MUTAG", "--out", "p.csv")
    assert code == 0
    model = TrainedModel.load(mutag_run / "model.safetensors")
    logits = predict_logits(model.net, mutag()).double()
    probabilities = torch.softmax(logits / model.temperature, 1)
    table = rows(folder / "p.csv")
    assert list(table[0]) == ["graph", "class", "predicted", "p_-1", "p_1"]
    np.testing.assert_allclose([float(row["p_1"]) for row in table], probabilities[:, 1], rtol=1e-5)
    raw = torch.softmax(logits, 1)[:, 1]
    np.testing.assert_allclose([float(row["p_1"]) for row in rows(folder / "raw.csv")], raw, rtol=1e-5)
    assert not torch.allclose(raw, probabilities[:, 1], rtol=1e-3)
    assert [row["predicted"] for row in table] == [("-1", "1")[k] for k in probabilities.argmax(1)]
    accuracy = np.mean([row["predicted"] == row["class"] for row in table])
    assert out.splitlines()[:2] == ["188 predictions are in p.csv", f"accuracy  {accuracy:.4f}  (188 graphs)"]
    others = ["ROC-AUC", "average precision", "macro F1", "balanced accuracy", "MCC"]
    assert [line.split("  ")[0] for line in out.splitlines()[2:]] == others
    assert "these are the graphs of training; --part test" in err


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_tables_on_standard_output_have_it_to_themselves(
    command: Command, folder: Path, mutag_run: Path, out: str
) -> None:
    for name, said in (("predict", "188 predictions are in standard output\naccuracy"), ("embed", "188 vectors of 64")):
        assert command(name, mutag_run, "MUTAG", "--out", "file.csv")[0] == 0
        code, table, err = command(name, mutag_run, "MUTAG", "--out", out)
        assert code == 0
        assert table == (folder / "file.csv").read_text()
        assert said in err
    assert not (folder / "-").exists()


def test_predictions_go_through_links_and_pipes(command: Command, folder: Path, mutag_run: Path) -> None:
    (folder / "link.csv").symlink_to("file.csv")
    assert command("predict", mutag_run, "MUTAG", "--out", "link.csv")[0] == 0
    assert (folder / "link.csv").is_symlink()
    os.mkfifo(folder / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((folder / "pipe").read_text()), daemon=True)
    reader.start()
    assert command("predict", mutag_run, "MUTAG", "--out", "pipe")[0] == 0
    reader.join(timeout=5)
    assert read == [(folder / "file.csv").read_text()]


def test_the_test_part_has_the_score_of_the_record(command: Command, folder: Path, mutag_run: Path) -> None:
    code, out, err = command("predict", mutag_run, "--part", "test")
    assert code == 0
    predicted, recorded = rows(folder / "predictions.csv"), rows(mutag_run / "test_predictions.csv")
    assert list(predicted[0]) == list(recorded[0])
    for name in ("graph", "class", "predicted"):
        assert [row[name] for row in predicted] == [row[name] for row in recorded]
    probabilities = [[float(row["p_1"]) for row in table] for table in (predicted, recorded)]
    np.testing.assert_allclose(*probabilities, rtol=1e-6)
    (folder / "predictions.csv").unlink()
    assert command("predict", mutag_run, "MUTAG", "--part", "test")[1] == out
    record = json.loads((mutag_run / "record.json").read_text())
    assert f"accuracy  {record['test_score']:.4f}  (18 graphs)" in out
    split = json.loads((mutag_run / "split.json").read_text())
    assert [int(row["graph"]) for row in rows(folder / "predictions.csv")] == split["test"]
    assert "note" not in err


def test_files_without_some_labels_classes_or_targets_get_the_same_predictions(
    command: Command, folder: Path, mutag_run: Path
) -> None:
    graphs = mutag()
    nitrogen_up = [i for i in range(len(graphs)) if graphs[i].y[0] == 1 and (graphs[i].labels < 3).all()][:9]
    command("predict", mutag_run, "MUTAG", "--out", "all.csv")
    expected = [rows(folder / "all.csv")[number]["p_1"] for number in nitrogen_up]
    for targets in (True, False):
        new = write_tu(graphs[nitrogen_up], folder / f"new-{targets}", targets)
        code, out, err = command("predict", mutag_run, new, "--out", "new.csv")
        assert code == 0, err
        table = rows(folder / "new.csv")
        assert [row["p_1"] for row in table] == expected
        assert ("class" in table[0]) == ("accuracy" in out) == targets
        if targets:  # the only class of the file has number 0 there, but 1 in the model
            accuracy = np.mean([row["predicted"] == "1" for row in table])
            assert f"accuracy  {accuracy:.4f}" in out


def test_labels_that_the_model_does_not_know_are_named(command: Command, folder: Path, mutag_run: Path) -> None:
    new = write_tu(mutag()[:2], folder / "new")
    labels = (new / "OWN_node_labels.txt").read_text()
    (new / "OWN_node_labels.txt").write_text("7" + labels[1:])
    code, out, err = command("predict", mutag_run, new)
    assert (code, out) == (1, "")
    assert "OWN_node_labels.txt:1: label 7 is not among those that the model was trained on, 0 to 6" in err
    assert not (folder / "predictions.csv").exists()


def test_unknown_classes_leave_no_score(command: Command, folder: Path, mutag_run: Path) -> None:
    new = write_tu(mutag()[:3], folder / "new")
    (new / "OWN_graph_labels.txt").write_text("1\n-1\n5\n")
    code, out, err = command("predict", mutag_run, new)
    assert code == 0
    assert "accuracy" not in out
    assert "note: no score: 1 of 3 graphs have a class that no training graph has: 5; the model knows -1, 1; " in err
    assert rows(folder / "predictions.csv")[2]["class"] == "5"


def test_embeddings_are_those_of_the_network(command: Command, folder: Path, mutag_run: Path) -> None:
    assert command("embed", mutag_run, "MUTAG")[1] == "188 vectors of 64 numbers are in embeddings.csv\n"
    assert command("embed", mutag_run, "MUTAG", "--out", "e.NPY", "--part", "valid")[0] == 0
    err = command("embed", mutag_run, "MUTAG", "--out", "e.NPY", "--keep", "nonsense")[2]
    assert "error: the input has no column 'nonsense' to keep" in err
    expected = TrainedModel.load(mutag_run / "model.safetensors").apply(mutag())[1]
    table = rows(folder / "embeddings.csv")
    assert list(table[0])[:2] == ["graph", "e0"]
    read = np.array([[float(row[f"e{column}"]) for column in range(64)] for row in table], np.float32)
    np.testing.assert_array_equal(read, expected)
    network = embed(TrainedModel.load(mutag_run / "model.safetensors").net, mutag()).numpy()
    np.testing.assert_allclose(read, network, rtol=1e-5, atol=1e-6)
    assert command("embed", mutag_run, "MUTAG", "--out", "e.jsonl")[0] == 0
    first = json.loads((folder / "e.jsonl").read_text().splitlines()[0])
    assert first["e0"] == float(table[0]["e0"])
    valid = json.loads((mutag_run / "split.json").read_text())["valid"]
    np.testing.assert_array_equal(np.load(folder / "e.NPY", allow_pickle=False), expected[valid])


@pytest.mark.parametrize("features", ["raw", "onehot", "embedded"])
def test_molecules_from_table_to_table(command: Command, folder: Path, features: str) -> None:
    lines = [f"{'C' * n}O,0\nc1ccccc1{'C' * n},1" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["mol,active", *lines]))
    options = ("--smiles", "mol", "--target", "active", "--features", features)
    code, _, err = command("train", "train.csv", *options, *QUICK, "--metric", "roc_auc", "--out", "r")
    assert code == 0, err
    (folder / "new.csv").write_text("price,mol,active\n3,CCO,\n4,c1ccccc1C,1\n5,oops,0\n")
    code, _, err = command("predict", "r", "new.csv", "--strict")
    assert code == 1
    assert "new.csv:4: 1 of 3 molecules cannot be read: line 4, 'oops'" in err
    code, _, err = command("predict", "r", "new.csv", "--strict", "--skip-unreadable")
    assert (code, "contradict each other" in err) == (1, True)
    code, out, err = command("predict", "r", "new.csv")
    assert code == 0, err
    assert out.startswith("2 predictions are in predictions.csv\nROC-AUC  ")
    assert "(1 graphs)" in out  # one target is empty, one molecule cannot be read
    assert err == 'note: 1 of 3 rows could not be read; they are empty, and the column "unreadable" says why\n'
    table = rows(folder / "predictions.csv")
    assert [[row["price"], row["mol"], row["active"]] for row in table] == [
        ["3", "CCO", ""],
        ["4", "c1ccccc1C", "1"],
        ["5", "oops", "0"],
    ]
    assert list(table[0]) == ["price", "mol", "active", "predicted", "p_0", "p_1", "unreadable"]
    assert [bool(row["predicted"] and row["p_0"]) for row in table] == [True, True, False]
    assert [bool(row["unreadable"]) for row in table] == [False, False, True]
    code, _, err = command("predict", "r", "new.csv", "--skip-unreadable", "--keep", "price, mol", "--out", "k.jsonl")
    assert code == 0, err
    kept = [json.loads(line) for line in (folder / "k.jsonl").read_text().splitlines()]
    assert list(kept[0]) == ["price", "mol", "predicted", "p_0", "p_1", "unreadable"]
    assert (kept[2]["p_0"], kept[0]["unreadable"]) == (None, None)
    code, _, err = command("predict", "r", "new.csv", "--skip-unreadable", "--keep", "id")
    assert code == 1
    assert "the input has no column 'id' to keep; its columns are 'price', 'mol', 'active'" in err
    (folder / "known.csv").write_text("mol,active\nCCO,0\nc1ccccc1C,1\n")
    code, out, _ = command("predict", "r", "known.csv", "--target", "active")
    assert "accuracy  " in out
    assert "ROC-AUC  " in out


def test_training_writes_the_reasons_to_a_file_and_prints_their_number(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,0\nc1ccccc1{'C' * n},1" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["smiles,active", *lines, *(f"C{'(' * n},1" for n in range(1, 8))]))
    code, _, err = command("train", "train.csv", *QUICK, "--out", "r")
    assert (code, "--skip-unreadable" in err) == (1, True)  # training stays strict
    code, _, err = command("train", "train.csv", "--skip-unreadable", *QUICK, "--out", "r")
    assert code == 0, err
    assert "note: the target is column 'active': no other was named" in err
    assert "note: 7 of 37 molecules could not be read and are left out; the first: line 32, 'C(': " in err
    assert err.count("'C(") == 1
    assert "note: 7 rows without a graph, with the reasons: r/skipped.csv" in err
    assert [row["graph"] for row in rows(folder / "r" / "skipped.csv")] == [str(row) for row in range(30, 37)]
    assert all(row["reason"] for row in rows(folder / "r" / "skipped.csv"))
    assert command("train", "--config", "r/config.toml", "--out", "r", "--overwrite")[0] == 0


def test_predict_reads_as_the_training_did(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,0,{n}\nc1ccccc1{'C' * n},1,{n}" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["molecule,active,id", *lines, "oops,1,99"]))
    options = ("--smiles", "molecule", "--target", "active", "--skip-unreadable")
    assert command("train", "train.csv", *options, *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("id,molecule,active\n1,CCO,0\n2,oops,\n")
    code, out, err = command("predict", "r", "new.csv")
    assert code == 0, err
    assert "accuracy" in out
    assert [row["id"] for row in rows(folder / "predictions.csv")] == ["1", "2"]
    (folder / "other.csv").write_text("id,molecule\n1,CCO\n")
    code, out, err = command("predict", "r", "other.csv")
    assert code == 0, err
    assert "accuracy" not in out  # the column of the targets is not there
    code, _, err = command("predict", "r", "other.csv", "--target", "active")
    assert code == 1
    assert "has no column 'active'; its columns are 'id', 'molecule'" in err
    code, out, err = command("predict", "r", "new.csv", "--no-skip-unreadable")
    assert code == 1
    assert "line 3, 'oops'" in err
    code, out, err = command("predict", "r", "train.csv")
    assert "note: these are the graphs of training" in err
    assert len(rows(folder / "predictions.csv")) == 31
    (folder / "again.csv").write_text((folder / "predictions.csv").read_text())
    code, _, err = command("predict", "r", "again.csv")
    assert code == 1
    assert "two columns 'predicted': choose the columns of the input to keep by --keep" in err


def test_a_source_without_a_readable_row_still_gives_a_table_with_the_reasons(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,0\nc1ccccc1{'C' * n},1" for n in range(1, 16)]
    (folder / "own.csv").write_text("\n".join(["smiles,active", *lines]))
    assert command("train", "own.csv", *QUICK, "--out", "r")[0] == 0
    (folder / "bad.csv").write_text("smiles,active\noops,1\n")
    code, out, err = command("predict", "r", "bad.csv", "--skip-unreadable")
    assert (code, out) == (0, "0 predictions are in predictions.csv\n"), err
    (row,) = rows(folder / "predictions.csv")
    assert [row["smiles"], row["predicted"], bool(row["unreadable"])] == ["oops", "", True]
    code, _, err = command("embed", "r", "bad.csv", "--out", "e.npy")
    assert code == 0, err
    assert "note: 1 of 1 rows could not be read; the numbers of these rows are NaN" in err
    assert command("embed", "r", "bad.csv", "--strict")[0] == 1
    assert command("embed", "r", "bad.csv", "--out", "e.csv")[0] == 0
    assert bool(rows(folder / "e.csv")[0]["unreadable"])
    assert np.isnan(np.load(folder / "e.npy")).all(axis=1).tolist() == [True]
    code, _, err = command("evaluate", "r", "bad.csv", "--skip-unreadable")
    assert (code, err.splitlines()[-1]) == (1, "error: there are no graphs to score in bad.csv")
    code, _, err = command("train", "bad.csv", "--skip-unreadable", "--out", "other")
    assert code == 1
    assert "bad.csv:2: no molecule can be read; the first is 'oops': " in err


def test_a_model_without_a_source_and_a_part_asks_for_one(command: Command, mutag_run: Path) -> None:
    code, _, err = command("predict", mutag_run)
    assert code == 1
    assert "name the graphs (bankgcn predict RUN SOURCE), or choose a part" in err
    code, _, err = command("predict", mutag_run, "MUTAG", "--out", "p.xlsx")
    assert code == 1
    assert "p.xlsx: cannot write a table with the ending '.xlsx': expected .csv, .parquet, .jsonl" in err


def write_words(path: Path) -> Path:
    """Pairs of nodes of which one has a word that no other graph has."""
    document = '{"nodes": [{"id": 0, "is": "%s"}, {"id": 1, "is": "rare%d"}], "edges": [], "graph": {"y": "%s"}}\n'
    path.write_text("".join(document % (word, n, word) for n in range(20) for word in ("a", "b")))
    return path


def test_words_that_only_test_graphs_have_are_described_in_training_as_in_prediction(
    command: Command, folder: Path
) -> None:
    own = write_words(folder / "own.jsonl")
    code, _, err = command("train", own, *QUICK, "--out", "r")
    assert code == 0, err
    split = json.loads((folder / "r" / "split.json").read_text())
    words = {f"rare{graph // 2}" for graph in split["train"]}
    model = TrainedModel.load(folder / "r" / "model.safetensors")
    assert model.in_channels == len(words) + 2 < 22
    assert set(model.feature_spec["words"]["is"]) == words | {"a", "b"}
    code, out, err = command("predict", "r", own, "--part", "test", "--out", "p.csv")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert f"accuracy  {record['test_score']:.4f}  (4 graphs)" in out
    assert "no training graph has: its one-hot columns are all 0" in err
    assert "these are the graphs of training" in command("predict", "r", own)[2]
    assert command("embed", "r", own)[0] == 0


def write_values(path: Path, targets: list[object]) -> Path:
    """Single nodes with a number, and a target at the key ``height``; ``None``: without one."""
    graphs = [{"height": target, "other": 1} if target is not None else {"other": 1} for target in targets]
    documents = [{"nodes": [{"id": 0, "x": n}], "edges": [], "graph": graph} for n, graph in enumerate(graphs)]
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def test_graphs_in_json_are_scored_where_their_targets_are_known(command: Command, folder: Path) -> None:
    own = write_values(folder / "own.jsonl", [n + 0.5 for n in range(20)])
    code, _, err = command("train", own, "--target", "height", *QUICK, "--out", "r")
    assert code == 0, err
    new = write_values(folder / "new.jsonl", [1.5, None, 2.5])
    code, out, err = command("predict", "r", new)
    assert code == 0, err
    table = rows(folder / "predictions.csv")
    assert list(table[0]) == ["graph", "height_true", "predicted_height", "unreadable"]
    assert [row["height_true"] for row in table] == ["1.5", "", "2.5"]
    errors = [abs(float(row["predicted_height"]) - float(row["height_true"])) for row in (table[0], table[2])]
    assert f"MAE  {np.mean(errors):.5g}  (2 graphs)" in out
    code, evaluated, err = command("evaluate", "r", new)
    assert code == 0, err
    assert evaluated.splitlines()[0] == out.splitlines()[1]
    assert "note: 1 of 3 rows have no graph or no target" in err
    code, out, err = command("predict", "r", write_values(folder / "none.jsonl", [None, None]))
    assert (code, out) == (0, "2 predictions are in predictions.csv\n")
    assert "no score" not in err
    code, _, err = command("evaluate", "r", "none.jsonl")
    assert code == 1
    assert "no graph has the target 'height'; their keys are 'other'" in err


@pytest.mark.parametrize(
    ("target", "message"),
    [("tall", "column 'height': target 'tall' is not a number"), ([1.5, 2.5], "these graphs have no target height")],
)
def test_a_wrong_target_in_json_leaves_predictions_without_a_score(
    command: Command, folder: Path, target: object, message: str
) -> None:
    own = write_values(folder / "own.jsonl", [n + 0.5 for n in range(20)])
    assert command("train", own, "--target", "height", *QUICK, "--out", "r")[0] == 0
    new = write_values(folder / "new.jsonl", [target])
    code, out, err = command("predict", "r", new)
    assert (code, out) == (0, "1 predictions are in predictions.csv\n")
    assert "note: no score: " in err
    assert message in err
    assert float(rows(folder / "predictions.csv")[0]["predicted_height"])
    code, out, err = command("evaluate", "r", new)
    assert (code, out) == (1, "")
    assert message in err


def test_models_of_several_splits_vote_each_with_its_own_columns(command: Command, folder: Path) -> None:
    own = write_words(folder / "own.jsonl")
    for seed in (0, 1):
        assert command("train", own, *QUICK, "--seed", seed, "--out", f"runs/{seed}")[0] == 0
    models = [TrainedModel.load(folder / "runs" / str(seed) / "model.safetensors") for seed in (0, 1)]
    assert models[0].feature_spec != models[1].feature_spec
    code, _, err = command("predict", "runs", own)
    assert code == 0, err
    assert "these are the graphs of training" in err
    singles = []
    for seed in (0, 1):
        command("predict", f"runs/{seed}", own, "--out", "one.csv")
        singles.append([float(row["p_a"]) for row in rows(folder / "one.csv")])
    votes = [float(row["p_a"]) for row in rows(folder / "predictions.csv")]
    np.testing.assert_allclose(votes, np.mean(singles, axis=0), rtol=1e-5)


def test_a_part_of_a_table_is_read_as_it_was_for_training(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,0,{n}\nc1ccccc1{'C' * n},1,{n}" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["mol,active,price", *lines, "oops,0,1", "CC,,1"]))
    skip = ("--skip-unreadable", "--skip-missing")
    code, _, err = command("train", "train.csv", "--smiles", "mol", "--target", "active", *skip, *QUICK, "--out", "r")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    code, out, err = command("predict", "r", "train.csv", "--part", "test")
    assert code == 0, err
    assert f"accuracy  {record['test_score']:.4f}  ({record['split_sizes'][2]} graphs)" in out
    code, out, err = command("embed", "r", "train.csv", "--part", "valid")
    assert code == 0, err
    assert out.startswith(f"{record['split_sizes'][1]} vectors")
    code, _, err = command("predict", "r", "train.csv", "--part", "test", "--ignore-targets")
    assert code == 1
    assert "--part needs the targets" in err


def test_the_test_part_may_come_from_a_table_of_its_own(command: Command, folder: Path) -> None:
    lines = [f"m{n},{'C' * n}O,0\nr{n},c1ccccc1{'C' * n},1" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["id,smiles,active", *lines]))
    (folder / "other.csv").write_text("smiles,active,price\nCCN,0,5\noops,1,6\nc1ccncc1,1,7\n")
    options = ("--target", "active", "--skip-unreadable", "--test", "other.csv")
    code, _, err = command("train", "train.csv", *options, *QUICK, "--out", "r")
    assert code == 0, err
    assert "train / validation / test: 27 / 3 / 2" in err
    record = json.loads((folder / "r" / "record.json").read_text())
    code, out, err = command("predict", "r", "--part", "test")
    assert code == 0, err
    assert f"accuracy  {record['test_score']:.4f}  (2 graphs)" in out
    table = rows(folder / "predictions.csv")
    assert [(row["id"], row["smiles"], row["price"]) for row in table] == [("", "CCN", "5"), ("", "c1ccncc1", "7")]
    assert command("predict", "r", "--part", "valid")[0] == 0
    assert len(rows(folder / "predictions.csv")) == 3


def test_a_part_of_a_saved_set_needs_no_options_of_a_table(command: Command, folder: Path) -> None:
    lines = [f"{'C' * n}O,0\nc1ccccc1{'C' * n},1" for n in range(1, 16)]
    (folder / "train.csv").write_text("\n".join(["mol,active", *lines]))
    assert command("train", "train.csv", "--smiles", "mol", "--target", "active", *QUICK, "--out", "r")[0] == 0
    load_source(folder / "train.csv", smiles="mol", target="active").save(folder / "train.graphs")
    code, _, err = command("predict", "r", "train.graphs", "--part", "test")
    assert code == 0, err


def test_only_options_that_a_command_has_are_suggested(command: Command, folder: Path, mutag_run: Path) -> None:
    (folder / "new.csv").write_text("smiles,a\nCC,1\nCCC,\n")
    line = '{"nodes": [{"id": 0%s}], "edges": [], "graph": {"y": "%s"}}\n'
    (folder / "own.jsonl").write_text((line % (', "x": 1', "a") + line % (', "x": 2', "b")) * 10)
    (folder / "new.jsonl").write_text(line % (', "x": 1', "a") + line % ("", "b"))
    assert command("train", "own.jsonl", *QUICK, "--out", "r")[0] == 0
    code, _, err = command("evaluate", "r", "new.jsonl")
    assert code == 1
    assert "(--skip-unreadable leaves such graphs out, --fill-missing VALUE sets missing entries)" in err
    code, _, err = command("predict", "r", "new.jsonl", "--strict")
    assert code == 1
    assert "(--fill-missing VALUE sets missing entries)" in err
    assert command("predict", "r", "new.jsonl")[0] == 0
    assert [bool(row["predicted"]) for row in rows(folder / "predictions.csv")] == [True, False]
    code, _, err = command("data", "describe", "new.csv")
    advice = "(--skip-missing leaves them out, --fill-missing VALUE sets them, --ignore-targets reads no targets)"
    assert advice in err


def test_weighted_graphs_are_refused_by_a_model_that_takes_no_weights(command: Command, folder: Path) -> None:
    line = '{"nodes": [{"id": 0, "x": 1}, {"id": 1, "x": 2}], "edges": [{"source": 0, "target": 1%s}]%s}\n'
    plain = [line % ("", ', "graph": {"y": "a"}'), line % ("", ', "graph": {"y": "b"}')]
    (folder / "plain.jsonl").write_text("".join(plain * 10))
    (folder / "weighted.jsonl").write_text(line % (', "weight": 2', ""))
    assert command("train", "plain.jsonl", *QUICK, "--model", "sage", "--out", "r")[0] == 0
    code, _, err = command("predict", "r", "weighted.jsonl")
    assert code == 1
    assert "weighted has edge weights, which the model sage cannot use (--ignore-weights ignores them)" in err
    for name in ("predict", "embed"):
        code, _, err = command(name, "r", "weighted.jsonl", "--ignore-weights")
        assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nowhere", "MUTAG"], "nowhere: is not a run folder"),
        (["predict", ".", "MUTAG"], ": has no trained model"),
        (
            ["predict", "begun", "MUTAG"],
            "begun: has no trained model: its run is not finished: bankgcn train --out begun",
        ),
        (["predict", "damaged", "MUTAG"], "damaged/model.safetensors: is not a file of weights saved by bankgcn"),
        (["predict", "runs/one", "digits"], "but digits has intensities of pixels"),
        (["predict", "runs/one", "MUTAG", "--part", "tset"], "unknown part 'tset'.*did you mean 'test'"),
        (["predict", "runs/one", "new.graphs", "--part", "test"], "split.json: is a split of the graphs"),
        (["embed", "runs/one", "nothing"], "'nothing' is neither a dataset nor"),
    ],
)
def test_an_error_is_a_sentence(
    command: Command, folder: Path, mutag_run: Path, arguments: list[str], message: str
) -> None:
    for name, file in (("begun", "config.toml"), ("damaged", "model.safetensors")):
        (folder / name).mkdir()
        (folder / name / file).touch()
    mutag()[:3].save(folder / "new.graphs")
    code, out, err = command(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert re.search(message, err), err


def test_a_run_of_version_0_1_0_shows_its_results_and_says_that_its_model_must_be_trained_again(
    command: Command, folder: Path
) -> None:
    shutil.copytree(Path(__file__).parents[1] / "records_v010" / "run", folder / "r")
    code, _, err = command("predict", "r", "MUTAG", "--part", "test")
    assert code == 1
    assert "has the format of an earlier version of bankgcn" in err
    code, out, err = command("train", "--out", "r")
    assert code == 0, err
    assert "this run is finished already" in err
    assert out.startswith("test accuracy  0.6667  (18 graphs)\nvalidation accuracy  0.6842  (19 graphs)\n")


def test_the_scale_of_the_training_graphs_is_kept_with_the_model(command: Command, folder: Path) -> None:
    documents = [
        {"nodes": [{"id": k, "mass": 1000 + k * (1 + number % 2)} for k in range(4)], "target": "ab"[number % 2]}
        for number in range(40)
    ]
    for document in documents:
        document["edges"] = [{"source": k, "target": k + 1} for k in range(3)]
    (folder / "graphs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    code, _, err = command("train", "graphs.jsonl", *QUICK, "--scale", "standard", "--out", "run")
    assert code == 0, err
    scale = TrainedModel.load(folder / "run" / "model.safetensors").feature_spec["scale"]
    assert 1000 < scale["center"][0] < 1005
    command("predict", "run", "graphs.jsonl", "--out", "all.csv")
    (folder / "one.jsonl").write_text(json.dumps(documents[7]))
    command("predict", "run", "one.jsonl", "--out", "one.csv")
    assert rows(folder / "one.csv")[0]["p_a"] == rows(folder / "all.csv")[7]["p_a"]
    code, out, err = command("predict", "run", "--part", "test", "--out", "part.csv")
    assert code == 0, err
    assert "4 predictions" in out
    code, _, err = command("train", "MUTAG", "--scale", "standard")
    assert (code, "--scale standard is for numbers of nodes" in err) == (1, True)


@pytest.mark.parametrize("settings", [[], ["--norm", "batch"], ["--residual", "--head", "mlp", "--feed-forward", "1"]])
def test_the_test_predictions_of_a_run_are_those_of_predict_to_the_last_digit(
    command: Command, folder: Path, settings: list[str]
) -> None:
    command("train", "MUTAG", *QUICK, *settings, "--out", "run")
    code, _, err = command("predict", "run", "--part", "test", "--out", "part.csv")
    assert code == 0, err
    assert rows(folder / "part.csv") == rows(folder / "run" / "test_predictions.csv")
