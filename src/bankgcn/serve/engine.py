"""Answers requests with a trained model: those that are waiting go through the network together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from bankgcn.data.combine import without_weights
from bankgcn.data.convert import EDGE_COLUMNS
from bankgcn.data.edge_data import with_mean_edge_features
from bankgcn.data.features.descriptors import with_descriptors
from bankgcn.data.features.encodings import num_columns as num_encodings
from bankgcn.data.features.node_schema import NodeSchema
from bankgcn.data.features.spec import SCALE, without_edges
from bankgcn.data.graphs import GraphSet
from bankgcn.data.options import EDGES, Expected, ReadOptions
from bankgcn.data.readers.json_graphs import graph_set
from bankgcn.data.readers.molecules import Molecules, atom_kind, molecule_graphs, parse_smiles
from bankgcn.data.readers.node_link import Entry
from bankgcn.data.standardize import Changes, is_standardized
from bankgcn.data.target_values import Targets
from bankgcn.extras import require
from bankgcn.messages import WITHOUT_ADVICE, message_of, spelled, spelled_error
from bankgcn.rivals import Rival
from bankgcn.serve.access import RequestError, of_graphs
from bankgcn.serve.page import draw_smiles
from bankgcn.serve.requests import PredictRequest
from bankgcn.training.ensemble import Ensemble, Predictions
from bankgcn.training.evaluation import prediction_columns

CALL_NODES = 8_192  # of the graphs in one call of the network; larger sets would be merged, which changes the rounding
PIECE = 512  # letters of the SMILES that are read between two looks at the clients
COLUMNS = "x"
"""Key of the nodes that holds all columns of the signal, for models whose columns have no names."""

Answer = dict[str, Any] | RequestError


class Abandoned(Exception):
    """Nobody waits for the answers any more."""


class Item(NamedTuple):
    """One graph of a request."""

    request: int
    position: int  # in the request
    content: Any
    features: dict[str, Any] | None = None  # of a molecule, by name


@dataclass(frozen=True)
class Readable:
    """The graphs among some items that can be read.

    Args:
        graphs: The graphs; ``None`` if there is none.
        places: Their places among the items.
        reasons: Why the others cannot be read, by place.
    """

    graphs: GraphSet | None
    places: list[int]
    reasons: dict[int, str]


class Engine:
    """Owns the models. All calls must come from one thread.

    Args:
        ensemble: The models.
        symmetrise: Whether to add the missing reverses of directed edges; by default as in training.
        ignore_weights: Whether to ignore the weights of edges; by default as in training.
        fill_missing: What stands for a missing entry of a node; by default as in training.

    Raises:
        ValueError: No request can have the features of the training graphs.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        symmetrise: bool | None = None,
        ignore_weights: bool | None = None,
        fill_missing: str | None = None,
    ):
        reader = ensemble.reader
        self.ensemble = ensemble
        self.ignore_weights = reader.ignore_weights if ignore_weights is None else ignore_weights
        self.options = ReadOptions(
            skip_unreadable=True,
            symmetrise=reader.symmetrise if symmetrise is None else symmetrise,
            fill_missing=reader.fill_missing if fill_missing is None else fill_missing,
            fill_features=reader.fill_features,
            feature_columns=",".join(ensemble.needed_features) or None,
            descriptors=",".join(ensemble.first.graph_spec.get("descriptors", ())) or None,
        )
        self.expected = dict(ensemble.feature_spec or {})
        self.forms = _forms(self.expected)
        if "smiles" in self.forms:
            require("rdkit", "a model of molecules")
        encoded = num_encodings(ensemble.first.encoding_spec)
        self.schema = _schema(self.expected, ensemble.first.in_channels - encoded)
        self.edge_schema = _edge_schema(self.expected.get(EDGES))
        self.task = ensemble.task
        self._look: Callable[[], bool] = lambda: True
        self._read = {"graphs": self._read_graphs, "smiles": self._read_smiles}

    @property
    def columns(self) -> list[str]:
        """Names of the columns of predictions, as ``bankgcn predict`` writes them."""
        nothing = torch.empty(0, len(self.task.names), dtype=torch.float64)
        return [
            name
            for name, _ in prediction_columns(self.task, nothing, nothing if len(self.ensemble.members) > 1 else None)
        ]

    def answer(
        self, requests: Sequence[PredictRequest], wanted: Callable[[int], bool] = lambda number: True
    ) -> list[Answer]:
        """The answer to each request, which does not depend on the other requests.

        Args:
            requests: The requests.
            wanted: Whether someone still waits for the answer to a request. It is asked again and again, between
                molecules and between calls of the network; what nobody waits for is left out.
        """
        results: dict[tuple[int, int], dict[str, Any] | str] = {}
        refused = {number: error for number, one in enumerate(requests) if (error := self._refusal(one))}
        for form in self._read:
            for items in _calls(requests, form, refused):
                waiting = {number for number in {item.request for item in items} if wanted(number)}
                refused |= {item.request: _abandoned() for item in items if item.request not in waiting}
                kept = [item for item in items if item.request in waiting]
                self._look = partial(_any, wanted, waiting)
                try:
                    results.update(self._predict(kept, form, requests) if kept else {})
                except Abandoned:
                    refused |= dict.fromkeys(waiting, _abandoned())
        return [refused.get(number) or _assemble(number, one, results) for number, one in enumerate(requests)]

    def _refusal(self, request: PredictRequest) -> RequestError | None:
        """Why a request cannot be answered by this model, whatever its graphs."""
        if request.form not in self.forms:
            return RequestError(422, f"the model takes {self.forms[0]!r}, not {request.form!r}")
        if request.embeddings and len(self.ensemble.members) > 1:
            return RequestError(
                422, f"'embeddings' needs one model, but there are {len(self.ensemble.members)}: their vectors differ"
            )
        if request.embeddings and isinstance(self.ensemble.first.net, Rival):
            return RequestError(422, f"'embeddings' needs a network, and the model is {self.ensemble.first.label}")
        try:
            if request.interval is not None:
                self.ensemble.check_intervals(request.interval)
            if request.domain:
                self.ensemble.check_domain()
        except ValueError as error:
            return RequestError(422, spelled(message_of(error), WITHOUT_ADVICE))
        return None

    def _predict(
        self, items: Sequence[Item], form: str, requests: Sequence[PredictRequest]
    ) -> dict[tuple[int, int], dict[str, Any] | str]:
        """The prediction of each item, or what is wrong with it. If a call fails, each graph has a call of its own."""
        try:
            parsed = self._read[form](items)
            predictions = None if parsed.graphs is None else self._apply(parsed.graphs)
        except (ValueError, ArithmeticError, LookupError) as error:
            if len(items) == 1:
                return {items[0][:2]: _plain(spelled_error(error, WITHOUT_ADVICE), items[0], form)}
            return {key: one for item in items for key, one in self._predict([item], form, requests).items()}
        results: dict[tuple[int, int], dict[str, Any] | str] = {
            items[place][:2]: _plain(reason, items[place], form) for place, reason in parsed.reasons.items()
        }
        if predictions is not None and parsed.graphs is not None:
            finite_rows = predictions.finite()
            by_column = any(requests[item.request].by_column for item in items)
            columns = prediction_columns(self.task, predictions.mean, predictions.spread) if by_column else []
            more = self._trust(parsed.graphs, predictions, [requests[items[place].request] for place in parsed.places])
            for row, (place, finite) in enumerate(zip(parsed.places, finite_rows, strict=True)):
                number, index = items[place][:2]
                if not finite:
                    reason = f"{form}[{index}]: the network has no finite output for it: its numbers are too large"
                    results[number, index] = reason
                elif requests[number].by_column:
                    results[number, index] = {name: cells[row] for name, cells in columns}
                else:
                    shown = self._show(predictions, row, requests[number].embeddings)
                    results[number, index] = shown | more[row] | self._picture(items[place], requests)
        return results

    def _apply(self, graphs: GraphSet) -> Predictions:
        graphs = self._weighed(graphs)
        with np.errstate(over="ignore", invalid="ignore"):  # results that are not finite are refused later
            return self.ensemble.apply(graphs, check=False)

    def _show(self, predictions: Predictions, row: int, embeddings: bool) -> dict[str, Any]:
        """The prediction of one graph as JSON holds it."""
        task, mean = self.task, predictions.mean[row]
        shown: dict[str, Any] = {}
        if task.kind == "classes":
            shown["class"] = task.names[int(task.decide(mean[None]))]
        elif task.thresholds:
            decided = task.decide(mean[None])[0].tolist()
            shown["labels"] = dict(zip(task.names, decided, strict=True))
        name = "values" if task.kind == "values" else "probabilities"
        shown[name] = dict(zip(task.names, mean.tolist(), strict=True))
        if predictions.spread is not None:
            shown["spread"] = dict(zip(task.names, predictions.spread[row].tolist(), strict=True))
        if embeddings and predictions.embeddings is not None:
            shown["embedding"] = predictions.embeddings[row]
        return shown

    def _trust(
        self, graphs: GraphSet, predictions: Predictions, requests: Sequence[PredictRequest]
    ) -> list[dict[str, Any]]:
        """The intervals of each graph, and how near it is to the training graphs, as far as its request wants them."""
        shown: list[dict[str, Any]] = [{} for _ in requests]
        key = {"values": "intervals", "classes": "set", "labels": "sets"}[self.task.kind]
        for level in dict.fromkeys(one.interval for one in requests if one.interval is not None):
            for row, named in enumerate(self.ensemble.intervals(predictions, level).named(self.task)):
                if requests[row].interval == level:
                    shown[row][key] = named
        near = np.flatnonzero([one.domain for one in requests])
        if len(near):
            nearness = self.ensemble.nearness(self._weighed(graphs[near]))
            for row, value, unseen in zip(near.tolist(), nearness.values.tolist(), nearness.unseen, strict=True):
                shown[row] |= {nearness.name: value, "unseen": unseen}
        return shown

    def _weighed(self, graphs: GraphSet) -> GraphSet:
        return without_weights(graphs) if self.ignore_weights else graphs

    def _picture(self, item: Item, requests: Sequence[PredictRequest]) -> dict[str, Any]:
        """The picture of a molecule, if the client wants it and still waits."""
        if not requests[item.request].pictures:
            return {}
        if not self._look():
            raise Abandoned
        return {"picture": draw_smiles(item.content)}

    def _read_graphs(self, items: Sequence[Item]) -> Readable:
        entries = [Entry(item.content, _place(item.position)) for item in items]
        expected = Expected(has_target=False)
        graphs = graph_set(entries, "the request", self.options, expected, self.schema, self.edge_schema)
        if self.edge_schema is not None and list(self.edge_schema.attributes) == [EDGE_COLUMNS]:
            graphs = replace(graphs, edge_spec=_own_columns(self.expected[EDGES]))
        if self.options.symmetrise and self.edge_schema is not None:
            graphs = with_mean_edge_features(graphs)
        places = graphs.rows.tolist()
        if list(self.schema.attributes) == [COLUMNS] and self.expected.get("kind") != "named":
            graphs = replace(graphs, feature_spec=_own_columns(without_edges(self.expected)))
        return Readable(graphs, places, dict(graphs.skipped))

    def _read_smiles(self, items: Sequence[Item]) -> Readable:
        molecules = self._parse([item.content for item in items])
        reasons = {one.place: f"smiles[{items[one.place].position}]: {one.reason}" for one in molecules.unreadable}
        if not molecules.places:
            return Readable(None, [], reasons)
        graphs = molecule_graphs(
            molecules,
            Targets(),
            features=atom_kind(self.options, Expected(features=self.expected)),
            name="the request",
            notes=(),
        )
        names = self.ensemble.needed_features
        if names:
            given = [items[place].features or {} for place in molecules.places]
            graphs = graphs.with_graph_features(
                {name: [one.get(name) for one in given] for name in names}, fill=self.options.fill_features
            )
        return Readable(with_descriptors(graphs, self.options), molecules.places, reasons)

    def _parse(self, smiles: list[str]) -> Molecules:
        """The molecules, read a few at a time, as long as someone waits for them."""
        parts = []
        for start, stop in _pieces(smiles):
            if not self._look():
                raise Abandoned
            parts.append(
                (start, parse_smiles(smiles[start:stop], EDGES in self.expected, is_standardized(self.expected)))
            )
        return _joined(parts)


