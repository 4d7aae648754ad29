"""What ``compare_checkouts.py`` runs in both checkouts, as rows of data: trainings, and commands that must fail."""

from __future__ import annotations

from dataclasses import dataclass, field

SMALL = ("--epochs", "3", "--hidden", "16", "--layers", "2", "--batch-size", "16")


@dataclass(frozen=True)
class Description:
    """A training and what follows it, all in one process of its own.

    Args:
        name: What the report calls it, and its folder.
        flags: Of ``bankgcn train``, separated by blanks, with the source first. They win over :data:`SMALL`.
        new: Graphs that the model predicts; by default those that it was trained with.
        quick: Whether it is part of ``--quick``.
        more: Whether to evaluate, embed and explain, too.
        interrupt: Whether to interrupt the training after its first epoch, and resume it.
        environment: Variables, as ``NAME=value``.
        stdin: File that is standard input.
        dataset: File under ``$BANKGCN_DATA`` without which it is left out.
        command: The command, ``train`` unless said otherwise; of others, only what they write is compared.
    """

    name: str
    flags: str
    new: str = ""
    quick: bool = False
    more: bool = False
    interrupt: bool = False
    environment: tuple[str, ...] = ()
    stdin: str = ""
    dataset: str = ""
    command: str = "train"
    then: tuple[str, ...] = field(default=())


DESCRIPTIONS = (
    # Convolutions.
    Description("bank", "MUTAG", quick=True, more=True),
    Description("gcn", "MUTAG --model gcn --norm layer", quick=True),
    Description("sage", "MUTAG --model sage --readout sum"),
    Description("gin", "MUTAG --model gin --residual"),
    Description("gat", "MUTAG --model gat --heads 4 --dropout 0.2", quick=True),
    Description("cheb", "MUTAG --model cheb --order 3 --weight-decay 0.01"),
    Description("mlp", "MUTAG --model mlp --head mlp"),
    # Tasks.
    Description("values", "values.csv --features onehot", quick=True, more=True),
    Description("two-values", "two_values.csv --target logp,mass --model gin --loss absolute_error --metric rmse"),
    Description("labels", "labels.csv --target tox1,tox2,tox3 --skip-missing", quick=True, more=True),
    Description(
        "labels-weighted", "labels.csv --target tox1,tox2,tox3 --model gcn --class-weight balanced --skip-missing"
    ),
    Description("numbers-json", "numbers.jsonl --task values --scale standard --model sage --ignore-weights"),
    # Readers.
    Description("csv", "classes.csv --target active", new="molecules.smi", quick=True),
    Description("csv-dirty", "dirty.csv --skip-unreadable --skip-missing --missing-words unknown --ignore-case"),
    Description("csv-gz", "packed.csv.gz --features embedded --model gin"),
    Description("smi", "molecules.smi --target active --features onehot", new="classes.csv"),
    Description("sdf", "classes.sdf --target active --model cheb", new="classes.sdf"),
    Description("parquet", "values.parquet --norm graph"),
    Description("xlsx", "classes.xlsx --split scaffold --ratios 6,2,2"),
    Description("stdin", "- --smiles smiles --target active", stdin="classes.csv", new="one.csv"),
    Description("jsonl", "graphs.jsonl --scale range", new="json", quick=True),
    Description("jsonl-directed", "directed.jsonl --symmetrise --ignore-weights --model gcn"),
    Description("json-array", "array.json --fill-missing 0 --readout max"),
    Description("json-folder", "json --model gat --scale standard --ignore-weights", new="graphs.jsonl"),
    Description("graphml", "graphml --projection mlp"),
    Description("gml", "gml --basis legendre"),
    Description("edge-tables", "tables --target kind --basis bernstein --no-shortcut"),
    Description("images", "images --model gin --readout mean_sum"),
    Description("saved", "saved.graphs --initial-alpha zeros", new="graphs.jsonl", quick=True),
    Description("tu-folder", "TINY --order 1 --subspaces 4 --no-bias"),
    Description("tu-set", "ENZYMES --readout mean_max_sum", dataset="TU/ENZYMES.zip"),
    # Options.
    Description("batch-norm", "MUTAG --norm batch", quick=True),
    Description("no-kernels", "MUTAG --norm none", environment=("BANKGCN_KERNELS=off",)),
    Description("pooling", "MUTAG --model gcn --pooling topk"),
    Description("residual-mlp", "classes.csv --target active --residual --head mlp --dropout 0.1 --features embedded"),
    Description("feed-forward", "MUTAG --feed-forward 2 --norm layer --residual --dropout 0.1"),
    Description("merged", "classes.csv --target active --duplicates merge --class-weight balanced"),
    Description("kept", "classes.csv --target active --duplicates keep --threshold validation --metric roc_auc"),
    Description("folds", "classes.csv --target active --folds 3 --model gcn", quick=True),
    Description("one-fold", "MUTAG --folds 5 --fold 2 --seed 3"),
    Description("seeds", "MUTAG --seeds 0-1 --normalize after"),
    Description("parts", "parts.csv --target active --split-column part"),
    Description("own-test", "classes.csv --target active --test others.csv --ratios 8,2 --split-seed 7"),
    Description("few", "MUTAG --train-per-class 10 --select score --coherence mean --gamma 1 --learning-rate 0.01"),
    Description("decay", "MUTAG --decay-patience 1 --decay-factor 0.5 --epochs 12 --patience 5 --learning-rate 0.05"),
    Description("two-threads", "MUTAG --threads 2", quick=True),
    Description("two-threads-gat", "ENZYMES --model gat --threads 2", dataset="TU/ENZYMES.zip"),
    Description("resumed", "MUTAG --epochs 120 --patience 120 --hidden 32 --dropout 0.1", quick=True, interrupt=True),
    # Other commands.
    Description(
        "compare",
        "classes.csv --target active --models bank,gcn --runs 2 --workers 1 --engine local "
        "--gammas 0.1 --weight-decays 0 --store {out}/store --out {out}/table.csv --format csv",
        command="compare",
        then=("table comparison --store {out}/store --format csv --notes --out {out}/again.csv",),
    ),
    Description("estimator", "classes.csv active", command="estimator", quick=True),
)

FAILURES = {
    "no such file": "train nothing.csv",
    "no such dataset": "train MUTAGG",
    "no such option": "train --lr 1",
    "no such column": "train classes.csv --target activ",
    "which column": "train two_values.csv",
    "unreadable molecule": "train dirty.csv --target active",
    "bad number": "train MUTAG --epochs 0",
    "bad choice": "train MUTAG --model gnc",
    "bad share": "train MUTAG --ratios 8,1",
    "setting of another model": "train MUTAG --model gcn --subspaces 4",
    "subspaces do not divide": "train MUTAG --hidden 10 --subspaces 4",
    "wrong task": "train classes.csv --target active --task values",
    "directed edges": "train directed.jsonl",
    "other settings in the folder": "train MUTAG --out {runs}/bank/run --hidden 8",
    "no run": "predict nothing classes.csv",
    "other features": "predict {runs}/bank/run classes.csv",
    "no source": "predict {runs}/csv/run",
    "bad ending": "predict {runs}/csv/run classes.csv --out out.txt",
    "scores without targets": "evaluate {runs}/csv/run one.csv",
    "no such table": "table table9",
    "empty store": "table table1 --store nothing",
}
"""Command lines that must fail, by what is wrong. ``{runs}`` is the folder of the checkout's runs."""
