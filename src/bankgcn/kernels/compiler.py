"""How the passes are compiled: once, kept on disk, with a word if it takes long."""

from __future__ import annotations

import numba

# Reassociation and fused multiply-add let loops be vectorised; NaN and infinity keep their meaning.
compiled = numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, nogil=True, cache=True)
