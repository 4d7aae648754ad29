"""The settings of the paper's tables: where the l2 normalisation stands, which the paper does not say."""

from __future__ import annotations

from dataclasses import dataclass

from bankgcn.experiments.paper.layout import Grid

PLACES: dict[str, str] = {
    "before": "l2 before the ReLU",
    "after": "l2 after the ReLU",
    "none": "no l2",
}
"""The places of the l2 normalisation, in the words of a table."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of a table.

    Args:
        name: Identifier on the command line, for example ``as-paper``.
        label: Name in documents.
        sentence: What the setting is, for a reader.
        grid: The values from which hyper-parameters are chosen.
    """

    name: str
    label: str
    sentence: str
    grid: Grid


AS_PAPER = Setting(
    name="as-paper",
    label="As the paper",
    sentence="every model has the l2 normalisation before the ReLU. The paper does not say where it stands",
    grid=Grid(normalize=("before",)),
)
BEST = Setting(
    name="best",
    label="Best by validation",
    sentence="the mean validation score also chooses the place of the l2 normalisation: before or after the ReLU",
    grid=Grid(normalize=("before", "after")),
)
BEST_OF_THREE = Setting(
    name="best-of-three",
    label="Best by validation, with no l2 as a third choice",
    sentence="the mean validation score also chooses the place of the l2 normalisation: before, after, or none",
    grid=Grid(normalize=("before", "after", "none")),
)
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in (AS_PAPER, BEST, BEST_OF_THREE)}


def places_in_words(places: tuple[str, ...]) -> str:
    """The places of the l2 normalisation that a grid has, for the text below a table."""
    if len(places) == 1:
        return PLACES[places[0]]
    words = [PLACES[place] for place in places]
    return f"place of l2 chosen, too: {', '.join(words[:-1])} or {words[-1]}"
