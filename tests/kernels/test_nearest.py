"""The nearest row of a set, against sets of ones and distances one by one; the compiled search and its plain twin."""

from __future__ import annotations

import numpy as np
import pytest

from bankgcn.kernels import use_kernels
from bankgcn.kernels.nearest import count_bits, most_similar, nearest_distance, pack_bits


def tanimoto(one: np.ndarray, other: np.ndarray) -> float:
    """Similarity of two rows of 0 and 1, as sets."""
    ones, others = set(np.flatnonzero(one)), set(np.flatnonzero(other))
    return len(ones & others) / max(len(ones | others), 1)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_the_similarity_is_the_largest_of_all_pairs(compiled: bool, share: float) -> None:
    rng = np.random.default_rng(0)
    reference = (rng.uniform(size=(60, 192)) < share * rng.uniform(size=(60, 1))).astype(np.uint8)
    queries = (rng.uniform(size=(40, 192)) < share).astype(np.uint8)
    queries[0], queries[1] = 0, reference[7]  # nothing in common with any, and equal to one
    words = pack_bits(reference)
    words = words[np.argsort(count_bits(words), kind="stable")]
    with use_kernels(compiled):
        found = most_similar(pack_bits(queries), words)
        alone = np.concatenate([most_similar(pack_bits(queries[[row]]), words) for row in range(40)])
    expected = [max(tanimoto(query, row) for row in reference) for query in queries]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(alone, found)
    assert (found[0], found[1]) == (0.0, 1.0)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_distance_is_the_smallest_of_all_pairs(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    reference, queries = rng.normal(size=(50, 37)).astype(np.float32), rng.normal(size=(20, 37)).astype(np.float32)
    queries[0] = reference[3]
    gaps = np.linalg.norm(queries[:, None].astype(float) - reference[None], axis=2)
    own = np.linalg.norm(reference[:, None].astype(float) - reference[None], axis=2) + np.diag(np.full(50, np.inf))
    with use_kernels(compiled):
        np.testing.assert_allclose(nearest_distance(queries, reference), gaps.min(1), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(nearest_distance(reference, reference, skip_self=True), own.min(1), rtol=1e-12)
        alone = [nearest_distance(queries[[row]], reference)[0] for row in range(20)]
        np.testing.assert_array_equal(nearest_distance(queries, reference), alone)
