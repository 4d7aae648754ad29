"""Support vectors with the Weisfeiler-Lehman kernel against the kernel by dictionaries and scikit-learn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC, SVR
from torch import Tensor

from bankgcn.data.graphs import GraphSet
from bankgcn.rivals import KernelMachine, Layout, Lesson
from bankgcn.rivals import kernel_machine as module
from bankgcn.rivals.colors import Vocabulary
from bankgcn.tasks import Task
from colored_graphs import random_graphs, signatures

LAYOUT = Layout(2, 0, 2, 0)


def kernel(graphs: GraphSet, depth: int, divide_by: int = 0) -> NDArray[np.float64]:
    """The kernel of every two graphs, from the definition: normalised, or divided by the mean over the first graphs."""
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    counts = [Counter[str]() for _ in range(len(graphs))]
    for h, colors in enumerate(signatures(graphs, depth, edges=True)):
        for number, color in zip(graph, colors, strict=True):
            counts[number][f"{h}: {color!r}"] += 1
    plain = np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], float)
    if divide_by:
        return plain / plain.diagonal()[:divide_by].mean()
    return plain / np.sqrt(np.outer(plain.diagonal(), plain.diagonal()))


def test_the_kernels_are_those_of_the_definition() -> None:
    graphs = random_graphs(11, count=12)
    train, valid = graphs[:8], graphs[8:]
    for depth, found in enumerate(module._kernels(Vocabulary.of(train, 3), train, valid)):
        for divisor, number in ((None, 0), (float(np.square(found.norm).mean()), 8)):
            expected = kernel(graphs, depth, number)
            own, other = found.divided(divisor)
            np.testing.assert_allclose(own, expected[:8, :8], atol=1e-12)
            np.testing.assert_allclose(other, expected[8:, :8], atol=1e-12)


@pytest.mark.parametrize("form", ["plain", "normalised"])
@pytest.mark.parametrize(("kind", "outputs"), [("classes", 2), ("classes", 3), ("labels", 2), ("values", 1)])
def test_decisions_are_those_of_scikit_learn(
    kind: str, outputs: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PENALTIES", (10.0,))
    monkeypatch.setattr(module, "MOST_DEPTH", 2)
    random = np.random.default_rng(2)
    whole = random_graphs(13, count=24)
    y: NDArray = random.integers(0, outputs, 24)
    if kind == "labels":
        y = random.integers(0, 2, (24, 2)).astype(np.float32)
        y[3, 0] = np.nan
    elif kind == "values":
        y = random.normal(size=24).astype(np.float32)
    names = tuple("abc"[:outputs])
    graphs = replace(whole, y=y, classes=names if kind == "classes" else ())
    train, test = graphs[:18], graphs[18:]
    assert train.y is not None
    task = Task.fitted(train.y, names, kind)
    seen: list[int] = []

    def cost(given: Tensor) -> tuple[float, float]:
        seen.append(len(given))
        wins = len(seen) == 6 - (form == "normalised")  # of three depths the last, which has the normalised form first
        return (-float(wins), 0.0)

    machine = KernelMachine(kind, outputs, LAYOUT)
    words = machine.fit(Lesson(train=train, valid=test, task=task, cost=cost))
    assert f"the {form} kernel of depth 2 and C = 10" in words
    gram = kernel(graphs, 2, 0 if form == "normalised" else 18)
    targets = Lesson(train=train, valid=test, task=task, cost=cost).targets()
    expected = []
    for target in targets[:, 1:].T if (kind, outputs) == ("classes", 2) else targets.T:
        known = np.flatnonzero(~np.isnan(target))
        oracle = (SVR if kind == "values" else SVC)(kernel="precomputed", C=10)
        oracle.fit(gram[np.ix_(known, known)], target[known])
        decide = oracle.predict if kind == "values" else oracle.decision_function
        expected.append(decide(gram[18:][:, known]))
    outputs_of_test = machine.compute(test)
    found = np.diff(outputs_of_test, axis=1) if (kind, outputs) == ("classes", 2) else outputs_of_test
    np.testing.assert_allclose(found, np.array(expected).T, atol=1e-8)
    assert np.array_equal(machine.compute(test[2:3]), outputs_of_test[2:3])
    again = KernelMachine(kind, outputs, LAYOUT).restore(machine.to_dict(), machine.arrays())
    assert np.array_equal(again.compute(test), outputs_of_test)
    for name in ("weight", "offset"):
        with pytest.raises(ValueError, match=f"{name} has shape"):
            again.restore(machine.to_dict(), {**machine.arrays(), name: machine.arrays()[name] * np.nan})
        with pytest.raises(ValueError, match=f"{name} has shape"):
            again.restore(machine.to_dict(), {**machine.arrays(), name: machine.arrays()[name][..., :-1]})


def test_too_many_graphs_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GRAPHS", 3)
    graphs = random_graphs(1)
    task = Task(names=("a", "b"))
    with pytest.raises(ValueError, match="every two of 6 training graphs"):
        KernelMachine("classes", 2, LAYOUT).fit(
            Lesson(train=graphs, valid=graphs, task=task, cost=lambda outputs: (0.0, 0.0))
        )
