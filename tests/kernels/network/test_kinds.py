"""Kinds of nodes: those with equal labels, and equal labels and weights around them."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphSet
from bankgcn.kernels.network.collate import collate
from bankgcn.kernels.network.executor import Targets, train
from bankgcn.kernels.network.kinds import Kinds, kinds_in_batches, number_kinds
from bankgcn.kernels.network.program import Operator
from bankgcn.nn import GraphNetwork
from bankgcn.nn.lowering import lower
from refusals import refused

SUM = Operator("sum", 1.0)


def alike(copies: int, **options) -> GraphSet:
    """Paths of three nodes with labels 0, 1 and 0."""
    start = 3 * np.arange(copies).repeat(4)
    edges = np.tile([[0, 1, 1, 2], [1, 0, 2, 1]], copies) + start
    return GraphSet.from_edges([3] * copies, edges, labels=[0, 1, 0] * copies, label_widths=2, **options)


def test_a_kind_is_a_label_and_the_labels_around_it() -> None:
    graphs = collate(alike(20).flat, np.arange(20), SUM)
    np.testing.assert_array_equal(number_kinds(graphs), [0, 1, 0] * 20)


def test_weights_and_degrees_distinguish_kinds() -> None:
    weight = np.tile([1, 1, 2, 2], 20)
    graphs = collate(alike(20, edge_weight=weight).flat, np.arange(20), SUM)
    np.testing.assert_array_equal(number_kinds(graphs), [0, 1, 2] * 20)


def test_the_order_of_edges_does_not_matter() -> None:
    # The centres of two stars, whose leaves have the same labels in another order.
    star = np.array([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    edges = np.concatenate([star, star + 4], axis=1)
    labels = [0, 1, 2, 2, 0, 2, 1, 2]
    arrays = GraphSet.from_edges([4] * 2, edges, labels=labels, label_widths=3)[np.arange(2).repeat(8)].flat
    kinds = number_kinds(collate(arrays, np.arange(16), SUM))
    np.testing.assert_array_equal(kinds.reshape(16, 4)[:8], [[0, 1, 2, 2]] * 8)
    np.testing.assert_array_equal(kinds.reshape(16, 4)[8:], [[0, 2, 1, 2]] * 8)


def test_attributes_and_many_kinds_are_left_to_nodes() -> None:
    with_attributes = alike(20, attributes=np.ones((60, 1)))
    assert number_kinds(collate(with_attributes.flat, np.arange(20), SUM)) is None
    assert number_kinds(collate(alike(5).flat, np.arange(5), SUM)) is None  # two kinds of 15 nodes


@given(st.lists(st.lists(st.integers(0, 5), max_size=12), max_size=5))
def test_kinds_are_numbered_in_each_batch(batches: list[list[int]]) -> None:
    kinds, node_ptr = np.array(list(chain(*batches)), np.int64), np.cumsum([0, *map(len, batches)])
    found = kinds_in_batches(kinds, node_ptr)
    np.testing.assert_array_equal(np.diff(found.batch_ptr), [len(set(batch)) for batch in batches])
    for number, batch in enumerate(batches):
        own, first = found.kind[node_ptr[number] : node_ptr[number + 1]], found.batch_ptr[number]
        assert len(set(zip(own.tolist(), batch, strict=True))) == len(set(batch)) == len(set(own.tolist()))
        assert Counter(own.tolist()) == dict(enumerate(np.diff(found.members_ptr)[first : found.batch_ptr[number + 1]]))
        for kind in range(len(set(batch))):
            members = found.members[found.members_ptr[first + kind] : found.members_ptr[first + kind + 1]]
            np.testing.assert_array_equal(members, np.flatnonzero(own == kind))
            assert found.example[first + kind] == node_ptr[number] + members[0]


def test_without_kinds_every_batch_has_none() -> None:
    none = Kinds.none(3)
    assert none.batch_ptr.tolist() == [0] * 4
    assert len(none.kind) == len(none.example) == len(none.members) == 0


def test_a_program_with_kinds_refuses_graphs_without() -> None:
    net = GraphNetwork(2, 2, 8, 2, conv="gin").float()
    program = lower(net, "cross_entropy", by_kinds=True)
    graphs, theta = collate(alike(4).flat, np.arange(4), program.operator), np.zeros(program.num_parameters, np.float32)
    targets = Targets(np.zeros(4, np.int64), np.empty((0, 0)), np.ones(4))
    with refused(IndexError, "0 nodes", 12):
        train(graphs, np.array([0, 4]), program, theta, targets, theta.copy())


def test_sets_of_labels_train_by_kinds_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankgcn.kernels.network.kinds.MIN_NODES", 60)
    operator = lower(GraphNetwork(2, 2, conv="gin"), "cross_entropy").operator
    assert alike(20).kinds(operator) is not None
    assert alike(19).kinds(operator) is None
