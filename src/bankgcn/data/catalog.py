"""The catalogue: one row for each dataset that has a name, and the folders in which its files are looked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from platformdirs import user_cache_path

from bankgcn.files.checked import FileError
from bankgcn.settings import pick

if TYPE_CHECKING:
    from bankgcn.data.graphs import GraphSet


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Number and size of the graphs of a set, rounded as in papers.

    Args:
        graphs: Number of graphs.
        nodes: Mean number of nodes of a graph, to two decimals.
        edges: Mean number of undirected edges, to two decimals.
        features: Width of the node signals.
        classes: Number of classes; 0 if the targets are not classes.
    """

    graphs: int
    nodes: float
    edges: float
    features: int
    classes: int

    @classmethod
    def of(cls, graphs: GraphSet) -> Statistics:
        """The statistics of a set."""
        return cls(
            graphs=len(graphs),
            nodes=round(float(graphs.num_nodes.mean()), 2) if len(graphs) else 0.0,
            edges=round(float(graphs.num_edges.mean()), 2) if len(graphs) else 0.0,
            features=graphs.num_features,
            classes=graphs.num_classes,
        )

    def differing(self, other: Statistics) -> list[str]:
        """Names of the fields in which two statistics differ."""
        return [field.name for field in fields(self) if getattr(self, field.name) != getattr(other, field.name)]


@dataclass(frozen=True, kw_only=True)
class TUFeatures:
    """The node features to use.

    Args:
        attributes: The real numbers of each node: as they are, scaled to [0, 1] by column, or left out.
        labels: Whether to give the categories of each node, one-hot over their range from the smallest to the largest.
    """

    attributes: Literal["raw", "unit_range", "none"] = "none"
    labels: bool = False

    def __str__(self) -> str:
        phrases = {"raw": "node attributes", "unit_range": "node attributes scaled to [0, 1] by column", "none": ""}
        parts = [phrases[self.attributes], "one-hot node labels" if self.labels else ""]
        return " and ".join(filter(None, parts)) or "one-hot degree and clustering coefficient"


TU_ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"
TU_CITATION = (
    "C. Morris, N. M. Kriege, F. Bause, K. Kersting, P. Mutzel, M. Neumann: TUDataset: A collection of benchmark "
    "datasets for learning with graphs. ICML workshop GRL+, 2020"
)
BORGWARDT = (
    "K. M. Borgwardt, C. S. Ong, S. Schoenauer, S. V. N. Vishwanathan, A. J. Smola, H.-P. Kriegel: Protein function "
    "prediction via graph kernels. Bioinformatics 21, 2005, i47-i56"
)
DOBSON = (
    "P. D. Dobson, A. J. Doig: Distinguishing enzyme structures from non-enzymes without alignments. Journal of "
    "Molecular Biology 330(4), 2003, 771-783"
)
WALE = (
    "N. Wale, I. A. Watson, G. Karypis: Comparison of descriptor spaces for chemical compound retrieval and "
    "classification. Knowledge and Information Systems 14(3), 2008, 347-375"
)
KAZIUS = (
    "J. Kazius, R. McGuire, R. Bursi: Derivation and validation of toxicophores for mutagenicity prediction. Journal "
    "of Medicinal Chemistry 48(1), 2005, 312-320"
)
ORSINI = "F. Orsini, P. Frasconi, L. De Raedt: Graph invariant kernels. IJCAI 2015, 3756-3762"
DEBNATH = (
    "A. K. Debnath, R. L. Lopez de Compadre, G. Debnath, A. J. Shusterman, C. Hansch: Structure-activity relationship "
    "of mutagenic aromatic and heteroaromatic nitro compounds. Journal of Medicinal Chemistry 34(2), 1991, 786-797"
)
DWIVEDI = (
    "V. P. Dwivedi, C. K. Joshi, A. T. Luu, T. Laurent, Y. Bengio, X. Bresson: Benchmarking graph neural networks. "
    "Journal of Machine Learning Research 24(43), 2023"
)
HU = (
    "W. Hu, M. Fey, M. Zitnik, Y. Dong, H. Ren, B. Liu, M. Catasta, J. Leskovec: Open Graph Benchmark: Datasets for "
    "machine learning on graphs. NeurIPS 2020"
)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A row of the catalogue: what is known of a dataset before it is read.

    Args:
        name: Its name on the command line.
        summary: What the graphs are, and what is predicted.
        reader: The reader that reads it; see :data:`bankgcn.data.sources.READERS`.
        features: The node features: a choice for the TU reader, or a sentence.
        split: ``"stratified"`` (8:1:1, drawn by seed) or ``"official"`` (fixed by the authors of the dataset).
        protocol: Settings that the paper changes for this dataset, by the names of their fields.
        places: Paths under a data folder where it may be. A download goes to the first (a folder, if it is unpacked).
            Empty if the dataset comes with the package.
        url: Its official address.
        sha256: Checksum of the official file, if known.
        published: Its statistics in the paper, for comparison with ours.
        citation: The publications to cite.
        notes: What a user must know.
    """

    name: str
    summary: str
    reader: str
    features: TUFeatures | str
    split: Literal["stratified", "official"] = "stratified"
    protocol: Mapping[str, str | int] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    url: str | None = None
    sha256: str | None = None
    published: Statistics | None = None
    citation: str = ""
    notes: tuple[str, ...] = ()


def _tu(
    name: str,
    summary: str,
    features: TUFeatures,
    statistics: tuple[int, float, float, int, int],
    citation: str,
    sha256: str | None = None,
) -> Dataset:
    """The row of a TU dataset that the paper uses; ``statistics`` is its row in the paper's table of datasets."""
    graphs, nodes, edges, width, classes = statistics
    return Dataset(
        name=name,
        summary=summary,
        reader="tu",
        features=features,
        places=_tu_places(name),
        url=f"{TU_ADDRESS}/{name}.zip",
        sha256=sha256,
        published=Statistics(graphs=graphs, nodes=nodes, edges=edges, features=width, classes=classes),
        citation=f"{citation}\n{TU_CITATION}",
    )


