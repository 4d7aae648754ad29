"""The paper's tables and its figure as data: rows, columns, seeds, and the published values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from bankgcn.data.catalog import CATALOG, USUAL_FOLDERS, DataFolders, Dataset, Statistics, find_in_catalog
from bankgcn.experiments.design import Column, Design, Figure, Grid, Panel, Published, Row
from bankgcn.training import ModelConfig, TrainConfig
from bankgcn.training.spec import RunSpec

TU_DATASETS = ("ENZYMES", "DD", "NCI1", "PROTEINS", "NCI109", "Mutagenicity", "FRANKENSTEIN")
"""The columns of the paper's Tables 1 to 3, in their order."""

LARGE_COLUMNS = ("CIFAR-10", "CIFAR-10-1000", "ogbg-molhiv", "ogbg-molhiv-embedded")
"""The columns of Table 4. The paper has ogbg-molhiv once and does not say in which form: both forms have its figure."""

_Row = tuple[tuple[float, float], ...]


def _columns(names: tuple[str, ...], rows: dict[str, _Row]) -> dict[str, dict[str, Published]]:
    return {
        row: {name: Published(*figure) for name, figure in zip(names, figures, strict=True)}
        for row, figures in rows.items()
    }


# fmt: off
_TABLES_1_AND_2: dict[str, _Row] = {
    "gcn": ((62.75, 5.83), (77.75, 3.55), (79.00, 1.93), (74.87, 4.08), (78.90, 1.52), (81.34, 1.61), (62.21, 2.41)),
    "sage": ((66.75, 6.31), (75.21, 2.72), (80.97, 1.87), (75.13, 4.04), (79.54, 2.24), (82.30, 1.48), (63.91, 1.96)),
    "gin": ((61.08, 4.92), (75.42, 3.31), (81.19, 2.27), (74.91, 3.88), (80.71, 2.38), (81.66, 2.48), (68.11, 2.09)),
    "gat": ((62.67, 7.52), (77.50, 2.14), (79.43, 2.38), (75.09, 4.05), (79.16, 1.85), (81.28, 2.20), (63.89, 1.53)),
    "cheb-K2": ((66.75, 4.79), (77.67, 2.91), (81.80, 2.35), (74.64, 4.75), (81.27, 1.89), (82.50, 1.58),
                (68.35, 2.65)),
    "bank-K2-s8": ((68.00, 5.23), (78.14, 2.81), (82.06, 1.75), (75.67, 4.19), (81.54, 2.13), (82.89, 1.61),
                   (67.82, 2.30)),
    "bank-K2-s16": ((66.83, 5.19), (77.42, 3.50), (81.93, 2.15), (76.12, 5.08), (81.62, 1.87), (82.57, 1.61),
                    (68.43, 1.98)),
    "bank-K1-s8": ((67.17, 5.68), (76.99, 2.99), (81.02, 1.88), (75.89, 5.07), (80.92, 1.66), (82.40, 1.89),
                   (66.95, 1.91)),
    "bank-K3-s8": ((65.75, 5.54), (77.75, 2.66), (81.85, 1.92), (74.96, 5.77), (80.82, 1.84), (82.53, 1.56),
                   (68.35, 2.13)),
    "bank-K4-s8": ((65.17, 6.62), (77.75, 3.01), (82.46, 1.98), (75.09, 4.94), (81.17, 2.11), (82.26, 1.71),
                   (68.35, 1.92)),
    "bank-K2-s1": ((63.58, 6.31), (76.40, 2.34), (80.46, 2.34), (74.38, 4.80), (79.23, 2.29), (82.09, 1.51),
                   (65.52, 2.44)),
    "bank-K2-s4": ((66.75, 5.61), (78.14, 2.81), (81.62, 1.84), (75.67, 4.61), (81.19, 2.08), (82.70, 1.63),
                   (67.48, 2.09)),
}
_TABLE_3: dict[str, _Row] = {
    "gamma-0": ((65.83, 6.66), (77.03, 4.08), (81.89, 1.95), (75.36, 4.68), (81.03, 1.95), (82.44, 1.69),
                (67.82, 2.30)),
    "gamma-0.01": ((66.50, 6.39), (77.54, 3.21), (81.63, 2.33), (75.49, 4.07), (81.27, 2.16), (82.87, 1.94),
                   (67.71, 1.96)),
    "gamma-0.1": ((68.00, 5.23), (78.09, 2.18), (82.06, 1.75), (75.67, 4.19), (81.34, 1.92), (82.83, 1.87),
                  (67.68, 2.10)),
    "gamma-1": ((66.42, 6.20), (77.97, 3.57), (81.81, 1.97), (76.29, 4.84), (81.00, 2.21), (82.95, 1.44),
                (67.76, 1.65)),
    "gamma-10": ((66.75, 5.90), (78.14, 2.81), (82.06, 2.10), (75.31, 4.64), (81.54, 2.13), (82.89, 1.61),
                 (67.20, 1.67)),
    "gamma-100": ((67.08, 5.42), (77.75, 3.26), (81.81, 2.18), (75.98, 4.40), (81.14, 1.94), (82.44, 1.71),
                  (67.52, 1.83)),
}
_TABLE_4: dict[str, _Row] = {
    "gcn": ((55.64, 0.11), (36.47, 0.31), (75.18, 1.85)),
    "sage": ((63.51, 0.40), (40.03, 0.56), (75.39, 1.64)),
    "gin": ((50.04, 0.06), (31.97, 0.20), (71.52, 1.45)),
    "gat": ((60.34, 0.19), (36.08, 0.04), (75.08, 0.39)),
    "cheb-K2": ((64.33, 0.14), (39.46, 0.75), (74.69, 2.08)),
    "cheb-K3": ((63.62, 0.23), (37.91, 0.40), (73.17, 1.57)),
    "bank-K2-s16": ((66.17, 0.34), (42.82, 0.33), (77.95, 1.96)),
    "bank-K3-s16": ((66.00, 0.51), (42.95, 0.49), (75.72, 1.45)),
}
# fmt: on

