"""A fingerprint changes with the content, and with nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bankgcn.data import GraphSet

CONTENT: dict[str, Any] = {
    "num_nodes": [3, 2],
    "edge_index": [[0, 1, 3, 4], [1, 0, 4, 3]],
    "attributes": [[0.0], [1], [2], [3], [4]],
    "labels": [0, 1, 0, 1, 0],
    "y": [0, 1],
}
PINNED = "2-5-2-1f1036b4fcbe2b713345efdea4a3585bf4e5789f7c9b6eaa0e5ddd0702f0a943"  # records of old runs hold such


def fingerprint(**changes: Any) -> str:
    return GraphSet.from_edges(**CONTENT | changes).fingerprint


def test_it_starts_with_the_counts_and_never_changes() -> None:
    assert fingerprint() == PINNED


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"notes": ["a note"]},
        {"names": ["a", "b"]},
        {"edge_index": np.array([[4, 3, 1, 0], [3, 4, 0, 1]], np.int32)},
        {"edge_weight": [1, 1, 1, 1]},
        {"labels": np.array([0, 1, 0, 1, 0], np.uint8)},
    ],
)
def test_it_does_not_depend_on_names_order_or_types(change: dict[str, Any]) -> None:
    assert fingerprint(**change) == fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"num_nodes": [2, 3], "edge_index": [[0, 1, 3, 4], [1, 0, 4, 3]]},
        {"edge_index": [[0, 2, 3, 4], [2, 0, 4, 3]]},
        {"edge_weight": [2, 2, 1, 1]},
        {"edge_labels": [0, 0, 1, 1]},
        {"attributes": [[0.0], [1], [2], [3], [5]]},
        {"labels": [0, 1, 0, 1, 1]},
        {"label_widths": 3},
        {"y": [1, 0]},
        {"y": [0.0, 1.0]},
        {"classes": ["no", "yes"]},
    ],
)
def test_it_changes_with_any_part_of_the_content(change: dict[str, Any]) -> None:
    assert fingerprint(**change) != fingerprint()


def test_a_part_of_a_large_set_has_the_fingerprint_of_the_same_graphs_alone() -> None:
    large = GraphSet.from_edges([2, 300], [[0, 1, 2, 301], [1, 0, 301, 2]])
    assert large.neighbor.dtype == np.uint16
    assert large[0].fingerprint == GraphSet.from_edges([2], [[0, 1], [1, 0]]).fingerprint
