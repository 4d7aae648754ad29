"""From the labels and attributes of a TU set to node signals: fitted to one set, applied to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.features.signals import UNSEEN, CategoryBlock, scale_to_unit_range, unit_span
from bankgcn.data.features.tu_features import TUFeatures
from bankgcn.files.checked import FileError

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

MAX_LABEL_RANGE = 10_000  # a wider one-hot block is probably an error in the file, and would fill the memory


@dataclass(frozen=True, kw_only=True)
class TUSignals:
    """How the numbers in the files become signals.

    New graphs may lack the smallest or largest label, or have attributes in another range. Their signals use the labels
    and ranges of the training graphs, so that each column keeps its meaning.

    Args:
        columns: Number of attributes of a node.
        low: The value of each attribute that becomes 0; empty if attributes are not scaled.
        high: The value of each attribute that becomes 1.
        label_low: The first label of each one-hot block.
        label_widths: Number of labels of each block.
        unseen: For each column of labels, the labels in the range of the whole set that no training graph has. A node
            with such a label has 0 in all columns of the block. Empty if the signals are fitted to the whole set: then
            every label in the range has a column.
    """

    columns: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    label_low: tuple[int, ...] = ()
    label_widths: tuple[int, ...] = ()
    unseen: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def fitted(cls, features: TUFeatures, attributes: Floats | None, labels: Integers | None, where: Path) -> TUSignals:
        """Signals fitted to a set, whose labels are in the file ``where``."""
        scaled = attributes if features.attributes == "unit_range" else None
        if labels is not None:
            check_range(labels, where)
        return cls(
            columns=0 if attributes is None else attributes.shape[1],
            low=() if scaled is None else _numbers(scaled.min(axis=0)),
            high=() if scaled is None else _numbers(scaled.max(axis=0)),
            label_low=() if labels is None else _numbers(labels.min(axis=0)),
            label_widths=() if labels is None else _numbers(np.ptp(labels, axis=0) + 1),
        )

    def refitted(self, attributes: Floats | None, labels: Integers | None) -> TUSignals:
        """Signals fitted to the training graphs alone, given their present signals."""
        raw = self.unscaled(attributes) if attributes is not None and self.low else None
        present = [] if labels is None else [np.unique(column) for column in (labels + np.asarray(self.label_low)).T]
        return replace(
            self,
            low=() if raw is None else _numbers(raw.min(axis=0)),
            high=() if raw is None else _numbers(raw.max(axis=0)),
            label_low=tuple(int(values[0]) for values in present),
            label_widths=tuple(int(values[-1] - values[0]) + 1 for values in present),
            unseen=tuple(_numbers(np.setdiff1d(self.known(c), values)) for c, values in enumerate(present)),
        )

    @property
    def widened(self) -> TUSignals:
        """The same with a column for each known label."""
        known = [self.known(column) for column in range(len(self.label_low))]
        low, widths = tuple(labels.start for labels in known), tuple(len(labels) for labels in known)
        return replace(self, label_low=low, label_widths=widths, unseen=())

    @property
    def blocks(self) -> tuple[CategoryBlock, ...]:
        """The one-hot block of each column of labels."""
        unseen = self.unseen or ((),) * len(self.label_low)
        ranges = (range(low, low + width) for low, width in zip(self.label_low, self.label_widths, strict=True))
        return tuple(CategoryBlock("label", *block) for block in zip(ranges, unseen, strict=True))

    def known(self, column: int) -> range:
        """The known labels of a column: those in the range of its one-hot block, and the unseen ones."""
        _, labels, unseen = self.blocks[column]
        return range(min([*labels, *unseen]), max([*labels, *unseen]) + 1)

    def accepts(self, other: TUSignals) -> bool:
        """Whether signals of the other can be converted to these."""
        same_columns = self.columns == other.columns and bool(self.low) == bool(other.low)
        return same_columns and len(self.label_low) == len(other.label_low)

    def rescaled(self, attributes: Floats | None, other: TUSignals) -> tuple[Floats | None, tuple[str, ...]]:
        """Attributes converted from the other's scale to this one, and a note if some are outside [0, 1]."""
        if attributes is None or (self.low, self.high) == (other.low, other.high):
            return attributes, ()
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        scaled = scale_to_unit_range(other.unscaled(attributes), low, high)
        return scaled, self.outside(scaled)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> TUSignals:
        """The signals of a feature spec; the inverse of :attr:`spec`."""
        names = ("low", "high", "label_low", "label_widths")
        unseen = tuple(tuple(labels) for labels in spec.get("unseen", ()))
        return cls(columns=spec["columns"], unseen=unseen, **{name: tuple(spec[name]) for name in names})

    @property
    def spec(self) -> dict[str, Any]:
        """The signals as a feature spec; see :mod:`bankgcn.data.features.spec`."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        unseen = [list(labels) for labels in plain.pop("unseen")]
        return {"kind": "tu", **plain, "unseen": unseen} if any(unseen) else {"kind": "tu", **plain}

    @property
    def features(self) -> TUFeatures:
        """The features that these signals need from the files."""
        attributes: Literal["raw", "unit_range", "none"] = "unit_range" if self.low else "raw"
        return TUFeatures(attributes=attributes if self.columns else "none", labels=bool(self.label_low))

    def scaled(self, attributes: Floats, where: Path) -> Floats:
        """The attributes of the file ``where``, scaled."""
        if attributes.shape[1] != self.columns:
            raise FileError(
                f"has {attributes.shape[1]} attributes a node, but the model was trained on {self.columns}", where, 1
            )
        if not self.low:
            return attributes
        return scale_to_unit_range(attributes, np.asarray(self.low, np.float32), np.asarray(self.high, np.float32))

    def unscaled(self, attributes: Floats) -> Floats:
        """The numbers in the files, up to rounding; the inverse of :meth:`scaled`."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return (attributes * unit_span(low, high) + low).astype(np.float32)

    def outside(self, attributes: Floats | None) -> tuple[str, ...]:
        """A note on scaled attributes that lie outside [0, 1]."""
        if attributes is None or not self.low:
            return ()
        nodes = int(((attributes < 0) | (attributes > 1)).any(axis=1).sum())
        return (f"{nodes:,} nodes have attributes outside the range of the training graphs",) if nodes else ()

    def places(self, labels: Integers, where: Path) -> Integers:
        """Column of each label of the file ``where`` in its one-hot block, or ``UNSEEN``.

        Raises:
            FileError: A label is unknown.
        """
        if labels.shape[1] != len(self.label_low):
            raise FileError(
                f"has {labels.shape[1]} labels a node, but the model was trained on {len(self.label_low)}", where, 1
            )
        low, high = np.array([(known[0], known[-1]) for known in map(self.known, range(len(self.label_low)))]).T
        unknown = ((labels < low) | (labels > high)).any(axis=1)
        for node in np.flatnonzero(unknown)[:1]:
            column = int(np.flatnonzero((labels[node] < low) | (labels[node] > high))[0])
            others = f", nor are those of {unknown.sum() - 1:,} other nodes" if unknown.sum() > 1 else ""
            raise FileError(
                f"label {labels[node, column]} is not among those that the model was trained on, {low[column]} to "
                f"{high[column]}{others}",
                where,
                int(node) + 1,
            )
        places = labels - np.asarray(self.label_low)
        for column, unseen in enumerate(self.unseen):
            places[np.isin(labels[:, column], unseen), column] = UNSEEN
        return places


def _numbers(values: NDArray) -> tuple[Any, ...]:
    return tuple(values.tolist())


def check_range(labels: Integers, where: Path) -> None:
    """Raise an error if the labels of the file ``where`` are too far apart for a one-hot block."""
    low, high = labels.min(axis=0), labels.max(axis=0)
    for column in np.flatnonzero(high.astype(float) - low >= MAX_LABEL_RANGE)[:1]:
        line = int(np.abs(labels[:, column] - np.median(labels[:, column])).argmax()) + 1
        raise FileError(
            f"label {labels[line - 1, column]} is far from the others: labels from {low[column]} to {high[column]} "
            f"are more than the {MAX_LABEL_RANGE:,} that a one-hot may have",
            where,
            line,
        )
