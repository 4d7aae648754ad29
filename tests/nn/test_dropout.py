"""Dropout equals its definition in plain integers; what it keeps, and that no two masks are related."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from bankgcn.nn.layers import drop, dropout_key
from strategies import signals

BIG_KEY = 2**63 - 1


def mix64(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def is_kept(p: float, key: int, stream: int, row: int, column: int) -> bool:
    """The definition, for one element, in Python's integers."""
    row_key = mix64((key + 0x9E3779B97F4A7C15 * (stream * 2**40 + row + 1)) % 2**64)
    low, high = row_key % 2**32, row_key >> 32
    h = ((low + column * 0x9E3779B9) % 2**32) ^ high
    h ^= h >> 16
    h = h * 0x7FEB352D % 2**32
    h ^= h >> 15
    h = h * 0x846CA68B % 2**32
    h ^= h >> 16
    return (h >> 8) >= round(p * 2**24)


def mask(p: float = 0.5, key: int = 1, stream: int = 0, shape: tuple[int, int] = (512, 64)) -> torch.Tensor:
    return drop(torch.ones(shape), p, key, stream) != 0


def correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    return torch.corrcoef(torch.stack([one.flatten(), other.flatten()]).double())[0, 1].abs().item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.93])
@pytest.mark.parametrize(("key", "stream"), [(0, 0), (1, 3), (BIG_KEY, 5), (dropout_key(7, 9), 2)])
def test_every_element_is_as_the_definition_in_plain_integers_says(
    dtype: torch.dtype, p: float, key: int, stream: int
) -> None:
    x = signals(13, 21).to(dtype)
    scale = torch.tensor(1 / (1 - p), dtype=dtype)
    for given in (key, torch.tensor(key)):
        dropped = drop(x, p, given, stream)
        assert dropped.dtype == dtype
        for row in range(13):
            for column in range(21):
                expected = x[row, column] * scale if is_kept(p, key, stream, row, column) else 0.0
                assert dropped[row, column] == expected


@pytest.mark.parametrize(("seed", "step"), [(0, 0), (0, 1), (5, 10**9), (BIG_KEY, 3)])
def test_the_key_of_a_step_is_as_the_definition_in_plain_integers_says(seed: int, step: int) -> None:
    key = dropout_key(seed, step)
    assert key == mix64((seed + 0x9E3779B97F4A7C15 * (step + 1)) % 2**64) >> 1
    assert 0 <= key < 2**63


def test_steps_and_seeds_have_different_keys() -> None:
    keys = {dropout_key(seed, step) for seed in range(30) for step in range(30)}
    assert len(keys) == 900


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_the_share_of_kept_elements_and_the_mean_are_as_expected(p: float) -> None:
    kept = mask(p).double()
    error = 4 * (p * (1 - p) / kept.numel()) ** 0.5  # four standard deviations
    assert kept.mean().item() == pytest.approx(1 - p, abs=error)
    assert drop(torch.ones(512, 64), p, 1, 0).mean().item() == pytest.approx(1, abs=error / (1 - p))
    for of_lines, length in ((kept.mean(0), 512), (kept.mean(1), 64)):  # each column, each row
        assert (of_lines - (1 - p)).abs().max() < 5 * (p * (1 - p) / length) ** 0.5


def test_rows_columns_streams_and_steps_are_uncorrelated() -> None:
    whole = mask(shape=(512, 512))
    limit = 5 / (511 * 512) ** 0.5
    assert correlation(whole[1:], whole[:-1]) < limit
    assert correlation(whole[:, 1:], whole[:, :-1]) < limit
    others = [mask(stream=1, shape=(512, 512)), mask(key=2, shape=(512, 512))]
    others += [mask(key=dropout_key(seed, step), shape=(512, 512)) for seed in (0, 1) for step in (0, 1)]
    for one, other in combinations([whole, *others], 2):
        assert correlation(one, other) < limit


def test_the_same_key_gives_the_same_mask() -> None:
    assert torch.equal(mask(key=5), mask(key=5))
    assert torch.equal(mask(key=5)[:100, :30], mask(key=5, shape=(100, 30)))  # whatever else is in the batch
    assert not torch.equal(mask(key=5), mask(key=6))


def test_nothing_of_a_dropped_element_is_left() -> None:
    x = torch.full((50, 8), torch.nan, requires_grad=True)
    dropped = drop(x, 0.5, 3, 0)
    kept = mask(key=3, shape=(50, 8))
    assert torch.equal(dropped.isnan(), kept)
    assert torch.equal(dropped[~kept], torch.zeros_like(dropped[~kept]))
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    assert torch.equal(gradient, 2.0 * kept)


def test_signals_without_rows_or_columns_stay_empty() -> None:
    assert drop(torch.empty(0, 4), 0.5, 1, 0).shape == (0, 4)
    assert drop(torch.empty(4, 0), 0.5, 1, 0).shape == (4, 0)
