"""Imports point one way, and the core needs nothing but PyTorch and NumPy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import bankgcn
from bankgcn.cli.commands import COMMANDS, PAPER, Row

PACKAGE = Path(bankgcn.__file__).parent

BASE = {"extras", "lazy", "messages", "settings"}
MAY_IMPORT = {
    "extras": set(),
    "lazy": set(),
    "messages": set(),
    "settings": {"messages"},
    "metrics": set(),
    "tasks": {"messages", "metrics", "settings"},
    "files": {"extras", "messages"},
    "kernels": {"extras", "settings"},
    "spectral": {"kernels", "settings"},
    "nn": {*BASE, "kernels", "spectral"},
    "data": {*BASE, "files", "kernels", "spectral"},
    "rivals": {*BASE, "data", "tasks"},
    "training": {*BASE, "rivals", "files", "kernels", "spectral", "nn", "data", "metrics", "tasks"},
    "experiments": {*BASE, "files", "kernels", "spectral", "nn", "data", "metrics", "tasks", "training"},
    "explain": {*BASE, "files", "kernels", "spectral", "nn", "data", "tasks", "training"},
    "report": {
        *BASE,
        "rivals",
        "files",
        "spectral",
        "nn",
        "data",
        "metrics",
        "tasks",
        "training",
        "explain",
        "experiments",
    },
}
"""Which parts of the package each part may use, itself apart. Whatever is not listed (the rim) may use all but cli."""


def imported(path: Path) -> set[str]:
    """Every name that a file imports, at the top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_parts(path: Path) -> set[str]:
    """First name below the package of every import in a file."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("bankgcn.")}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    imported = imported_parts(path) - {part}
    assert "cli" not in imported or part == "__main__"
    if part in MAY_IMPORT:
        assert imported <= MAY_IMPORT[part]


def test_no_command_imports_another_command() -> None:
    modules = {row.module for row in (*COMMANDS.values(), *PAPER.values()) if isinstance(row, Row)}
    for module in modules:
        names = imported(PACKAGE / "cli" / f"{module}.py")
        others = {name.split(".")[2] for name in names if name.startswith("bankgcn.cli.")} & (modules - {module})
        assert not others, f"cli/{module}.py imports {', '.join(sorted(others))}"


def test_every_imported_package_is_declared() -> None:
    packages = {name.split(".")[0] for path in PACKAGE.rglob("*.py") for name in imported(path)}
    providers = packages_distributions()
    needed = {_normal(providers.get(name, [name])[0]) for name in packages - sys.stdlib_module_names - {"bankgcn"}}
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {_normal(re.split(r"[^\w.-]", entry)[0]) for entries in lists for entry in entries}
    assert needed <= declared, f"imported, but not in pyproject.toml: {sorted(needed - declared)}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_layer_needs_only_pytorch_and_numpy() -> None:
    code = "import sys, torch; before = set(sys.modules); from bankgcn import BankConv; BankConv(3, 8); "
    code += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    new = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(new) - sys.stdlib_module_names <= {"bankgcn", "numpy"}


def test_every_public_name_is_there_and_loads_what_it_needs_when_it_is_used() -> None:
    for name in bankgcn.__all__:
        assert getattr(bankgcn, name) is not None
    assert set(bankgcn.__all__) <= set(dir(bankgcn))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        bankgcn.Nothing  # noqa: B018
    code = "import sys; from bankgcn import load, load_model; print('sklearn' in sys.modules, 'numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["False", "False"]
