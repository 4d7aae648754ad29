"""Presets: which settings a run has where the user says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bankgcn.cli.settings import Settings
from bankgcn.files.checked import read_toml, write_toml
from bankgcn.nn.convs import CONVS
from bankgcn.training.presets import NAMED_BY_PRESETS, PRESETS
from bankgcn.training.spec import RUN_SETTINGS, RunSpec, complete_settings, spec_of, unused_settings

MOLECULES = "smiles,y\n" + "".join(f"{'C' * n}O,{n % 2}\n" for n in range(1, 30))


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "mine.csv").write_text(MOLECULES)
    return str((tmp_path / "mine.csv").resolve())


def test_presets_name_settings_of_runs_with_allowed_values() -> None:
    assert set(RUN_SETTINGS) >= NAMED_BY_PRESETS
    for preset in PRESETS.values():
        for molecules in (False, True):
            values = {**complete_settings({}), **preset.for_graphs(molecules)}
            assert {name: values[name] for name in preset.for_graphs(molecules)} == preset.for_graphs(molecules)
            spec_of("x", values)  # which checks every value


@pytest.mark.parametrize("molecules", [True, False, None])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_model_has_the_settings_of_the_preset(preset: str, molecules: bool | None) -> None:
    for model in CONVS:
        values = complete_settings({"source": "x", "model": model, "preset": preset}, molecules)
        row = PRESETS[preset].for_graphs(bool(molecules))
        if molecules is not None:
            assert all(values[name] == row[name] for name in row.keys() - unused_settings(model))
        assert values["preset"] == preset


def test_own_graphs_have_the_standard_preset_and_datasets_the_papers(table: str) -> None:
    own, published = Settings.resolve({"source": table}), Settings.resolve({"source": "MUTAG"})
    assert (own["preset"], own["features"], own.spec.preset) == ("standard", "onehot", "standard")
    assert (published["preset"], published.spec) == ("paper", RunSpec(dataset="MUTAG"))
    assert Settings.resolve({"source": "MUTAG", "preset": "paper"}).spec == published.spec
    chosen = Settings.resolve({"source": "MUTAG", "preset": "standard"})
    assert chosen["norm"] == PRESETS["standard"].settings["norm"]
    assert chosen["features"] == ""  # its nodes are atoms, but the file has them as labels


def test_flags_override_the_preset(table: str) -> None:
    settings = Settings.resolve({"source": table, "norm": "batch", "features": "raw"})
    assert (settings["norm"], settings["features"], settings["readout"]) == (
        "batch",
        "raw",
        PRESETS["standard"].settings["readout"],
    )


def test_a_file_of_settings_keeps_its_preset_unless_a_flag_names_another(table: str, tmp_path: Path) -> None:
    standard = Settings.resolve({"source": table, "batch_size": 7})
    write_toml(tmp_path / "c.toml", standard.values, "settings")
    file: dict[str, Any] = dict(read_toml(tmp_path / "c.toml"))
    assert Settings.resolve({}, file) == standard
    paper = Settings.resolve({"preset": "paper"}, file)
    assert (paper["norm"], paper["features"], paper["batch_size"], paper["preset"]) == ("l2", "", 7, "paper")


def test_a_file_from_before_there_were_presets_means_what_it_did(table: str) -> None:
    file = dict(Settings.resolve({"source": table, "preset": "paper"}).values)
    del file["preset"]
    assert Settings.resolve({}, file)["preset"] == "paper"
    assert Settings.resolve({}, {"source": table, "batch_size": 7})["preset"] == "standard"  # written by hand


def test_the_name_of_a_run_names_its_preset_and_not_what_follows_from_it(table: str) -> None:
    assert Settings.resolve({"source": table}).name == "mine-bank-0"
    assert Settings.resolve({"source": table, "preset": "paper"}).name == "mine-bank-0-paper"
    assert Settings.resolve({"source": table, "dropout": 0.5}).name == "mine-bank-0-dropout=0.5"
