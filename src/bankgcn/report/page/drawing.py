"""Where to draw the nodes of a graph: as a structural formula, at their places in an image, or by their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankgcn.data.builtin import MUTAG_ATOMS, MUTAG_BONDS
from bankgcn.data.features.spec import column_names
from bankgcn.data.graphs import GraphSet
from bankgcn.data.standardize import is_standardized, molecule_of
from bankgcn.extras import is_installed

ATOMIC_NUMBERS = {
    1: "H", 3: "Li", 5: "B", 6: "C", 7: "N", 8: "O", 9: "F", 11: "Na", 12: "Mg", 13: "Al", 14: "Si", 15: "P", 16: "S",
    17: "Cl", 19: "K", 20: "Ca", 26: "Fe", 29: "Cu", 30: "Zn", 32: "Ge", 33: "As", 34: "Se", 35: "Br", 50: "Sn",
    52: "Te", 53: "I", 80: "Hg",
}  # fmt: skip
"""Symbols of elements that molecules of datasets have; others are shown by their numbers."""


def node_signal(conformed: GraphSet, graph: GraphSet) -> dict[str, Any]:
    """What each node carries: categories with words, colours of superpixels, or else the length of the signal.

    Args:
        conformed: The graph with the features that the network takes.
        graph: The graph as it was read.
    """
    kind = graph.feature_spec.get("kind", "")
    if kind in ("superpixels", "images") and graph.attributes is not None:
        return {"colors": _hex(graph.attributes[:, :-2])}
    if kind == "pixels" and graph.attributes is not None and graph.attributes.shape[1] == 1:
        return {"colors": _hex(1 - graph.attributes)}
    words = node_words(graph)
    if words is not None:
        return {"words": words}
    x = np.linalg.norm(conformed.signals().astype(float), axis=1)
    return {"levels": x.tolist()}


def node_words(graph: GraphSet) -> list[str] | None:
    """The category of each node in words; ``None`` if nodes have no single category."""
    spec = graph.feature_spec
    if spec.get("kind") == "atoms":
        first = graph.attributes if graph.labels is None else graph.labels
        assert first is not None
        numbers = (first[:, 0].astype(int) + 1).tolist()
        return [ATOMIC_NUMBERS.get(number, str(number)) for number in numbers]
    if graph.labels is None or graph.labels.shape[1] < 1:
        return None
    values = graph.labels[:, 0].tolist()
    if graph.name == "MUTAG" and graph.label_widths == (len(MUTAG_ATOMS),):
        return [MUTAG_ATOMS[value] for value in values]
    if spec.get("kind") == "named" and spec.get("words"):
        categories = list(next(iter(spec["words"].values())))
        return [str(categories[value]) if value < len(categories) else str(value) for value in values]
    low = (spec.get("label_low") or [0])[0] if spec.get("kind") == "tu" else 0
    return [str(value + low) for value in values]


def edge_columns(graph: GraphSet) -> list[str]:
    """The names of the columns of the features of edges; a one-hot column is called ``name=value``."""
    spec = getattr(graph, "edge_spec", {})
    if graph.name == "MUTAG" and graph.edge_label_widths == (len(MUTAG_BONDS),):
        return [f"bond={bond}" for bond in MUTAG_BONDS]
    if spec.get("kind"):
        return column_names(spec, graph.num_edge_features)
    numbers = [f"attribute {number}" for number in range(graph.num_edge_attributes)]
    blocks = [
        f"label {number}={value}" for number, width in enumerate(graph.edge_label_widths) for value in range(width)
    ]
    return numbers + blocks


def edge_words(graph: GraphSet) -> list[str]:
    """What each directed edge of one graph carries: the words of its one-hot columns, and its numbers by name."""
    names, rows = edge_columns(graph), graph.edge_signals()
    alone = graph.edge_attributes is None and len(graph.edge_label_widths) == 1  # then the value says it all
    return [", ".join(_edge_parts(names, row, alone)) for row in rows.tolist()]


def _edge_parts(names: Sequence[str], row: Sequence[float], alone: bool) -> Iterator[str]:
    for name, value in zip(names, row, strict=True):
        category = "=" in name
        if category and value:
            yield name.partition("=")[2] if alone else name
        elif not category:
            yield f"{name}={value:.4g}"


def _hex(colors: NDArray) -> list[str]:
    """Colours in [0, 1], one or three numbers each, as a page writes them."""
    three = np.clip(np.broadcast_to(colors, (len(colors), 3)) * 255, 0, 255).round().astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in three.tolist()]


MAX_DRAWN = 400  # nodes
STEPS = 120  # of the layout by distances
MAX_BONDS = 4  # of an atom, in graphs that look like molecules
ORDERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 4}
"""How a bond is drawn; 4 is aromatic."""
NEAR = 0.6  # bond lengths: atoms that are nearer to each other cannot be read

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A graph on paper.

    Args:
        places: Position of each node, shape ``(num_nodes, 2)``, in [0, 1], downwards as on a screen.
        edges: The two nodes of each edge, shape ``(num_edges, 2)``.
        orders: Number of lines of each edge, for molecules; see ``ORDERS``.
        sides: Where the second line of each edge lies: 1 and -1 are right and left on the way to its second node, 0 is
            both sides alike.
        elements: Symbol and charge of each atom, for molecules.
        labels: What a chemist writes at each atom, such as ``"OH"`` or ``"NH3+"``; mostly nothing for carbon.
    """

    places: Floats
    edges: NDArray[np.int64]
    orders: Sequence[int] = ()
    sides: Sequence[int] = ()
    elements: Sequence[str] = ()
    labels: Sequence[str] = ()


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
        molecule = molecule_of(smiles, is_standardized(graph.feature_spec))
        if molecule is not None and _same(molecule, graph.largest, edges[once]):
            return _structure(molecule)
    places = _known_places(graph)
    if places is not None:
        return Drawing(_scaled(places), edges[once])
    rings: Sequence[Sequence[int]] = ()
    if chemistry and int(graph.degree.max(initial=0)) <= MAX_BONDS:
        molecule = _as_molecule(graph.largest, edges[once])
        places, rings = _coordinates(molecule), molecule.GetRingInfo().AtomRings()
    if places is None:
        places = _across(layout(graph.largest, edges[once]))
    places = _scaled(places)
    atoms = _atoms(graph, once)
    if "orders" in atoms:
        atoms["sides"] = second_lines(places, edges[once], atoms["orders"], rings)
    return Drawing(places, edges[once], **atoms)


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
    elements = node_words(graph) or []
    atoms = {"elements": elements, "labels": ["" if element == "C" else element for element in elements]}
    if graph.feature_spec.get("kind") == "atoms":
        return atoms
    kinds = graph.batch().edge_labels
    if graph.name != "MUTAG" or graph.label_widths != (len(MUTAG_ATOMS),) or kinds is None:
        return {}
    orders = [ORDERS[bond.upper()] for bond in MUTAG_BONDS]
    return {**atoms, "orders": [orders[kind] for kind in kinds[:, 0].numpy()[once].tolist()]}


