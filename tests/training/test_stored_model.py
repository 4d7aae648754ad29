"""A model file with a right checksum and a wrong value: an error when it is loaded, never another prediction."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bankgcn.data.builtin import mutag
from bankgcn.data.convert import from_networkx
from bankgcn.data.features.signals import with_features
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import random_split
from bankgcn.files.checked import FileError
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.tasks import Task
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.ensemble import Ensemble, Predictor
from bankgcn.training.execute import execute
from bankgcn.training.model import TrainedModel
from bankgcn.training.prepare import prepare_graphs
from bankgcn.training.spec import RunSpec
from refusals import refused

REMOVED = object()
WRONG: tuple[Any, ...] = (
    REMOVED,
    None,
    True,
    "",
    "1",
    "\ud800",
    -1,
    0,
    3,
    10**400,
    0.5,
    -0.0,
    math.nan,
    math.inf,
    [],
    [None],
    [math.nan],
    ["a", "a"],
    [[1]],
    {},
    {"a": 1},
)
"""What stands in place of each value."""
MEASURED = ("center", "scale", "temperature")
"""Facts that nothing else in the file repeats: a number that may be one of them makes another model."""


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)


def labelled_paths(y: np.ndarray) -> GraphSet:
    """Paths whose nodes have a number and a word, with values as targets."""
    graphs = []
    for number in range(len(y)):
        graph = nx.path_graph(3 + number % 3)
        nx.set_node_attributes(graph, {node: {"charge": node / 3, "element": "CNO"[node % 3]} for node in graph})
        graphs.append(graph)
    return from_networkx(graphs, y=y, name="paths")


def sets() -> dict[str, GraphSet]:
    chance = np.random.default_rng(0)
    plain = from_networkx(
        [nx.cycle_graph(3 + number % 4) for number in range(20)], y=chance.integers(2, size=(20, 2)) * 1.0
    )
    return {
        "classes": mutag()[:40],
        "values": labelled_paths(chance.normal(size=(20, 2)) * [3, 100]),
        "labels": with_features(plain),
    }


@pytest.fixture(scope="module", params=["classes", "values", "labels"])
def trained(request: pytest.FixtureRequest) -> tuple[TrainedModel, GraphSet]:
    """A model as a run makes it, and its graphs."""
    torch.set_default_dtype(torch.float32)
    graphs = sets()[request.param]
    norm = "batch" if request.param == "labels" else "l2"  # with weights that are whole numbers
    spec = RunSpec(
        dataset="own",
        model=ModelConfig(hidden_channels=8, num_layers=1, conv_options={"num_subspaces": 2}, norm=norm),
        train=TrainConfig(max_epochs=1),
    )
    result = execute(prepare_graphs(spec, graphs, random_split(len(graphs)), split_from="the seed"))
    assert result is not None
    assert result.model is not None
    return result.model, graphs


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value in a file, whole lists and objects among them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(values: dict[str, Any], path: tuple[Any, ...], wrong: Any) -> dict[str, Any]:
    """The values with another one at this place."""
    copied: Any = copy.deepcopy(values)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    if wrong is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = wrong
    return copied


def may_be_measured(path: tuple[Any, ...], wrong: Any) -> bool:
    """Whether no check can tell that the value is wrong."""
    plain = isinstance(wrong, int | float) and not isinstance(wrong, bool) and wrong != 10**400 and math.isfinite(wrong)
    return plain and any(name in path for name in MEASURED) and ("center" in path or wrong > 0)


def predicted(run: Path, graphs: GraphSet) -> NDArray | str:
    """What the model of a run predicts, or the message of the error."""
    try:
        predictor = Predictor(Ensemble.load(run))
        assert all(isinstance(name, str) for name in predictor.task.names)
        return predictor.predict(graphs)
    except ValueError as error:
        return str(error)


def test_a_wrong_value_is_an_error_or_changes_no_prediction(
    trained: tuple[TrainedModel, GraphSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # thousands of files, none of which must survive a crash
    model, graphs = trained
    file = tmp_path / "model.safetensors"
    model.save(file)
    tensors, values = load_tensors(file)
    expected = predicted(tmp_path, graphs)
    errors = 0
    for path, wrong in product(places(values), WRONG):
        file.unlink()  # some file systems wait for the disk where a file is replaced
        save_tensors(file, tensors, changed(values, path, wrong))
        found = predicted(tmp_path, graphs)
        if isinstance(found, str):
            not_these = "signals" in path and "the model " in found  # it describes other features than those here
            assert found.startswith(f"{file}: holds no model of this version (") or not_these, (path, wrong)
            errors += 1
        elif "names" not in path and not may_be_measured(path, wrong):  # any text may name a class
            np.testing.assert_array_equal(found, expected, err_msg=f"{path} {wrong!r}")
    assert errors > 500


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.bfloat16, torch.bool, torch.complex64])
def test_weights_of_another_type_are_refused(
    trained: tuple[TrainedModel, GraphSet], tmp_path: Path, dtype: Any
) -> None:
    trained[0].save(tmp_path / "model")
    tensors, values = load_tensors(tmp_path / "model")
    for name, tensor in tensors.items():
        if tensor.dtype != dtype:
            save_tensors(tmp_path / "other", {**tensors, name: tensor.to(dtype)}, values)
            with refused(FileError, f"'{name}'", dtype):
                TrainedModel.load(tmp_path / "other")


def test_numbers_that_a_network_cannot_hold_are_refused(trained: tuple[TrainedModel, GraphSet], tmp_path: Path) -> None:
    trained[0].save(tmp_path / "model")
    tensors, values = load_tensors(tmp_path / "model")
    for number in (math.nan, -math.inf, 1e300):  # the last is infinite in single precision
        wrong = tensors["predict.bias"].double().clone()
        wrong[0] = number
        save_tensors(tmp_path / "other", {**tensors, "predict.bias": wrong}, values)
        with refused(FileError, "'predict.bias'", "not finite"):
            TrainedModel.load(tmp_path / "other")


def test_a_negative_variance_is_refused(tmp_path: Path) -> None:
    config = ModelConfig(hidden_channels=8, num_layers=1, norm="batch")
    model = TrainedModel(config.build(7, 2), config, Task(names=("-1", "1")), 7)
    model.save(tmp_path / "model")
    tensors, values = load_tensors(tmp_path / "model")
    name = next(name for name in tensors if name.endswith("running_var"))
    save_tensors(tmp_path / "other", {**tensors, name: -tensors[name] - 1}, values)
    with pytest.raises(FileError, match="holds a negative number"):
        TrainedModel.load(tmp_path / "other")


@pytest.mark.parametrize(
    ("classes", "message"),
    [(["a"], "expected 2"), (["a", 1], "different words or numbers"), ([1, 1], "different"), ([[1], [2]], "different")],
)
def test_the_classes_of_an_estimator_are_checked(tmp_path: Path, classes: Any, message: str) -> None:
    config = ModelConfig(hidden_channels=8, num_layers=1)
    model = TrainedModel(config.build(7, 2), config, Task(names=("-1", "1")), 7, {"classes": classes})
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match=message):
        TrainedModel.load(tmp_path / "model")
