"""Every test starts from the same seed, in float64 unless it says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

torch.set_num_threads(1)  # tiny kernels on several threads are many times slower under contention

# Hypothesis draws some numbers and texts from the code of the modules that are loaded. Without these, a test draws the
# same whatever ran before it. There is no setting for it; test_reproducible.py fails if a new version does otherwise.
providers._get_local_constants = lambda: providers._local_constants
ALIKE = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow],
}  # on fast and slow machines
settings.register_profile("reproducible", derandomize=True, max_examples=60, **ALIKE)
settings.register_profile("thorough", max_examples=3000, **ALIKE)  # with --hypothesis-seed=NUMBER
settings.load_profile("reproducible")

# Tests see the real datasets only if they ask for data_root: all others run alike with and without them, and without
# those that the user has downloaded. The processes of pytest-xdist inherit the other name.
if "BANKGCN_DATA" in os.environ:
    os.environ["BANKGCN_TEST_DATA"] = os.environ.pop("BANKGCN_DATA")
os.environ["BANKGCN_CACHE"] = str(Path(__file__).parents[1] / ".pytest_cache" / "bankgcn")


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def small_sets_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge equal nodes in sets of any size, not only in large ones."""
    monkeypatch.setattr("bankgcn.kernels.network.quotient.MIN_NODES", 0)


@pytest.fixture
def data_root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the real datasets lie. A test that wants them is marked with its files, as ``datasets("TU/NCI1.zip")``.

    The names of files may contain parameters of the test in braces. Where a file is not, the test skips.
    """
    marker = request.node.get_closest_marker("datasets")
    assert marker is not None, "mark the test with the files that it needs: @pytest.mark.datasets(...)"
    folder = os.environ.get("BANKGCN_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real datasets: set BANKGCN_DATA to their folder")
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    for file in (name.format(**parameters) for name in marker.args):
        if not (Path(folder) / file).exists():
            pytest.skip(f"needs {file} under BANKGCN_DATA")
    monkeypatch.setenv("BANKGCN_DATA", folder)
    return Path(folder)
