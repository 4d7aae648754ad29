"""Flags over a file over the paper's defaults, in one vocabulary."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest

from bankgcn.cli.errors import with_flags
from bankgcn.cli.settings import Settings, read_settings
from bankgcn.cli.tune import TuneFolder
from bankgcn.data.features.atoms import ATOM_FEATURE_WIDTHS
from bankgcn.files.checked import FileError, read_toml, write_toml
from bankgcn.nn import CONVS
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import DEFAULTS, RunSpec
from refusals import refused


def test_defaults_are_those_of_the_library() -> None:
    settings = Settings.resolve({})
    assert settings.spec.model == ModelConfig()
    assert settings.spec.train == TrainConfig()
    assert settings.spec == RunSpec(dataset="MUTAG")
    assert settings.name == "MUTAG-bank-0"


def test_large_datasets_have_the_papers_own_protocol() -> None:
    molhiv = Settings.resolve({"source": "OGBG-molhiv"})
    assert molhiv["source"] == "ogbg-molhiv"
    assert molhiv.spec.train == TrainConfig(batch_size=256, patience=50, decay_patience=20, metric="roc_auc")
    assert molhiv.spec.model.readout == "mean"
    assert Settings.resolve({"source": "CIFAR-10"}).spec.train == TrainConfig(
        batch_size=256, patience=50, decay_patience=20
    )
    assert Settings.resolve({"source": "CIFAR-10", "decay_patience": 0}).spec.train.decay_patience is None


def test_flags_override_a_file_and_a_file_the_defaults() -> None:
    settings = Settings.resolve({"order": 4}, {"order": 3, "gamma": 10, "source": "DD"})
    assert (settings["order"], settings["gamma"], settings["source"]) == (4, 10.0, "DD")
    assert settings.spec.model.conv_options["order"] == 4
    assert settings.spec.train.gamma == 10.0


@pytest.mark.parametrize("model", CONVS)
def test_every_model_has_its_options_and_survives_a_file(tmp_path: Path, model: str) -> None:
    settings = Settings.resolve({"model": model, "smiles": 'a "column"\n\x7f', "learning_rate": 1e-5})
    assert settings.spec.model == ModelConfig(conv=model)
    assert settings.spec.train.gamma == (0.1 if model == "bank" else 0.0)
    write_toml(tmp_path / "c.toml", settings.values, "a comment")
    assert Settings.resolve({}, read_toml(tmp_path / "c.toml")) == settings


def test_options_of_one_model_do_not_outlive_it() -> None:
    written = Settings.resolve({"order": 4, "epochs": 7}).values
    other = Settings.resolve({"model": "gcn"}, written)
    assert "order" not in other.values
    assert other["epochs"] == 7
    assert Settings.resolve({"model": "cheb"}, written)["order"] == 2
    assert Settings.resolve({"model": "bank"}, written)["order"] == 4


def test_options_of_a_file_that_names_no_model_are_for_any_model() -> None:
    settings = Settings.resolve({"model": "bank"}, {"order": 4, "gamma": 10.0})
    assert (settings["order"], settings["gamma"]) == (4, 10.0)
    assert Settings.resolve({"model": "cheb"}, {"order": 4})["order"] == 4
    with refused(ValueError, "gcn", gamma=...):
        Settings.resolve({"model": "gcn"}, {"gamma": 10.0})


@pytest.mark.parametrize(
    ("flags", "file", "named"),
    [
        ({}, {"ordr": 3}, ("c.toml", "setting", "'ordr'", "'order'")),
        ({}, {"epochs": "many"}, ("c.toml", "epochs", "'many'")),
        ({}, {"epochs": 1.5}, ("epochs", 1.5)),
        ({}, {"shortcut": 1}, ("shortcut", 1)),
        ({}, {"gamma": True}, ("gamma", True)),
        ({}, {"readout": "meen"}, ("c.toml", "readout", "'meen'", "'mean'")),
        ({"model": "gcn", "order": 3}, {}, ("order=", "gcn")),
        ({"model": "cheb", "gamma": 1.0}, {}, ("gamma=", "cheb", "order")),
        ({"model": "banks"}, {}, ("model", "'banks'", "'bank'")),
        ({}, {"source": 3}, ("source", 3)),
    ],
)
def test_what_cannot_be_meant_is_named(flags: dict, file: dict, named: tuple) -> None:
    with refused(ValueError, *named):
        Settings.resolve(flags, file, "c.toml")


def test_numbers_out_of_range_are_refused_before_anything_is_read() -> None:
    with refused(ValueError, gamma=math.inf):
        Settings.resolve({"gamma": float("inf")})
    with refused(ValueError, train_per_class=-3):
        Settings.resolve({}, {"train_per_class": -3})


def test_a_value_out_of_range_is_named_by_the_line_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('model = "gcn"\nepochs = 0\n')
    with pytest.raises(ValueError, match="c.toml:2: epochs = 0: expected at least 1$"):
        Settings.resolve({}, read_toml(path))
    with pytest.raises(ValueError, match="^max_epochs=-1: "):  # a flag is to blame
        Settings.resolve({"epochs": -1}, read_toml(path))
    assert Settings.resolve({"epochs": 3}, read_toml(path))["epochs"] == 3
    path.write_text('model = "gcn"\norder = 3\n')
    with pytest.raises(ValueError, match="c.toml:2: order is no option of the model gcn"):
        Settings.resolve({}, read_toml(path))


def test_files_that_are_no_settings_are_named(tmp_path: Path) -> None:
    with refused(FileError, at="none.toml", cause=FileNotFoundError):
        read_toml(tmp_path / "none.toml")
    (tmp_path / "c.toml").write_text("order = ")
    with refused(FileError, at="c.toml", cause=tomllib.TOMLDecodeError):
        read_toml(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text("[train]\norder = 1")
    with pytest.raises(FileError, match="c.toml: train is .*expected a number, a word"):
        read_toml(tmp_path / "c.toml")


def test_settings_may_be_edited_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.toml"
    write_toml(path, Settings.resolve({"epochs": 7}).values, "a comment")
    assert read_settings(path)["epochs"] == 7
    assert capsys.readouterr().err == ""
    path.write_text(path.read_text().replace("epochs = 7", "epochs = 8"))
    assert Settings.resolve({}, read_settings(path), str(path))["epochs"] == 8
    assert "c.toml was changed after it was written" in " ".join(capsys.readouterr().err.split())


def test_settings_that_are_cut_short_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    write_toml(path, Settings.resolve({}).values, "a comment")
    lines = path.read_text().splitlines(keepends=True)
    for kept in range(3, len(lines)):
        path.write_text("".join(lines[:kept]))
        with refused(FileError, at=f"c.toml:{kept}"):
            read_toml(path)
    path.write_text("".join(lines)[:-10])
    with refused(FileError, at="c.toml", cause=tomllib.TOMLDecodeError):
        read_toml(path)


@pytest.mark.parametrize(
    ("line", "message"), [("ordr = 3", "unknown setting"), ("epochs = 'many'", "epochs is 'many'")]
)
def test_a_wrong_setting_of_a_file_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(f"# mine\n\ngamma = 1\n  {line}\n")
    with pytest.raises(ValueError, match=rf"c.toml:4: {message}"):
        Settings.resolve({}, read_toml(tmp_path / "c.toml"), "c.toml")


def test_embedded_atoms_are_read_raw() -> None:
    settings = Settings.resolve({"features": "embedded"})
    assert settings.spec.reader.atoms == "raw"
    assert settings.spec.model.embedding == ATOM_FEATURE_WIDTHS


def test_the_name_of_a_run_tells_what_is_special_about_it(tmp_path: Path) -> None:
    assert Settings.resolve({"gamma": 10.0, "seed": 3}).name == "MUTAG-bank-3-gamma=10.0"
    (tmp_path / "own data.csv").touch()
    assert Settings.resolve({"source": str(tmp_path / "own data.csv")}).name == "own_data-bank-0"
    assert Settings.resolve({"target": "x/y"}).name == "MUTAG-bank-0-target=x_y"


def test_where_data_lies_makes_no_difference() -> None:
    assert Settings.resolve({"data_root": "/a"}).differing(Settings.resolve({})) == []
    assert set(Settings.resolve({}).values) <= set(DEFAULTS)


def test_a_relative_data_root_means_the_same_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.resolve({"data_root": "data"})
    TuneFolder(tmp_path).write_config({"data_root": "data"}, settings, 1, "")
    kept = read_toml(TuneFolder(tmp_path).config)
    assert settings["data_root"] == kept["data_root"] == str(tmp_path / "data")


def test_errors_of_the_library_are_told_in_our_words() -> None:
    with refused(ValueError, max_epochs=0) as raised:
        Settings.resolve({"epochs": 0})
    assert with_flags(raised.value) == "--epochs 0: expected at least 1"
