"""Fused CPU passes: the same meaning as the plain operations, in one walk over each graph.

Nothing here is a module of a network, and nothing has to be called by hand: the plain functions take these passes
where they apply. Import costs nothing; the compiler is loaded when a pass is first used.
"""

from bankgcn.kernels.jit.switch import fused_for, operators_for, use_kernels

__all__ = ["fused_for", "operators_for", "use_kernels"]