def _tu_places(name: str) -> tuple[str, ...]:
    return (f"TU/{name}.zip", f"TU/{name}", f"{name}.zip", name)


LABELS = TUFeatures(labels=True)
LARGE = {"batch_size": 256, "patience": 50, "decay_patience": 20}  # the protocol of the two large datasets

# Statistics: the paper's Table "Dataset statistics and properties". Checksums: of files known to be the original ones.
_ROWS = (
    _tu(
        "ENZYMES",
        "protein structures; which of six classes of enzymes",
        TUFeatures(attributes="unit_range", labels=True),
        (600, 32.63, 62.14, 21, 6),
        BORGWARDT,
        "0ca7125d7978788346fc6ba5c3cc643b6122153b304220c2230bcb09f99f8ffb",
    ),
    _tu("DD", "protein structures; enzyme or not", LABELS, (1178, 284.32, 715.66, 89, 2), DOBSON),
    _tu(
        "PROTEINS",
        "protein structures; enzyme or not",
        LABELS,
        (1113, 39.06, 72.82, 3, 2),
        f"{BORGWARDT}\n{DOBSON}",
        "fe9d19741637486ea1fd285bf669fce0b117e10b03cdd379f6a5e6197fc830ae",
    ),
    _tu(
        "NCI1",
        "molecules; active against lung cancer cells or not",
        LABELS,
        (4110, 29.87, 32.30, 37, 2),
        WALE,
        "eae6b0c076d59e667c67de0039cfc3214eefb91a8dddc2fa3099126da02d4376",
    ),
    _tu(
        "NCI109",
        "molecules; active against ovarian cancer cells or not",
        LABELS,
        (4127, 29.68, 32.13, 38, 2),
        WALE,
        "c9e5388b0fb049b68205f8f8c2465d983e73ea8d41ea42bbd15b121aa55d9420",
    ),
    _tu(
        "Mutagenicity",
        "molecules; mutagenic or not",
        LABELS,
        (4337, 30.32, 30.77, 14, 2),
        KAZIUS,
        "eedcb94a7f19eabfeda39236c719c2e25e1f0eca9a391e67a4d440bdc0f349ef",
    ),
    _tu(
        "FRANKENSTEIN",
        "molecules whose atoms are images of digits; mutagenic or not",
        TUFeatures(attributes="raw"),
        (4337, 16.90, 17.88, 780, 2),
        ORSINI,
    ),
    Dataset(
        name="FRANKENSTEIN-rebuilt",
        summary="a stand-in for FRANKENSTEIN, not that dataset",
        reader="tu",
        features=TUFeatures(attributes="raw"),
        places=_tu_places("FRANKENSTEIN-rebuilt"),
        citation=f"{KAZIUS}\n{ORSINI}",
        notes=(
            "a stand-in for FRANKENSTEIN: the molecules of Mutagenicity without hydrogen, each atom with the pixels of "
            "an MNIST digit; its results must not be compared with published ones of FRANKENSTEIN",
        ),
    ),
    Dataset(
        name="CIFAR-10",
        summary="images as graphs of superpixels; which of ten kinds of things they show",
        reader="cifar10",
        features="mean colour and position of each superpixel",
        split="official",
        protocol=LARGE,
        places=("CIFAR10/CIFAR10_v2.zip", "CIFAR10/raw/CIFAR10_v2.pt", "CIFAR10/superpixels.npz"),
        url="https://data.pyg.org/datasets/benchmarking-gnns/CIFAR10_v2.zip",
        published=Statistics(graphs=60_000, nodes=117.63, edges=564.86, features=5, classes=10),
        citation=DWIVEDI,
    ),
    Dataset(
        name="ogbg-molhiv",
        summary="molecules; whether they inhibit the replication of HIV",
        reader="molhiv",
        features="nine integers of each atom, as they are",
        split="official",
        protocol={**LARGE, "metric": "roc_auc", "readout": "mean"},
        places=("ogbg_molhiv", "hiv"),
        url="https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/hiv.zip",
        published=Statistics(graphs=41_127, nodes=25.51, edges=27.47, features=9, classes=2),
        citation=HU,
    ),
    Dataset(
        name="MUTAG",
        summary="nitro compounds; mutagenic or not",
        reader="mutag",
        features=LABELS,
        citation=DEBNATH,
    ),
    Dataset(
        name="digits",
        summary="handwritten digits of 8 x 8 pixels as grids",
        reader="digits",
        features="the intensity of each pixel",
        citation="E. Alpaydin, C. Kaynak: Optical recognition of handwritten digits. UCI repository, 1998",
    ),
    Dataset(
        name="smooth-or-alternating",
        summary="generated graphs; whether their signal is smooth or alternates",
        reader="smooth-or-alternating",
        features="one random signal",
    ),
)

