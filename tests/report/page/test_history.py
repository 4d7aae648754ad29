"""Learning curves."""

from __future__ import annotations

import pytest

from bankgcn.report.page.history import learning_figures


@pytest.mark.parametrize("select", ["loss", "score"])
def test_captions_name_what_selected_the_best_epoch(select: str) -> None:
    loss, score = learning_figures([], 3, "accuracy", select, has_bank=False)
    assert f"the best epoch, which the validation {select} selects" in loss.caption
    assert "epoch" not in score.caption
