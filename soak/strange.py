"""Strange graphs through train, predict, embed, explain and report: a result or a clear error, never NaN in a file.

python soak/strange.py            all cases, the large ones too
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from typer.testing import CliRunner

from bankgcn.cli import app
from bankgcn.data import GraphError
from bankgcn.data.graphs import GraphSet

TRAIN = ("--epochs", "2", "--hidden", "8", "--layers", "2")
NOT_FINITE = {"nan", "inf", "-inf", "infinity", "-infinity"}


def ring(nodes: int, start: int = 0) -> NDArray[np.int64]:
    """The edges of a ring, in both directions."""
    first = np.arange(nodes)
    second = (first + 1) % nodes
    return start + np.array([np.concatenate([first, second]), np.concatenate([second, first])])


def star(leaves: int, start: int = 0) -> NDArray[np.int64]:
    """The edges of a star, in both directions."""
    centre, leaf = np.zeros(leaves, np.int64), np.arange(1, leaves + 1)
    return start + np.array([np.concatenate([centre, leaf]), np.concatenate([leaf, centre])])


def rings(count: int = 30, nodes: int = 5, **options: Any) -> GraphSet:
    """Rings of one size, of two classes in turn, with random attributes, unless other options are given."""
    edges = np.concatenate([ring(nodes, start) for start in range(0, count * nodes, nodes)], axis=1)
    rng = np.random.default_rng(0)
    defaults = {"y": np.arange(count) % 2, "attributes": rng.normal(size=(count * nodes, 2)).astype(np.float32)}
    return GraphSet.from_edges([nodes] * count, edges, **(defaults | options))


def _one_large(edges: NDArray[np.int64], nodes: int, others: int = 20) -> GraphSet:
    """A large graph beside many of one node."""
    counts = [nodes, *[1] * others]
    attributes = np.linspace(0, 1, 2 * sum(counts), dtype=np.float32).reshape(-1, 2)
    return GraphSet.from_edges(counts, edges, attributes=attributes, y=np.arange(others + 1) % 2)


def _without_edges(nodes: int, **options: Any) -> GraphSet:
    return GraphSet.from_edges([nodes] * 30, np.zeros((2, 0), np.int64), y=np.arange(30) % 2, **options)


def _weights(low: float, high: float) -> NDArray[np.float32]:
    """Weights of 30 rings of 5 nodes, the same in both directions, spread evenly over orders of magnitude."""
    once = np.geomspace(low, high, 150).astype(np.float32).reshape(30, 5)
    return np.concatenate([once, once], axis=1).reshape(-1)


def _random_y(size: int, kind: type) -> NDArray:
    return np.random.default_rng(1).normal(size=size).astype(kind)


CASES: dict[str, Callable[[], GraphSet]] = {
    "no graphs": lambda: GraphSet.from_edges([], np.zeros((2, 0), np.int64), y=np.zeros(0, np.int64)),
    "graphs without nodes": lambda: _without_edges(0),
    "some graphs without nodes": lambda: GraphSet.from_edges([2, 0] * 15, np.zeros((2, 0)).astype(int), y=[0, 1] * 15),
    "one node each": lambda: _without_edges(1),
    "no edges": lambda: _without_edges(4),
    "one graph": lambda: rings(1),
    "two graphs": lambda: rings(2),
    "zero features": lambda: rings(attributes=np.zeros((150, 2))),
    "constant features": lambda: rings(attributes=np.full((150, 2), 7.0)),
    "huge features": lambda: rings(attributes=np.full((150, 2), 3e38) * np.arange(150)[:, None] / 150),
    "tiny features": lambda: rings(attributes=np.full((150, 2), 1e-44) * np.arange(150)[:, None]),
    "features of all sizes": lambda: rings(attributes=np.geomspace(1e-38, 1e38, 300).reshape(150, 2)),
    "weights from 1e-30 to 1e30": lambda: rings(edge_weight=_weights(1e-30, 1e30)),
    "weights of zero": lambda: rings(edge_weight=np.zeros(300)),
    "tiny weights": lambda: rings(edge_weight=np.full(300, 1e-44)),
    "huge weights": lambda: rings(edge_weight=np.full(300, 3e38)),
    "one class": lambda: rings(y=np.zeros(30, int), classes=["a"]),
    "one class of two": lambda: rings(y=np.zeros(30, int), classes=["a", "b"]),
    "a class with one graph": lambda: rings(y=[1] + [0] * 29),
    "every graph its own class": lambda: rings(y=np.arange(30), classes=[*map(str, range(30))]),
    "all graphs identical": lambda: rings(attributes=np.tile(np.arange(5.0), 30)),
    "constant values": lambda: rings(y=np.full(30, 2.5)),
    "huge values": lambda: rings(y=_random_y(30, np.float64) * 1e38),
    "tiny values": lambda: rings(y=_random_y(30, np.float64) * 1e-40),
    "unknown values": lambda: rings(y=np.full(30, np.nan)),
    "mostly unknown values": lambda: rings(y=np.where(np.arange(30) % 7, np.nan, np.arange(30.0))),
    "names with commas, quotes and line ends": lambda: rings(
        names=[f'{n},"\n\t=1+1<script>' for n in range(30)], classes=["a,\n", '"']
    ),
}
LARGE: dict[str, Callable[[], GraphSet]] = {
    "a star of 100,000": lambda: _one_large(star(100_000), 100_001),
    "1,000,000 nodes": lambda: _one_large(ring(1_000_000), 1_000_000),
}


def run_pipeline(make: Callable[[], GraphSet], folder: Path, *options: str) -> str:
    """Train, predict, embed, explain and report by the command line, and look at all files.

    Returns:
        ``"trained"``, or the error message.

    Raises:
        AssertionError: A command ended in anything else, or a file holds a number that is not finite.
    """
    source, run = folder / "set.graphs", folder / "run"
    try:
        make().save(source)
    except GraphError as error:
        return f"error: {error}"
    code, output = _type("train", source, "--out", run, *TRAIN, *options)
    if run.exists():
        check_files(run)
        assert (run / "record.json").exists(), f"an error left files: {sorted(run.iterdir())}"
    if code:
        return output
    for command, name in (("predict", "predictions.csv"), ("embed", "embeddings.csv"), ("embed", "embeddings.npy")):
        code, message = _type(command, run, source, "--out", folder / name)
        if code and "the test graphs have no score" in output:  # a number is too large for the network
            return message
        assert code == 0, message
    for command in (["explain", run, source, "--out", folder / "explanations.csv"], ["report", run, source]):
        code, message = _type(*command)
        assert code == 0, message
    assert b"</html>" in (run / "report.html").read_bytes()[-100:]
    check_files(folder)
    check_files(run)
    return "trained"


def apply_model(run: Path, make: Callable[[], GraphSet], folder: Path) -> str:
    """Apply a trained model to other graphs.

    Returns:
        ``"applied"``, or the error message.
    """
    try:
        make().save(folder / "other.graphs")
    except GraphError as error:
        return f"error: {error}"
    for command, name in (("predict", "other.csv"), ("embed", "other-vectors.csv")):
        code, message = _type(command, run, folder / "other.graphs", "--out", folder / name)
        check_files(folder)
        if code:
            assert not (folder / name).exists()
            return message
        (folder / name).unlink()
    return "applied"


def check_files(folder: Path) -> None:
    """Raise unless all numbers in the files of a folder are finite; a validation graph without a target has NaN."""
    for path in folder.iterdir():
        if path.suffix == ".csv":
            cells = path.read_text().lower().replace("\n", ",").split(",")
            assert not NOT_FINITE.intersection(cells), f"{path.name} holds {NOT_FINITE.intersection(cells)}"
        elif path.suffix == ".json":
            json.loads(path.read_text(), parse_constant=_refuse)
        elif path.suffix == ".npy":
            assert np.isfinite(np.load(path)).all(), path.name
        elif path.suffix == ".safetensors":
            arrays = load_file(path)
            if path.name == "validation.safetensors":
                assert not np.isinf(arrays.pop("y")).any(), path.name
            assert all(np.isfinite(array).all() for array in arrays.values()), path.name


def _refuse(constant: str) -> None:
    raise AssertionError(f"a JSON file holds {constant}")


def _type(*arguments: object) -> tuple[int, str]:
    """Exit code and output of a command."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    ended = result.exception is None or isinstance(result.exception, SystemExit)
    assert ended, f"{arguments[0]} ended in {result.exception!r}"
    assert result.exit_code == 0 or "error: " in result.output, result.output
    return result.exit_code, next((line for line in result.output.splitlines() if "error:" in line), result.output)


def main() -> None:
    """Run all cases and print what became of them."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
    wrong = []
    with tempfile.TemporaryDirectory() as usual:
        assert run_pipeline(rings, Path(usual)) == "trained"
        for name, make in (CASES | LARGE).items():
            started = time.monotonic()
            try:
                with tempfile.TemporaryDirectory() as folder:
                    outcome = run_pipeline(make, Path(folder))
                outcome += f" | {apply_model(Path(usual) / 'run', make, Path(usual))}"
            except AssertionError as error:
                outcome = f"WRONG: {error}"
                wrong.append(name)
            print(f"{name:<42} {time.monotonic() - started:5.1f} s  {outcome}", flush=True)
    if wrong:
        sys.exit(f"error: {len(wrong)} cases went wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
