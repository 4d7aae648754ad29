"""Drawing the parameters of any module anew."""

from __future__ import annotations

from torch import nn


def reset_parameters(module: nn.Module) -> None:
    """Call the ``reset_parameters`` of a module, or of its children if it has none, as ``nn.Sequential`` has not.

    Parameters of a module without such a method stay as they are.
    """
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        reset_parameters(child)
