"""One run: the same twice, its split a matter of dataset and seed, its test graphs seen once and last."""

from __future__ import annotations

import errno
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bankgcn.data.builtin import mutag
from bankgcn.data.sources import Source, find_source
from bankgcn.experiments import RunRecord, RunSpec, run
from bankgcn.files.tensors import load_tensors, save_tensors
from bankgcn.kernels import use_kernels
from bankgcn.nn import mutual_coherence
from bankgcn.training import evaluate, fit, predict_logits
from bankgcn.training.assessment import Assessment
from bankgcn.training.execute import Runner, execute, processor
from bankgcn.training.fitting import Epoch, run_training
from bankgcn.training.prepare import Loader, prepare
from bankgcn.training.record import checkpoint_path, remove_checkpoints
from recorder import Recorder
from refusals import refused

CONFIG = RunSpec(dataset="MUTAG").with_(max_epochs=3, hidden_channels=16, num_layers=2, seed=1)


@pytest.fixture(autouse=True)
def _single_precision(_double_precision: None) -> None:
    torch.set_default_dtype(torch.float32)  # as graphs are stored


def timeless(record: RunRecord) -> RunRecord:
    return replace(record, seconds=0.0)


def test_the_same_configuration_gives_the_same_record_bit_for_bit() -> None:
    first = run(CONFIG)
    torch.manual_seed(99)
    torch.rand(7)  # whatever else is drawn
    assert timeless(run(CONFIG)) == timeless(first)
    dropping = CONFIG.with_(norm="graph", residual=True, feed_forward=1, dropout=0.3, head="mlp")
    assert timeless(run(dropping)) == timeless(run(dropping))
    runner = Runner()
    runner(CONFIG.with_(conv="mlp", seed=4))
    assert timeless(runner(CONFIG)) == timeless(first)  # nothing is left over from an earlier run
    assert first.seconds > 0


def test_a_run_leaves_the_global_generator_alone() -> None:
    state = torch.get_rng_state()
    run(CONFIG)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_split_depends_on_dataset_and_seed_alone() -> None:
    base = run(CONFIG)
    for change in ({"conv": "mlp"}, {"order": 1}, {"gamma": 5.0}, {"max_epochs": 1}):
        assert run(CONFIG.with_(**change)).split_hash == base.split_hash
    assert run(CONFIG.with_(seed=2)).split_hash != base.split_hash


def test_each_stream_moves_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    base, seeds = run(CONFIG), CONFIG.seeds
    for stream in ("weights", "batches"):
        moved = seeds._replace(**{stream: 5})
        monkeypatch.setattr(RunSpec, "seeds", moved)
        other = run(CONFIG)
        assert other.split_hash == base.split_hash
        assert other.alpha != base.alpha
    monkeypatch.setattr(RunSpec, "seeds", seeds._replace(dropout=5))
    assert timeless(run(CONFIG)) == timeless(base)  # nothing is dropped
    dropping = CONFIG.with_(dropout=0.3)
    moved = run(dropping)
    monkeypatch.setattr(RunSpec, "seeds", seeds)
    assert run(dropping).split_hash == moved.split_hash
    assert run(dropping).alpha != moved.alpha
    monkeypatch.setattr(RunSpec, "seeds", seeds._replace(split=5))
    assert run(CONFIG).split_hash != base.split_hash


def test_the_record_tells_what_training_by_hand_gives() -> None:
    source = find_source("MUTAG")
    graphs = source.load()
    split = source.split(graphs, CONFIG.seeds.split)
    torch.manual_seed(CONFIG.seeds.weights)
    net = CONFIG.model.build(graphs.num_features, 2)
    batches = torch.Generator().manual_seed(CONFIG.seeds.batches)
    result = fit(net, graphs[split.train], graphs[split.valid], CONFIG.train, generator=batches)
    test = evaluate(net, graphs[split.test])
    record = run(CONFIG)
    assert (record.test_score, record.test_loss) == (test.score, test.loss)
    assert (record.valid_score, record.valid_loss) == (result.best.valid_score, result.best.valid_loss)
    assert (record.best_epoch, record.epochs) == (result.best.number, 3)
    assert record.coherence == tuple(mutual_coherence(conv.alpha).item() for conv in net.convs)
    assert torch.equal(torch.tensor(record.alpha), net.convs[0].alpha)
    assert record.parameters == sum(p.numel() for p in net.parameters())
    assert record.layer_parameters == 16 * 16 + 16 + 8 * 3
    of_block = 16 * 32 + 32 + 32 * 16 + 16
    assert run(CONFIG.with_(feed_forward=2)).layer_parameters == record.layer_parameters + of_block
    assert (record.status, record.metric, record.error) == ("finished", "accuracy", "")
    assert (record.fingerprint, record.split_hash) == (graphs.fingerprint, split.hash)
    assert {"bankgcn", "torch", "numpy", "python"} <= record.versions.keys()