def _same(molecule: Any, num_nodes: int, edges: NDArray[np.int64]) -> bool:
    bonds = {tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()}
    return molecule.GetNumAtoms() == num_nodes and bonds == {tuple(edge) for edge in edges.tolist()}


def _structure(molecule: Any) -> Drawing:
    from rdkit import Chem

    places = _scaled(_coordinates(molecule))
    rings = molecule.GetRingInfo().AtomRings()
    elements = [atom.GetSymbol() + _charge(atom) for atom in molecule.GetAtoms()]
    labels = [_label(atom) for atom in molecule.GetAtoms()]
    drawn = Chem.Mol(molecule)
    Chem.KekulizeIfPossible(drawn, clearAromaticFlags=True)
    bonds = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in drawn.GetBonds()], np.int64).reshape(-1, 2)
    orders = [ORDERS.get(bond.GetBondType().name, 1) for bond in drawn.GetBonds()]
    return Drawing(places, bonds, orders, second_lines(places, bonds, orders, rings), elements, labels)


def _charge(atom: Any) -> str:
    charge = atom.GetFormalCharge()
    return "" if charge == 0 else ("+" if charge > 0 else "-") + (str(abs(charge)) if abs(charge) > 1 else "")


def _label(atom: Any) -> str:
    """The symbol with hydrogens and charge; nothing for a carbon that its bonds describe."""
    isotope, charge = atom.GetIsotope(), _charge(atom)
    if atom.GetSymbol() == "C" and atom.GetDegree() and not (isotope or charge or atom.GetNumRadicalElectrons()):
        return ""
    hydrogens = atom.GetTotalNumHs()
    written = "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}"
    return f"{isotope or ''}{atom.GetSymbol()}{written}{charge}"


