"""Damage every kind of file that bankgcn reads back, at random, and see that nothing slips through.

A damaged file must be refused by an error that names the file, or be harmless: what is loaded from it is the same.
Nothing else may happen: no other error, no warning, no hang, no memory beyond ``MEMORY``.

    python soak/damage.py --trials 3000
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bankgcn.cli.settings import Settings
from bankgcn.data.graphs import GraphSet
from bankgcn.data.splits import Split
from bankgcn.experiments.store import Store
from bankgcn.files.checked import FileError, read_toml, write_toml
from bankgcn.files.tensors import load_tensors
from bankgcn.training.execute import execute
from bankgcn.training.fitting import fit
from bankgcn.training.model import TrainedModel
from bankgcn.training.prepare import PreparedRun, prepare
from bankgcn.training.run_folder import RunFolder
from bankgcn.training.spec import RunSpec, settings_of_run

MEMORY = 256 << 20
"""Bytes by which the whole trial may raise the memory of the process at its peak."""
HANG = 10.0
"""Seconds after which one load counts as hanging, on a busy machine."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Args:
        path: An intact one.
        load: What a user of the file gets from it, as a value that can be compared.
    """

    path: Path
    load: Callable[[Path], Any]


def make_files(folder: Path) -> dict[str, Kind]:
    """One intact file of each kind."""
    spec = RunSpec(dataset="MUTAG").with_(hidden_channels=8, num_layers=2, max_epochs=2)
    prepared = prepare(spec)
    run = RunFolder(folder / "run")
    result = execute(prepared)
    assert result is not None
    write_toml(run.config, {"source": "MUTAG", **settings_of_run(spec)}, "settings")
    prepared.split.save(run.split, prepared.graphs.fingerprint)
    run.write_result(result)
    _write_checkpoint(prepared, run.checkpoint)
    store = Store(folder / "store")
    store.put(result.record)
    prepared.graphs[:40].save(folder / "mutag.graphs")
    return {
        "model": Kind(run.model, _load_model),
        "checkpoint": Kind(run.checkpoint, _load_checkpoint),
        "record of a run": Kind(run.record, _load_run_record),
        "record of a store": Kind(store.path(spec.key), _load_stored_record),
        "GraphSet": Kind(folder / "mutag.graphs", _load_set),
        "split": Kind(run.split, lambda path: Split.load(path, prepared.graphs.fingerprint).hash),
        "config": Kind(run.config, _load_settings),
    }


def damage(content: bytes, rng: random.Random) -> bytes:
    """The content with one to eight bits changed, or cut short, or longer, or with a stretch of other bytes."""
    how = rng.random()
    if how < 0.2:
        return content[: rng.randrange(len(content))]
    if how < 0.25:
        return content + rng.randbytes(rng.randint(1, 64))
    changed = bytearray(content)
    if how < 0.35:
        start = rng.randrange(len(content))
        stretch = rng.choice([rng.randbytes(16), bytes(512), content[:64]])
        changed[start : start + len(stretch)] = stretch
        return bytes(changed)
    for _ in range(1 if how < 0.8 else rng.randint(2, 8)):
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def try_damaged(kind: Kind, copy: Path, content: bytes, intact: Any) -> str:
    """``"refused"`` or ``"harmless"``.

    Raises:
        AssertionError: The damage went unnoticed, or ended in something else than a message that names the file.
    """
    copy.write_bytes(content)
    started = time.monotonic()
    try:
        loaded = kind.load(copy)
    except ValueError as error:
        if str(copy) not in str(error):
            raise AssertionError(f"the message does not name the file: {error}") from error
        return "refused"
    finally:
        assert time.monotonic() - started < HANG, "it takes too long"
    assert same(loaded, intact), "the damage went unnoticed"
    return "harmless"


def run_trials(kind: Kind, trials: int, seed: int, folder: Path) -> Counter[str]:
    """Damage a kind of file many times; count what became of it."""
    intact, content = kind.load(kind.path), kind.path.read_bytes()
    copy = folder / "damaged" / kind.path.name
    copy.parent.mkdir(exist_ok=True)
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    for trial in range(trials):
        damaged = damage(content, rng)
        try:
            outcomes[try_damaged(kind, copy, damaged, intact)] += 1
        except Exception as error:
            raise AssertionError(
                f"{kind.path.name}, trial {trial} of seed {seed}: {type(error).__name__}: {error}"
            ) from error
    return outcomes


def same(loaded: Any, intact: Any) -> bool:
    """Whether two values are the same, down to the bits of tensors."""
    if isinstance(intact, dict):
        return loaded.keys() == intact.keys() and all(same(loaded[name], intact[name]) for name in intact)
    if isinstance(intact, torch.Tensor):
        return loaded.dtype == intact.dtype and torch.equal(loaded, intact)
    return loaded == intact


def _write_checkpoint(prepared: PreparedRun, path: Path) -> None:
    graphs, split = prepared.graphs, prepared.split
    net = prepared.spec.model.build(graphs.num_features, prepared.task.out_channels)
    generator = torch.Generator().manual_seed(0)
    train, valid = graphs[split.train], graphs[split.valid]
    fit(net, train, valid, prepared.spec.train, generator=generator, checkpoint=path, keep_checkpoint=True)


def _load_model(path: Path) -> dict[str, Any]:
    model = TrainedModel.load(path)
    weights = {name: tensor.clone() for name, tensor in model.net.state_dict().items()}
    about = {"config": model.config, "task": model.task, "in_channels": model.in_channels, "metadata": model.metadata}
    return {**weights, **about}


def _load_checkpoint(path: Path) -> dict[str, Any]:
    folder = RunFolder(path.parent)
    assert folder.checkpoint == path
    tensors, values = load_tensors(path)
    return {**{name: tensor.clone() for name, tensor in tensors.items()}, "values": values, "epochs": folder.epochs()}


def _load_run_record(path: Path) -> Any:
    folder = RunFolder(path.parent)
    assert folder.record == path
    return folder.read_record()


def _load_stored_record(path: Path) -> Any:
    store = Store(path.parent)
    record = store.get(path.stem)
    if record is None:
        raise FileError(store.skipped[-1], path)
    return record


def _load_settings(path: Path) -> Settings:
    """Settings may be edited by hand: what users see noted counts as refused here."""
    settings = read_toml(path)
    if settings.changed:
        raise FileError("was changed after it was written", path)
    return Settings.resolve({}, settings, str(path))


def _load_set(path: Path) -> dict[str, Any]:
    graphs = GraphSet.load(path)
    plain = {name: value for name, value in vars(graphs).items() if not hasattr(value, "dtype")}
    arrays = {name: torch.from_numpy(value.astype("f8")) for name, value in vars(graphs).items() if name not in plain}
    return {**arrays, **plain, "content": graphs[:].fingerprint}


def main() -> None:
    """Run the trials of every kind, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3000, help="for each kind of file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = make_files(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        report = {kind: dict(run_trials(kinds[kind], options.trials, options.seed, folder)) for kind in kinds}
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    for kind, outcomes in report.items():
        print(f"{kind:<18}", json.dumps(outcomes))
    print(f"peak memory grew by {grown / 2**20:.0f} MiB")
    if grown > MEMORY:
        sys.exit(f"error: more than {MEMORY / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
