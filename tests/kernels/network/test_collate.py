"""Collated graphs equal a batch, which index arithmetic makes."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphSet
from bankgcn.kernels.network.collate import collate
from random_sets import RandomSet, graph_sets


@given(graph_sets(min_graphs=1), st.lists(st.integers(0, 99), max_size=7), st.booleans(), st.booleans())
def test_equals_the_batch(random: RandomSet, numbers: list[int], attributes: bool, labels: bool) -> None:
    graphs = random.build()
    if not attributes or not labels:
        kept = {"attributes": graphs.attributes} if attributes else {}
        kept |= {"labels": graphs.labels, "label_widths": (3, 4)} if labels else {}
        graphs = graphs.with_signals(**kept, feature_spec={})
    batch = graphs.batch([number % len(graphs) for number in numbers])
    collated = collate(graphs.flat, batch.indices)
    np.testing.assert_array_equal(collated.node_ptr, batch.ptr)
    np.testing.assert_array_equal(collated.rowptr, batch.shift.rowptr)
    np.testing.assert_array_equal(collated.col, batch.shift.col)
    np.testing.assert_array_equal(collated.weight, batch.shift.weight)
    dense = np.zeros(batch.x.shape, np.float32)
    dense[:, : collated.attributes.shape[1]] = collated.attributes
    dense[np.arange(len(dense))[:, None], collated.labels] = 1
    np.testing.assert_array_equal(dense, batch.x)


def test_graphs_may_be_stored_in_a_file_and_selected_with_a_step(tmp_path) -> None:
    ring = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    GraphSet.from_edges([3, 1, 2], ring, labels=[0, 1, 2, 0, 1, 2]).save(tmp_path / "set.bin")
    graphs = GraphSet.load(tmp_path / "set.bin")
    assert not graphs.quotient.neighbor.flags.writeable
    collated = graphs[1:].batch().collated
    np.testing.assert_array_equal(collated.labels, [[0], [1], [2]])
    batch = graphs.batch()
    batch.indices = batch.indices[::2]
    np.testing.assert_array_equal(batch.collated.node_ptr, [0, 3, 5])
