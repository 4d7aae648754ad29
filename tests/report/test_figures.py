"""Figure 3 from records alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bankgcn import BankConv
from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.tables import figure3
from bankgcn.report.canvas import IMAGES
from bankgcn.report.figures import draw, omegas, responses
from bankgcn.report.sheet import write_sheet
from fake_records import fake_record


def with_filters(figure: Any) -> dict[str, RunRecord]:
    rng = np.random.default_rng(0)
    return {
        config.key: fake_record(config, alpha=rng.normal(size=(8, config.model.conv_options["order"] + 1)).tolist())
        for config in figure.configs()
    }


def test_responses_are_those_of_the_layer() -> None:
    conv = BankConv(3, 8, order=3, num_subspaces=4)
    record = fake_record(figure3().panels[0].config, alpha=conv.alpha.tolist())
    lam = np.linspace(0, 2, 17)
    expected = conv.response(torch.as_tensor(lam)).detach().numpy()
    np.testing.assert_allclose(responses(record, lam), expected, atol=1e-12)


def test_filters_in_another_basis_are_not_drawn_as_if_they_were_chebyshevs() -> None:
    record = fake_record(figure3().panels[0].config.with_(basis="monomial"), alpha=[[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="monomial"):
        responses(record, np.zeros(1))


@pytest.mark.parametrize("form", list(IMAGES))
def test_an_image_is_the_same_to_the_last_byte(form: str) -> None:
    figure = figure3()
    assert draw(figure, with_filters(figure), form) == draw(figure, with_filters(figure), form)


def test_the_picture_names_panels_omega_and_the_paper() -> None:
    figure = figure3(["NCI109", "FRANKENSTEIN-rebuilt"])
    image = draw(figure, with_filters(figure), "svg").decode()
    comments = "".join(part for part in image.split("<!-- ")[1:])
    assert "(a) NCI109" in comments
    assert "Ω = 0.900 (paper 0.997)" in comments
    assert "(e) FRANKENSTEIN-rebuilt (stand-in)" in comments


def test_missing_and_diverged_panels_say_so() -> None:
    figure = figure3(runs=1)
    records = with_filters(figure)
    gone, diverged, restored = (panel.config for panel in figure.panels[:3])
    del records[gone.key]
    records[diverged.key] = RunRecord(config=diverged, status="diverged", metric="accuracy")
    records[restored.key] = replace(records[restored.key], status="diverged")
    image = draw(figure, records, "svg").decode()
    assert "<!-- not run -->" in image
    assert image.count("<!-- diverged -->") == 2
    table = write_sheet(omegas(figure, records))
    assert "INCOMPLETE: 1 of 5 runs missing" in table
    row = next(line for line in table.splitlines() if line.startswith("(a)"))
    assert row.split() == ["(a)", "NCI109,", "K=2,", "gamma=0", "-", "0.997", "-"]
    row = next(line for line in table.splitlines() if line.startswith("(c)"))
    assert (row.split()[-3], row.split()[-1]) == ("-", "-")


def test_the_image_and_its_table_say_that_runs_are_shortened() -> None:
    for figure, is_short in ((figure3(max_epochs=9), True), (figure3(), False)):
        assert ("SHORTENED to 9 epochs" in draw(figure, {}, "svg").decode()) == is_short
        assert ("SHORTENED to 9 epochs" in write_sheet(omegas(figure, {}))) == is_short


def test_omegas_stand_beside_the_papers() -> None:
    figure = figure3(runs=1)
    table = write_sheet(omegas(figure, with_filters(figure)))
    row = next(line for line in table.splitlines() if line.startswith("(c)"))
    assert row.split()[:6] == ["(c)", "NCI109,", "K=2,", "gamma=10", "0.900", "0.649"]
    assert "one run per panel, with seed 0" in table


def test_omegas_of_several_seeds_have_mean_and_deviation() -> None:
    figure = figure3(["NCI109"], runs=2)
    records = with_filters(figure)
    other = figure.panels[0].config.with_(seed=1).key
    records[other] = replace(records[other], coherence=(0.7, 0.1, 0.1, 0.1))
    table = write_sheet(omegas(figure, records))
    row = next(line for line in table.splitlines() if line.startswith("(a)"))
    assert row.split()[4:8] == ["0.800", "±", "0.141", "0.997"]
    assert "2 seeds per panel; seed 0 is drawn" in table
    del records[other]
    assert "INCOMPLETE: 1 of 8 runs missing" in write_sheet(omegas(figure, records))


def test_an_unknown_kind_of_image_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind of image 'gif'"):
        draw(figure3(), {}, "gif")
