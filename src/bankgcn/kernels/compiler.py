"""How the passes are compiled: when first used, and kept on disk for the next time."""

from __future__ import annotations

import numba

# Reassociation and fused multiply-add let loops be vectorised; NaN and infinity keep their meaning.
compiled = numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, nogil=True, cache=True)

# The same for what is only called by compiled code: without the means to call it from Python, and not kept by itself.
part = numba.njit(
    fastmath={"reassoc", "contract", "nsz", "arcp"}, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
