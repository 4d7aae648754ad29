"""Where to draw the nodes of a graph: as a structural formula, at their places in an image, or by their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.builtin.mutag import ATOMS, BONDS
from bankgcn.data.graphs import GraphSet
from bankgcn.extras import is_installed
from bankgcn.report.page.node_words import node_words

MAX_DRAWN = 400  # nodes
STEPS = 120  # of the layout by distances
MAX_BONDS = 4  # of an atom, in graphs that look like molecules
ORDERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 4}
"""How a bond is drawn; 4 is aromatic."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A graph on paper.

    Args:
        places: Position of each node, shape ``(num_nodes, 2)``, in [0, 1], downwards as on a screen.
        edges: The two nodes of each edge, shape ``(num_edges, 2)``.
        orders: Number of lines of each edge, for molecules.
        elements: Symbol of each atom, for molecules.
    """

    places: Floats
    edges: NDArray[np.int64]
    orders: Sequence[int] = ()
    elements: Sequence[str] = ()


def draw_graph(graph: GraphSet, smiles: str | None = None) -> Drawing | None:
    """Draw one graph; ``None`` if it is too large or has no nodes.

    Args:
        graph: A set with one graph.
        smiles: The molecule that it may be; it is drawn as a structure if its atoms and bonds are those of the graph.
    """
    if not 0 < graph.largest <= MAX_DRAWN:
        return None
    batch = graph.batch()
    edges = batch.edge_index.numpy().T
    once = edges[:, 0] < edges[:, 1]
    chemistry = is_installed("rdkit")
    if chemistry and smiles is not None:
        molecule = _molecule(smiles)
        if molecule is not None and _same(molecule, graph.largest, edges[once]):
            return _structure(molecule)
    places = _known_places(graph)
    if places is not None:
        return Drawing(_scaled(places), edges[once])
    if chemistry and int(graph.degree.max(initial=0)) <= MAX_BONDS:
        places = _as_molecule(graph.largest, edges[once])
    if places is None:
        places = layout(graph.largest, edges[once])
    return Drawing(_fitted(places), edges[once], **_atoms(graph, once))


def layout(num_nodes: int, edges: NDArray[np.int64]) -> Floats:
    """Places whose distances are near to the distances in the graph (stress majorisation), the same at every call."""
    distance = _distances(num_nodes, edges)
    weight = np.where(distance > 0, 1 / np.maximum(distance, 1) ** 2, 0)
    places = np.random.Generator(np.random.PCG64(0)).normal(size=(num_nodes, 2))
    laplacian = np.diag(weight.sum(1)) - weight + np.full_like(weight, 1 / max(num_nodes, 1))
    inverse = np.linalg.inv(laplacian)
    for _ in range(STEPS):
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = -weight * distance / np.maximum(gaps, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(1))
        places = inverse @ (pull @ places)
    return places


def _distances(num_nodes: int, edges: NDArray[np.int64]) -> Floats:
    """Number of steps between nodes; nodes that are not connected are a little further than the furthest."""
    adjacency = np.zeros((num_nodes, num_nodes), bool)
    adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = True
    reached = np.eye(num_nodes, dtype=bool)
    distance = np.where(reached, 0.0, np.inf)
    for step in range(1, num_nodes):
        new = (reached @ adjacency) & ~reached
        if not new.any():
            break
        distance[new] = step
        reached |= new
    furthest = distance[np.isfinite(distance)].max(initial=1)
    return np.where(np.isfinite(distance), distance, furthest + 1)


def _known_places(graph: GraphSet) -> Floats | None:
    """The places of superpixels and pixels, which are nodes of images."""
    kind = graph.feature_spec.get("kind")
    if kind in ("superpixels", "images") and graph.attributes is not None:
        return graph.attributes[:, [-1, -2]].astype(float)  # column, row
    side = int(np.sqrt(graph.largest))
    if kind == "pixels" and side * side == graph.largest:
        return np.stack(np.divmod(np.arange(side * side), side)[::-1], axis=1).astype(float)
    return None


def _atoms(graph: GraphSet, once: NDArray[np.bool_]) -> dict[str, Any]:
    """Symbols of the atoms of molecules; of MUTAG, whose labels are known, also the bonds."""
    if graph.feature_spec.get("kind") == "atoms":
        return {"elements": node_words(graph) or ()}
    kinds = graph.batch().edge_labels
    if graph.name != "MUTAG" or graph.label_widths != (len(ATOMS),) or kinds is None:
        return {}
    orders = [ORDERS[bond.upper()] for bond in BONDS]
    return {"elements": node_words(graph), "orders": [orders[kind] for kind in kinds[:, 0].numpy()[once].tolist()]}


def _molecule(smiles: str) -> Any:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        return Chem.MolFromSmiles(smiles)


def _same(molecule: Any, num_nodes: int, edges: NDArray[np.int64]) -> bool:
    bonds = {tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()}
    return molecule.GetNumAtoms() == num_nodes and bonds == {tuple(edge) for edge in edges.tolist()}


def _structure(molecule: Any) -> Drawing:
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    orders = [ORDERS.get(bond.GetBondType().name, 1) for bond in molecule.GetBonds()]
    elements = [atom.GetSymbol() + _charge(atom.GetFormalCharge()) for atom in molecule.GetAtoms()]
    return Drawing(_fitted(_coordinates(molecule)), np.array(bonds, np.int64).reshape(-1, 2), orders, elements)


def _charge(charge: int) -> str:
    return "" if charge == 0 else ("+" if charge > 0 else "-") * abs(charge)


def _as_molecule(num_nodes: int, edges: NDArray[np.int64]) -> Floats:
    """Places as RDKit gives the atoms of a molecule with these bonds: rings become regular polygons."""
    from rdkit import Chem

    editable = Chem.RWMol()
    for _ in range(num_nodes):
        editable.AddAtom(Chem.Atom(6))
    for begin, end in edges.tolist():
        editable.AddBond(begin, end, Chem.BondType.SINGLE)
    molecule = editable.GetMol()
    Chem.FastFindRings(molecule)
    return _coordinates(molecule)


def _coordinates(molecule: Any) -> Floats:
    from rdkit.Chem import rdDepictor

    rdDepictor.Compute2DCoords(molecule)
    places = molecule.GetConformer().GetPositions()[:, :2]
    return places * [1, -1]


def _fitted(places: Floats) -> Floats:
    """The places in the unit square, the longer side across."""
    tall = np.ptp(places[:, 1]) > np.ptp(places[:, 0])
    return _scaled(places[:, ::-1] if tall else places)


def _scaled(places: Floats) -> Floats:
    return (places - places.min(0)) / max(np.ptp(places, axis=0).max(), 1e-9)
