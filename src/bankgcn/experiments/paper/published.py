"""The paper's figures, for comparison: mean and standard deviation over its runs, in percent, as printed."""

from __future__ import annotations

from bankgcn.experiments.design import Published

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
