"""Files that are damaged or made to harm: refused by an error that names them, or harmless."""

from __future__ import annotations

import json
import os
import pickle
import resource
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import save_file

from bankgcn.data.graphs import KIND, GraphSet
from bankgcn.data.sources import load_source
from bankgcn.data.splits import Split
from bankgcn.files.checked import FileError, hash_of_parts
from bankgcn.files.tensors import load_tensors, save_tensors, write_arrays
from bankgcn.training.model import TrainedModel
from bankgcn.training.run_folder import RunFolder
from damage import MEMORY, Kind, make_files, run_trials

TRIALS = 60  # for each kind; soak/damage.py makes thousands
V010 = Path(__file__).parents[1] / "records_v010" / "run"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kind]:
    torch.set_default_dtype(torch.float32)
    return make_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    "kind", ["model", "checkpoint", "record of a run", "record of a store", "GraphSet", "split", "config"]
)
def test_damage_is_found_or_harmless(kind: str, files: dict[str, Kind], tmp_path: Path) -> None:
    outcomes = run_trials(files[kind], TRIALS, 1, tmp_path)
    assert outcomes.total() == TRIALS
    assert outcomes["refused"] > TRIALS // 2


def test_records_of_version_0_1_0_have_no_checksum_and_are_read() -> None:
    folder = RunFolder(V010)
    assert folder.read_record().status == "finished"
    assert len(folder.read_history()) == 2


def test_a_model_whose_checksum_is_removed_is_refused(files: dict[str, Kind], tmp_path: Path) -> None:
    tensors, values = load_tensors(files["model"].path)
    header = json.dumps({"format": 3, "kind": "file of weights", "fields": values, "arrays": {}})
    save_file({name: tensor.clone() for name, tensor in tensors.items()}, tmp_path / "model", {"bankgcn": header})
    with pytest.raises(FileError, match="model: is damaged: its metadata are not those of bankgcn .*sha256"):
        TrainedModel.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"in_channels": 10**9}, "claims a network with the size 1,000,000,000"),
        ({"in_channels": "7"}, "holds no model"),
        ({"in_channels": None}, "holds no model"),
        ({"config": {"hidden_channels": 10**9}}, "claims a network with the size 1,000,000,000"),
        ({"config": {"num_layers": 10**9}}, "claims a network with the size 1,000,000,000"),
        ({"config": {"conv_options": {"order": 10**9}}}, "claims a network with the size 1,000,000,000"),
        ({"config": []}, "holds no model"),
        ({"task": {"names": 5}}, "holds no model"),
        ({"about": {"temperature": 0}}, "its temperature is 0"),
        ({"about": 3}, "holds no model"),
    ],
)
def test_a_model_that_claims_what_it_does_not_hold_is_refused(
    change: dict[str, Any], message: str, files: dict[str, Kind], tmp_path: Path
) -> None:
    tensors, values = load_tensors(files["model"].path)
    merged = {name: values[name] | value if isinstance(value, dict) else value for name, value in change.items()}
    save_tensors(tmp_path / "model", tensors, values | merged)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileError, match=f"model: .*{message}"):
        TrainedModel.load(tmp_path / "model")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY // 1024


def test_weights_that_are_not_finite_are_refused(files: dict[str, Kind], tmp_path: Path) -> None:
    tensors, values = load_tensors(files["model"].path)
    name = next(iter(tensors))
    save_tensors(tmp_path / "model", tensors | {name: tensors[name] * torch.nan}, values)
    with pytest.raises(FileError, match=f"the weight '{name}' holds a number that is not finite"):
        TrainedModel.load(tmp_path / "model")


@pytest.mark.parametrize(
    "member",
    [
        {"dtype": "I64", "shape": [10**9], "data_offsets": [0, 8]},
        {"dtype": "I64", "shape": [10**9], "data_offsets": [0, 8 * 10**9]},
        {"dtype": "I64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "I64", "shape": [1], "data_offsets": [-8, 0]},
        {"dtype": "I64", "shape": [1], "data_offsets": [8, 16]},
        {"dtype": "I64", "shape": [2**62, 4], "data_offsets": [0, 8]},
        {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]},
        {"dtype": "I64", "shape": "x", "data_offsets": [0, 8]},
        {},
        [],
    ],
)
def test_a_set_that_claims_what_it_does_not_hold_is_refused(member: Any, tmp_path: Path) -> None:
    header = json.dumps({"node_ptr": member}).encode()
    (tmp_path / "set").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    for verify in (False, True):
        with pytest.raises(FileError, match="set: cannot be read as safetensors: it is cut short, damaged or"):
            GraphSet.load(tmp_path / "set", verify)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fields": 3},
        {"arrays": []},
        {"arrays": {"node_ptr": 1}},
        {"arrays": {}},
        {"arrays": {"node_ptr": ["int32", [2], 0]}},
        {"arrays": {"node_ptr": ["int64", [1], 0]}},
        {"arrays": {"node_ptr": ["int64", [2], 0]}},
        {"arrays": {"node_ptr": ["int64", [2], None]}},
        {"kind": 5},
        {"format": "3"},
        {"format": True},
    ],
)
def test_a_set_whose_description_is_wrong_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    content = {"format": 3, "kind": KIND, "fields": {}, "arrays": {}} | wrong
    text = json.dumps(content | {"sha256": hash_of_parts([json.dumps(content).encode()])})
    save_arrays({"node_ptr": np.array([0, 2])}, tmp_path / "set", {"bankgcn": text})
    with pytest.raises(FileError, match="set: is (damaged: |a 5, not a set of graphs)"):
        GraphSet.load(tmp_path / "set")


