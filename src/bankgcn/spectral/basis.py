r"""Polynomial bases as constant matrices into Chebyshev coordinates.

A filter :math:`\hat g = \sum_j \alpha_j P_j` of order :math:`K` in any polynomial basis is also a Chebyshev series, so
one recurrence serves them all: ``coefficients = alpha @ basis.to_chebyshev(order)``. All bases are functions of
:math:`x = \lambda - 1 \in [-1, 1]`, the spectrum of :math:`\tilde L`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from bankgcn.settings import pick


class Basis(ABC):
    """For each order, a family of ``order + 1`` functions on [-1, 1]."""

    @abstractmethod
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        """Value of every basis function at every point: shape ``(order + 1, len(x))``."""

    def to_chebyshev(self, order: int) -> Tensor:
        r"""Chebyshev coefficients of each basis function, one in a row: shape ``(order + 1, order + 1)``, float64.

        The values at ``order + 1`` Chebyshev nodes determine a polynomial of degree ``order``. The discrete
        orthogonality of the nodes turns the values into coefficients, exactly and without forming powers.

        The result is always on the CPU: on the meta device, where layers can be built, tensors have no values.
        """
        return _chebyshev_coefficients(self.evaluate(chebyshev_nodes(order + 1), order))


@dataclass(frozen=True)
class Chebyshev(Basis):
    r""":math:`T_k(x) = \cos(k \arccos x)`, the paper's choice."""

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        return chebyshev_values(x, order)

    @override
    def to_chebyshev(self, order: int) -> Tensor:
        return torch.eye(order + 1, dtype=torch.float64, device="cpu")


@dataclass(frozen=True)
class Monomial(Basis):
    r""":math:`x^k = (\lambda - 1)^k`."""

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        return torch.stack([x**k for k in range(order + 1)])