def second_lines(
    places: Floats, edges: NDArray[np.int64], orders: Sequence[int], rings: Sequence[Sequence[int]]
) -> list[int]:
    """The side of the second line of each double or aromatic bond: inside its smallest ring, or by its substituents."""
    neighbors: list[list[int]] = [[] for _ in places]
    for begin, end in edges.tolist():
        neighbors[begin].append(end)
        neighbors[end].append(begin)
    sides = []
    for (begin, end), order in zip(edges.tolist(), orders, strict=True):
        around = [ring for ring in rings if begin in ring and end in ring]
        terminal = min(len(neighbors[begin]), len(neighbors[end])) == 1
        if order not in (2, 4) or (terminal and not around):
            sides.append(0)
            continue
        others = min(around, key=len) if around else {*neighbors[begin], *neighbors[end]} - {begin, end}
        (x, y), toward = places[end] - places[begin], places[list(others)] - places[begin]
        across = x * toward[:, 1] - y * toward[:, 0]  # downwards as on a screen: positive is right
        sides.append(1 if (across.sum() if around else np.sign(across.round(6)).sum()) >= 0 else -1)
    return sides


def _as_molecule(num_nodes: int, edges: NDArray[np.int64]) -> Any:
    """A molecule with these bonds, by which RDKit places atoms: rings become regular polygons."""
    from rdkit import Chem

    editable = Chem.RWMol()
    for _ in range(num_nodes):
        editable.AddAtom(Chem.Atom(6))
    for begin, end in edges.tolist():
        editable.AddBond(begin, end, Chem.BondType.SINGLE)
    molecule = editable.GetMol()
    Chem.FastFindRings(molecule)
    return molecule


def _coordinates(molecule: Any) -> Floats:
    """RDKit's places, cleaned and straightened; CoordGen's where some atoms lie on each other."""
    from rdkit import Chem
    from rdkit.Chem import rdCoordGen, rdDepictor

    def cleaned(compute: Callable[[Any], object]) -> Floats:
        drawn = Chem.Mol(molecule)
        compute(drawn)
        rdDepictor.NormalizeDepiction(drawn)
        rdDepictor.StraightenDepiction(drawn)
        return drawn.GetConformer().GetPositions()[:, :2] * [1, -1]

    def with_templates(drawn: Any) -> None:
        rdDepictor.Compute2DCoords(drawn, useRingTemplates=True)

    bonds = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()], np.int64).reshape(-1, 2)
    places = cleaned(with_templates)
    if smallest_gap(places, bonds) >= NEAR:
        return places
    return max(places, cleaned(rdCoordGen.AddCoords), key=lambda option: smallest_gap(option, bonds))


def smallest_gap(places: Floats, bonds: NDArray[np.int64]) -> float:
    """The smallest distance between two atoms, in lengths of a typical bond; infinite without bonds."""
    if not len(bonds):
        return np.inf
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    length = float(np.median(gaps[bonds[:, 0], bonds[:, 1]]))
    return float(gaps[np.triu_indices(len(places), 1)].min()) / max(length, 1e-9)


def _across(places: Floats) -> Floats:
    """The places with the longer side across."""
    return places[:, ::-1] if np.ptp(places[:, 1]) > np.ptp(places[:, 0]) else places


def _scaled(places: Floats) -> Floats:
    """The places in the unit square."""
    return (places - places.min(0)) / max(np.ptp(places, axis=0).max(), 1e-9)
