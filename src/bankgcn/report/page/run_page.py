"""The page of one run, or of several runs whose predictions are averaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bankgcn.files.checked import FileError
from bankgcn.metrics import METRICS
from bankgcn.nn.bank_conv import BankConv
from bankgcn.nn.network import GraphNetwork
from bankgcn.report.page.filters import edge_figure, energy_figure, filter_figures
from bankgcn.report.page.graphs import PredictedGraphs, Progress, browse, worst_first
from bankgcn.report.page.page import Facts, Figure, Page, Section, Tile
from bankgcn.report.page.quality import (
    coverage_figure,
    domain_figure,
    learning_figures,
    quality_figures,
    target_table,
)
from bankgcn.rivals import Rival
from bankgcn.tasks import LIKELY, Task
from bankgcn.training.assessment import Assessment, assess
from bankgcn.training.ensemble import Ensemble
from bankgcn.training.intervals import TooFewGraphs, coverage
from bankgcn.training.model import TrainedModel
from bankgcn.training.record import RunRecord
from bankgcn.training.run_folder import RunFolder

WORST = "The worst mistakes come first; some that are better follow. "
UNSURE = "The least certain predictions come first; some that are more certain follow. "
HOW_TO_READ = (
    "Choose a graph to see it. What decided: a node in orange speaks for what is explained, one in blue against it. "
    "All graphs have one scale of colours."
)
NAMED = 3  # targets in a title
LONGEST = 40  # characters of a name in a title
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)  # of intervals


@dataclass(frozen=True, eq=False)
class RunEvidence:
    """What the page of a run shows.

    Args:
        ensemble: The models.
        predicted: Graphs with predictions.
        part: What these graphs are, for a reader: ``"test graphs"``.
        record: The record of the first run, if there is one.
    """

    ensemble: Ensemble
    predicted: PredictedGraphs
    part: str
    record: RunRecord | None

    @classmethod
    def of(cls, ensemble: Ensemble, predicted: PredictedGraphs, part: str) -> RunEvidence:
        """The evidence, with the record that lies beside the first model."""
        try:
            record = RunFolder(ensemble_path(ensemble)).read_record()
        except FileError:
            record = None
        return cls(ensemble, predicted, part, record)

    @property
    def model(self) -> TrainedModel:
        """The model whose filters are shown: the first network, if there is one."""
        return self.ensemble.members[self.ensemble.shown]

    @property
    def net(self) -> GraphNetwork | None:
        """Its network; ``None`` if it is none."""
        return None if isinstance(self.model.net, Rival) else self.model.net

    @property
    def known(self) -> bool:
        """Whether the targets are known."""
        return self.predicted.y is not None and len(self.predicted.y) > 0

    @cached_property
    def assessment(self) -> Assessment | None:
        """How good the predictions are: for the test graphs of one run, what was scored at its end."""
        predicted, record = self.predicted, self.record
        if predicted.y is None or not self.known:
            return None
        one = len(self.ensemble.members) == 1
        same = one and record is not None and record.assessment and record.assessment["graphs"] == len(predicted.y)
        if same and record is not None and self.part == "test graphs":
            return Assessment.from_dict(record.assessment)
        return assess(self.ensemble.task, torch.from_numpy(predicted.predictions), predicted.y, self.model.constant)


def ensemble_path(ensemble: Ensemble) -> Path:
    """The folder of the run whose layers and explanations are shown."""
    return ensemble.shown


def run_figures(evidence: RunEvidence) -> dict[str, tuple[Figure, ...]]:
    """The figures of a run, by the section of the page that shows them."""
    model, predicted, record = evidence.model, evidence.predicted, evidence.record
    net = evidence.net
    degree = float(predicted.graphs.degree.mean()) if len(predicted.graphs.degree) else 0.0
    learning: tuple[Figure, ...] = ()
    folder = RunFolder(ensemble_path(evidence.ensemble))
    if net is not None and record is not None and folder.history.exists():
        has_bank = isinstance(net.convs[0], BankConv)
        select = record.config.train.select
        learning = tuple(learning_figures(folder.read_history(), record.best_epoch, record.metric, select, has_bank))
    quality: tuple[Figure, ...] = ()
    if evidence.known:
        assert predicted.y is not None
        task, part = evidence.ensemble.task, evidence.part
        quality = (*quality_figures(task, predicted.predictions, predicted.y, part), *_figures_of_trust(evidence))
    return {
        "quality": quality,
        "filters": ()
        if net is None
        else (
            *filter_figures(net, degree),
            *edge_figure(model, predicted.graphs),
            *energy_figure(model, predicted.graphs),
        ),
        "learning": learning,
    }


def _figures_of_trust(evidence: RunEvidence) -> Iterator[Figure]:
    """How often intervals hold the truth, and errors beside the distance from the training graphs."""
    ensemble, predicted = evidence.ensemble, evidence.predicted
    task, y = ensemble.task, predicted.y
    assert y is not None
    if predicted.applied is not None and ensemble.has_intervals:
        figures = []
        for level in LEVELS:
            with suppress(TooFewGraphs):  # for this level
                found = ensemble.intervals(predicted.applied, level, predicted.voters)
                figures.append(coverage(task, found, y))
        if figures:
            yield coverage_figure(task, figures, evidence.part)
    if ensemble.has_domain:
        nearness = ensemble.nearness(predicted.graphs, predicted.voters)
        yield domain_figure(task, predicted.predictions, y, nearness, evidence.part)


def run_page(
    evidence: RunEvidence, shown: int, origin: str, progress: Progress | None = None, label: int | None = None
) -> Page:
    """The page of a run.

    Args:
        evidence: What it shows.
        shown: Number of single graphs.
        origin: The command that makes it.
        progress: Is told how many of the graphs are done.
        label: Number of the output that is explained at first; by default, for each graph its own.
    """
    figures = run_figures(evidence)
    sections = _sections(evidence, figures, _graphs_section(evidence, shown, progress, label))
    return Page(
        title=page_title(evidence.ensemble, evidence.predicted.graphs.name),
        subtitle=_subtitle(evidence),
        tiles=tuple(_tiles(evidence)),
        notes=tuple(_notes(evidence)),
        sections=tuple(section for section in sections if section.items),
        origin=origin,
    )


def page_title(ensemble: Ensemble, data: str) -> str:
    """The model, the graphs, the target, and the day of the training, which is that of its file.

    The day on which the page is made is left out: the same run has the same page.
    """
    spec = ensemble.spec
    kinds = dict.fromkeys(model.label for model in ensemble.members.values())
    conv = " and ".join(kinds)
    column = spec.reader.target if spec is not None and ensemble.task.kind == "classes" else None
    what = _shortened(column) if column else target_words(ensemble.task)
    folder = RunFolder(ensemble_path(ensemble))
    written = next((file for file in (folder.record, folder.model) if file.exists()), None)
    day = "" if written is None else f", trained {datetime.fromtimestamp(written.stat().st_mtime, UTC):%Y-%m-%d}"
    return f"{conv} on {data or (spec.dataset if spec else 'graphs')}: {what}{day}"


def target_words(task: Task) -> str:
    """What is predicted, in a few words: the names of values and labels, or of the classes."""
    names = [_shortened(name) for name in task.names]
    if len(names) > NAMED:
        more = f"{len(names) - 2} more {task.kind}"
        return f"{len(names)} classes" if task.kind == "classes" else f"{', '.join(names[:2])} and {more}"
    joined = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"classes {joined}" if task.kind == "classes" else joined


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def _graphs_section(evidence: RunEvidence, shown: int, progress: Progress | None, label: int | None) -> Section:
    predicted, task = evidence.predicted, evidence.model.task
    chosen = worst_first(task, predicted.predictions, predicted.y, shown)
    unsure = "" if task.kind == "values" else UNSURE  # values have no probabilities
    caption = f"{unsure if predicted.y is None else WORST}{HOW_TO_READ if evidence.net is not None else ''}".strip()
    graphs = browse(list(evidence.ensemble.members.values()), predicted, chosen.tolist(), caption, label, progress)
    return Section(
        name="graphs",
        title="Single graphs",
        text=f"{len(chosen):,} of the {len(predicted.graphs):,} {evidence.part}"
        + (", each with what decided its prediction." if evidence.net is not None else "."),
        items=(graphs,) if len(chosen) else (),
    )


def _sections(evidence: RunEvidence, figures: dict[str, tuple[Figure, ...]], graphs: Section) -> Iterator[Section]:
    part = evidence.part
    yield Section(
        name="quality",
        title="How good is it?",
        text=f"Predictions for the {len(evidence.predicted.graphs):,} {part}.",
        items=(*(target_table(evidence.assessment) if evidence.assessment else ()), *figures["quality"]),
    )
    yield graphs
    yield Section(
        name="filters",
        title="Which frequencies matter?",
        text="A signal on a graph has frequencies as a sound has: low ones change little from a node to its "
        "neighbours, high ones change much. The network learns filters that keep some of them and drop others.",
        items=figures["filters"],
        folded=True,
    )
    yield Section(name="learning", title="How it learned", text="", items=figures["learning"])
    yield Section(name="protocol", title="Protocol and settings", text="", items=tuple(_facts(evidence)))


def _subtitle(evidence: RunEvidence) -> str:
    net, config = evidence.model.net, evidence.model.config
    if isinstance(net, Rival):
        return net.words
    options = dict(config.conv_options)
    parts = [f"{len(net.convs)} layers", f"{config.hidden_channels} channels"]
    parts += [f"order K = {options['order']}"] if "order" in options else []
    parts += [f"s = {options['num_subspaces']} filters a layer"] if "num_subspaces" in options else []
    return ", ".join([*parts, f"{sum(p.numel() for p in net.parameters()):,} parameters"])


def _tiles(evidence: RunEvidence) -> Iterator[Tile]:
    record, assessment = evidence.record, evidence.assessment
    if assessment is not None:
        metric = METRICS[assessment.metric]
        interval = assessment.interval
        note = f"95 % interval {metric.text(interval[0])} to {metric.text(interval[1])}" if interval else ""
        yield Tile(label=f"{metric.label}, {evidence.part}", value=metric.text(assessment.score), note=note)
        yield Tile(
            label=f"{metric.label} of {assessment.baseline}",
            value=metric.text(assessment.baseline_score),
            note="a prediction that does not look at the graphs",
        )
        for name in assessment.others[:1]:
            yield Tile(label=METRICS[name].label, value=METRICS[name].text(assessment.scores[name]))
    if record is not None:
        metric = METRICS[record.metric]
        ensemble = evidence.ensemble
        owner = f" of {ensemble_path(ensemble).name}" if len(ensemble.members) > 1 else ""
        yield Tile(label=f"{metric.label}{owner}, validation graphs", value=metric.text(record.valid_score))
        if evidence.net is not None:
            yield Tile(
                label=f"best epoch{owner}",
                value=f"{record.best_epoch}",
                note=f"of {record.epochs}, in {record.seconds:.0f} s",
            )


def _notes(evidence: RunEvidence) -> Iterator[str]:
    members, spec = evidence.ensemble.members, evidence.ensemble.spec
    balanced = spec is not None and spec.train.class_weight is not None
    warnings = evidence.assessment.warnings(balanced) if evidence.assessment else []
    for warning in (*(evidence.record.warnings if evidence.record else ()), *warnings):
        yield f"Warning: {warning}."
    first = ensemble_path(evidence.ensemble).name
    which = "model" if evidence.ensemble.weights is None else "network"
    if evidence.predicted.voters is not None:
        yield (
            f"{len(members)} models with different splits: each graph is predicted by those that were tested on it, "
            f"and explained by the first of them. Filters, learning curves and settings are those of {first}."
        )
    elif len(members) > 1:
        yield (
            f"{len(members)} models: the predictions and scores are those of their mean. Filters, learning curves, "
            f"explanations and settings are those of the first {which}, {first}."
        )
    if evidence.ensemble.mixture is not None:
        weights = ", ".join(f"{kind} {weight:.2g}" for kind, weight in evidence.ensemble.mixture.weights.items())
        yield f"The mean has a weight of each kind of model, by the validation graphs: {weights}."
    for run in evidence.ensemble.without_model:
        yield f"{run.name} has no model, and so no vote."
    if evidence.record is None:
        yield (
            f"{first} has no record that can be read, so this page lacks its validation score, learning curves, "
            "settings and versions."
        )
    if evidence.net is None:
        yield f"{evidence.model.label} is no network: there are no filters, learning curves and explanations to show."
    elif evidence.net.pools:
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
            _thresholds(evidence.ensemble.task),
            ("graphs (fingerprint)", record.fingerprint),
            ("split (hash)", record.split_hash),
            *(("note on the graphs", note) for note in record.notes),
        ]
        yield Facts(rows=tuple((name, value) for name, value in rows if value))
        settings = [
            (name, record.metric if name == "train.metric" else value)  # the default stands for that of the task
            for name, value in _flat(record.config.to_dict())
        ]
        yield Facts(title="All settings", rows=tuple(settings), folded=True)
        yield Facts(title="Versions", rows=tuple((k, str(v)) for k, v in record.versions.items()), folded=True)
    else:
        yield Facts(title="Model", rows=tuple(_flat(model.config.to_dict())))


def _thresholds(task: Task) -> tuple[str, str]:
    """From which probability on each label, or the second class, is decided; an empty text if the largest decides."""
    chosen = any(value != LIKELY for value in task.thresholds)
    title = "threshold, chosen on the validation graphs" if chosen else "threshold"
    names = task.names[1:] if task.kind == "classes" else task.names
    rows = zip(names, task.thresholds, strict=True) if task.thresholds else ()
    return title, ", ".join(f"{name}: {value:.4g}" for name, value in rows)


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", str(value))]
    return rows
