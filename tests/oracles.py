"""The paper's equations once more, dense, in float64 NumPy, from the text alone: nothing here imports the package.

Slow and plain on purpose. What these functions share with the code under test is the paper.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special


def adjacency(num_nodes: int, edges: list[tuple[int, int]], weights: list[float]) -> np.ndarray:
    """A: an edge from i to j adds its weight to entry (i, j); self-loops do not count."""
    a = np.zeros((num_nodes, num_nodes))
    for (i, j), w in zip(edges, weights, strict=True):
        if i != j:
            a[i, j] += w
    return a


def laplacian(a: np.ndarray) -> np.ndarray:
    """L = I - D^(-1/2) A D^(-1/2), with D^(-1/2) := 0 for a node without edges."""
    degree = a.sum(1)
    scale = np.array([1 / math.sqrt(d) if d > 0 else 0.0 for d in degree])
    return np.eye(len(a)) - np.diag(scale) @ a @ np.diag(scale)


def fourier(lap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of L."""
    return np.linalg.eigh(lap)


def gft(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Eq. 1, as the sum it is written as."""
    n = len(x)
    return np.array([sum(x[m] * u[m, k] for m in range(n)) for k in range(n)])


def igft(x_hat: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Eq. 2, as the sum it is written as."""
    n = len(x_hat)
    return np.array([sum(x_hat[k] * u[m, k] for k in range(n)) for m in range(n)])


def basis_values(name: str, lam: np.ndarray, order: int) -> np.ndarray:
    """Value of each of the order + 1 basis functions at each frequency: (order + 1, len(lam))."""
    x = np.clip(lam - 1, -1, 1)
    functions = {
        "chebyshev": lambda k: np.cos(k * np.arccos(x)),
        "monomial": lambda k: x**k,
        "legendre": lambda k: special.eval_legendre(k, x),
        "jacobi": lambda k: special.eval_jacobi(k, 1.0, 1.0, x),
        "bernstein": lambda k: math.comb(order, k) * (1 - lam / 2) ** (order - k) * (lam / 2) ** k,
        "interpolation": lambda k: lagrange(chebyshev_points(order + 1), k, x),
    }
    return np.stack([functions[name](k) for k in range(order + 1)])


def chebyshev_points(count: int) -> np.ndarray:
    """Zeros of T_count, rising."""
    return np.sort(special.roots_chebyt(count)[0])


def lagrange(points: np.ndarray, k: int, x: np.ndarray) -> np.ndarray:
    """The polynomial that is 1 at points[k] and 0 at the other points."""
    value = np.ones_like(x)
    for j, point in enumerate(points):
        if j != k:
            value = value * (x - point) / (points[k] - point)
    return value


def response(alpha: np.ndarray, lam: np.ndarray, basis: str = "chebyshev") -> np.ndarray:
    """Eq. 14: the response of every filter, (s, len(lam))."""
    return alpha @ basis_values(basis, lam, alpha.shape[1] - 1)


def bank_conv(
    lap: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    alpha: np.ndarray,
    basis: str = "chebyshev",
    shortcut: bool = True,
) -> np.ndarray:
    """Eq. 7-12: each subspace projected, filtered exactly through the spectrum, with its shortcut; then side by side.

    weight is (out, in) and bias (out,); subspace p owns the p-th block of their rows.
    """
    lam, u = fourier(lap)
    width = len(weight) // len(alpha)
    g = response(alpha, lam, basis)
    parts = []
    for p in range(len(alpha)):
        rows = slice(p * width, (p + 1) * width)
        r = x @ weight[rows].T + bias[rows]
        h = u @ np.diag(g[p]) @ u.T @ r
        parts.append(h + r if shortcut else h)
    return np.concatenate(parts, axis=1)


def coherence(alpha: np.ndarray) -> float:
    """Eq. 18 by the definition of the maximum; a zero filter has no direction and a single one no pair: 0."""
    best = 0.0
    for p, q in itertools.permutations(range(len(alpha)), 2):
        norms = np.linalg.norm(alpha[p]) * np.linalg.norm(alpha[q])
        if norms > 0:
            best = max(best, abs(alpha[p] @ alpha[q]) / norms)
    return best


def pulses(lam: np.ndarray, count: int) -> np.ndarray:
    """Eq. 19 with K + 1 = count pulses, the last one closed at 2: (count, len(lam))."""
    values = np.zeros((count, len(lam)))
    for k in range(count):
        for i, frequency in enumerate(lam):
            inside = 2 * k / count <= frequency < 2 * (k + 1) / count
            values[k, i] = inside or (k == count - 1 and frequency == 2)
    return values


def readout(x: np.ndarray) -> np.ndarray:
    """Mean and maximum over the nodes of one graph."""
    return np.concatenate([x.mean(0), x.max(0)])


def hops(a: np.ndarray, start: int) -> np.ndarray:
    """Number of edges on a shortest way from start to every node, infinite where there is none."""
    distance = np.full(len(a), np.inf)
    distance[start] = 0
    frontier, steps = {start}, 0
    while frontier:
        steps += 1
        frontier = {int(j) for i in frontier for j in np.flatnonzero(a[i]) if np.isinf(distance[j])}
        for j in frontier:
            distance[j] = steps
    return distance


def edge_weights(weights: list[float], features: np.ndarray, theta: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Weight of each edge in each subspace, (s, edges): 2 a_e / (1 + exp(-(theta_p . f_e + b_p)))."""
    return np.array([[2 * a / (1 + math.exp(-(t @ f + b))) for a, f in zip(weights, features, strict=True)]
                     for t, b in zip(theta, bias, strict=True)]).reshape(len(theta), len(weights))  # fmt: skip


def edge_sums(num_nodes: int, edges: list[tuple[int, int]], weights: list[float], features: np.ndarray) -> np.ndarray:
    """The features of each node's edges, each times the weight of its edge, added up; self-loops do not count."""
    total = np.zeros((num_nodes, features.shape[1]))
    for (i, j), a, f in zip(edges, weights, features, strict=True):
        if i != j:
            total[i] += a * f
    return total


def edge_bank_conv(
    num_nodes: int,
    edges: list[tuple[int, int]],
    weights: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    alpha: np.ndarray,
) -> np.ndarray:
    """The layer with a graph for each subspace: each one is :func:`bank_conv` with a single filter on its graph.

    weights are those of the edges in each subspace, (s, edges).
    """
    width = len(weight) // len(alpha)
    parts = []
    for p in range(len(alpha)):
        rows = slice(p * width, (p + 1) * width)
        lap = laplacian(adjacency(num_nodes, edges, list(weights[p])))
        parts.append(bank_conv(lap, x, weight[rows], bias[rows], alpha[p : p + 1]))
    return np.concatenate(parts, axis=1)
