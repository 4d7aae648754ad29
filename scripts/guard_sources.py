"""Small sources of every kind that ``bankgcn`` reads, for ``compare_checkouts.py``: the same bytes for both checkouts.

They are written without ``bankgcn``, except the saved set, which the old checkout writes.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Callable, Iterable
from itertools import islice, product
from pathlib import Path
from typing import Any

GRAPHS = 48
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCOC1", "c1ccsc1", "C1CCNCC1", "c1ccc2ccccc2c1", "C1CCCC1", "c1ccoc1")
GROUPS = ("O", "N", "Cl", "F", "C(=O)O", "C#N", "OC", "C(C)C")
CHAINS = ("", "C", "CC", "CCC")


def write_sources(folder: Path) -> None:
    """Write all sources into an empty folder, except the saved set."""
    rows = list(molecules())
    for name, write in MOLECULE_FILES.items():
        write(folder / name, rows)
    documents = list(node_link_graphs())
    for name, write in GRAPH_FILES.items():
        write(folder / name, documents)
    write_images(folder / "images")
    (folder / "one.csv").write_text("smiles\nCCO\n")
    others = "".join(f"{'C' * length}{end},{'yes' if end == 'S' else 'no'}\n" for length in range(2, 9) for end in "SI")
    (folder / "others.csv").write_text(f"smiles,active\n{others}")


def molecules() -> Iterable[dict[str, Any]]:
    """Rows with a molecule, a class, two values, three labels and a part; a molecule may come twice."""
    draw = random.Random(0)
    smiles = ["".join(parts) for parts in product(CHAINS, RINGS, GROUPS)]
    draw.shuffle(smiles)
    for row, text in enumerate([*islice(smiles, GRAPHS - 2), smiles[0], smiles[1]]):
        likely = 0.8 if "N" in text or "O" in text else 0.3
        yield {
            "smiles": text,
            "id": f"m{row}",
            "active": "yes" if draw.random() < likely else "no",
            "logp": round(len(text) / 5 + draw.gauss(0, 0.3), 3),
            "mass": round(12.0 * len(text) + draw.gauss(0, 5), 2),
            **{f"tox{number}": draw.choice((0, 0, 1, 1, "")) for number in (1, 2, 3)},
            "part": ("train", "train", "train", "valid", "test")[row % 5],
        }


def node_link_graphs() -> Iterable[dict[str, Any]]:
    """Random graphs with weights, numbers and words; the class is whether there are many edges."""
    draw = random.Random(1)
    for row in range(GRAPHS):
        count, dense = draw.randint(4, 9), row % 2
        pairs = [(a, b) for a in range(count) for b in range(a) if a - b == 1 or draw.random() < 0.15 + 0.4 * dense]
        yield {
            "nodes": [
                {"id": f"n{node}", "charge": round(draw.gauss(0, 1), 4), "element": draw.choice("CNO")}
                for node in range(count)
            ],
            "edges": [
                {"source": f"n{a}", "target": f"n{b}", "weight": round(draw.uniform(0.5, 2), 3)} for a, b in pairs
            ],
            "graph": {"y": "dense" if dense else "sparse", "name": f"g{row:02}"},
        }


def _table(columns: str, rows: list[dict[str, Any]]) -> list[list[Any]]:
    names = columns.split()
    return [names, *([row[name] for name in names] for row in rows)]


def _csv(columns: str) -> Callable[[Path, list[dict[str, Any]]], None]:
    def write(path: Path, rows: list[dict[str, Any]]) -> None:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(_table(columns, rows))

    return write


def _dirty(path: Path, rows: list[dict[str, Any]]) -> None:
    """Unreadable molecules, missing targets, and classes that differ in case."""
    changed = [dict(row) for row in rows]
    changed[3]["smiles"], changed[20]["smiles"] = "not a molecule", "C1CC"
    changed[5]["active"], changed[21]["active"], changed[8]["active"] = "", "unknown", " YES"
    _csv("smiles active")(path, changed)


def _gzipped(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = "\n".join(f"{row['smiles']};{row['active']}" for row in rows)
    path.write_bytes(gzip.compress(f"smiles;active\n{lines}\n".encode(), mtime=0))


def _smiles_file(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in _table("smiles id active", rows)))


def _parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: [row[name] for row in rows] for name in ("smiles", "logp")}), path)


def _workbook(path: Path, rows: list[dict[str, Any]]) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in _table("smiles active", rows):
        book.active.append(row)
    book.save(path)


def _structures(path: Path, rows: list[dict[str, Any]]) -> None:
    from rdkit import Chem

    with Chem.SDWriter(str(path)) as writer:
        for row in rows:
            molecule = Chem.MolFromSmiles(row["smiles"])
            molecule.SetProp("_Name", row["id"])
            molecule.SetProp("active", row["active"])
            writer.write(molecule)


MOLECULE_FILES: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "classes.csv": _csv("smiles id active"),
    "values.csv": _csv("smiles logp"),
    "two_values.csv": _csv("id smiles logp mass"),
    "labels.csv": _csv("smiles tox1 tox2 tox3"),
    "parts.csv": _csv("smiles active part"),
    "dirty.csv": _dirty,
    "packed.csv.gz": _gzipped,
    "molecules.smi": _smiles_file,
    "values.parquet": _parquet,
    "classes.xlsx": _workbook,
    "classes.sdf": _structures,
}


def _lines(path: Path, documents: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))


def _array(path: Path, documents: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(documents))


def _numbers(path: Path, documents: list[dict[str, Any]]) -> None:
    """The same graphs, with a value for each instead of a class."""
    changed = [{**document, "graph": {"y": len(document["edges"]) / 4}} for document in documents]
    _lines(path, changed)


def _directed(path: Path, documents: list[dict[str, Any]]) -> None:
    _lines(path, [{**document, "directed": True} for document in documents])


def _folder(path: Path, documents: list[dict[str, Any]]) -> None:
    path.mkdir()
    for document in documents:
        (path / f"{document['graph']['name']}.json").write_text(json.dumps(document))


def _networkx(ending: str) -> Callable[[Path, list[dict[str, Any]]], None]:
    def write(path: Path, documents: list[dict[str, Any]]) -> None:
        import networkx

        path.mkdir()
        for document in documents:
            graph = networkx.node_link_graph(document, edges="edges")
            getattr(networkx, f"write_{ending}")(graph, path / f"{document['graph']['name']}.{ending}")

    return write


def _edge_tables(path: Path, documents: list[dict[str, Any]]) -> None:
    path.mkdir()
    tables: dict[str, list[list[Any]]] = {
        "edges": [["graph", "source", "target", "weight"]],
        "nodes": [["graph", "node", "charge", "element"]],
        "graphs": [["graph", "kind"]],
    }
    for document in documents:
        name = document["graph"]["name"]
        tables["edges"] += [[name, edge["source"], edge["target"], edge["weight"]] for edge in document["edges"]]
        tables["nodes"] += [[name, node["id"], node["charge"], node["element"]] for node in document["nodes"]]
        tables["graphs"] += [[name, document["graph"]["y"]]]
    for table, rows in tables.items():
        with (path / f"{table}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def _tu_folder(path: Path, documents: list[dict[str, Any]]) -> None:
    path.mkdir()
    lines: dict[str, list[str]] = {"A": [], "graph_indicator": [], "graph_labels": [], "node_labels": []}
    for number, document in enumerate(documents, start=1):
        place = {node["id"]: len(lines["node_labels"]) + i for i, node in enumerate(document["nodes"], start=1)}
        ends = [(place[edge["source"]], place[edge["target"]]) for edge in document["edges"]]
        lines["A"] += [f"{a}, {b}" for pair in ends for a, b in (pair, pair[::-1])]
        lines["graph_indicator"] += [str(number)] * len(place)
        lines["node_labels"] += [str("CNO".index(node["element"])) for node in document["nodes"]]
        lines["graph_labels"].append("1" if document["graph"]["y"] == "dense" else "-1")
    for name, rows in lines.items():
        (path / f"TINY_{name}.txt").write_text("\n".join(rows) + "\n")


GRAPH_FILES: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "graphs.jsonl": _lines,
    "numbers.jsonl": _numbers,
    "directed.jsonl": _directed,
    "array.json": _array,
    "json": _folder,
    "graphml": _networkx("graphml"),
    "gml": _networkx("gml"),
    "tables": _edge_tables,
    "TINY": _tu_folder,
}


def write_images(folder: Path) -> None:
    """Two classes of images: stripes and blots."""
    from PIL import Image

    draw = random.Random(2)
    for number in range(20):
        kind = ("blots", "stripes")[number % 2]
        image = Image.new("RGB", (16, 16))
        for x, y in product(range(16), repeat=2):
            bright = 200 if (x // 4 % 2 if kind == "stripes" else draw.random() < 0.5) else 30
            image.putpixel((x, y), (bright, draw.randrange(60), number * 10))
        (folder / kind).mkdir(parents=True, exist_ok=True)
        image.save(folder / kind / f"{number:02}.png")
