"""Compare settings over datasets and seeds: run what has no record, and print one table for each dataset.

python scripts/study.py NAME --store DIR [--known results/quality] [--workers 1] [--dry] [--pack results/quality]

A study is a row of ``STUDIES``. Every variant runs on the same splits and seeds; its scores are compared with those of
the first variant by a paired test with the correction for splits that overlap. Epochs are chosen by the validation
graphs, and the test graphs are scored once. Tables of molecules are named relative to the current folder: run a study
of them in the folder that holds ``moleculenet``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.statistics import Spread, compare
from bankgcn.experiments.store import Store, compact, pack_file, read_packed
from bankgcn.experiments.sweep import sweep
from bankgcn.metrics import METRICS
from bankgcn.training.record import RunRecord
from bankgcn.training.spec import RunSpec


@dataclass(frozen=True)
class Study:
    """What is compared.

    Args:
        datasets: Names of datasets, each with the settings that all its runs share.
        variants: Settings by the name of the variant; the first is what the others are compared with.
        repetitions: Settings of each repetition: its split and its seed.
    """

    datasets: Mapping[str, Mapping[str, Any]]
    variants: Mapping[str, Mapping[str, Any]]
    repetitions: Sequence[Mapping[str, Any]]

    def runs(self, dataset: str) -> dict[str, list[RunSpec]]:
        """The runs on a dataset, by the name of the variant, one for each repetition."""
        plain, shared = RunSpec(dataset=dataset), self.datasets[dataset]
        return {
            name: [plain.with_(**{**shared, **settings, **repetition}) for repetition in self.repetitions]
            for name, settings in self.variants.items()
        }


def seeds(number: int) -> list[dict[str, Any]]:
    """A random split for each seed."""
    return [{"seed": seed} for seed in range(number)]


def public_splits(number: int) -> list[dict[str, Any]]:
    """So many seeds on each of the three scaffold splits of the tables of molecules."""
    return [{"split_column": f"split{split}", "seed": seed} for seed in range(number) for split in range(3)]


EDGES = {name: {"edges": name} for name in ("none", "input", "weights", "both")}
MOLHIV = {
    "num_subspaces": 16,
    "hidden_channels": 256,
    "readout": "mean",
    "batch_size": 256,
    "patience": 50,
    "decay_patience": 20,
    "metric": "roc_auc",
}
"""The settings of a row of Table 4."""
VALUES = {"smiles": "smiles", "task": "values", "metric": "rmse"}
ESOL = {"moleculenet/esol.csv": {**VALUES, "target": "logSolubility"}}
LIPO = {"moleculenet/lipo.csv": {**VALUES, "target": "lipo"}}
DESCRIPTORS = {"none": {}, **{names: {"descriptors": names} for names in ("rdkit", "morgan", "rdkit,morgan")}}

BACE = {"moleculenet/bace.csv": {"smiles": "smiles", "task": "classes", "target": "Class", "metric": "roc_auc"}}
ASSAYS = "NR-AR,NR-AR-LBD,NR-AhR,NR-Aromatase,NR-ER,NR-ER-LBD,NR-PPAR-gamma,SR-ARE,SR-ATAD5,SR-HSE,SR-MMP,SR-p53"
TOX21 = {
    "moleculenet/tox21.csv": {
        "smiles": "smiles",
        "task": "labels",
        "target": ASSAYS,
        "metric": "roc_auc",
        "skip_unreadable": True,
    }
}
OTHERS: dict[str, dict[str, Any]] = {name: {} for name in ("ENZYMES", "PROTEINS", "NCI1", "Mutagenicity")}
RECIPE = {
    "edges": "auto",
    "norm": "layer",
    "residual": True,
    "head": "mlp",
    "dropout": 0.1,
    "readout": "mean_max_sum",
    "scale_sum": True,
    "optimizer": "adamw",
    "weight_decay": 0.01,
    "warmup": 5,
    "decay_patience": 10,
    "decay_factor": 0.5,
    "clip_norm": 1.0,
}
"""What most networks of the field have, and the paper's has not; ingredients are added to it and taken from it."""
CHANGES: dict[str, dict[str, Any]] = {
    "Adam alone": {"optimizer": "adam", "weight_decay": 0.0, "warmup": 0, "decay_patience": None, "clip_norm": None},
    "l2 instead of layer norm": {"norm": "l2"},
    "feed-forward blocks": {"feed_forward": 2},
    "rwse": {"encoding": "rwse"},
    "laplacian": {"encoding": "laplacian"},
    "dropout 0.2": {"dropout": 0.2},
    "no dropout": {"dropout": 0.0},
    "sum as it is": {"scale_sum": False},
    "without sum": {"readout": "mean_max", "scale_sum": False},
    "no residual": {"residual": False},
    "linear head": {"head": "linear"},
    "no edges": {"edges": "none"},
    "gamma 0": {"gamma": 0.0},
    "3 layers": {"num_layers": 3},
    "6 layers": {"num_layers": 6},
    "width 128": {"hidden_channels": 128},
    "learning rate 0.002": {"learning_rate": 2e-3},
    "batches of 32": {"batch_size": 32},
}
OF_MOLECULES: dict[str, dict[str, Any]] = {
    "rdkit": {"descriptors": "rdkit"},
    "raw atoms": {"features": "raw"},
}
MOST_PROMISING = (
    "width 128",
    "feed-forward blocks",
    "rwse",
    "l2 instead of layer norm",
    "Adam alone",
    "6 layers",
    "no dropout",
    "linear head",
)
"""The changes that the small tables left open; larger sets compare them alone."""


