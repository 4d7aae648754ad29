"""Compiled CPU kernels: the same results as the plain PyTorch operations, in one traversal of each graph.

Users need not call them: the functions of ``spectral``, ``nn`` and ``training`` use them where they apply. Importing
this package is cheap; numba is loaded when a kernel is first used.

``jit`` compiles, ``ops`` holds the steps of a network on a few rows, ``layer`` applies one layer to a batch, and
``network`` takes small graphs through all layers.
"""

from typing import TYPE_CHECKING

from bankgcn.extras import lazy_names

if TYPE_CHECKING:
    from bankgcn.kernels.jit.setting import switched_on, use_kernels
    from bankgcn.kernels.jit.switch import fused_for, is_transformed, operators_for

__all__ = ["fused_for", "is_transformed", "operators_for", "switched_on", "use_kernels"]

__getattr__ = lazy_names(
    __name__,
    {"jit.switch": ("fused_for", "is_transformed", "operators_for"), "jit.setting": ("switched_on", "use_kernels")},
)
