r"""The diversity of a filter bank: :math:`\Omega(\alpha)`, Eq. 18."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from bankgcn.nn.norms import shortest_length


def mutual_coherence(alpha: Tensor) -> Tensor:
    r"""Largest :math:`|\cos|` between the coefficients of two filters: :math:`\Omega(\alpha)`, Eq. 18.

    .. math:: \Omega(\alpha) = \max_{p \neq q} \frac{|\langle\alpha_p, \alpha_q\rangle|}{\|\alpha_p\| \|\alpha_q\|}

    It falls as diversity rises: 1 if two filters are multiples of each other, 0 if all are orthogonal, which at most
    ``order + 1`` filters can be. It is 0 for a single filter, and a pair that contains a filter of zeros counts as 0.

    Args:
        alpha: Coefficients of the filters, shape ``(num_subspaces, order + 1)``; leading dimensions hold several banks.

    Returns:
        A scalar in [0, 1] up to rounding, or one for each bank. Its gradient is finite everywhere and concerns only
        the most similar pair.

    Example:
        >>> import torch
        >>> mutual_coherence(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        tensor(0.7071)
    """
    if alpha.dim() < 2:
        raise ValueError(f"alpha has shape {tuple(alpha.shape)}, expected (num_subspaces, order + 1)")
    unit = F.normalize(alpha, dim=-1, eps=shortest_length(alpha.dtype))
    # unit @ unit.mT, as a sum of products: autocast would round a matrix product to half precision
    cosine = (unit.unsqueeze(-2) * unit.unsqueeze(-3)).sum(-1)
    return cosine.triu(diagonal=1).abs().amax((-2, -1))
