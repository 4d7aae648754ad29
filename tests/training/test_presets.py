"""Presets: which settings a run has where the user says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from bankgcn import BankGCNClassifier
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


def test_the_page_on_options_shows_the_presets() -> None:
    page = Path(__file__).parents[2] / "docs" / "options.md"
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:5]]
        for line in page.read_text(encoding="utf-8").partition("## Presets")[2].partition("\n## ")[0].splitlines()
        if len(cells := line.split("|")) == 6
    }
    assert rows[""] == [f"`{name}`" for name in PRESETS]
    assert rows["networks"] == [str(preset.seeds) for preset in PRESETS.values()]
    for preset, shown in zip(PRESETS.values(), rows["models"], strict=True):
        kinds = [preset.voters(molecules) or ("bank",) for molecules in (True, False)]
        named = [", ".join(models) for models in kinds]
        assert shown == (named[0] if len(set(named)) == 1 else f"molecules: {named[0]}; others: {named[1]}")
    for name in NAMED_BY_PRESETS:
        flag = f"`--{name.replace('_', '-')}`" + (" of molecules" if name == "features" else "")
        values = [complete_settings({"source": "x", "preset": preset}, molecules=True)[name] for preset in PRESETS]
        words = {"True": "yes", "False": "no", "0.0": "0", "": "raw"}
        assert rows[flag] == [words.get(str(value), str(value)) for value in values]


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


def test_sums_are_divided_by_the_mean_size_of_the_training_graphs(tmp_path: Path) -> None:
    sizes = [4] * 20 + [40] * 5
    graphs = [nx.cycle_graph(size) for size in sizes]
    y = np.array([float(size > 4) for size in sizes])
    fitted = BankGCNClassifier(preset="paper", readout="sum", scale_sum=True, hidden=8, layers=1, epochs=2)
    fitted = fitted.set_params(random_state=0).fit(graphs, y)
    net, split = fitted.model_.net, fitted.split_
    expected = round(float(np.array(sizes)[split.train].mean()))
    assert int(net.typical_size) == expected > 1
    plain = BankGCNClassifier(preset="paper", readout="sum", hidden=8, layers=1, epochs=2, random_state=0)
    assert plain.fit(graphs, y).model_.net.typical_size is None
    fitted.save(tmp_path / "run")
    loaded = BankGCNClassifier.load(tmp_path / "run")
    assert int(loaded.model_.net.typical_size) == expected
    np.testing.assert_array_equal(loaded.transform(graphs[:3]), fitted.transform(graphs[:3]))
    equal = fitted.transform(graphs[:1]), fitted.transform(graphs[-1:])  # ten times as many equal nodes
    np.testing.assert_allclose(equal[1], 10 * equal[0], rtol=1e-5)