def test_the_test_graphs_are_scored_once_and_last(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["bankgcn.training.execute"]
    seen = []

    def watched_training(net, train, valid, context):
        result = run_training(net, train, valid, context)
        seen.append("fit")
        return result

    def watched_prediction(net, graphs):
        seen.append(len(graphs))
        return predict_logits(net, graphs)

    monkeypatch.setattr(module, "run_training", watched_training)
    monkeypatch.setattr("bankgcn.training.assessment.predict_logits", watched_prediction)
    run(CONFIG)
    split = prepare(CONFIG).split
    assert seen == ["fit", len(split.valid), len(split.test)]  # the validation graphs fit the temperature


def test_the_record_says_how_good_the_model_is_as_the_table_of_test_predictions_does() -> None:
    result = execute(CONFIG)
    assert result is not None
    found = Assessment.from_dict(result.record.assessment)
    assert (found.score, found.graphs) == (result.record.test_score, result.record.split_sizes[2])
    table = dict(result.test_table)
    assert table["graph"] == prepare(CONFIG).split.test.tolist()
    assert np.mean([a == b for a, b in zip(table["class"], table["predicted"], strict=True)]) == found.score
    assert result.model is not None
    assert result.model.temperature == result.record.temperature != 1
    test = prepare(CONFIG).graphs[table["graph"]]
    calibrated = torch.softmax(predict_logits(result.model.net, test).double() / result.model.temperature, 1)
    np.testing.assert_allclose(table["p_1"], calibrated[:, 1])
    np.testing.assert_allclose(result.model.predictions(test), calibrated)
    raw = torch.softmax(predict_logits(result.model.net, test).double(), 1)
    np.testing.assert_allclose(result.model.predictions(test, calibrated=False), raw)
    share = np.mean(mutag().y[prepare(CONFIG).split.train] == 1)
    assert result.model.constant == pytest.approx((1 - share, share))


def test_the_record_tells_which_path_the_training_took() -> None:
    assert run(CONFIG).versions["kernels"] == "whole network"
    assert run(CONFIG.with_(conv="mlp")).versions["kernels"] == "whole network"
    assert run(CONFIG.with_(norm="batch")).versions["kernels"] == "fused layers"
    with use_kernels(False):
        assert run(CONFIG).versions["kernels"] == "plain"


def test_the_record_carries_the_notes_of_the_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Source.load
    monkeypatch.setattr(Source, "load", lambda source, *options: replace(load(source, *options), notes=("a stand-in",)))
    assert run(CONFIG).notes == ("a stand-in",)


def test_a_loss_that_is_not_finite_makes_a_record_without_scores() -> None:
    record = run(CONFIG.with_(learning_rate=1e38, conv="mlp"))
    assert record.status == "diverged"
    assert record.valid_score is record.test_score is record.best_epoch is None
    assert record.epochs >= 1
    assert "not a finite number" in record.error
    assert RunRecord.from_dict(record.to_dict()) == record


def test_a_test_graph_without_a_finite_output_costs_the_test_score_but_not_the_training() -> None:
    prepared = prepare(CONFIG)
    graphs, graph = prepared.graphs, int(prepared.split.test[2])
    attributes = graphs.signals()
    attributes[graphs.node_ptr[graph]] = 3.3e38
    result = execute(replace(prepared, graphs=graphs.with_signals(attributes=attributes)))
    assert result is not None
    assert result.model is not None
    record = result.record
    assert (record.status, record.test_score, record.test_loss) == ("finished", None, None)
    assert record.valid_score is not None
    assert (record.assessment, result.test_table) == ({}, [])
    (note,) = record.notes
    assert f"graph {graph}, whose largest feature is 3.3e+38" in note
    assert RunRecord.from_dict(record.to_dict()) == record


def test_what_cannot_be_trained_is_refused_before_training(tmp_path: Path) -> None:
    line = '{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1, "weight": 2}], "graph": {"y": "%s"}}'
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(line % "ab"[number % 2] for number in range(20)))
    recorder = Recorder()
    with refused(ValueError, "own", "gin", advice={"ignore_weights": True}):
        run(CONFIG.with_(dataset=str(own), conv="gin"), callbacks=[recorder])
    own.write_text("\n".join(line % "a" for number in range(20)))
    with refused(ValueError, "20 graphs", "own", "'a'"):
        run(CONFIG.with_(dataset=str(own)), callbacks=[recorder])
    assert not recorder.epochs


def test_few_graphs_of_each_class_can_be_kept_for_training() -> None:
    load = Loader()
    whole_run = prepare(CONFIG, load)
    graphs, whole = whole_run.graphs, whole_run.split
    few = prepare(CONFIG.with_(train_per_class=5), load).split
    assert len(few.train) == 10
    assert set(few.train) < set(whole.train)
    assert (few.valid.tolist(), few.test.tolist()) == (whole.valid.tolist(), whole.test.tolist())
    assert graphs.y[few.train].sum() == 5
    assert run(CONFIG.with_(train_per_class=5)).status == "finished"