def arrays(**changes: Any) -> dict[str, Any]:
    pair = {
        "node_ptr": np.array([0, 2]),
        "edge_ptr": np.array([0, 2]),
        "degree": np.array([1, 1], np.uint8),
        "neighbor": np.array([1, 0], np.uint8),
        "shift": np.array([-1, -1], np.float32),
        "attributes": np.ones((2, 1), np.float32),
    }
    return pair | changes


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"node_ptr": np.array([0, 10**9])}, {}),
        ({"node_ptr": np.array([0, 2**62])}, {}),
        ({"node_ptr": np.array(0)}, {}),
        ({"node_ptr": np.array([], np.int64)}, {}),
        ({"edge_ptr": np.array([0, -2])}, {}),
        ({"degree": np.array([200, 1], np.uint8)}, {}),
        ({"neighbor": np.array([1, 9], np.uint8)}, {}),
        ({"shift": np.array([np.nan, 0], np.float32)}, {}),
        ({"attributes": np.full((2, 1), np.inf, np.float32)}, {}),
        ({"attributes": np.ones((2, 1), np.float64)}, {}),
        ({"edge_weight": np.array([-1, 1], np.float32)}, {}),
        ({"another": np.ones(1)}, {}),
        ({}, {"classes": [1, 2]}),
        ({}, {"names": 7}),
        ({}, {"name": ["a"]}),
        ({}, {"label_widths": [10**9]}),
        ({}, {"skipped": [1]}),
        ({}, {"skipped": 1}),
        ({}, {"skipped": [[-1, "why"]]}),
        ({}, {"feature_spec": "x"}),
        ({}, {"__class__": 1}),
    ],
)
def test_a_set_whose_arrays_contradict_each_other_is_refused(
    changes: dict[str, Any], fields: dict[str, Any], tmp_path: Path
) -> None:
    write_arrays(tmp_path / "set", KIND, fields, arrays(**changes))
    with pytest.raises(FileError, match=r"set: (holds no set of graphs|is damaged)"):
        GraphSet.load(tmp_path / "set")


class Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("the pickle was run",)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "model.safetensors": lambda path: TrainedModel.load(path),
    "training.safetensors": lambda path: RunFolder(path.parent).epochs(),
    "record.json": lambda path: RunFolder(path.parent).read_record(),
    "split.json": lambda path: Split.load(path, ""),
    "set.graphs": lambda path: GraphSet.load(path),
    "source.zip": lambda path: load_source(path),
    "source.jsonl": lambda path: load_source(path),
}


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("content", ["pickle", "torch", "deep JSON", "huge header", "zip bomb", "zip with ../"])
def test_a_file_of_another_kind_runs_nothing_and_is_refused(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    if content == "pickle":
        path.write_bytes(pickle.dumps(Harmful()))
    elif content == "torch":
        torch.save({"a": torch.zeros(3)}, path)
    elif content == "deep JSON":
        path.write_bytes(b"[" * 100_000)
    elif content == "huge header":
        path.write_bytes(struct.pack("<Q", 99_000_000) + b'{"a":')
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            name_inside, size = ("../outside_A.txt", 10) if content == "zip with ../" else ("bomb_A.txt", 65 << 20)
            archive.writestr(name_inside, bytes(size))
    with pytest.raises(ValueError, match=name):
        LOADERS[name](path)
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("name", LOADERS)
def test_a_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=name):
        LOADERS[name](tmp_path / name)


def test_a_record_of_a_run_with_a_wrong_type_is_refused(files: dict[str, Kind], tmp_path: Path) -> None:
    content = json.loads(files["record of a run"].path.read_text())
    del content["sha256"]
    for name, value in [("valid_score", "best"), ("epochs", 1.5), ("notes", "x"), ("versions", [1]), ("metric", 3)]:
        (tmp_path / "record.json").write_text(json.dumps(content | {name: value}))
        with pytest.raises(FileError, match=f"record.json: is no intact record of a run .*{name} is"):
            RunFolder(tmp_path).read_record()
