"""``bankgcn compare``: models on a user's own data or a dataset, by the protocol of the paper's tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from bankgcn.cli.designs import (
    FILE,
    GRAPHS,
    OFFERED,
    PROTOCOL,
    ComparisonSettings,
    Format,
    Gammas,
    Notes,
    Out,
    SearchRuns,
    WeightDecays,
    check_store,
    stored_comparison,
)
from bankgcn.cli.output import check_not_input, print_text, say
from bankgcn.cli.progress import load_graphs
from bankgcn.cli.settings import Address, Folders, Source, with_settings
from bankgcn.cli.sweep import EngineName, Workers, check_failed, run_missing
from bankgcn.data.catalog import USUAL_FOLDERS
from bankgcn.experiments.engines import make_engine
from bankgcn.experiments.store import Store
from bankgcn.extras import require
from bankgcn.report.comparison import render_comparison
from bankgcn.report.sheet import WRITERS
from bankgcn.settings import pick
from bankgcn.training.spec import DATA_ROOT, SOURCE

COMPARISONS = Path("comparisons")

Models = Annotated[
    str | None,
    typer.Option(
        help="Models, separated by commas; the others are tested against the first.",
        metavar="NAMES",
        show_default=str(PROTOCOL["models"]),
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        help="Number of seeds: each draws a split, which all models share.", min=1, show_default=str(PROTOCOL["runs"])
    ),
]
StoreFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the records of the runs. Resumes the comparison that it holds.",
        metavar="DIR",
        show_default=f"{COMPARISONS}/SOURCE",
    ),
]


@with_settings(OFFERED)
def compare(
    source: Source = None,
    models: Models = None,
    runs: Runs = None,
    search_runs: SearchRuns = None,
    weight_decays: WeightDecays = None,
    gammas: Gammas = None,
    store: StoreFolder = None,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = None,
    form: Format = "text",
    notes: Notes = False,
    out: Out = Path("-"),
    folders: Folders = USUAL_FOLDERS,
    **flags: Any,
) -> None:
    """Compare models on your own graphs: shared splits, values chosen by validation, paired tests.

    Each run scores its test graphs once. Runs with a record in the store are not repeated: after an interruption,
    'bankgcn compare --store DIR' resumes. 'bankgcn paper table comparison --store DIR' prints the table again.

    For example: bankgcn compare molecules.csv --target active --models bank,gcn,gin --runs 10 --store active

    A quick look: bankgcn compare MUTAG --models bank,mlp --runs 5 --search-runs 2 --epochs 100
    """
    from bankgcn.nn.network import check_available  # with PyTorch, which --help does not need

    pick(WRITERS, form, "format")
    check_not_input(out, sources=(source, flags.get("test")), store=store, folders=folders)
    if engine == "ray":
        require("ray", "--engine ray")
    flags |= {SOURCE: source, DATA_ROOT: folders.given, "models": models}
    flags |= {"runs": runs, "search_runs": search_runs, "weight_decays": weight_decays, "gammas": gammas}
    typed = {name: value for name, value in flags.items() if value is not None}
    settings, folder = _resolve(typed, store)
    for model in settings.specs:
        check_available(model)
    runner = make_engine(engine, workers=workers, data_root=settings.folders.given, address=address, checkpoints=folder)
    settings = _checked_by_data(settings, folder)
    settings.write(folder)
    outcome = run_missing(settings.design, folder, runner)
    print_text(render_comparison(*stored_comparison(folder), form, notes), out)
    check_failed(outcome)


def _resolve(typed: dict[str, Any], store: Path | None) -> tuple[ComparisonSettings, Path]:
    """The settings and the store. What is typed overrides the settings that the store keeps, but for the data.

    Raises:
        ValueError: A setting is wrong, or the store holds a comparison on other data.
    """
    settings = ComparisonSettings(typed)
    folder = store or COMPARISONS / _name(settings)
    check_store(folder)
    kept = ComparisonSettings.read(folder)
    if kept is None:
        settings.check()
        return settings, folder
    settings = kept.overridden(typed)
    settings.check()
    for name, value in kept.data.items():
        if settings.data[name] != value:
            raise ValueError(
                f"{folder} holds a comparison with {name} = {value}, not {settings.data[name]}: name another folder by "
                "--store"
            )
    reused = {name: value for name, value in settings.given.items() if name not in (*typed, GRAPHS)}
    if reused:
        listed = ", ".join(f"{name} = {value}" for name, value in reused.items())
        say(f"from {folder / FILE}: {listed}", stderr=True)
    return settings, folder


def _name(settings: ComparisonSettings) -> str:
    """The name of the default store: that of the dataset or file."""
    dataset = next(iter(settings.specs.values())).dataset
    return re.sub(r"[^\w.=-]+", "_", Path(dataset).stem)


def _checked_by_data(settings: ComparisonSettings, folder: Path) -> ComparisonSettings:
    """Prepare the first run of each model: errors in the data are reported before anything is run or written.

    Returns:
        The settings with the fingerprint of the graphs; and with the task that the targets look like, if its metric is
        not the default; and with the settings that the graphs choose.
    """
    from bankgcn.cli.run_report import CHOSEN_BY_DATA, choose_by_data, show_graphs
    from bankgcn.training.prepare import Loader, prepare

    _check_records(settings, folder)
    load = Loader(settings.folders, load_graphs)
    prepared = [prepare(spec, load) for spec in settings.specs.values()]
    run = prepared[0]
    free = [] if settings[GRAPHS] else [name for name in CHOSEN_BY_DATA if name not in settings.given]
    chosen = choose_by_data(run, free)
    settings = settings.with_(**chosen)
    if chosen:
        run = prepare(next(iter(settings.specs.values())), load)
    show_graphs(run)
    if not len(run.split.test):
        raise ValueError("the split leaves no test graphs, so that models cannot be compared (--ratios)")
    settings = settings.with_(**{GRAPHS: run.fingerprint})
    return settings if run.task.metric == run.spec.train.metric else settings.with_(task=run.task.kind)


def _check_records(settings: ComparisonSettings, folder: Path) -> None:
    """Raise if a store without settings holds records of other datasets only."""
    if settings[GRAPHS]:
        return
    datasets = {record.config.dataset for record in Store(folder).records()}
    if datasets and settings.data[SOURCE] not in datasets:
        names = ", ".join(sorted(datasets)[:3])
        raise ValueError(
            f"{folder} holds records of {names}, not of {settings.data[SOURCE]}: name another folder by --store"
        )