PUBLISHED: dict[str, dict[str, dict[str, Published]]] = {
    "table1": _columns(TU_DATASETS, _TABLES_1_AND_2),
    "table2": _columns(TU_DATASETS, _TABLES_1_AND_2),
    "table3": _columns(TU_DATASETS, _TABLE_3),
    "table4": _columns(LARGE_COLUMNS, {row: (*figures, figures[-1]) for row, figures in _TABLE_4.items()}),
}
"""By table, row and column. The paper's Tables 1 and 2 agree where they overlap."""

PUBLISHED_LAYER_PARAMETERS: dict[str, int] = {
    "gcn": 4160,
    "sage": 8256,
    "gin": 8320,
    "gat": 4288,
    "cheb-K2": 12353,
    "bank-K1-s8": 4162,
    "bank-K3-s8": 4164,
    "bank-K4-s8": 4165,
    **dict.fromkeys(("bank-K2-s1", "bank-K2-s4", "bank-K2-s8", "bank-K2-s16"), 4163),
}
"""Tables 1 and 2: parameters of a hidden layer of width 64."""

PUBLISHED_OMEGA: dict[str, float] = {"a": 0.997, "b": 0.744, "c": 0.649}
"""Figure 3: Omega of the panels for which the paper gives it."""


PAPER_DATASETS = tuple(name for name, entry in CATALOG.items() if entry.published is not None)


@dataclass(frozen=True, kw_only=True)
class Description:
    """Statistics of a dataset.

    Args:
        name: Name of the dataset.
        here: Statistics of the data on this machine, by name; ``None`` without the data.
        published: The paper's statistics; ``None`` if it has none.
        notes: Notes for the reader.
    """

    name: str
    here: dict[str, float] | None
    published: dict[str, float] | None
    notes: tuple[str, ...] = ()


def describe(names: Iterable[str] = PAPER_DATASETS, folders: DataFolders = USUAL_FOLDERS) -> list[Description]:
    """Statistics of datasets by name, computed from the data on this machine."""
    return [_described(find_in_catalog(name), folders) for name in names]


def _described(entry: Dataset, folders: DataFolders) -> Description:
    from bankgcn.data.sources import find_dataset

    published = asdict(entry.published) if entry.published else None
    if not folders.has(entry):
        return Description(name=entry.name, here=None, published=published)
    graphs = find_dataset(entry.name, folders).load()
    return Description(
        name=entry.name, here=asdict(Statistics.of(graphs)), published=published, notes=tuple(graphs.notes)
    )


L2_PLACES: dict[str, str] = {"before": "l2 before the ReLU", "after": "l2 after the ReLU", "none": "no l2"}
"""The places of the l2 normalisation, in the words of a table."""


@dataclass(frozen=True, kw_only=True)
class TableSetting:
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


AS_PAPER = TableSetting(
    name="as-paper",
    label="As the paper",
    sentence="every model has the l2 normalisation before the ReLU. The paper does not say where it stands",
    grid=Grid(normalize=("before",)),
)
BEST = TableSetting(
    name="best",
    label="Best by validation",
    sentence="the mean validation score also chooses the place of the l2 normalisation: before or after the ReLU",
    grid=Grid(normalize=("before", "after")),
)
BEST_OF_THREE = TableSetting(
    name="best-of-three",
    label="Best by validation, with no l2 as a third choice",
    sentence="the mean validation score also chooses the place of the l2 normalisation: before, after, or none",
    grid=Grid(normalize=("before", "after", "none")),
)
SETTINGS: dict[str, TableSetting] = {setting.name: setting for setting in (AS_PAPER, BEST, BEST_OF_THREE)}


def places_in_words(places: tuple[str, ...]) -> str:
    """The places of the l2 normalisation that a grid has, for the text below a table."""
    if len(places) == 1:
        return L2_PLACES[places[0]]
    labels = [L2_PLACES[place] for place in places]
    return f"place of l2 chosen, too: {', '.join(labels[:-1])} or {labels[-1]}"


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
