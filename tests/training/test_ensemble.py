"""Several models: which of them predict a graph, and what they predict together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.splits import Split
from bankgcn.tasks import Task
from bankgcn.training import ModelConfig, TrainedModel
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.run_folder import RunFolder
from refusals import refused

GRAPHS = mutag()[:6]
CONFIG = ModelConfig(hidden_channels=4, num_layers=1, conv_options={"num_subspaces": 2})


def ensemble(folder: Path, tests: list[list[int]]) -> Ensemble:
    """Networks with different weights; each was tested on its graphs."""
    members = {}
    for seed, test in enumerate(tests):
        torch.manual_seed(seed)
        members[folder / str(seed)] = TrainedModel(CONFIG.build(7, 2), CONFIG, Task(names=("a", "b")), 7)
        rest = [number for number in range(6) if number not in test]
        split = Split(train=np.array(rest[1:]), valid=np.array(rest[:1]), test=np.array(test))
        (folder / str(seed)).mkdir()
        split.save(RunFolder(folder / str(seed)).split, GRAPHS.fingerprint)
    return Ensemble(members)


def test_models_with_one_split_all_predict_its_graphs(tmp_path: Path) -> None:
    numbers, voters = ensemble(tmp_path, [[4, 1], [4, 1]]).part(GRAPHS, "test")
    assert numbers.tolist() == [1, 4]
    assert voters is None


def test_a_graph_is_predicted_by_the_models_that_were_tested_on_it(tmp_path: Path) -> None:
    models = ensemble(tmp_path, [[5, 0], [0, 3], [0, 5]])
    numbers, voters = models.part(GRAPHS, "test")
    assert numbers.tolist() == [0, 3, 5]
    assert voters is not None
    assert voters.tolist() == [[True, True, True], [False, True, False], [True, False, True]]
    mean, spread, *_ = models.apply(GRAPHS[numbers], voters=voters)
    assert spread is None  # one graph has a single prediction
    one, two, three = (model.predictions(GRAPHS) for model in models.members.values())
    expected = torch.stack([(one[0] + two[0] + three[0]) / 3, two[3], (one[5] + three[5]) / 2])
    torch.testing.assert_close(mean, expected)
    assert not torch.allclose(one[5], three[5], atol=1e-4)
    several = [0, 2]
    mean, spread, *_ = models.apply(GRAPHS[numbers[several]], voters=voters[several])
    assert spread is not None
    torch.testing.assert_close(spread[0], torch.stack([one[0], two[0], three[0]]).std(0))
    torch.testing.assert_close(spread[1], torch.stack([one[5], three[5]]).std(0))


def test_models_with_different_splits_have_no_validation_graphs_in_common(tmp_path: Path) -> None:
    models = ensemble(tmp_path, [[0], [1]])
    with pytest.raises(ValueError, match="were trained with different splits"):
        models.part(GRAPHS, "valid")
    with refused(ValueError, "part", "'all'"):
        models.part(GRAPHS, "all")


def test_a_mean_of_models_is_decided_by_the_mean_of_their_thresholds(tmp_path: Path) -> None:
    models = ensemble(tmp_path, [[0], [0]]).members
    given = {"a": (0.2, 2.0), "b": (0.4, 1.0)}  # threshold and temperature
    members = {
        path: replace(model, task=replace(model.task, thresholds=(low,)), metadata={"temperature": temperature})
        for (path, model), (low, temperature) in zip(models.items(), given.values(), strict=True)
    }
    together = Ensemble(members)
    assert together.task.thresholds == pytest.approx((0.3,))
    # without the temperature of 2, the odds 1/4 are those of 1/16
    assert together.deciding(calibrated=False).thresholds == pytest.approx(((1 / 17 + 0.4) / 2,))
    first = next(iter(models))
    assert Ensemble({**members, first: models[first]}).task.thresholds == ()  # one of them has none


def test_one_model_embeds_graphs_and_vectors_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    several = ensemble(tmp_path, [[5, 0], [0, 3]])
    with pytest.raises(ValueError, match="there are 2 models, and the vectors of different networks"):
        several.embed(GRAPHS)
    one = Ensemble(dict(list(several.members.items())[:1]))
    np.testing.assert_array_equal(one.embed(GRAPHS), one.first.apply(GRAPHS)[1])
    with torch.no_grad():
        for weight in one.first.net.convs[0].parameters():
            weight.fill_(torch.inf)
    with pytest.raises(ValueError, match="the network computes no finite numbers for graph 0"):
        one.embed(GRAPHS)
