"""A run that starts with the weights of another: what is copied, what must agree, and layers that stay as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import smooth_or_alternating
from bankgcn.data.features.spec import describe_features
from bankgcn.files.checked import FileError
from bankgcn.kernels import use_kernels
from bankgcn.messages import Spelling, message_of
from bankgcn.nn import GraphNetwork
from bankgcn.tasks import Task
from bankgcn.training import TrainConfig, fit
from bankgcn.training.execute import execute
from bankgcn.training.fitting import Context, Training
from bankgcn.training.prepare import prepare
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RunSpec
from bankgcn.training.stepper import ProcessGroup, ProgramStepper, Stepper, make_stepper
from bankgcn.training.warm_start import SHARED, Parent

CONFIG = RunSpec(dataset="MUTAG").with_(max_epochs=2, hidden_channels=8, num_layers=3, num_subspaces=4)
TASK = Task(names=("smooth", "alternating"))


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def write_run(path: Path, spec: RunSpec = CONFIG) -> Path:
    """A finished run in a folder."""
    run, folder = prepare(spec), RunFolder(path)
    result = execute(run)
    path.mkdir()
    folder.config.write_text("")
    run.split.save(folder.split, run.graphs.fingerprint, run.seen_hashes())
    folder.write_result(result)
    return path


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    return write_run(tmp_path / "parent")


def weights(net: GraphNetwork) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def test_a_run_starts_with_all_weights_of_its_parent_if_its_outputs_mean_the_same(parent: Path) -> None:
    run, model = prepare(CONFIG.with_(init_from=str(parent), seed=3)), Parent.load(parent).model
    assert all(torch.equal(one, weights(model.net)[name]) for name, one in weights(run.net).items())
    assert run.parent == CONFIG.key
    assert any(f"starts with the weights of the run {CONFIG.key} in" in note for note in run.graphs.notes)


def molecules(path: Path) -> str:
    """A table with values and classes of some molecules."""
    rows = [f"{'C' * n}{end},{n / 7},{n % 2}" for n in range(1, 13) for end in ("O", "N", "Cl")]
    path.write_text("\n".join(["smiles,size,kind", *rows]))
    return str(path)


@pytest.mark.parametrize("change", [{"head": "mlp"}, {"target": "size"}])
def test_another_head_or_task_gets_a_fresh_head(tmp_path: Path, change: dict[str, str]) -> None:
    first = replace(CONFIG.with_(target="kind"), dataset=molecules(tmp_path / "molecules.csv"))
    parent = write_run(tmp_path / "parent", first)
    spec = first.with_(init_from=str(parent), **change)
    run, fresh, model = prepare(spec), prepare(spec.with_(init_from=None)), Parent.load(parent).model
    for name, tensor in weights(run.net).items():
        of_head = name.startswith(("head", "predict"))
        expected = weights(fresh.net if of_head else model.net)[name]
        assert torch.equal(tensor, expected), name
    assert any("with a fresh head" in note for note in run.graphs.notes)


def test_the_record_names_the_parent_and_other_records_stay_as_they_are(parent: Path) -> None:
    result = execute(CONFIG.with_(init_from=str(parent), freeze=1))
    assert result.record.parent == CONFIG.key
    assert RunRecord.from_dict(result.record.to_dict()).parent == CONFIG.key
    plain = execute(CONFIG).record.to_dict()
    assert "parent" not in plain
    assert "init_from" not in plain["config"]
    assert "freeze" not in plain["config"]["train"]


def test_frozen_layers_keep_their_weights_through_a_run(parent: Path) -> None:
    before = weights(Parent.load(parent).model.net)
    spec = CONFIG.with_(init_from=str(parent), freeze=2, weight_decay=0.1, learning_rate=0.01, max_epochs=3)
    after = weights(execute(spec).model.net)
    kept = {name for name in after if torch.equal(before[name], after[name])}
    assert kept == {name for name in after if name.startswith(("convs.0", "convs.1"))}


@pytest.mark.parametrize("on", [True, False])
def test_frozen_layers_get_no_gradient_and_no_decay_by_program_and_by_autograd(on: bool) -> None:
    graphs, config = (
        smooth_or_alternating(20),
        TrainConfig(batch_size=8, weight_decay=0.1, learning_rate=0.01, freeze=1),
    )
    context = Context(config=config, task=TASK, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=3, norm="layer", residual=True, feed_forward=1)
    before = weights(net)
    with use_kernels(on):
        training = Training(net, graphs, graphs, context)
        assert isinstance(training.stepper, ProgramStepper) == on
        training.run_epoch()
        parts = ("convs.0", "norms.0", "residual", "feed_forwards.0", "feed_forward_norms.0")
        frozen = [name for name in before if name.startswith(parts)]
        assert all(torch.equal(net.state_dict()[name], before[name]) == (name in frozen) for name in before)
        assert all(parameter.grad is None for module in training.frozen for parameter in module.parameters())
        training.stopped = True
        training.result()
    assert all(parameter.requires_grad for parameter in net.parameters())


@pytest.mark.parametrize("groups", [1, 2])
def test_program_and_autograd_take_the_same_steps_with_frozen_layers(groups: int) -> None:
    graphs, outcomes = smooth_or_alternating(20), []
    config = TrainConfig(batch_size=8, gamma=0.3, weight_decay=0.01, learning_rate=0.01, freeze=2)
    for on in (True, False):
        torch.manual_seed(0)
        net = GraphNetwork(1, 2, hidden_channels=16, num_layers=3)
        with use_kernels(on):
            training = Training(
                net,
                graphs,
                graphs,
                Context(config=config, task=TASK, generator=torch.Generator(), group=ProcessGroup(0, 1)),
            )
            stepper = training.stepper
            for batch in graphs.batches(8):
                if groups == 1:
                    stepper.step(batch)
                else:  # as several processes do
                    stepper.parameters.gradient.zero_()
                    stepper.add_gradient(batch)
                    stepper.update()
        state = stepper.optimizer.adam.state[stepper.parameters.vector]
        outcomes.append((stepper.parameters.vector.detach(), state["exp_avg"], state["exp_avg_sq"]))
    for one, other in zip(*outcomes, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_stepper_of_either_kind_continues_from_the_state_of_the_other_with_frozen_layers() -> None:
    graphs, outcomes = smooth_or_alternating(20), []
    config = TrainConfig(batch_size=20, freeze=1, weight_decay=0.01)
    context = Context(config=config, task=TASK, generator=torch.Generator())
    for order in ((True, False), (False, True), (True, True)):
        torch.manual_seed(0)
        net, state = GraphNetwork(1, 2, hidden_channels=16, num_layers=2), None
        for on in order:
            with use_kernels(on):
                stepper: Stepper = make_stepper(net, graphs, context)
                if state is not None:
                    stepper.optimizer.adam.load_state_dict(state)
                stepper.step(graphs.batch())
            state = stepper.optimizer.adam.state_dict()
        outcomes.append(stepper.parameters.vector.detach())
    torch.testing.assert_close(outcomes[0], outcomes[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(outcomes[1], outcomes[2], rtol=1e-4, atol=1e-5)


def test_a_frozen_batch_normalisation_learns_no_means() -> None:
    graphs = smooth_or_alternating(20)
    net = GraphNetwork(1, 2, hidden_channels=16, num_layers=2, norm="batch")
    before = weights(net)
    config = TrainConfig(max_epochs=1, batch_size=8, freeze=1)
    fit(net, graphs, graphs, config, generator=torch.Generator().manual_seed(1))
    assert torch.equal(net.norms[0].running_mean, before["norms.0.running_mean"])
    assert not torch.equal(net.norms[1].running_mean, before["norms.1.running_mean"])


def test_features_are_those_of_the_parent(tmp_path: Path) -> None:
    def document(number: int, words: str) -> str:
        nodes = [{"id": k, "element": words[k % len(words)], "charge": k + number} for k in range(5)]
        edges = [{"source": k, "target": k + 1} for k in range(4)]
        return json.dumps({"nodes": nodes, "edges": edges, "y": number % 2})

    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("\n".join(document(number, "CNO") for number in range(30)))
    two.write_text("\n".join(document(100 + number, "C") for number in range(30)))
    spec = replace(CONFIG.with_(target="y", scale="standard"), dataset=str(one))
    parent = write_run(tmp_path / "parent", spec)
    child = replace(spec, dataset=str(two))
    expected = Parent.load(parent).model.feature_spec
    assert describe_features(prepare(child.with_(init_from=str(parent))).graphs) == expected
    assert describe_features(prepare(child).graphs) != expected


def test_test_graphs_that_the_parent_learned_from_are_counted(parent: Path) -> None:
    same, other = (prepare(CONFIG.with_(init_from=str(parent), seed=seed)) for seed in (0, 1))
    flattering = [note for note in other.graphs.notes if "the test score is flattering" in note]
    assert len(flattering) == 1
    run = prepare(CONFIG)
    seen = np.concatenate([run.split.train, run.split.valid])
    assert int(flattering[0].split()[0]) >= np.isin(other.split.test, seen).sum() > 0
    assert "test graphs are equal" not in "".join(
        n for n in same.graphs.notes if n.startswith(f"{len(same.split.test)} ")
    )


@pytest.mark.parametrize(
    ("change", "own", "theirs"),
    [
        ({"hidden_channels": 16}, "hidden=16", "hidden=8"),
        ({"num_layers": 4}, "layers=4", "layers=3"),
        ({"order": 3}, "order=3", "order=2"),
        ({"conv": "gcn"}, 'model="gcn"', 'model="bank"'),
        ({"scale": "standard"}, 'scale="standard"', 'scale=""'),
        ({"readout": "sum"}, 'readout="sum"', 'readout="mean_max"'),
    ],
)
def test_differences_are_refused_by_name_with_both_values(
    parent: Path, change: dict[str, Any], own: str, theirs: str
) -> None:
    with pytest.raises(ValueError, match="needs the same features and the same network") as caught:
        prepare(CONFIG.with_(init_from=str(parent), **change))
    message = message_of(caught.value)
    text = message.spelled(Spelling(lambda option: f"{option.name}={f'{option.value!r}'.replace(chr(39), chr(34))}"))
    assert text.startswith(f"{own}, but {parent} was trained with {theirs}:")


def test_what_only_the_training_sees_may_differ(parent: Path) -> None:
    prepare(CONFIG.with_(init_from=str(parent), dropout=0.2, initial_alpha="zeros", batch_size=8, learning_rate=0.1))
    assert not {"dropout", "head", "initial_alpha", "target", "task", "epochs"} & set(SHARED)
    assert {"model", "hidden", "order", "features", "scale", "readout"} <= set(SHARED)


def test_layers_are_frozen_only_where_they_have_weights_of_another_run() -> None:
    with pytest.raises(ValueError, match="freeze=1 keeps the weights of a trained run: name its folder by init_from"):
        CONFIG.with_(freeze=1)
    with pytest.raises(ValueError, match="freeze=4 is more than num_layers=3"):
        CONFIG.with_(freeze=4, init_from="runs/parent")
    with pytest.raises(ValueError, match="freeze=3: the network has num_layers=2"):
        GraphNetwork(1, 2, num_layers=2).first_layers(3)


def test_folders_without_a_model_are_refused(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no trained model"):
        Parent.load(tmp_path / "nothing")
    with pytest.raises(FileError, match=f"holds several runs: name one of them, such as {parent}"):
        Parent.load(tmp_path)
