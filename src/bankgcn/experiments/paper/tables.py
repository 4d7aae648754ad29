"""The paper's tables and its figure as data: their settings, their runs and their layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bankgcn.data.catalog import CATALOG
from bankgcn.experiments.design import Column, Design, Figure, Grid, Panel, Row
from bankgcn.experiments.paper.published import PUBLISHED, PUBLISHED_LAYER_PARAMETERS, PUBLISHED_OMEGA, TU_DATASETS
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec

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


STAND_INS = {"FRANKENSTEIN": "FRANKENSTEIN-rebuilt"}
"""Replacements for datasets of the paper that cannot be downloaded. Tables label them, without the paper's figure."""

DRAWN = tuple(name for name, entry in CATALOG.items() if entry.split == "stratified")
"""The datasets with random splits: Tables 1 to 3 accept them as columns, even where the paper does not have them."""


def stand_ins(names: Iterable[str], is_available: Callable[[str], bool]) -> list[str]:
    """The names of datasets, where an available stand-in replaces each dataset that is not available."""

    def replaced(name: str) -> str:
        stand_in = STAND_INS.get(name)
        return stand_in if stand_in and not is_available(name) and is_available(stand_in) else name

    return [replaced(name) for name in names]


def tu_column(dataset: str) -> Column:
    """The column of a dataset with random splits."""
    stand_in = " (stand-in)" if dataset in STAND_INS.values() else ""
    return Column(name=dataset, label=f"{dataset}{stand_in}", dataset=dataset)


MLP_NOTE = "The MLP ignores the edges and is not in the paper: it shows how much the structure adds."
ONE_FILTER_NOTE = "With one filter (s = 1) there is no diversity, and gamma is not searched."


def _row(name: str, label: str, conv: str, *notes: str, **options: int) -> Row:
    return Row(name=name, label=label, conv=conv, options=options, notes=notes)


def bank_row(order: int, num_subspaces: int) -> Row:
    """The row of a BankGCN."""
    name, label = f"bank-K{order}-s{num_subspaces}", f"BankGCN (K={order}, s={num_subspaces})"
    notes = (ONE_FILTER_NOTE,) if num_subspaces == 1 else ()
    return _row(name, label, "bank", *notes, order=order, num_subspaces=num_subspaces)


def cheb_row(order: int) -> Row:
    """The row of a ChebNet."""
    return _row(f"cheb-K{order}", f"ChebNet (K={order})", "cheb", order=order)


MLP = _row("mlp", "MLP (no edges)", "mlp", MLP_NOTE)
MESSAGE_PASSING = (
    _row("gcn", "GCN", "gcn"),
    _row("sage", "GraphSAGE", "sage"),
    _row("gin", "GIN", "gin"),
    _row("gat", "GAT", "gat"),
)
TU_COLUMNS = tuple(tu_column(name) for name in TU_DATASETS)
EXTRA_COLUMNS = tuple(tu_column(name) for name in DRAWN)