def _pieces(smiles: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Bounds of parts of a list with about ``PIECE`` letters each."""
    start = letters = 0
    for place, each in enumerate(smiles):
        if place > start and letters + len(each) > PIECE:
            yield start, place
            start, letters = place, 0
        letters += len(each)
    yield start, len(smiles)


def _joined(parts: Sequence[tuple[int, Molecules]]) -> Molecules:
    """Molecules that were read in parts of one list, each with the place where it begins."""
    atoms = np.cumsum([0, *(len(part.features) for _, part in parts)])
    of_bonds = [part.bond_features for _, part in parts if part.bond_features is not None]
    return Molecules(
        [name for _, part in parts for name in part.names],
        [start + place for start, part in parts for place in part.places],
        [number for _, part in parts for number in part.num_atoms],
        np.concatenate([part.features for _, part in parts]),
        np.concatenate([part.bonds + before for (_, part), before in zip(parts, atoms[:-1], strict=True)], axis=1),
        [replace(one, place=start + one.place) for start, part in parts for one in part.unreadable],
        np.concatenate(of_bonds) if of_bonds else None,
        parts[0][1].standardize,
        sum((part.changes for _, part in parts), Changes()),
    )


def _any(wanted: Callable[[int], bool], numbers: set[int]) -> bool:
    return any(map(wanted, numbers))


def _abandoned() -> RequestError:
    return RequestError(504, "there is no answer in time")


@cache
def _place(position: int) -> Path:
    """What a reader calls the file of a graph."""
    return Path(f"graphs[{position}]")


def _forms(expected: dict[str, Any]) -> tuple[str, ...]:
    """The forms of graphs that have the expected features.

    Raises:
        ValueError: There is none.
    """
    kind = expected.get("kind")
    # One-hot columns without names cannot be told from numbers in JSON.
    graphs = kind in ("named", "structure", "tu") or not expected.get("label_widths")
    forms = (*(["graphs"] if graphs else []), *(["smiles"] if kind == "atoms" else []))
    if not forms:
        raise ValueError(
            "the model was trained on categories that have no names, so that graphs in JSON cannot have them: "
            "train it on graphs whose nodes have words or numbers"
        )
    return forms


def _schema(expected: dict[str, Any], in_channels: int) -> NodeSchema:
    """Which entries of a node are its signal."""
    kind = expected.get("kind")
    if kind == "named":
        return NodeSchema.from_spec(expected)
    return NodeSchema({}, {}) if kind == "structure" else NodeSchema({COLUMNS: in_channels}, {})


def _edge_schema(expected: dict[str, Any] | None) -> NodeSchema | None:
    """Which entries of an edge are its features; ``None`` if the model uses none."""
    if expected is None:
        return None
    if expected.get("kind") == "named":
        return NodeSchema.from_spec(expected, "edge")
    return NodeSchema({EDGE_COLUMNS: expected["attributes"] + sum(expected["label_widths"])}, {}, what="edge")


def _own_columns(expected: dict[str, Any]) -> dict[str, Any]:
    """The feature spec of graphs that have the expected columns as numbers."""
    return {key: value for key, value in expected.items() if key not in ("attributes", "label_widths", SCALE)} | (
        {"label_widths": expected["label_widths"]} if expected.get("kind") == "tu" else {}
    )


def _calls(requests: Sequence[PredictRequest], form: str, refused: dict[int, RequestError]) -> Iterator[list[Item]]:
    """The graphs of one form, in parts of about ``CALL_NODES`` nodes."""
    items: list[Item] = []
    nodes = 0
    for number, request in enumerate(requests):
        if request.form != form or number in refused:
            continue
        features = repeat(None) if request.features is None else request.features
        for index, (content, size, own) in enumerate(zip(request.items, request.sizes, features, strict=False)):
            if items and nodes + size > CALL_NODES:
                yield items
                items, nodes = [], 0
            items.append(Item(number, index, content, own))
            nodes += size
    if items:
        yield items


def _assemble(
    number: int, request: PredictRequest, results: dict[tuple[int, int], dict[str, Any] | str]
) -> dict[str, Any] | RequestError:
    """The answer to a request from the results of its graphs."""
    rows = [results[number, index] for index in range(len(request.items))]
    if request.by_column:
        return {"rows": [_unplaced(row, request.form, index) for index, row in enumerate(rows)]}
    reasons = {index: row for index, row in enumerate(rows) if isinstance(row, str)}
    return of_graphs(reasons, len(rows)) if reasons else {"predictions": rows}


def _unplaced(row: dict[str, Any] | str, form: str, index: int) -> dict[str, Any] | str:
    """A row of a table, whose reason does not name its place in a block."""
    return row.removeprefix(f"{form}[{index}]: ") if isinstance(row, str) else row


def _plain(message: str, item: Item, form: str) -> str:
    """A message on a single graph with its place, but without the names of sets that the client did not send."""
    place = f"{form}[{item.position}]: "
    return place + message.removeprefix(place).removeprefix("graph 0: ")