@dataclass(frozen=True)
class Jacobi(Basis):
    r""":math:`P_k^{(a, b)}(x)`, orthogonal under :math:`(1-x)^a (1+x)^b`, with the classical normalisation.

    ``a`` larger than ``b`` gives low frequencies more weight, ``b`` larger than ``a`` high ones.
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        if not (self.a > -1 and self.b > -1):
            raise ValueError(f"Jacobi polynomials need a > -1 and b > -1, got a={self.a}, b={self.b}")

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        a, b = self.a, self.b
        values = [torch.ones_like(x), (a + 1) + (a + b + 2) * (x - 1) / 2]
        for k in range(2, order + 1):
            n = 2 * k + a + b
            scale = 2 * k * (k + a + b) * (n - 2)
            linear = (n - 1) * (n * (n - 2) * x + a * a - b * b)
            values.append((linear * values[-1] - 2 * (k + a - 1) * (k + b - 1) * n * values[-2]) / scale)
        return torch.stack(values[: order + 1])


@dataclass(frozen=True)
class Legendre(Basis):
    """Legendre polynomials: orthogonal under the uniform weight, the Jacobi polynomials with a = b = 0."""

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        return Jacobi(0.0, 0.0).evaluate(x, order)


@dataclass(frozen=True)
class Bernstein(Basis):
    r""":math:`\binom{K}{k} (1 - \lambda/2)^{K-k} (\lambda/2)^k`: not negative, with sum 1.

    Coefficients in [0, 1] give a response in [0, 1]; coefficient :math:`k` acts around :math:`\lambda = 2k/K`.
    """

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        high = (x + 1) / 2
        return torch.stack([math.comb(order, k) * (1 - high) ** (order - k) * high**k for k in range(order + 1)])


@dataclass(frozen=True)
class ChebyshevInterpolation(Basis):
    r"""The polynomials that are 1 at one Chebyshev node and 0 at the others.

    A filter's coefficients are then its own values: :math:`\alpha_j = \hat g(\lambda_j)` at the
    :math:`K + 1` nodes :math:`\lambda_j = 1 - \cos\frac{(2j + 1)\pi}{2K + 2}`, from low to high frequency.
    """

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        return self.to_chebyshev(order).to(x) @ chebyshev_values(x, order)

    @override
    def to_chebyshev(self, order: int) -> Tensor:
        return _chebyshev_coefficients(torch.eye(order + 1, dtype=torch.float64, device="cpu"))


@dataclass(frozen=True)
class RectangularPulses(Basis):
    r"""The ideal sub-bands of Eq. 19: pulse :math:`k` is 1 on :math:`[\frac{2k}{K+1}, \frac{2(k+1)}{K+1})`, else 0.

    The last interval is closed: it contains :math:`\lambda = 2`, the largest eigenvalue of every bipartite graph.

    Pulses are not polynomials. :meth:`evaluate` is exact, for :class:`~bankgcn.spectral.fourier.Spectrum`;
    :meth:`to_chebyshev` is their Chebyshev projection, whose degree is an argument.

    Args:
        degree: Degree of the projection; it does not depend on the number of pulses.
    """

    degree: int = 16

    def __post_init__(self) -> None:
        if self.degree < 0:
            raise ValueError(f"the degree of a projection must not be negative, got degree={self.degree}")

    @override
    def evaluate(self, x: Tensor, order: int) -> Tensor:
        band = ((x + 1) / 2 * (order + 1)).floor().clamp(0, order)
        return (band == torch.arange(order + 1, device=x.device).unsqueeze(-1)).to(x.dtype)

    @override
    def to_chebyshev(self, order: int) -> Tensor:
        r"""Chebyshev series of every pulse, truncated at ``degree``: shape ``(order + 1, degree + 1)``, float64.

        With :math:`x = \cos\theta`, the pulse between :math:`\theta_1 < \theta_0` has the coefficients
        :math:`c_0 = (\theta_0 - \theta_1)/\pi` and :math:`c_k = \frac{2}{k\pi}(\sin k\theta_0 - \sin k\theta_1)`.
        """
        theta = torch.linspace(-1, 1, order + 2, dtype=torch.float64, device="cpu").acos()  # falls from pi to 0
        k = torch.arange(1, self.degree + 1, dtype=torch.float64, device="cpu")
        tail = -(2 / (k * math.pi)) * torch.sin(theta.unsqueeze(-1) * k).diff(dim=0)
        return torch.cat([-theta.diff().unsqueeze(-1) / math.pi, tail], dim=1)


BASES: dict[str, Basis] = {
    "chebyshev": Chebyshev(),
    "monomial": Monomial(),
    "legendre": Legendre(),
    "jacobi": Jacobi(),
    "bernstein": Bernstein(),
    "interpolation": ChebyshevInterpolation(),
    "pulses": RectangularPulses(),
}


def basis_named(basis: str | Basis) -> Basis:
    """The basis of that name, or the basis itself."""
    return basis if isinstance(basis, Basis) else pick(BASES, basis, "basis")


def nearest_filter(to_chebyshev: Tensor, wanted: Tensor) -> Tensor:
    r"""Coefficients of the filter in a basis that is nearest to a Chebyshev series: the series, if the basis has it.

    It minimises the squared difference of the responses over :math:`\lambda`, under the weight
    :math:`1 / \sqrt{1 - (\lambda - 1)^2}`: Chebyshev polynomials are orthogonal there, :math:`T_0` with twice the
    square of the others.

    Args:
        to_chebyshev: Chebyshev coefficients of each function of the basis, shape ``(order + 1, degree + 1)``.
        wanted: The series, shape ``(num_terms,)``.

    Returns:
        Shape ``(order + 1,)``.
    """
    terms = max(to_chebyshev.size(1), len(wanted))
    length = torch.ones(terms, dtype=wanted.dtype, device=wanted.device)
    length[0] = math.sqrt(2)
    basis = torch.nn.functional.pad(to_chebyshev, (0, terms - to_chebyshev.size(1))) * length
    target = torch.nn.functional.pad(wanted, (0, terms - len(wanted))) * length
    return torch.linalg.lstsq(basis.T, target.unsqueeze(-1)).solution.squeeze(-1)


def chebyshev_nodes(count: int) -> Tensor:
    """Zeros of the Chebyshev polynomial of degree ``count``, ascending: shape ``(count,)``, float64, on the CPU."""
    return -((torch.arange(count, dtype=torch.float64, device="cpu") + 0.5) * (math.pi / count)).cos()


def chebyshev_values(x: Tensor, order: int) -> Tensor:
    r""":math:`T_k(x)` in row ``k``: shape ``(order + 1, len(x))``."""
    values = [torch.ones_like(x), x]
    for _ in range(2, order + 1):
        values.append(2 * x * values[-1] - values[-2])
    return torch.stack(values[: order + 1])


def _chebyshev_coefficients(values: Tensor) -> Tensor:
    """Chebyshev coefficients of the polynomials with the given values at the Chebyshev nodes, one in a row."""
    count = values.size(-1)
    coefficients = values @ chebyshev_values(chebyshev_nodes(count), count - 1).T * (2 / count)
    return torch.cat([coefficients[:, :1] / 2, coefficients[:, 1:]], dim=1)
