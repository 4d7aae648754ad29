"""What a run is: its name, its changes, its way through JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from bankgcn.data.options import ReadOptions
from bankgcn.files.checked import content_hash
from bankgcn.nn import CONVS
from bankgcn.settings import Setting
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec, Seeds
from refusals import refused

WRITTEN_BY_0_1_0 = json.loads((Path(__file__).parents[1] / "records_v010" / "keys.json").read_text())
BASE = RunSpec(dataset="MUTAG")
CONFIGS = [
    BASE,
    BASE.with_(seed=7, gamma=10.0, weight_decay=1e-5, train_per_class=3),
    BASE.with_(conv="gat", heads=4, max_epochs=3, decay_patience=2),
    BASE.with_(dataset="ogbg-molhiv", embedding=(3, 4), metric="roc_auc", pooling="topk"),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_a_key_survives_a_json_round_trip(config: RunSpec) -> None:
    again = RunSpec.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.key == config.key
    assert hash(again) == hash(config)


def test_a_key_is_stable() -> None:
    assert BASE.key == "fd0b71fa222f041b8064"  # kept results are found by it: a change of it must be meant
    assert all(len(config.key) == 20 for config in CONFIGS)


@dataclass(frozen=True, kw_only=True)
class LaterTrainConfig(TrainConfig):
    dropout: float = 0.0
    milestones: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LaterModelConfig(ModelConfig):
    virtual_node: bool = False

    __hash__ = ModelConfig.__hash__


@dataclass(frozen=True, kw_only=True)
class LaterRunConfig(RunSpec):
    budget: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize("written", WRITTEN_BY_0_1_0, ids=lambda written: written["key"])
def test_a_configuration_of_version_0_1_0_keeps_its_key_and_its_form(written: dict) -> None:
    config = RunSpec.from_dict(written["config"])
    assert config.key == written["key"]
    assert json.loads(json.dumps(config.to_dict())) == written["config"]


@pytest.mark.parametrize("written", WRITTEN_BY_0_1_0, ids=lambda written: written["key"])
def test_an_option_that_a_later_version_adds_changes_no_key(written: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    values = written["config"]
    for conv, name, default in (("bank", "momentum", (1, 2)), ("gcn", "bias", True)):
        options = {**CONVS[conv].options, name: Setting(default=default, help="")}
        monkeypatch.setitem(CONVS, conv, replace(CONVS[conv], options=options))
    later = LaterRunConfig(
        **{**values, "model": LaterModelConfig(**values["model"]), "train": LaterTrainConfig(**values["train"])}
    )
    assert later.key == written["key"]
    assert json.loads(json.dumps(later.to_dict())) == values


def test_a_later_option_with_another_value_than_its_default_moves_the_key() -> None:
    changes = [
        {"train": LaterTrainConfig(dropout=0.5)},
        {"train": LaterTrainConfig(milestones=(3,))},
        {"model": LaterModelConfig(virtual_node=True)},
        {"budget": {"hours": "3"}},
        {"reader": ReadOptions(target="active")},
    ]
    configs = [LaterRunConfig(dataset="MUTAG", **change) for change in changes]
    assert len({config.key for config in configs} | {BASE.key}) == len(changes) + 1
    assert configs[0].to_dict()["train"]["dropout"] == 0.5


def test_a_network_without_filter_banks_keeps_its_key_when_a_default_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    key = BASE.with_(conv="gcn").key
    monkeypatch.setattr(TrainConfig, "coherence", "mean")
    assert BASE.with_(conv="gcn").key == key


def test_every_value_moves_the_key() -> None:
    changes = [
        {"dataset": "NCI1"}, {"seed": 1}, {"train_per_class": 5}, {"gamma": 0.2}, {"coherence": "mean"},
        {"weight_decay": 1e-4}, {"patience": 31}, {"select": "score"}, {"order": 3}, {"num_subspaces": 16},
        {"target": "active"}, {"task": "values"}, {"loss": "absolute_error"}, {"hidden_channels": 32},
        {"readout": "mean"}, {"conv": "gcn"}, {"conv": "mlp"}, {"embedding": [1, 2]},
        {"norm": "layer"}, {"norm": "graph"}, {"norm": "none"}, {"residual": True}, {"dropout": 0.2}, {"head": "mlp"},
        {"feed_forward": 1}, {"feed_forward": 2},
    ]  # fmt: skip
    keys = {BASE.with_(**change).key for change in changes}
    assert len(keys | {BASE.key}) == len(changes) + 1


def test_equal_runs_have_one_key() -> None:
    assert RunSpec(dataset="mutag").key == BASE.key
    assert BASE.with_(gamma=10).key == BASE.with_(gamma=10.0).key
    assert BASE.with_(seed=np.int64(3)).key == BASE.with_(seed=3).key
    numpy = {"order": np.int64(3), "hidden_channels": np.int32(32), "batch_size": np.int16(8), "gamma": np.float32(2)}
    assert BASE.with_(**numpy).key == BASE.with_(order=3, hidden_channels=32, batch_size=8, gamma=2).key
    assert BASE.with_(embedding=np.array([3, 4])).key == BASE.with_(embedding=(3, 4)).key
    spelled_out = RunSpec(dataset="MUTAG", model=ModelConfig(conv_options={"order": 2}), train=TrainConfig(gamma=0.1))
    assert spelled_out.key == BASE.key
    assert BASE.with_(norm="none").key == BASE.with_(norm="layer", normalize="none").key
    assert BASE.with_(norm="l2", residual=False, feed_forward=0, dropout=0, head="linear").key == BASE.key
    gcn = BASE.with_(conv="gcn")
    assert gcn.train.gamma == 0
    assert gcn.with_(gamma=10.0, coherence="mean") == gcn  # without filter banks there is nothing to weigh


def test_a_hash_of_content_knows_no_order_of_names() -> None:
    assert content_hash({"a": 1, "b": [2.0, None]}) == content_hash({"b": (2, None), "a": 1.0})
    assert content_hash({"a": True}) != content_hash({"a": 1})


def test_changes_reach_the_part_they_name() -> None:
    changed = BASE.with_(order=4, gamma=1.0, hidden_channels=32, seed=5)
    assert changed.model.conv_options["order"] == 4
    assert changed.model.conv_options["num_subspaces"] == 8
    assert (changed.train.gamma, changed.model.hidden_channels, changed.seed) == (1.0, 32, 5)
    assert changed.with_(conv="cheb").model.conv_options == {"order": 2}
    assert changed.with_(conv="cheb", order=3).model.conv_options == {"order": 3}
    assert changed.with_(conv="bank") == changed
    gat = BASE.with_(model=ModelConfig(conv="gat"), heads=4, train=TrainConfig(patience=3), batch_size=8)
    assert (gat.model.conv_options["heads"], gat.train.patience, gat.train.batch_size) == (4, 3, 8)
    both = BASE.with_(conv_options={"order": 5}, num_subspaces=4).model.conv_options
    assert (both["order"], both["num_subspaces"]) == (5, 4)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gama": 1.0}, ("bank", "'gama'", "'gamma'")),
        ({"conv": "gcn", "order": 2}, ("gcn", "'order'")),
        ({"conv": "gcnn"}, ("model", "'gcnn'", "'gcn'")),
        ({"metric": "acuracy"}, ("metric", "'acuracy'", "'accuracy'")),
        ({"seed": -1}, ("seed=-1",)),
        ({"seed": 1.5}, ("seed=1.5",)),
        ({"train_per_class": 0}, ("train_per_class=0",)),
        ({"weight_decay": -1.0}, ("weight_decay=-1.0",)),
    ],
)
def test_wrong_changes_are_named(change: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        BASE.with_(**change)


@pytest.mark.parametrize("values", [{}, {"dataset": "MUTAG"}, {**BASE.to_dict(), "sead": 1}, [], None])
def test_what_is_no_configuration_is_refused(values: object) -> None:
    with pytest.raises(ValueError, match="no configuration of a run"):
        RunSpec.from_dict(values)


def test_the_seeds_of_a_run_never_change() -> None:
    expected = {"split": 3911592971617647503, "subset": 2250908138605179570, "weights": 7225566332061526397}
    expected |= {"batches": 7807932594236302157, "dropout": 4308174449164750431}
    assert Seeds.of(0)._asdict() == expected


def test_streams_are_independent() -> None:
    drawn = [number for seed in range(200) for number in Seeds.of(seed)]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= number < 2**63 for number in drawn)
    assert Seeds.of(0) == Seeds.of(0)