def ablation(changes: Mapping[str, Mapping[str, Any]], **shared: Any) -> dict[str, dict[str, Any]]:
    """The recipe, the paper's settings beside it, and one change of the recipe at a time."""
    start = {**RECIPE, **shared}
    paper = {"edges": "auto"}
    return {"recipe": start, "paper": paper, **{name: {**start, **change} for name, change in changes.items()}}


PLAIN = {"edges": "auto"}
"""The paper's settings, with what edges carry."""
OF_OTHERS: dict[str, dict[str, Any]] = {
    "paper": PLAIN,
    "standard of molecules": {**RECIPE, **CHANGES["Adam alone"]},
    "dropout 0.1": {**PLAIN, "dropout": 0.1},
    "residual": {**PLAIN, "residual": True},
    "mean_max_sum": {**PLAIN, "readout": "mean_max_sum", "scale_sum": True},
    "mlp head": {**PLAIN, "head": "mlp"},
    "rwse": {**PLAIN, "encoding": "rwse"},
    "gamma 0": {**PLAIN, "gamma": 0.0},
}
"""What helps graphs that are no molecules, added to the paper's settings one at a time."""

STUDIES = {
    "others": Study(OTHERS | {"MUTAG": {}}, OF_OTHERS, seeds(4)),
    "recipe-small": Study(ESOL | BACE, ablation(OF_MOLECULES | CHANGES, features="onehot"), public_splits(1)),
    "recipe-others": Study(OTHERS, ablation({name: CHANGES[name] for name in MOST_PROMISING}), seeds(2)),
    "recipe-large": Study(
        LIPO | TOX21,
        ablation(
            {"rdkit": OF_MOLECULES["rdkit"]} | {name: CHANGES[name] for name in MOST_PROMISING}, features="onehot"
        ),
        public_splits(1),
    ),
}


def main() -> None:
    """Run a study and print its tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--store", type=Path, required=True, help="folder of the records")
    parser.add_argument("--known", type=Path, help="packed records; their runs are not repeated")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="run nothing")
    parser.add_argument("--pack", type=Path, help="folder to write the records to, one file for each dataset")
    arguments = parser.parse_args()
    study, known = STUDIES[arguments.study], read_packed(arguments.known) if arguments.known else {}
    runs = {dataset: study.runs(dataset) for dataset in study.datasets}
    specs = [
        spec
        for of_seed in zip(*(row for each in runs.values() for row in each.values()), strict=True)
        for spec in of_seed
    ]
    records = {**known, **{record.config.key: record for record in Store(arguments.store).records()}}
    if not arguments.dry:
        engine = make_engine("local", workers=arguments.workers, checkpoints=arguments.store)
        outcome = sweep(specs, Store(arguments.store), engine, known_records=known)
        records |= {record.config.key: record for record in outcome.records}
    for dataset, variants in runs.items():
        done = [records[spec.key] for of_variant in variants.values() for spec in of_variant if spec.key in records]
        if arguments.pack and done:
            path = arguments.pack / arguments.study / f"{Path(dataset).stem}.jsonl"
            pack_file(path, {record.config.key: compact(record) for record in done})
        print("\n".join(table(dataset, variants, records)))


def table(dataset: str, variants: Mapping[str, Sequence[RunSpec]], records: Mapping[str, RunRecord]) -> Iterable[str]:
    """The lines of a table in Markdown."""
    found = {name: [records.get(spec.key) for spec in specs] for name, specs in variants.items()}
    metric = next((record.metric for row in found.values() for record in row if record), "")
    if not metric:
        yield f"{dataset}: no records"
        return
    row = METRICS[metric]
    yield f"\n{dataset}: {row.label}, mean and standard deviation\n"
    yield "| variant | runs | valid | test | difference (95 % interval) | p | wins/ties/losses | minutes |"
    yield "| :-- | --: | --: | --: | --: | --: | --: | --: |"
    first = next(iter(found))
    for name, of_variant in found.items():
        done = [record for record in of_variant if record is not None]
        both = [(one, two) for one, two in zip(of_variant, found[first], strict=True) if one and two]
        against = compare(*_scores(both), higher_is_better=row.higher_is_better) if name != first and both else None
        cells = [name, str(len(done)), _spread(done, "valid_score"), _spread(done, "test_score")]
        if against is None:
            cells += ["", "", ""]
        else:
            low, high = against.interval
            cells += [f"{against.difference:+.4f} ({low:+.4f} to {high:+.4f})", f"{against.t_test:.3f}", against.counts]
        cells.append(f"{sum(record.seconds for record in done) / 60 / max(len(done), 1):.1f}")
        yield f"| {' | '.join(cells)} |"


def _scores(pairs: Sequence[tuple[RunRecord, RunRecord]]) -> tuple[list[float], list[float]]:
    return [_number(one.test_score) for one, _ in pairs], [_number(two.test_score) for _, two in pairs]


def _spread(records: Sequence[RunRecord], name: str) -> str:
    spread = Spread.of([_number(getattr(record, name)) for record in records])
    return f"{spread.mean:.4f} ± {spread.std:.4f}"


def _number(score: float | None) -> float:
    return math.nan if score is None else score


if __name__ == "__main__":
    main()
