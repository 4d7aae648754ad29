"""Write ``src/bankgcn/data/builtin/mutag.npz`` from the copy of MUTAG that the package GraKeL carries.

The wheel is only read, never installed or imported::

    pip download --no-deps --only-binary :all: -d build grakel==0.1.11
    python scripts/embed_mutag.py build/grakel-0.1.11-*.whl

The same wheel gives the same bytes.
"""

from __future__ import annotations

import argparse
import io
import zipfile
from pathlib import Path

import numpy as np

MEMBER = "grakel/tests/data/MUTAG/MUTAG_{}.txt"
TARGET = Path(__file__).parents[1] / "src/bankgcn/data/builtin/mutag.npz"


def read_wheel(path: Path) -> dict[str, np.ndarray]:
    """The five TU files of MUTAG as integer arrays, one row a line."""
    names = ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")
    with zipfile.ZipFile(path) as wheel:
        return {
            name: np.loadtxt(io.BytesIO(wheel.read(MEMBER.format(name))), dtype=np.int64, delimiter=",")
            for name in names
        }


def compact(tu: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same graphs in bytes: nodes numbered within their graph, and every bond once."""
    graph = tu["graph_indicator"] - 1
    num_nodes = np.bincount(graph)
    first_node = np.cumsum(num_nodes) - num_nodes
    source, target = tu["A"].T - 1
    bonds = dict(zip(zip(source.tolist(), target.tolist(), strict=True), tu["edge_labels"].tolist(), strict=True))
    if any(bonds.get((v, u)) != label for (u, v), label in bonds.items()):
        raise ValueError("a bond of MUTAG lacks its reverse, or the two directions differ in their label")
    once = np.array(sorted((u, v, label) for (u, v), label in bonds.items() if u < v))
    graph_of_bond = graph[once[:, 0]]
    arrays = {
        "num_nodes": num_nodes,
        "num_bonds": np.bincount(graph_of_bond, minlength=num_nodes.size),
        "atoms": tu["node_labels"],
        "bonds": (once[:, :2] - first_node[graph_of_bond, None]).T,
        "bond_labels": once[:, 2],
        "classes": (tu["graph_labels"] > 0).astype(np.int64),  # -1, 1 -> 0, 1
    }
    for name, array in arrays.items():
        if array.min() < 0 or array.max() > np.iinfo(np.uint8).max:
            raise ValueError(f"{name} does not fit into bytes: it runs from {array.min()} to {array.max()}")
    return {name: array.astype(np.uint8) for name, array in arrays.items()}


def write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A compressed ``.npz`` with a fixed date, which ``numpy.savez_compressed`` would not give."""
    with zipfile.ZipFile(path, "w") as file:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED, 9)


def main() -> None:
    """Read the wheel named on the command line, write the file of the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="grakel-0.1.11-*.whl")
    arrays = compact(read_wheel(parser.parse_args().wheel))
    write_npz(TARGET, arrays)
    print(f"{TARGET}: {arrays['classes'].size} graphs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
