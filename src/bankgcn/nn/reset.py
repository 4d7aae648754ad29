"""Reinitialise the parameters of any module."""

from __future__ import annotations

from torch import nn


def reset_parameters(module: nn.Module) -> None:
    """Call ``reset_parameters`` of a module, or of its children if it has no such method, like ``nn.Sequential``.

    Parameters of a module without the method do not change.
    """
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        reset_parameters(child)
