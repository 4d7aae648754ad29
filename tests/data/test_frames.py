"""DataFrames and Series of pandas and Polars, and molecules of RDKit: read by the rules of tables in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from rdkit import Chem

from bankgcn.data import GraphError
from bankgcn.data.frames import frame_of, is_frame, rows_of
from bankgcn.data.options import Expected, ReadOptions
from bankgcn.data.sources import as_graph_set, load_source

LIBRARIES = pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
COLUMNS: dict[str, list[Any]] = {
    "name": ["a", "b", "c", "d"],
    "SMILES": ["CCO", "c1ccccc1", "CCN", "CC(=O)[O-].[Na+]"],
    "active": [1, 0, 1, None],
}


@LIBRARIES
def test_a_frame_is_read_as_the_same_table_in_a_file(library: Any, tmp_path: Path) -> None:
    frame = library.DataFrame(COLUMNS)
    rows = zip(*([("" if cell is None else str(cell)) for cell in cells] for cells in COLUMNS.values()), strict=True)
    file = tmp_path / "table.csv"
    file.write_text("\n".join([",".join(COLUMNS), *map(",".join, rows)]) + "\n")
    options = {"target": "active", "skip_missing": True}
    graphs, expected = as_graph_set(frame, ReadOptions(**options)), load_source(file, edges=False, **options)
    assert graphs.fingerprint == expected.fingerprint
    assert (graphs.names, graphs.ids, graphs.classes) == (expected.names, expected.ids, expected.classes)
    assert (graphs.skipped, graphs.notes) == (expected.skipped, expected.notes)


@LIBRARIES
def test_an_error_names_the_row_or_the_column(library: Any) -> None:
    frame = library.DataFrame(COLUMNS)
    with pytest.raises(GraphError, match=r"row 3 of the DataFrame: 1 of 4 rows have no target in column 'active'"):
        as_graph_set(frame, ReadOptions(target="active"))
    with pytest.raises(GraphError, match="has no column 'nope'; its columns are 'name', 'SMILES', 'active'"):
        as_graph_set(frame, ReadOptions(smiles="nope"))
    unreadable = library.DataFrame({"smiles": ["CCO", "xx", None]})
    with pytest.raises(GraphError, match="2 of 3 molecules cannot be read.*row 1, 'xx'"):
        as_graph_set(unreadable)
    read = as_graph_set(unreadable, ReadOptions(skip_unreadable=True), Expected(has_target=False))
    assert [row for row, _ in read.skipped] == [1, 2]


@LIBRARIES
def test_a_column_is_a_list(library: Any) -> None:
    frame = library.DataFrame(COLUMNS)
    assert not is_frame(frame["SMILES"])
    assert as_graph_set(frame["SMILES"]).names == tuple(COLUMNS["SMILES"])
    with pytest.raises(GraphError, match=r"graph 1 is missing \("):
        as_graph_set(library.Series(["CC", None]))


def test_a_lazy_frame_is_no_table_yet() -> None:
    with pytest.raises(GraphError, match=r"give table.collect\(\)"):
        as_graph_set(polars.LazyFrame(COLUMNS))


def test_molecules_of_rdkit_are_read_as_their_smiles_are() -> None:
    molecules = [Chem.MolFromSmiles(smiles) for smiles in COLUMNS["SMILES"]]
    expected = as_graph_set(COLUMNS["SMILES"])
    for given in (molecules, iter(molecules), [Chem.AddHs(each) for each in molecules]):
        graphs = as_graph_set(given)
        np.testing.assert_array_equal(graphs.signals(), expected.signals())
        np.testing.assert_array_equal(graphs.neighbor, expected.neighbor)
    in_a_frame = as_graph_set(pandas.DataFrame({"mol": molecules}), expected=Expected(has_target=False))
    assert in_a_frame.num_nodes.tolist() == expected.num_nodes.tolist()
    assert as_graph_set(molecules, ReadOptions(standardize=True)).num_nodes.tolist() == [3, 6, 3, 4]


def test_a_molecule_that_rdkit_did_not_check_is_checked() -> None:
    with pytest.raises(GraphError, match="Explicit valence"):
        as_graph_set([Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False)])
    with pytest.raises(GraphError, match="graph 1 is missing"):
        as_graph_set([Chem.MolFromSmiles("C"), None])


def test_a_result_has_the_library_and_the_index_of_its_frame() -> None:
    frame = pandas.DataFrame(COLUMNS, index=[7, 5, 3, 1])
    made = frame_of(frame, [("n", [1, None, 2, 3]), ("why", [None] * 4)])
    assert made.index.tolist() == [7, 5, 3, 1]
    assert made["n"].dropna().tolist() == [1, 2, 3]
    assert str(made["n"].dtype) == "Int64"
    of_polars = frame_of(polars.DataFrame(COLUMNS), [("n", [1, None, 2, 3]), ("why", [None] * 4)])
    assert of_polars.schema == {"n": polars.Int64, "why": polars.String}


@pytest.mark.parametrize(
    "values",
    [np.arange(4), list(range(4)), pandas.Series(range(4), index=[9, 8, 7, 6]), polars.Series(range(4))],
    ids=lambda values: type(values).__module__,
)
def test_rows_go_by_their_places(values: Any) -> None:
    assert list(rows_of(values, [1, 3])) == [1, 3]
