r"""The graph Fourier transform from the dense eigendecomposition (Eq. 1-4): exact, in cubic time.

Use it to analyse graphs, signals and filters, and to check the fast path. Training does not use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bankgcn.spectral.shift import GraphShift


def normalized_laplacian(shift: GraphShift) -> Tensor:
    r""":math:`L = I - D^{-1/2} A D^{-1/2}` as a dense matrix, shape ``(num_nodes, num_nodes)``."""
    return torch.eye(shift.num_nodes, dtype=shift.dtype, device=shift.device) + shift.to_dense()


@dataclass(frozen=True, eq=False)
class Spectrum:
    r"""Frequencies and Fourier modes of a graph: :math:`L = U \Lambda U^\top`.

    Attributes:
        lam: The eigenvalues :math:`\lambda_k` in [0, 2], in ascending order, shape ``(num_nodes,)``.
        modes: The eigenvectors :math:`u_k` in the columns, shape ``(num_nodes, num_nodes)``.
    """

    lam: Tensor
    modes: Tensor

    @classmethod
    def of(cls, shift: GraphShift) -> Spectrum:
        """The spectrum of a graph, or of a batch of graphs as one disconnected graph; computed in double precision."""
        lam, modes = torch.linalg.eigh(normalized_laplacian(shift).double())
        return cls(lam.clamp(0, 2).to(shift.dtype), modes.to(shift.dtype))  # rounding may leave [0, 2]

    def gft(self, x: Tensor) -> Tensor:
        r"""Graph Fourier transform :math:`\hat x = U^\top x` (Eq. 1), shape ``(num_nodes, channels)`` as ``x``."""
        return self.modes.T @ x

    def igft(self, x_hat: Tensor) -> Tensor:
        r"""Inverse transform :math:`x = U \hat x` (Eq. 2), shape ``(num_nodes, channels)`` as ``x_hat``."""
        return self.modes @ x_hat

    def convolve(self, x: Tensor, response: Callable[[Tensor], Tensor]) -> Tensor:
        r"""Exact convolution :math:`U \hat g(\Lambda) U^\top x` (Eq. 3-4).

        Args:
            x: Signals, shape ``(num_nodes, channels)``.
            response: :math:`\hat g`, a function of ``lam`` with one value per frequency, shape ``(num_nodes,)``,
                or one row per filter, shape ``(num_filters, num_nodes)``.

        Returns:
            The filtered signals, shape ``(num_nodes, channels)``, or ``(num_filters, num_nodes, channels)``.
        """
        return self.igft(response(self.lam).unsqueeze(-1) * self.gft(x))

    def band_energy(self, x: Tensor, num_bands: int = 8) -> Tensor:
        """Energy of each channel in equal bands of [0, 2], shape ``(num_bands, channels)``; a column sums to |x|^2."""
        energy = self.gft(x).square()
        return energy.new_zeros(num_bands, *energy.shape[1:]).index_add(0, self.bands(num_bands), energy)

    def bands(self, num_bands: int = 8) -> Tensor:
        """Band of each frequency, from 0, for equal bands of [0, 2]; the last contains 2. Shape ``(num_nodes,)``."""
        if num_bands < 1:
            raise ValueError(f"num_bands={num_bands}: expected at least 1")
        # Frequencies such as 1 stand at an edge: rounding must not decide their band.
        rounding = max(1e-9, 8 * torch.finfo(self.lam.dtype).eps)
        return ((self.lam + rounding) * (num_bands / 2)).long().clamp(max=num_bands - 1)


def frame_bounds(response: Tensor) -> tuple[float, float]:
    r"""Least and greatest gain of a filter bank: :math:`A \le \sum_p |\hat g_p(\lambda)|^2 \le B`.

    A bank with :math:`A > 0` loses no frequency; a bank with :math:`A = B` weighs all equally (a tight frame).

    Args:
        response: Responses at the frequencies of interest, shape ``(num_filters, num_frequencies)``.
    """
    if response.dim() != 2 or response.numel() == 0:
        raise ValueError(f"response has shape {tuple(response.shape)}, expected (num_filters, num_frequencies)")
    gain = response.detach().square().sum(0)
    return gain.min().item(), gain.max().item()
