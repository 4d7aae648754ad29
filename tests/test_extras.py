"""A missing optional library is reported with the line to type, wherever the package needs it."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bankgcn
from bankgcn.bench.measure import batching_seconds
from bankgcn.bench.peers import PlainTraining
from bankgcn.data.builtin import digits, smooth_or_alternating
from bankgcn.data.convert import to_networkx, to_pyg
from bankgcn.data.readers.images import from_images, read_image
from bankgcn.data.readers.molecules import from_smiles
from bankgcn.experiments.paper import figure3
from bankgcn.extras import OPTIONAL, require
from bankgcn.report.plots import draw_filters
from bankgcn.training.callbacks import TensorBoardLog

USES: list[tuple[str, Callable[[], object], str]] = [
    ("torch_geometric", lambda: to_pyg(smooth_or_alternating(3)), "converting to PyG's graphs needs PyTorch Geometric"),
    ("torch_geometric", lambda: PlainTraining("gcn", smooth_or_alternating(3), 2), "the comparison with PyG needs"),
    ("torch_geometric", lambda: batching_seconds(smooth_or_alternating(3), 2), "the comparison with PyG needs"),
    ("networkx", lambda: to_networkx(smooth_or_alternating(3)), "needs NetworkX: pip install networkx"),
    ("rdkit", lambda: from_smiles(["C"]), "reading molecules needs RDKit: pip install 'bankgcn[molecules]'"),
    ("PIL", lambda: read_image(Path("image.png")), "reading images needs Pillow: pip install 'bankgcn[images]'"),
    ("skimage", lambda: from_images(np.zeros((1, 8, 8))), "reading images needs scikit-image"),
    ("sklearn", digits, "the dataset digits needs scikit-learn: pip install 'bankgcn[sklearn]'"),
    ("sklearn", lambda: bankgcn.BankGCNClassifier, "BankGCNClassifier needs scikit-learn: pip install"),
    ("sklearn", lambda: bankgcn.BankGCNRegressor, "BankGCNRegressor needs scikit-learn: pip install"),
    ("tensorboard", lambda: TensorBoardLog(Path("log")), "A log for TensorBoard needs TensorBoard: pip install"),
    (
        "matplotlib",
        lambda: draw_filters(figure3(), {}),
        "drawing figures needs Matplotlib: pip install 'bankgcn[plot]'",
    ),
]


@pytest.mark.parametrize(("module", "use", "message"), USES, ids=[f"{use[0]}-{n}" for n, use in enumerate(USES)])
def test_every_use_of_a_missing_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, use: Callable[[], object], message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=re.escape(message)):
        use()


def test_a_library_that_is_installed_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "networkx", raising=False)
    require("networkx", "nothing")
    assert "networkx" not in sys.modules


def test_every_extra_is_declared() -> None:
    file = Path(bankgcn.__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        match[1] for library in OPTIONAL.values() if (match := re.fullmatch(r"bankgcn\[(\w+)\]", library.requirement))
    }
    assert named <= extras.keys()
