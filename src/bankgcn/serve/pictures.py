"""Pictures of molecules, as SVG."""

from __future__ import annotations

from typing import Any

MOST = 20  # pictures of a request
LETTERS = 400  # of a SMILES that is drawn: the time grows with the square of its length
SIZE = (340, 240)


def draw_smiles(smiles: str) -> str | None:
    """The structure of a molecule that RDKit can read; ``None`` if it is too large, or if RDKit cannot draw here."""
    if len(smiles) > LETTERS:
        return None
    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError:  # RDKit draws only where the libraries Xrender and Xext are
        return None
    from rdkit.Chem import MolFromSmiles
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        molecule = MolFromSmiles(smiles)
        drawing = rdMolDraw2D.MolDraw2DSVG(*SIZE)
        options: Any = drawing.drawOptions()
        options.clearBackground, options.maxFontSize, options.fixedBondLength = False, 18, 32
        try:
            rdMolDraw2D.PrepareAndDrawMolecule(drawing, molecule)
        except (ValueError, RuntimeError):  # such as bonds that have no form with double bonds
            return None
        drawing.FinishDrawing()
    return drawing.GetDrawingText().replace("iso-8859-1", "utf-8", 1)