TABLE_1 = Design(
    name="table1",
    label="Table 1",
    title="Graph classification on the TU datasets",
    rows=(MLP, *MESSAGE_PASSING, cheb_row(2), bank_row(2, 8), bank_row(2, 16)),
    columns=TU_COLUMNS,
    extra_columns=EXTRA_COLUMNS,
    reference="bank-K2-s8",
    figures=PUBLISHED["table1"],
    parameters=PUBLISHED_LAYER_PARAMETERS,
)
TABLE_2 = Design(
    name="table2",
    label="Table 2",
    title="The order K of the filters and the number s of subspaces",
    rows=(MLP, *(bank_row(order, 8) for order in (1, 2, 3, 4)), *(bank_row(2, s) for s in (1, 4, 16))),
    columns=TU_COLUMNS,
    extra_columns=EXTRA_COLUMNS,
    reference="bank-K2-s8",
    figures=PUBLISHED["table2"],
    parameters=PUBLISHED_LAYER_PARAMETERS,
)
TABLE_3 = Design(
    name="table3",
    label="Table 3",
    title="The weight gamma of diversity, with BankGCN (K=2, s=8)",
    rows=tuple(
        replace(bank_row(2, 8), name=f"gamma-{gamma:g}", label=f"gamma = {gamma:g}", gamma=gamma)
        for gamma in (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
    ),
    columns=TU_COLUMNS,
    extra_columns=EXTRA_COLUMNS,
    reference="gamma-0",
    figures=PUBLISHED["table3"],
)

# nn.budget.width_for_budget(conv, 16_500) and (conv, 65_800): written out, so that tables can be printed without PyG.
BUDGETS = {"CIFAR-10": 16_500, "ogbg-molhiv": 65_800}
CIFAR_WIDTHS = {
    **{"mlp": 128, "gcn": 128, "sage": 91, "gin": 90, "gat": 128, "cheb-K2": 74, "cheb-K3": 64},
    **{"bank-K2-s16": 128, "bank-K3-s16": 128},
}
MOLHIV_WIDTHS = {
    **{"mlp": 256, "gcn": 256, "sage": 181, "gin": 181, "gat": 256, "cheb-K2": 148, "cheb-K3": 128},
    **{"bank-K2-s16": 256, "bank-K3-s16": 256},
}
CIFAR = Column(
    name="CIFAR-10",
    label="CIFAR-10",
    dataset="CIFAR-10",
    runs=3,
    widths=CIFAR_WIDTHS,
    drawn_splits=False,
    notes=("a hidden layer has about 16,500 parameters",),
)
CIFAR_1000 = replace(
    CIFAR,
    name="CIFAR-10-1000",
    label="CIFAR-10 (1000)",
    train_per_class=100,
    relative_to="CIFAR-10",
    notes=("100 training graphs of each class, drawn with the seed; decrease: relative to CIFAR-10",),
)
MOLHIV = Column(
    name="ogbg-molhiv",
    label="ogbg-molhiv",
    dataset="ogbg-molhiv",
    runs=10,
    widths=MOLHIV_WIDTHS,
    drawn_splits=False,
    notes=(
        "a hidden layer has about 65,800 parameters",
        "node features are the nine integers of each atom; edges have no attributes",
    ),
)
EMBEDDED = replace(
    MOLHIV,
    name="ogbg-molhiv-embedded",
    label="ogbg-molhiv (embedded)",
    settings=MOLHIV.base.with_(features="embedded"),
    notes=(
        "ogbg-molhiv, where the network learns a vector for each of the nine integers of an atom and adds them up, as "
        "OGB's own encoder; the paper does not say which of the two it has",
    ),
)
TABLE_4 = Design(
    name="table4",
    label="Table 4",
    title="CIFAR-10 and ogbg-molhiv, with about equal numbers of parameters",
    rows=(MLP, *MESSAGE_PASSING, cheb_row(2), cheb_row(3), bank_row(2, 16), bank_row(3, 16)),
    columns=(CIFAR, CIFAR_1000, MOLHIV, EMBEDDED),
    reference="bank-K2-s16",
    figures=PUBLISHED["table4"],
)

TABLES: dict[str, Design] = {table.name: table for table in (TABLE_1, TABLE_2, TABLE_3, TABLE_4)}

FIGURE_3_DATASETS = ("NCI109", "FRANKENSTEIN")
FIGURE_3_RUNS = 5
"""Seeds of a panel. The paper has one; more of them show how much Omega varies."""

_PANELS = (("a", 2, 0.0), ("b", 2, 0.1), ("c", 2, 10.0), ("d", 3, 10.0))
_LONE_PANEL = (("e", 2, 0.0),)
"""Letter, order and weight of diversity of the panels on NCI109, and of the one on FRANKENSTEIN."""


def figure3(
    datasets: Sequence[str] = FIGURE_3_DATASETS,
    max_epochs: int | None = None,
    normalize: str = ModelConfig.normalize,
    runs: int = FIGURE_3_RUNS,
) -> Figure:
    """The responses of the first layer's filters (s = 8), without weight decay; seed 0 is drawn.

    Args:
        datasets: The paper's two by default. FRANKENSTEIN and its stand-in have one panel, other datasets have four.
        max_epochs: Maximum number of epochs; the paper's if not given.
        normalize: Place of the l2 normalisation, which the paper does not say.
        runs: Number of seeds of each panel.
    """
    base = RunSpec(dataset="NCI109", train=TrainConfig(max_epochs=max_epochs or TrainConfig.max_epochs))
    base = base.with_(normalize=normalize)
    panels = tuple(
        Panel(
            name=name,
            label=column.label,
            setting=f"K={order}, gamma={gamma:g}",
            config=base.with_(dataset=column.dataset, order=order, gamma=gamma),
            published=PUBLISHED_OMEGA.get(name) if column.dataset == "NCI109" else None,
        )
        for column in TABLE_1.restricted(datasets=datasets).columns
        for name, order, gamma in (_LONE_PANEL if "FRANKENSTEIN" in column.dataset else _PANELS)
    )
    title = "Responses of the first layer's filters (s = 8)"
    return Figure(name="figure3", title=title, panels=panels, runs=runs, max_epochs=max_epochs)
