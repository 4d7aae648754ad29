"""Names of a package whose modules are loaded when a name is first used.

PyTorch takes seconds to load, and ``bankgcn train --help`` does not need it. So packages import nothing heavy at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The function ``__getattr__`` of a package.

    Args:
        package: Name of the package.
        modules: The names that each of its modules provides.

    Example:
        >>> lazy_names("bankgcn", {"choices": ("pick",)})("pick").__name__
        'pick'
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return load
