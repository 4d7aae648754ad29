"""What all pictures share: colours, formats, and bytes that depend on the content alone."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bankgcn.choices import pick
from bankgcn.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# The palette of Okabe and Ito, safe for colour-blind readers; grey replaces yellow, which is too faint for lines.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")

IMAGES: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""Image formats, with the options that keep timestamps out of the files."""


def render(name: str, size: tuple[float, float], paint: Callable[[Canvas], None], form: str) -> bytes:
    """A picture as the bytes of an image file. The same content gives the same bytes with the same matplotlib.

    Args:
        name: Name of the picture, which fixes the identifiers in an SVG file.
        size: Width and height in inches.
        paint: Draws on the canvas.
        form: ``"png"``, ``"svg"``, or ``"pdf"``.
    """
    options = pick(IMAGES, form, "kind of image")
    require("matplotlib", "drawing figures")
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": name, "font.size": 9}):
        canvas = Canvas(figsize=size, layout="constrained")
        paint(canvas)
        canvas.savefig(buffer, format=form, **options)
    return buffer.getvalue()
