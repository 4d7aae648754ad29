"""Molecules that would take RDKit too long, or end the process, are refused before it looks for rings."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankgcn.data import GraphError
from bankgcn.data.readers.molecules import MAX_ATOMS, MAX_RING_SYSTEM, from_smiles, ring_systems
from refusals import refused

pytest.importorskip("rdkit")

ADVICE = "leave it out, or give it as a graph in JSON lines"


def net(atoms: int, bonds: int) -> str:
    """A SMILES of atoms with so many bonds each; RDKit's search for rings in a net of 400 and 10 ends the process."""
    graph = nx.random_regular_graph(bonds, atoms, seed=1)
    chain = [(one, one + 1) for one in range(atoms - 1)]
    extra = [edge for edge in graph.edges if edge not in chain and edge[::-1] not in chain]
    closures = [[number for number, edge in enumerate(extra, 1) if atom in edge] for atom in range(atoms)]
    return "".join("*" + "".join(f"%({number})" for number in own) for own in closures)


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C1" + "C" * 9_992 + "C1", f"has 9,994 atoms in one system of rings, which may have 1,000: {ADVICE}"),
        ("C" * (MAX_ATOMS + 1), f"has 10,001 atoms, and a molecule may have 10,000: {ADVICE}"),
        ("C" * 500_000, "has 500,000 characters, and a SMILES may have 400,000"),
        ("C(c1ccccc1)C" * 1_001, "has 1,001 rings, and a molecule may have 1,000"),
        (net(150, 10), "rings in one system of rings, which may have 400"),
    ],
)
def test_too_large_molecules_are_refused_before_rdkit_looks_for_rings(
    smiles: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bankgcn.data.readers import molecules

    read = molecules._rdkit_molecule

    def unchecked_only(text: str, check: bool = True) -> object:
        assert not check, "RDKit was asked to look for rings"
        return read(text, check)

    monkeypatch.setattr(molecules, "_rdkit_molecule", unchecked_only)
    with refused(GraphError, "1 of 1 molecules") as caught:
        from_smiles([smiles])
    assert reason in str(caught.value)


def test_large_molecules_below_the_limits_are_read() -> None:
    ring = "C1" + "C" * (MAX_RING_SYSTEM[0] - 2) + "C1"
    assert from_smiles(["C" * MAX_ATOMS, ring, "C(c1ccccc1)C" * 200]).num_nodes.tolist() == [10_000, 1_000, 1_600]


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20))
def test_ring_systems_are_what_is_left_without_bridges(atoms: int, pairs: list[tuple[int, int]]) -> None:
    graph = nx.Graph((i % atoms, j % atoms) for i, j in pairs if i % atoms != j % atoms)
    graph.add_nodes_from(range(atoms))
    rest = graph.copy()
    rest.remove_edges_from(list(nx.bridges(graph)))
    parts = [rest.subgraph(part) for part in nx.connected_components(rest) if len(part) > 1]
    expected = sorted((len(part), part.number_of_edges() - len(part) + 1) for part in parts)
    assert sorted(ring_systems(atoms, list(graph.edges))) == expected