CATALOG: dict[str, Dataset] = {dataset.name: dataset for dataset in _ROWS}


def catalog_name(name: str) -> str | None:
    """The own name of a dataset that is written in upper or lower case; ``None`` if there is no such dataset."""
    return _NAMES.get(name.lower())


def find_in_catalog(name: str) -> Dataset:
    """The dataset with that name; upper and lower case are the same.

    Raises:
        ValueError: There is no such dataset; the message lists all names, and suggests the most similar one.
    """
    return pick(CATALOG, catalog_name(name) or name, "dataset")


_NAMES = {name.lower(): name for name in CATALOG}


def cache_folder() -> Path:
    """The cache folder of the user: ``$BANKGCN_CACHE``, or the system's, on Linux ``~/.cache/bankgcn``."""
    if chosen := os.environ.get("BANKGCN_CACHE"):
        return Path(chosen).expanduser()
    return user_cache_path("bankgcn", appauthor=False)


@dataclass(frozen=True)
class DataFolders:
    """The folders in which datasets of the catalogue are looked for.

    Args:
        first: Where to look first, and where downloads go; by default nowhere else than usual.
    """

    first: str | Path | None = None

    @property
    def given(self) -> str | None:
        """The first folder as a word of a command or a file; ``None`` if there is none."""
        return None if self.first is None else str(self.first)

    @property
    def searched(self) -> tuple[Path, ...]:
        """The folders in order: the first one, ``$BANKGCN_DATA``, the user's cache folder.

        Raises:
            FileError: The first folder, or that of ``$BANKGCN_DATA``, does not exist.
        """
        folders = []
        if self.first is not None:
            folders.append(_existing_folder(self.first, "the data root is no folder"))
        if variable := os.environ.get("BANKGCN_DATA"):
            folders.append(_existing_folder(variable, "$BANKGCN_DATA is no folder"))
        return (*folders, cache_folder() / "data")

    @property
    def downloads(self) -> Path:
        """The folder to which downloads go: the first one, else the user's cache folder."""
        return cache_folder() / "data" if self.first is None else Path(self.first).expanduser()

    def locate(self, entry: Dataset) -> Path | None:
        """Path of a dataset in the first folder that has it; ``None`` if none has it."""
        candidates = (folder / place for folder in self.searched for place in entry.places)
        return next((path for path in candidates if path.exists()), None)

    def has(self, entry: Dataset) -> bool:
        """Whether a dataset can be read: its files are here, or it comes with the package."""
        return not entry.places or self.locate(entry) is not None

    def how_to_get(self, entry: Dataset) -> str:
        """How to get a dataset whose files are missing."""
        target = self.downloads / entry.places[0]
        searched = ", ".join(map(str, self.searched))
        if entry.url is None:
            return f"no {entry.places[0]} under {searched}, and it has no address to download it from"
        by_hand = f"from {entry.url}" if target.suffix else f"unpack {entry.url}, and move its folder"
        return (
            f"no {entry.places[0]} under {searched}; download it by 'bankgcn data fetch {entry.name}', "
            f"or by hand: {by_hand} to {target}"
        )


USUAL_FOLDERS = DataFolders()
"""``$BANKGCN_DATA`` and the user's cache folder."""


def _existing_folder(path: str | Path, message: str) -> Path:
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileError(message, folder)
    return folder
