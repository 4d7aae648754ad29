"""Which graphs train, validate and test: the settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bankgcn.messages import Message, Option
from bankgcn.settings import check_settings, setting

if TYPE_CHECKING:
    from bankgcn.data.catalog import Dataset

PANEL = "Split"
LEAST_FOLDS = 3  # one tests, one validates, one trains


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How the graphs of a run are split.

    Args:
        rule: ``"random"``: stratified by class. ``"scaffold"``: molecules with the same scaffold are in one part. By
            default the split that the authors of the dataset fixed, else random.
        split_column: Column of a table that holds the part of each graph (train, valid, test), or its fold.
        ratios: Shares of training, validation and test, such as ``"8,1,1"``; of training and validation if ``test``
            names the test graphs.
        folds: Number of folds of a cross-validation.
        fold: Number of the fold that tests, from 0; the next one validates.
        test: Source of the test graphs; then all other graphs train and validate.
        split_seed: What the split is drawn by; the seed of the run by default.
        duplicates: What to do about equal graphs. ``"keep"``: nothing. ``"group"``: they stay in one part, and test
            graphs of ``test`` that are equal to a training or validation graph are left out. ``"merge"``: they become
            one graph. By default ``"keep"`` for datasets of the catalogue, ``"group"`` for all others.
    """

    rule: str | None = setting(
        None,
        "How graphs are split; by default as the authors of the dataset did, else random:",
        panel=PANEL,
        name="split",
        choices=("random", "scaffold"),
        none="",
    )
    split_column: str | None = setting(
        None, "Column of a table that holds the part (train, valid, test) or fold of each graph.", panel=PANEL, none=""
    )
    ratios: str | None = setting(
        None,
        "Shares of training, validation and test: 8,1,1 by default; two if test graphs have a source of their own.",
        panel=PANEL,
        none="",
    )
    folds: int | None = setting(
        None, "Cross-validation with this number of folds; a model for each.", panel=PANEL, none=0, at_least=LEAST_FOLDS
    )
    fold: int | None = setting(
        None,
        "Train only the model that is tested on this fold, counted from 0.",
        panel=PANEL,
        none=-1,
        at_least=0,
        advanced=True,
    )
    test: str | None = setting(None, "Test graphs from a source of their own.", panel=PANEL, none="")
    split_seed: int | None = setting(
        None, "Number of the split; by default that of the run.", panel=PANEL, none=-1, at_least=0, advanced=True
    )
    duplicates: str | None = setting(
        None,
        "Equal graphs: keep them, keep them in one part, or merge them into one; by default keep for datasets of the "
        "catalogue, else group:",
        panel=PANEL,
        choices=("keep", "group", "merge"),
        none="",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        _ = self.shares
        if self.fold is not None and (self.folds is None or self.fold >= self.folds):
            options: dict[str, Any] = {"fold": Option("fold", self.fold), "folds": Option("folds")}
            raise ValueError(Message("{fold}: expected {folds}, and a number from 0 that is smaller", **options))
        given = [Option(name) for name, value in self._ways().items() if value]
        if len(given) > 1:
            one, other, *_ = given
            raise ValueError(Message("{one} and {other} contradict each other: choose one", one=one, other=other))

    def _ways(self) -> dict[str, bool]:
        """What decides the part of a graph: at most one of each may be given."""
        return {
            "ratios": self.ratios is not None,
            "folds": self.folds is not None and self.split_column is None,
            "split_column": self.split_column is not None,
        }

    def keeps_official(self, entry: Dataset | None) -> bool:
        """Whether a dataset is split as its authors did: they fixed a split, and no option draws another."""
        official = entry is not None and entry.split == "official"
        return official and self.rule is None and self.ratios is None and self.folds is None

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of training, validation and test."""
        if self.ratios is None:
            return (8, 1, 0) if self.test else (8, 1, 1)
        from bankgcn.data.splits import shares

        try:
            numbers = tuple(float(part) for part in self.ratios.replace(":", ",").split(","))
            if len(numbers) != (2 if self.test else 3):
                raise ValueError
            train, valid, test = (*numbers, 0.0) if self.test else numbers
            shares((train, valid, test))
        except ValueError:
            expected = "two numbers such as 8,1, because {test} names the test graphs" if self.test else "8,1,1"
            options: dict[str, Any] = {"ratios": Option("ratios", self.ratios), "test": Option("test")}
            raise ValueError(Message("{ratios}: expected shares from 0, for example " + expected, **options)) from None
        return train, valid, test
