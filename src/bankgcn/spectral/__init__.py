"""What the graph fixes: its shift operator, its frequencies, and polynomials of them. Nothing here is learned."""

from bankgcn.spectral import chebyshev
from bankgcn.spectral.basis import (
    BASES,
    Basis,
    Bernstein,
    Chebyshev,
    ChebyshevInterpolation,
    Jacobi,
    Legendre,
    Monomial,
    RectangularPulses,
)
from bankgcn.spectral.fourier import Spectrum, frame_bounds, normalized_laplacian
from bankgcn.spectral.shift import GraphShift

__all__ = [
    "BASES",
    "Basis",
    "Bernstein",
    "Chebyshev",
    "ChebyshevInterpolation",
    "GraphShift",
    "Jacobi",
    "Legendre",
    "Monomial",
    "RectangularPulses",
    "Spectrum",
    "chebyshev",
    "frame_bounds",
    "normalized_laplacian",
]
