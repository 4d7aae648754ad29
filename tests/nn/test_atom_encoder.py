"""The encoder adds one learned vector for each column."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from bankgcn.nn import AtomEncoder
from refusals import refused


def test_it_is_the_sum_of_one_embedding_per_column() -> None:
    encoder = AtomEncoder([4, 2, 3], channels=5)
    x = torch.tensor([[0, 0, 0], [3, 1, 2], [2, 0, 1]])
    tables = encoder.table.weight.split([4, 2, 3])
    expected = sum(F.embedding(x[:, column], table) for column, table in enumerate(tables))
    torch.testing.assert_close(encoder(x), expected)


def test_it_is_a_linear_map_of_one_hot_columns_with_the_same_gradient() -> None:
    encoder = AtomEncoder([4, 2], channels=3)
    x = torch.tensor([[0, 0], [3, 1], [3, 1]])
    one_hot = torch.cat([F.one_hot(x[:, 0], 4), F.one_hot(x[:, 1], 2)], dim=1).double()
    gradient = torch.randn(3, 3)
    torch.testing.assert_close(encoder(x), one_hot @ encoder.table.weight)
    (encoder(x) * gradient).sum().backward()
    torch.testing.assert_close(encoder.table.weight.grad, one_hot.T @ gradient)


def test_an_encoder_built_on_the_meta_device_can_be_loaded_on_another() -> None:
    expected, x = AtomEncoder([4, 2, 3], channels=5), torch.tensor([[3, 1, 2], [2, 0, 1]])
    with torch.device("meta"):
        encoder = AtomEncoder([4, 2, 3], channels=5)
    encoder.to_empty(device="cpu").load_state_dict(expected.state_dict())
    assert torch.equal(encoder(x), expected(x))


def test_whole_numbers_may_be_stored_as_floats() -> None:
    encoder = AtomEncoder([4, 2], channels=3)
    assert torch.equal(encoder(torch.tensor([[3.0, 1.0]])), encoder(torch.tensor([[3, 1]])))


def test_each_table_starts_within_xaviers_bound() -> None:
    tables = AtomEncoder([119, 2], channels=64).table.weight.split([119, 2])
    for table, count in zip(tables, (119, 2), strict=True):
        bound = (6 / (count + 64)) ** 0.5
        assert 0.8 * bound < table.abs().max() <= bound


@pytest.mark.parametrize(
    ("x", "named"),
    [
        ([[0, 0], [4, 0]], ("column 0", "node 1", 4, "0 to 3")),
        ([[0, -1]], ("column 1", "node 0", -1)),
        ([[0.5, 0.0]], ("column 0", "node 0", 0.5)),
        ([[float("nan"), 0.0]], ("column 0", "node 0", "nan")),
        ([[0]], ((1, 1), "(num_nodes, 2)")),
    ],
)
def test_errors_name_values_out_of_range_and_their_column(x: list, named: tuple) -> None:
    with refused(ValueError, *named):
        AtomEncoder([4, 2], channels=3)(torch.tensor(x))


@pytest.mark.parametrize("num_values", [[], [3, 0]])
def test_a_column_without_values_is_refused(num_values: list[int]) -> None:
    with refused(ValueError, num_values=...):
        AtomEncoder(num_values, channels=3)
