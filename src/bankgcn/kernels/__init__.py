"""Compiled CPU kernels: the same results as the plain PyTorch operations, in one traversal of each graph.

Users need not call them: the functions of ``spectral``, ``nn`` and ``training`` use them where they apply. Importing
this package is cheap; numba is loaded when a kernel is first used.

``jit`` compiles, ``ops`` holds the steps of a network on a few rows, ``layer`` applies one layer to a batch, and
``network`` takes small graphs through all layers.
"""

from bankgcn.kernels.jit.switch import fused_for, is_transformed, operators_for, use_kernels

__all__ = ["fused_for", "is_transformed", "operators_for", "use_kernels"]
