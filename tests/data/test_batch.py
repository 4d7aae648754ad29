"""A batch is what PyG would collate, made without a loop and only as far as it is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphBatch, GraphSet
from bankgcn.data.convert import to_pyg
from random_sets import RandomSet, graph_sets
from refusals import refused


@given(graph_sets(min_graphs=1), st.data())
def test_a_batch_equals_what_pyg_collates(drawn: RandomSet, data: st.DataObject) -> None:
    from torch_geometric.data import Batch, Data

    singles = []
    for number, single in enumerate(drawn.singles):
        nodes = slice(drawn.starts[number], drawn.starts[number] + single.num_nodes)
        one_hot = [np.eye(width)[drawn.labels[nodes, column]] for column, width in enumerate((3, 4))]
        x = np.concatenate([drawn.attributes[nodes], *one_hot], axis=1)
        made = Data(torch.from_numpy(x).float(), single.edge_index, y=torch.tensor([drawn.y[number]]))
        made.edge_weight = single.edge_weight.float() if drawn.weighted else torch.ones(made.num_edges).float()
        singles.append(made)
    chosen = data.draw(st.lists(st.integers(0, len(singles) - 1), min_size=1, max_size=6))
    batch, expected = drawn.build(shuffle=True).batch(chosen), Batch.from_data_list([singles[g] for g in chosen])
    assert torch.equal(batch.x, expected.x)
    assert torch.equal(batch.ptr, expected.ptr)
    assert torch.equal(batch.batch, expected.batch)
    assert torch.equal(batch.y, expected.y)
    assert (batch.num_graphs, batch.num_nodes) == (expected.num_graphs, expected.num_nodes)
    # PyG keeps duplicate edges and self-loops, which weigh what they weigh together, or nothing.
    adjacency = torch.sparse_coo_tensor(
        expected.edge_index, expected.edge_weight, (batch.num_nodes, batch.num_nodes)
    ).coalesce()
    proper = adjacency.indices()[0] != adjacency.indices()[1]
    assert torch.equal(batch.edge_index, adjacency.indices()[:, proper])
    assert torch.equal(batch.adjacency.to_sparse_coo().indices(), batch.edge_index)
    assert torch.equal(batch.adjacency.values(), torch.ones(batch.edge_index.size(1)).float())
    weight = torch.ones(int(proper.sum())).float() if batch.edge_weight is None else batch.edge_weight
    torch.testing.assert_close(weight, adjacency.values()[proper])


@pytest.mark.datasets("TU/NCI1.zip")
def test_batches_of_nci1_equal_those_of_pyg_field_by_field(data_root: Path, tmp_path: Path) -> None:
    from torch_geometric.data import Batch

    singles = _nci1_by_pyg(data_root, tmp_path)
    from bankgcn.data.convert import from_pyg

    graphs = from_pyg(singles)
    order = torch.randperm(len(singles), generator=torch.Generator().manual_seed(1))
    drawn = graphs.batches(500, shuffle=True, generator=torch.Generator().manual_seed(1))
    for batch, chosen in zip(drawn, order.split(500), strict=True):
        expected = Batch.from_data_list([singles[number] for number in chosen])
        assert batch.edge_weight is None
        for field in ("x", "edge_index", "ptr", "batch", "y"):
            assert torch.equal(getattr(batch, field), getattr(expected, field)), field


def _nci1_by_pyg(data_root: Path, folder: Path) -> list:
    """NCI1 as PyG reads it, from a copy of the archive's files, without a download."""
    import zipfile

    from torch_geometric.io import read_tu_data

    with zipfile.ZipFile(data_root / "TU" / "NCI1.zip") as members:
        for member in members.namelist():
            (folder / Path(member).name).write_bytes(members.read(member))
    data, slices, _ = read_tu_data(str(folder), "NCI1")
    return _separate(data, slices)


def _separate(data: object, slices: dict) -> list:
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate

    count = len(slices["y"]) - 1
    return [separate(Data, data, idx=g, slice_dict=slices, decrement=False) for g in range(count)]


@given(graph_sets(min_graphs=2))
def test_a_batch_equals_its_graphs_one_by_one(drawn: RandomSet) -> None:
    graphs = drawn.build()
    batch, singles = graphs.batch(), [graphs.batch(number) for number in range(len(graphs))]
    x = torch.randn(batch.num_nodes, 2)
    alone = [one.shift(part) for one, part in zip(singles, x.split(graphs.num_nodes.tolist()), strict=True)]
    torch.testing.assert_close(batch.shift(x), torch.cat(alone))
    assert torch.equal(batch.x, torch.cat([one.x for one in singles]))


def ten_graphs() -> GraphSet:
    """Graph g has g nodes without edges, and class g % 2."""
    sizes = np.arange(10)
    return GraphSet.from_edges(sizes, np.zeros((2, 0), int), attributes=np.repeat(sizes, sizes), y=sizes % 2)


def test_batches_hold_every_graph_once_and_the_last_what_is_left() -> None:
    sizes = [batch.num_graphs for batch in ten_graphs().batches(4)]
    nodes = torch.cat([batch.ptr.diff() for batch in ten_graphs().batches(4)])
    assert sizes == [4, 4, 2]
    assert nodes.tolist() == list(range(10))


def test_shuffled_batches_hold_every_graph_once_in_the_order_of_the_generator() -> None:
    def orders(seed: int) -> list[int]:
        drawn = ten_graphs().batches(3, shuffle=True, generator=torch.Generator().manual_seed(seed))
        return [size for batch in drawn for size in batch.ptr.diff().tolist()]

    assert sorted(orders(0)) == list(range(10))
    assert orders(0) == orders(0)
    assert orders(0) != orders(1)


@pytest.mark.parametrize("size", [0, 3.0, None])
def test_a_batch_of_no_size_is_refused_at_once(size: object) -> None:
    with refused(ValueError, batch_size=size):
        ten_graphs().batches(size)


@pytest.mark.parametrize("indices", [[0, 10], [-1], [0.5], [[1]]])
def test_a_batch_of_graphs_that_do_not_exist_is_refused(indices: list) -> None:
    with refused(IndexError, "0 to 9"):
        GraphBatch(ten_graphs(), np.array(indices))


def test_a_batch_makes_only_what_is_asked_for() -> None:
    batch = ten_graphs().batch([2, 3])
    assert batch.y is not None
    assert not {"x", "shift", "edge_index", "_nodes"} & set(vars(batch))


def test_a_batch_moves_to_a_device_with_all_its_fields() -> None:
    batch = ten_graphs().batch()
    assert batch.to("cpu") is batch
    moved = batch.to("meta")
    for tensor in (moved.x, moved.shift.weight, moved.ptr, moved.batch, moved.y, moved.edge_index, moved.adjacency):
        assert tensor is not None
        assert tensor.device.type == "meta"


def test_what_is_done_to_a_batch_does_not_reach_the_set() -> None:
    graphs = ten_graphs()
    before = graphs.fingerprint
    batch = graphs.batch()
    batch.x.zero_()
    assert batch.y is not None
    batch.y.zero_()
    batch.shift.weight.zero_()
    assert graphs[:].fingerprint == before


def test_pyg_loads_what_the_set_gives_it() -> None:
    from torch_geometric.loader import DataLoader

    [collated] = DataLoader(to_pyg(ten_graphs()[1:]), batch_size=9)
    batch = ten_graphs().batch(range(1, 10))
    assert torch.equal(collated.x, batch.x)
    assert torch.equal(collated.batch, batch.batch)
