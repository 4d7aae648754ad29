"""What a test draws and sees depends neither on other tests nor on the datasets at hand."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankgcn.data.catalog import USUAL_FOLDERS, cache_folder


def draws() -> list[tuple[int, float, str]]:
    """What Hypothesis draws for a test."""
    drawn = []

    @settings(max_examples=200)
    @given(st.integers(), st.floats(0.125, 8, width=32), st.text())
    def draw(number: int, weight: float, text: str) -> None:
        drawn.append((number, weight, text))

    draw()
    return drawn


def test_draws_do_not_depend_on_the_modules_that_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = draws()
    file = tmp_path / "constants_of_another.py"
    file.write_text("VALUES = [123454321, 987656789, 3.0625, 5.15625, 'a text', 'another text']\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)
    assert draws() == first
    assert not {value for each in first for value in each} & set(module.VALUES)


def test_tests_that_do_not_ask_for_the_datasets_see_none() -> None:
    assert "BANKGCN_DATA" not in os.environ
    assert USUAL_FOLDERS.searched == (cache_folder() / "data",)
    assert not USUAL_FOLDERS.searched[0].exists()


@pytest.mark.datasets("TU/MUTAG.zip")
def test_tests_that_ask_for_the_datasets_see_them(data_root: Path) -> None:
    assert USUAL_FOLDERS.searched[0] == data_root


@pytest.mark.datasets("TU/no such {name}.zip")
@pytest.mark.parametrize("name", ["file"])
def test_tests_skip_with_the_name_of_a_missing_file(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANKGCN_TEST_DATA", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="needs TU/no such file.zip under BANKGCN_DATA"):
        request.getfixturevalue("data_root")
