"""``bankgcn evaluate``: the figures of the training again, and those of other data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]

QUICK = ("--epochs", 3, "--hidden", 16, "--layers", 2)


@pytest.fixture
def table(command: Command, folder: Path) -> Path:
    lines = [f"m{n},{'C' * n}O,no,{n}.5\nr{n},c1ccccc1{'C' * n},yes,{n}.25" for n in range(1, 16)]
    (folder / "own.csv").write_text("\n".join(["id,smiles,active,size", *lines]))
    return folder / "own.csv"


def test_the_test_graphs_have_the_assessment_of_the_record(command: Command, folder: Path, table: Path) -> None:
    code, trained, err = command("train", table, "--target", "active", *QUICK, "--out", "r")
    assert code == 0, err
    code, out, err = command("evaluate", "r", "--part", "test", "--json", "figures.json")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert json.loads((folder / "figures.json").read_text()) == record["assessment"]
    assert out.splitlines()[0] == f"accuracy  {record['test_score']:.4f}  (3 graphs)"
    assert out.splitlines()[1:] == trained.splitlines()[2:-3]
    assert "class  graphs  recall  mistaken for" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_rows_without_a_target_are_left_out(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", "--skip-unreadable", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("id,smiles,active\n1,CCO,no\n2,CCC,\n3,oops,yes\n4,CO,no\n")
    code, out, err = command("evaluate", "r", "new.csv")
    assert code == 0, err
    assert "(2 graphs)" in out
    assert "note: 2 of 4 rows have no graph or no target" in err
    assert "yes         0       -" in out


def test_a_part_without_graphs_is_named(command: Command, table: Path) -> None:
    code, _, err = command("train", table, "--target", "active", "--ratios", "9:1:0", *QUICK, "--out", "r")
    assert code == 0, err
    code, out, err = command("evaluate", "r", "--part", "test")
    assert (code, out) == (1, "")
    assert "there are no graphs to score in the part 'test' of r" in err


def test_values_may_be_called_differently(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "size", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("smiles,mass\nCCO,1.5\nCCC,2\n")
    code, out, err = command("evaluate", "r", "new.csv", "--target", "mass")
    assert code == 0, err
    assert out.startswith("MAE  ")
    assert "MAE of the mean of the training graphs  " in out


@pytest.mark.parametrize(
    ("target", "cell", "message"),
    [
        ("size", "1" + "0" * 400, "is not a finite number of single precision"),
        ("size", "inf", "column 'size': target inf is not a finite number of single precision"),
        ("size", "tall", "column 'size': target 'tall' is not a number"),
        ("ring,big", "-1", "column 'ring': label -1 is neither 0 nor 1"),
    ],
)
def test_targets_that_training_refuses_are_refused_with_their_line(
    command: Command, folder: Path, target: str, cell: str, message: str
) -> None:
    lines = [f"{'C' * n}O,{n}.5,{n % 2},{n // 8}" for n in range(1, 16)]
    (folder / "own.csv").write_text("\n".join(["smiles,size,ring,big", *lines]))
    code, _, err = command("train", "own.csv", "--target", target, *QUICK, "--out", "r")
    assert code == 0, err
    (folder / "new.csv").write_text(f"smiles,size,ring,big\nCCO,1.5,0,1\nCC,{cell},{cell},0\n")
    code, out, err = command("evaluate", "r", "new.csv")
    assert (code, out) == (1, "")
    assert re.match(f"error: .*new.csv:3: .*{message}", err)
    code, out, err = command("predict", "r", "new.csv")
    assert (code, out) == (0, "2 predictions are in predictions.csv\n")
    assert re.search(f"note: no score: .*new.csv:3: .*{message}", err)


def test_missing_targets_are_filled_as_in_training(command: Command, folder: Path, table: Path) -> None:
    table.write_text(table.read_text().replace(",no,", ",,"))
    code, _, err = command("train", table, "--target", "active", "--fill-missing", "unknown", *QUICK, "--out", "r")
    assert code == 0, err
    (folder / "new.csv").write_text("id,smiles,active\n1,CCO,\n2,CCC,NA\n3,CCN,yes\n")
    for options in ((), ("--fill-missing", "unknown")):
        code, out, err = command("evaluate", "r", "new.csv", *options)
        assert code == 0, err
        assert "(3 graphs)" in out
        assert "unknown       2  " in out
    assert "(3 graphs)" in command("predict", "r", "new.csv")[1]
    with (folder / "predictions.csv").open() as file:
        assert [line.split(",")[2] for line in file] == ["active", "", "NA", "yes"]  # cells stay as they were
    assert (
        "have a class that no training graph has: no" in command("evaluate", "r", "new.csv", "--fill-missing", "no")[2]
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("smiles,active\nCCO,maybe\nC,no\n", [], "1 of 2 graphs have a class that no training graph has: maybe"),
        ("smiles,other\nCCO,1\n", [], "has no column 'active'; its columns are 'smiles', 'other'"),
        ("smiles,active\nCCO,\n", [], "new has no targets to compare with (--target NAME names their column)"),
        ("smiles,active\n", [], "has no molecules"),
        ("", [], "is empty: the first line must name the columns"),
        (
            "smiles,active,b\nCCO,yes,no\n",
            ["--target", "active,b"],
            "but --target active,b names several targets",
        ),
    ],
)
def test_data_that_cannot_be_compared_is_refused(
    command: Command, folder: Path, table: Path, content: str, options: list[str], message: str
) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text(content)
    code, out, err = command("evaluate", "r", "new.csv", *options)
    assert (code, out) == (1, "")
    assert message in err


def test_graphs_with_other_features_are_refused_with_both(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    code, _, err = command("evaluate", "r", "MUTAG")
    assert code == 1
    assert "the model was trained on the nine features of atoms (onehot), but MUTAG has the node labels" in err


def test_training_graphs_in_an_evaluation_are_counted_and_left_out_once(
    command: Command, folder: Path, table: Path
) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    header, *rows = table.read_text().splitlines()
    (folder / "copy.csv").write_text("\n".join([header, *rows]).replace(",", ";"))
    code, out, err = command("evaluate", "r", "copy.csv", "--json", "figures.json")
    assert code == 0, err
    learned = "27 of 30 graphs are equal to graphs that the model was trained or selected on"
    assert f"warning: {learned}, so the score above flatters" in err
    figures = json.loads((folder / "figures.json").read_text())
    record = json.loads((folder / "r" / "record.json").read_text())
    assert figures["unseen"]["seen_graphs"] == 27
    assert figures["unseen"]["without_them"] == record["assessment"]  # the others are the test graphs
    assert out.splitlines()[-1].startswith("without them: accuracy  ")
    assert "(3 graphs)" in out.splitlines()[-1]


def test_an_evaluation_on_training_graphs_alone_says_so(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", "--ratios", "8:1:0", *QUICK, "--out", "r")[0] == 0
    header, *rows = table.read_text().splitlines()
    (folder / "cut.csv").write_text("\n".join([header, *rows[5:15]]))
    code, out, err = command("evaluate", "r", "cut.csv")
    assert code == 0, err
    assert "10 of 10 graphs are equal to graphs that the model was trained or selected on: this score says" in err
    assert "without them" not in out


def test_new_graphs_bring_no_warning(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    (folder / "new.csv").write_text("smiles,active\nCCN,no\nc1ccccc1N,yes\n")
    code, _, err = command("evaluate", "r", "new.csv")
    assert code == 0
    assert "equal to graphs" not in err


def test_a_changed_list_of_seen_graphs_is_refused(command: Command, folder: Path, table: Path) -> None:
    assert command("train", table, "--target", "active", *QUICK, "--out", "r")[0] == 0
    split = json.loads((folder / "r" / "split.json").read_text())
    split["seen"]["graphs"][0] = "0" * 16
    (folder / "r" / "split.json").write_text(json.dumps(split))
    code, _, err = command("evaluate", "r", table)
    assert code == 1
    assert "split.json: is damaged: its hashes of graphs cannot be read" in err


def test_merged_graphs_are_merged_again_for_a_part(command: Command, folder: Path) -> None:
    lines = [f"{text},{n % 2}" for n in range(1, 31) for text in (f"{'C' * n}O", f"O{'C' * n}")]
    (folder / "twice.csv").write_text("\n".join(["smiles,odd", *lines]))
    assert command("train", "twice.csv", "--duplicates", "merge", *QUICK, "--out", "r")[0] == 0
    code, out, err = command("evaluate", "r", "--part", "test", "--json", "figures.json")
    assert code == 0, err
    record = json.loads((folder / "r" / "record.json").read_text())
    assert json.loads((folder / "figures.json").read_text()) == record["assessment"]
    assert "(3 graphs)" in out
