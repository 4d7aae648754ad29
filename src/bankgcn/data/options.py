"""How graphs are read: what a user says of it, and what a trained model fixes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from bankgcn.data.catalog import TUFeatures
from bankgcn.data.target_values import TargetWords
from bankgcn.messages import Message, Option
from bankgcn.settings import check_settings, setting

EdgeData = Literal["none", "any", "all"]
EDGES = "edges"
"""The entry of a description of features that describes those of edges."""
DATA = "Data"  # the group of these options in --help
DESCRIPTOR_NAMES = ("rdkit", "morgan")
"""The families of descriptors of molecules; :mod:`bankgcn.data.features.descriptors` computes them."""
ENCODING_NAMES = ("rwse", "laplacian")
"""The encodings of nodes; :mod:`bankgcn.data.features.encodings` computes them."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How graphs are read: what a user says of it, under the same names in flags, files, Python and requests.

    Args:
        smiles: Column of a table that holds the molecules; by default the one called "smiles".
        target: Column of a table, or key of a graph in JSON, that holds the targets, or several, separated by commas.
        id: Column of a table by which the user knows the molecules; by default one with a usual name.
        skip_unreadable: Whether to leave out molecules that cannot be read.
        skip_missing: Whether to leave out graphs without a target.
        missing_words: Words that stand for a missing target, separated by commas.
        fill_missing: What stands for a missing value: an entry of a node in JSON, a target of a molecule.
        ignore_case: Whether classes that differ only in case or blanks are one.
        symmetrise: Whether to add the missing reverses of edges.
        ignore_weights: Whether to ignore the weights of edges.
        standardize: Whether to read the largest fragment of each molecule, without charges where RDKit can; see
            :mod:`bankgcn.data.standardize`.
        features: What an atom of a molecule carries: ``"raw"`` integers, ``"onehot"`` columns, or an ``"embedded"``
            vector, which the network learns.
        scale: How numbers of nodes are scaled, by those of the training graphs; not at all by default.
        encoding: Encodings of nodes that join their features, names in :data:`ENCODING_NAMES` separated by commas; see
            :mod:`bankgcn.data.features.encodings`.
        feature_columns: Columns of a table, or keys of graphs in JSON, separated by commas, whose values join the
            representation of the graph before the head; see :mod:`bankgcn.data.features.graph_features`.
        descriptors: Descriptors of molecules that join it, too, names in :data:`DESCRIPTOR_NAMES` separated by commas.
        fill_features: Whether the mean of the training graphs stands for a missing feature of a graph.
        attributes: Keys of NetworkX nodes whose numbers to read; see :func:`bankgcn.data.convert.from_networkx`.
        categories: Keys of NetworkX nodes whose words to read.
    """

    smiles: str | None = setting(None, "Column of a table that holds the molecules.", panel=DATA, none="")
    target: str | None = setting(
        None,
        "Column of a table, or key of graphs in JSON, that holds the targets, or several, separated by commas.",
        panel=DATA,
        none="",
    )
    id: str | None = setting(
        None,
        "Column of a table with the ids of the molecules; by default one called id, name or compound.",
        panel=DATA,
        none="",
    )
    skip_unreadable: bool = setting(False, "Leave out graphs that cannot be read.", panel=DATA)
    skip_missing: bool = setting(False, "Leave out graphs without a target.", panel=DATA)
    missing_words: str | None = setting(
        None, "Words that stand for a missing target, separated by commas.", panel=DATA, none=""
    )
    fill_missing: str | None = setting(
        None,
        "What stands for a missing value: an entry of a node in JSON, a target of a molecule.",
        panel=DATA,
        none="",
    )
    ignore_case: bool = setting(
        False, "Make classes that differ only in upper and lower case or blanks one class.", panel=DATA
    )
    symmetrise: bool = setting(False, "Add the missing reverses of edges.", panel=DATA)
    ignore_weights: bool = setting(False, "Treat all edges alike, whatever their weights.", panel=DATA)
    standardize: bool = setting(
        False, "Standardise molecules: largest fragment, charges neutralised where possible.", panel=DATA
    )
    features: str | None = setting(
        None,
        "What an atom carries: nine integers, one column for each of their values, or a learned vector:",
        panel=DATA,
        none="",
        choices=("raw", "onehot", "embedded"),
    )
    scale: str | None = setting(
        None,
        "Scale numbers of nodes by those of the training graphs: to mean 0 and standard deviation 1, or to [0, 1]:",
        panel=DATA,
        none="",
        choices=("standard", "range"),
    )
    encoding: str | None = setting(
        None,
        "Where a node is in its graph, as features of nodes: rwse (return probabilities of a random walk), laplacian "
        "(spectral density at the node), rwse,laplacian, or none.",
        panel=DATA,
        none="none",
    )
    feature_columns: str | None = setting(
        None,
        "Columns of a table, or keys of graphs in JSON, that join the graph before the last layers, separated by "
        "commas: numbers, or words.",
        panel=DATA,
        none="",
    )
    descriptors: str | None = setting(
        None,
        "Descriptors of molecules that join it, too: rdkit (its list in two dimensions), morgan (counts of 2,048 "
        "substructures), or rdkit,morgan.",
        panel=DATA,
        none="",
    )
    fill_features: bool = setting(
        False, "The mean of the training graphs stands for a missing feature of a graph.", panel=DATA
    )

    attributes: Sequence[str] | None = None
    categories: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        _check_names("descriptors", self.descriptors, self.families, DESCRIPTOR_NAMES)
        _check_names("encoding", self.encoding, self.encodings, ENCODING_NAMES)

    @property
    def families(self) -> list[str]:
        """The families of descriptors."""
        return _split(self.descriptors)

    @property
    def encodings(self) -> list[str]:
        """The encodings of nodes."""
        return _split(self.encoding)

    @property
    def words(self) -> TargetWords:
        """How words of targets are read."""
        return TargetWords.of(self.missing_words, self.ignore_case)

    @property
    def atoms(self) -> Literal["raw", "onehot"]:
        """What an atom carries as it is read: the network makes learned vectors of raw integers."""
        return "onehot" if self.features == "onehot" else "raw"

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) != item.default}

    def only(self, names: Collection[str]) -> ReadOptions:
        """The same options, as far as they have these names; others get their defaults."""
        others: dict[str, Any] = {item.name: item.default for item in fields(self) if item.name not in names}
        return replace(self, **others)


def _split(names: str | None) -> list[str]:
    """Names that commas separate."""
    return [] if names is None else [name.strip() for name in names.split(",")]


def _check_names(option: str, value: str | None, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise if one of the names is unknown, or there twice."""
    for name in names:
        if name not in known or names.count(name) > 1:
            wrong = "{given}: expected {names}, or several of them with commas between them"
            raise ValueError(Message(wrong, given=Option(option, value), names=" or ".join(known)))


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What graphs must have, whatever the user says: what a trained model or the catalogue fixes.

    Args:
        features: How the signals of the training graphs of a model were made, by
            :func:`bankgcn.data.features.spec.describe_features`; graphs get the same. Empty if nothing fixes them.
        published: Which signals a dataset of the catalogue has in publications.
        task: What the targets are, if the reader is not to guess.
        classes: Names of the classes in the order of their numbers.
        has_target: False to read no targets.
        edges: What edges carry besides weights: ``"none"`` leaves it out, and names it in a note; ``"any"`` reads what
            can be read, and names the rest; ``"all"`` reads all of it, or raises an error.
    """

    features: Mapping[str, Any] = field(default_factory=dict)
    published: TUFeatures | None = None
    task: str | None = None
    classes: tuple[str, ...] | None = None
    has_target: bool = True
    edges: EdgeData = "none"

    @property
    def edge_data(self) -> EdgeData:
        """What is read of the data of edges: all, if the model uses their features."""
        return "all" if EDGES in self.features else self.edges

    @property
    def edge_features(self) -> Mapping[str, Any]:
        """How the features of edges of the training graphs of a model were made; empty if it uses none."""
        return self.features.get(EDGES, {})
