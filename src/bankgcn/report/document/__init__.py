"""A document on the reproduction of the paper. Every figure in it comes from records, none is typed by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bankgcn.experiments import RunRecord
from bankgcn.experiments.paper.settings import AS_PAPER
from bankgcn.experiments.verify import Verification
from bankgcn.report.document.agreement import choice_by_test, few_seeds, what_reproduces
from bankgcn.report.document.answer import answer, missing
from bankgcn.report.document.commands import commands
from bankgcn.report.document.cost import cost
from bankgcn.report.document.differences import against_baselines
from bankgcn.report.document.evidence import SEARCH_RUNS, Evidence
from bankgcn.report.document.large import large_datasets
from bankgcn.report.document.pictures import FOLDER, draw_pictures, show_all
from bankgcn.report.document.places import which_place
from bankgcn.report.document.sections import data, edges, filters, studies, table1
from bankgcn.report.document.verification import verification

Section = Callable[[Evidence, Mapping[str, bytes]], str]

TITLE = "# Does the paper reproduce?"
ORIGIN = (
    "`bankgcn document results --out docs/reproduction.md` writes this page from the records in `results/`. Every "
    "figure and every sentence with a figure comes from them; nothing is edited by hand."
)
SECTIONS: dict[str, Section] = {
    "Table 1": table1,
    "BankGCN against each baseline": lambda evidence, files: against_baselines(evidence),
    "Which place of the l2 normalisation is the paper's?": lambda evidence, files: which_place(evidence),
    "What reproduces, and what does not": lambda evidence, files: what_reproduces(evidence),
    "Choice by validation score, and by test score": lambda evidence, files: choice_by_test(evidence),
    "Few seeds, and all of them": lambda evidence, files: few_seeds(evidence),
    "What the MLP without edges says": edges,
    "Order, subspaces and diversity (Tables 2 and 3)": studies,
    "The filters (Figure 3)": filters,
    "CIFAR-10 and ogbg-molhiv (Table 4)": large_datasets,
    "The data": lambda evidence, files: data(evidence),
    "Records that were run again": lambda evidence, files: verification(evidence),
    "Time, machine and missing runs": lambda evidence, files: cost(evidence),
    "Commands": lambda evidence, files: commands(evidence.search_runs),
}
"""The sections below the first screen, by their titles."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with its pictures.

    Args:
        text: The document in Markdown.
        pictures: Content of the picture files by name; the document expects them in the folder ``figures`` beside it.
    """

    text: str
    pictures: Mapping[str, bytes]


def write_document(
    records: Mapping[str, RunRecord], search_runs: int = SEARCH_RUNS, verified: Verification | None = None
) -> Document:
    """The document. The same records give the same bytes, with the same version of matplotlib.

    Args:
        records: Records by the keys of their runs; the document says what is missing.
        search_runs: Number of seeds that choose hyper-parameters, as in ``bankgcn reproduce --search-runs``.
        verified: What ``bankgcn verify --json`` wrote about these records.
    """
    evidence = Evidence(records, search_runs, verified)
    files = draw_pictures(evidence)
    first = [TITLE, answer(evidence), *show_all("table1", AS_PAPER, files, "table1-"), missing(evidence), ORIGIN]
    sections = [f"## {title}\n\n{section(evidence, files).strip()}" for title, section in SECTIONS.items()]
    return Document(text="\n\n".join([*first, *sections]) + "\n", pictures=files)


__all__ = ["FOLDER", "Document", "write_document"]
