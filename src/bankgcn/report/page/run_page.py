"""The page of one run, or of several runs whose predictions are averaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bankgcn.files.errors import FileError
from bankgcn.metrics import METRICS
from bankgcn.nn.bank_conv import BankConv
from bankgcn.nn.convs import CONVS
from bankgcn.report.page.browser import Examined, Progress, browse, worst_first
from bankgcn.report.page.chart import Figure
from bankgcn.report.page.energy import energy_figure
from bankgcn.report.page.filters import filter_figures
from bankgcn.report.page.history import learning_figures
from bankgcn.report.page.page import Facts, Graphs, Page, Section, Tile
from bankgcn.report.page.quality import quality_figures
from bankgcn.training.assessment import Assessment, assess
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.model import TrainedModel
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder

WORST = "The worst mistakes come first; some that are better follow. "
UNSURE = "The least certain predictions come first; some that are more certain follow. "
READING = (
    "Choose a graph to see it. What decided: a node in orange speaks for the prediction, one in blue against it. "
    "Filter outputs: the stronger the colour of a node, the stronger the output of the filter there."
)


@dataclass(frozen=True, eq=False)
class RunEvidence:
    """What the page of a run shows.

    Args:
        ensemble: The models.
        found: Graphs with predictions.
        part: What these graphs are, for a reader: ``"test graphs"``.
        record: The record of the first run, if there is one.
    """

    ensemble: Ensemble
    found: Examined
    part: str
    record: RunRecord | None

    @classmethod
    def of(cls, ensemble: Ensemble, found: Examined, part: str) -> RunEvidence:
        """The evidence, with the record that lies beside the first model."""
        try:
            record = RunFolder(ensemble_path(ensemble)).read_record()
        except FileError:
            record = None
        return cls(ensemble, found, part, record)

    @property
    def model(self) -> TrainedModel:
        """The first model, whose filters are shown."""
        return self.ensemble.first

    @property
    def known(self) -> bool:
        """Whether the targets are known."""
        return self.found.y is not None and len(self.found.y) > 0


def ensemble_path(ensemble: Ensemble) -> Path:
    """The folder of the first run."""
    return next(iter(ensemble.members))


def run_figures(evidence: RunEvidence) -> dict[str, tuple[Figure, ...]]:
    """The figures of a run, by the section of the page that shows them."""
    model, found, record = evidence.model, evidence.found, evidence.record
    net = model.net
    degree = float(found.graphs.degree.mean()) if len(found.graphs.degree) else 0.0
    learning: tuple[Figure, ...] = ()
    folder = RunFolder(ensemble_path(evidence.ensemble))
    if record is not None and folder.history.exists():
        has_bank = isinstance(net.convs[0], BankConv)
        select = record.config.train.select
        learning = tuple(learning_figures(folder.read_history(), record.best_epoch, record.metric, select, has_bank))
    quality: tuple[Figure, ...] = ()
    if evidence.known:
        assert found.y is not None
        quality = tuple(quality_figures(model.task, found.predictions, found.y, evidence.part))
    return {
        "quality": quality,
        "filters": (*filter_figures(net, degree), *energy_figure(model, found.graphs)),
        "learning": learning,
    }


def run_page(evidence: RunEvidence, shown: int, origin: str, progress: Progress | None = None) -> Page:
    """The page of a run.

    Args:
        evidence: What it shows.
        shown: Number of single graphs.
        origin: The command that makes it.
        progress: Is told how many of the graphs are done.
    """
    figures = run_figures(evidence)
    conv = CONVS[evidence.model.config.conv].label
    spec = evidence.ensemble.spec
    data = evidence.found.graphs.name or (spec.dataset if spec else "graphs")
    return Page(
        title=f"{conv} on {data}",
        subtitle=_subtitle(evidence),
        tiles=tuple(_tiles(evidence)),
        notes=tuple(_notes(evidence)),
        sections=tuple(section for section in _sections(evidence, figures, shown, progress) if section.items),
        origin=origin,
    )


def _sections(
    evidence: RunEvidence, figures: dict[str, tuple[Figure, ...]], shown: int, progress: Progress | None
) -> Iterator[Section]:
    part = evidence.part
    yield Section(
        name="quality",
        title="How good is it?",
        text=f"Predictions for the {len(evidence.found.graphs):,} {part}.",
        items=figures["quality"],
    )
    yield Section(
        name="filters",
        title="Which frequencies matter?",
        text="A signal on a graph has frequencies as a sound has: low ones change little from a node to its "
        "neighbours, high ones change much. The network learns filters that keep some of them and drop others.",
        items=figures["filters"],
    )
    found = evidence.found
    chosen = worst_first(evidence.model.task, found.predictions, found.y, shown)
    entries = browse(list(evidence.ensemble.members.values()), found, chosen.tolist(), progress)
    unsure = "" if evidence.model.task.kind == "values" else UNSURE  # values have no probabilities
    graphs = Graphs(caption=f"{unsure if found.y is None else WORST}{READING}", entries=entries)
    yield Section(
        name="graphs",
        title="Single graphs",
        text=f"{len(entries):,} of the {len(found.graphs):,} {part}, each with what decided its prediction.",
        items=(graphs,) if entries else (),
    )
    yield Section(name="learning", title="How it learned", text="", items=figures["learning"])
    yield Section(name="protocol", title="Protocol and settings", text="", items=tuple(_facts(evidence)))


def _subtitle(evidence: RunEvidence) -> str:
    net, config = evidence.model.net, evidence.model.config
    options = dict(config.conv_options)
    words = [f"{len(net.convs)} layers", f"{config.hidden_channels} channels"]
    words += [f"order K = {options['order']}"] if "order" in options else []
    words += [f"s = {options['num_subspaces']} filters a layer"] if "num_subspaces" in options else []
    return ", ".join([*words, f"{sum(p.numel() for p in net.parameters()):,} parameters"])


def _tiles(evidence: RunEvidence) -> Iterator[Tile]:
    record, found, task = evidence.record, evidence.found, evidence.model.task
    if evidence.known:
        assert found.y is not None
        one = len(evidence.ensemble.members) == 1
        same = one and record is not None and record.assessment and record.assessment["graphs"] == len(found.y)
        assessment = (
            Assessment.from_dict(record.assessment)  # scored once, at the end of the run
            if same and record is not None and evidence.part == "test graphs"
            else assess(task, torch.from_numpy(found.predictions), found.y, evidence.model.constant)
        )
        metric = METRICS[assessment.metric]
        interval = assessment.interval
        note = f"95 % interval {metric.text(interval[0])} to {metric.text(interval[1])}" if interval else ""
        yield Tile(label=f"{metric.label}, {evidence.part}", value=metric.text(assessment.score), note=note)
        yield Tile(
            label=f"{metric.label} of {assessment.baseline}",
            value=metric.text(assessment.baseline_score),
            note="a prediction that does not look at the graphs",
        )
        others = [name for name in assessment.scores if name != assessment.metric][:1]
        for name in others:
            yield Tile(label=METRICS[name].label, value=METRICS[name].text(assessment.scores[name]))
    if record is not None:
        metric = METRICS[record.metric]
        ensemble = evidence.ensemble
        owner = f" of {ensemble_path(ensemble).name}" if len(ensemble.members) > 1 else ""
        yield Tile(label=f"{metric.label}{owner}, validation graphs", value=metric.text(record.valid_score))
        yield Tile(
            label=f"best epoch{owner}",
            value=f"{record.best_epoch}",
            note=f"of {record.epochs}, in {record.seconds:.0f} s",
        )


def _notes(evidence: RunEvidence) -> Iterator[str]:
    members = evidence.ensemble.members
    first = ensemble_path(evidence.ensemble).name
    if evidence.found.voters is not None:
        yield (
            f"{len(members)} models with different splits: each graph is predicted by those that were tested on it, "
            f"and explained by the first of them. Filters, learning curves and settings are those of {first}."
        )
    elif len(members) > 1:
        yield (
            f"{len(members)} models: the predictions and scores are those of their mean. Filters, learning curves, "
            f"explanations and settings are those of the first model, {first}."
        )
    for run in evidence.ensemble.without_model:
        yield f"{run.name} has no model, and so no vote."
    if evidence.record is None:
        yield (
            f"{first} has no record that can be read, so this page lacks its validation score, learning curves, "
            "settings and versions."
        )
    if evidence.model.net.pools:
        yield "The network pools nodes between its layers: the energy in its layers is not shown."


def _facts(evidence: RunEvidence) -> Iterator[Facts]:
    record, model = evidence.record, evidence.model
    if record is not None:
        sizes = " / ".join(f"{size:,}" for size in record.split_sizes)
        rows = [
            ("how the epoch was chosen and tested", record.protocol),
            ("training / validation / test graphs", sizes),
            ("where the split comes from", record.split_from),
            ("why training ended", record.ended),
            ("temperature of the probabilities", f"{record.temperature:.3f}"),
            ("graphs (fingerprint)", record.fingerprint),
            ("split (hash)", record.split_hash),
            *(("note on the graphs", note) for note in record.notes),
        ]
        yield Facts(rows=tuple((name, value) for name, value in rows if value))
        settings = _flat(record.config.to_dict())
        yield Facts(title="All settings", rows=tuple(settings), folded=True)
        yield Facts(title="Versions", rows=tuple((k, str(v)) for k, v in record.versions.items()), folded=True)
    else:
        yield Facts(title="Model", rows=tuple(_flat(model.config.to_dict())))


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", str(value))]
    return rows