def test_own_graphs_have_the_columns_of_their_training_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANKGCN_CACHE", str(tmp_path / "cache"))
    document = '{"nodes": [{"id": 0, "is": "%s"}, {"id": 1, "is": "rare%d"}], "edges": [], "graph": {"y": "%s"}}\n'
    (tmp_path / "own.jsonl").write_text("".join(document % (word, n, word) for n in range(20) for word in ("a", "b")))
    config = CONFIG.with_(dataset=str(tmp_path / "own.jsonl"))
    runner = Runner()
    prepared = prepare(config)
    graphs, split = prepared.graphs, prepared.split
    assert graphs.num_features == graphs[split.train].signals().any(axis=0).sum() < 22
    records = [runner(config.with_(seed=seed)) for seed in (1, 2)]
    assert [record.status for record in records] == ["finished", "finished"]
    as_read = find_source(config.dataset).load().fingerprint
    assert [record.fingerprint for record in records] == [as_read, as_read]  # or they could not be compared


def test_callbacks_are_told_after_every_epoch() -> None:
    recorder = Recorder()
    run(CONFIG, callbacks=[recorder])
    assert [epoch.number for epoch in recorder.epochs] == [1, 2, 3]


def interrupted_after(epoch: int) -> Recorder:
    class Interrupting(Recorder):
        def on_epoch_end(self, seen: Epoch) -> bool:
            if seen.number == epoch:
                raise KeyboardInterrupt
            return super().on_epoch_end(seen)

    return Interrupting()


def test_an_interrupted_run_of_many_resumes_and_gives_the_record_of_an_undisturbed_one(tmp_path: Path) -> None:
    runner, recorder = Runner(checkpoints=tmp_path), Recorder()
    with pytest.raises(KeyboardInterrupt):
        runner(CONFIG, [interrupted_after(2)])
    (checkpoint,) = tmp_path.iterdir()
    assert checkpoint.name.startswith(CONFIG.key)
    _, values = load_tensors(checkpoint)
    resumed = runner(CONFIG, [recorder])
    assert [epoch.number for epoch in recorder.epochs] == [3]
    assert timeless(resumed) == timeless(run(CONFIG))
    assert resumed.seconds > values["seconds"] > 0
    assert checkpoint.exists()  # until the record is stored
    remove_checkpoints(tmp_path, {CONFIG.key})
    assert not list(tmp_path.iterdir())


def test_a_damaged_checkpoint_is_removed_and_the_run_starts_again(tmp_path: Path) -> None:
    runner, recorder = Runner(checkpoints=tmp_path), Recorder()
    with pytest.raises(KeyboardInterrupt):
        runner(CONFIG, [interrupted_after(2)])
    (checkpoint,) = tmp_path.iterdir()
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    assert timeless(runner(CONFIG, [recorder])) == timeless(run(CONFIG))
    assert [epoch.number for epoch in recorder.epochs] == [1, 2, 3]


def test_a_state_that_cannot_be_resumed_is_removed_and_the_run_starts_again(tmp_path: Path) -> None:
    runner, recorder = Runner(checkpoints=tmp_path), Recorder()
    with pytest.raises(KeyboardInterrupt):
        runner(CONFIG, [interrupted_after(2)])
    (checkpoint,) = tmp_path.iterdir()
    tensors, values = load_tensors(checkpoint)
    del values["groups"]
    save_tensors(checkpoint, tensors, values)
    assert timeless(runner(CONFIG, [recorder])) == timeless(run(CONFIG))
    assert [epoch.number for epoch in recorder.epochs] == [1, 2, 3]


def test_a_run_without_kernels_does_not_resume_from_a_state_with_them(tmp_path: Path) -> None:
    runner, recorder = Runner(checkpoints=tmp_path), Recorder()
    with pytest.raises(KeyboardInterrupt):
        runner(CONFIG, [interrupted_after(2)])
    with use_kernels(False):
        runner(CONFIG, [recorder])
    assert [epoch.number for epoch in recorder.epochs] == [1, 2, 3]


def test_a_checkpoint_that_cannot_be_written_ends_no_run_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *state: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("bankgcn.training.fitting.save_tensors", full)
    assert Runner(checkpoints=tmp_path)(CONFIG).status == "finished"
    with pytest.raises(OSError, match="checkpoint") as caught:
        execute(CONFIG, checkpoint=tmp_path / "checkpoint")
    assert caught.value.errno == errno.ENOSPC


def test_a_run_on_other_graphs_or_versions_does_not_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Runner(checkpoints=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        runner(CONFIG, [interrupted_after(2)])
    monkeypatch.setattr("bankgcn.__version__", "9.9")
    runner(CONFIG, [recorder := Recorder()])
    assert [epoch.number for epoch in recorder.epochs] == [1, 2, 3]
    assert checkpoint_path(tmp_path, "key", ["a"]) != checkpoint_path(tmp_path, "key", ["b"])
    remove_checkpoints(tmp_path, {CONFIG.key})
    assert not list(tmp_path.iterdir())


def test_an_unknown_dataset_is_an_error() -> None:
    with refused(ValueError, "'ENZYME'", "ENZYMES"):
        run(CONFIG.with_(dataset="ENZYME"))


def test_a_record_names_the_processor_and_its_vector_instructions() -> None:
    name = run(CONFIG).versions["processor"]
    assert name == processor()
    assert re.fullmatch(r".+ \(\w.*\)", name)
